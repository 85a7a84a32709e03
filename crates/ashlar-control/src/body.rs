//! The body of a request, and why it is refused, in the words of the API.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{ApiError, ErrorCode};

/// What the request brings, as JSON.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|_| {
            invalid("the body cannot be read: it is cut off, or has more than 2MiB")
        })?;
        understand(&bytes).map(Body).map_err(invalid)
    }
}

fn invalid(why: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::InvalidBody, why)
        .with_hint("/api/v1/openapi.json says what each request takes")
}

/// # Errors
/// What is wrong.
fn understand<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    if bytes.is_empty() {
        return Err("the request has no body, and needs an object in JSON".to_owned());
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "the body is not JSON: it goes wrong at line {}, column {}",
            error.line(),
            error.column()
        )
    })?;
    let Value::Object(fields) = value else {
        return Err(format!("the body is {}, and has to be an object", kind_of(&value)));
    };
    T::deserialize(Value::Object(fields.clone()))
        .map_err(|error| in_words::<T>(&error.to_string(), &fields))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// What the decoder says of the fields, in our words.
fn in_words<T: DeserializeOwned>(said: &str, fields: &Map<String, Value>) -> String {
    let quoted =
        |said: &str| said.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    if said.starts_with("missing field") {
        return format!("the body lacks '{}'", quoted(said).join("', '"));
    }
    if said.starts_with("unknown field") {
        let mut known = quoted(said);
        let unknown = if known.is_empty() { String::new() } else { known.remove(0) };
        let unknown = unknown.escape_default().to_string();
        return format!(
            "the body has '{unknown}', which is unknown here: it may have {}",
            known.join(", ")
        );
    }
    let wanted =
        said.rsplit_once("expected ").map_or("something else", |(_, wanted)| in_our_terms(wanted));
    let Some((name, value)) = culprit::<T>(said, fields) else {
        return format!("the body has something where {wanted} has to be");
    };
    match value {
        Value::Number(number) => format!("'{name}' is {number}, and has to be {wanted}"),
        value => format!("'{name}' is {}, and has to be {wanted}", kind_of(value)),
    }
}

/// The field without which the decoder does not say that.
fn culprit<'a, T: DeserializeOwned>(
    said: &str,
    fields: &'a Map<String, Value>,
) -> Option<(&'a String, &'a Value)> {
    fields.iter().find(|(name, _)| {
        let mut others = fields.clone();
        others.remove(*name);
        T::deserialize(Value::Object(others)).err().is_none_or(|error| error.to_string() != said)
    })
}

fn in_our_terms(wanted: &str) -> &str {
    match wanted {
        "u64" => "a whole number from 0 on",
        "u32" => "a whole number from 0 to 4294967295",
        "u16" => "a whole number from 0 to 65535",
        "u8" => "a whole number from 0 to 255",
        "a string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        wanted if wanted.starts_with("struct") => "an object",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests;
