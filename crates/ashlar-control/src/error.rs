//! How a request is refused: one shape for all errors (RFC 9457).

use ashlar_block::printable;
use axum::Json;
use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::hints;

mod codes;
pub(crate) mod sets;

pub use codes::{ErrorCode, ErrorMeaning};

/// The content type of an error.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A refused request. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct ApiError {
    /// Which refusal.
    pub code: ErrorCode,
    /// For people: what, and why.
    pub detail: String,
    /// For people: the way out, if it is not in the detail.
    pub hint: Option<String>,
}

/// An error as it goes over the wire: a problem as of RFC 9457.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Where it says what the code means, relative to where the API is.
    #[serde(rename = "type")]
    pub meaning: String,
    /// What the code means, in some words.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// For programs: a word that does not change. `/api/v1/errors` lists them all.
    pub code: String,
    /// For people: what, and why.
    pub detail: String,
    /// For people: the way out, if it is not in the detail.
    pub hint: Option<String>,
}

impl ApiError {
    /// A refusal.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        ApiError { code, detail: printable(&detail.into()), hint: None }
    }

    /// The same with a way out.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(printable(&hint.into()));
        self
    }
}

impl Problem {
    /// The code, if it is one that this version has.
    pub(crate) fn known_code(&self) -> Option<ErrorCode> {
        ErrorCode::of_word(&self.code)
    }
}

impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let ApiError { code, detail, hint } = error;
        Problem {
            meaning: code.address(),
            title: code.title().to_owned(),
            status: code.status().as_u16(),
            code: code.word().to_owned(),
            detail,
            hint,
        }
    }
}

/// The answer with the very pool and drive in the commands that it names: whoever refuses may not
/// know what they are called.
pub(crate) fn settled(response: Response, pool: Option<&str>, drive: Option<&str>) -> Response {
    let Some(problem) = response.extensions().get::<Problem>() else { return response };
    let detail = hints::settled(&problem.detail, pool, drive);
    let hint = problem.hint.as_ref().map(|hint| hints::settled(hint, pool, drive));
    let is_same = detail == problem.detail && hint == problem.hint;
    match problem.known_code().filter(|_| !is_same) {
        Some(code) => ApiError { code, detail, hint }.into_response(),
        None => response,
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, problem) = (self.code.status(), Problem::from(self));
        let mut response = (status, Json(problem.clone())).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if status == StatusCode::UNAUTHORIZED {
            // RFC 6750, section 3.
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::TOO_MANY_REQUESTS) {
            // Nobody that is not known keeps a place.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(seconds) = retry_after_seconds(status) {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        // For whoever tells of it.
        response.extensions_mut().insert(problem);
        response
    }
}

/// In how many seconds a client may ask again that is refused for now.
fn retry_after_seconds(status: StatusCode) -> Option<u16> {
    match status {
        StatusCode::TOO_MANY_REQUESTS => Some(60),
        StatusCode::SERVICE_UNAVAILABLE => Some(5),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
