//! How a request is refused: one shape for all errors.

use ashlar_block::printable;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What kind of refusal it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The request itself is wrong.
    Invalid,
    /// The path takes no such method.
    WrongMethod,
    /// It has more bytes than are taken.
    TooLarge,
    /// It names something that is not there.
    NotFound,
    /// What is there stands against it.
    Conflict,
    /// It could be done, but now it cannot.
    Unavailable,
    /// A fault in Ashlar itself.
    Internal,
}

/// A refused request. Nothing has changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", body.message)]
pub struct ApiError {
    /// What kind of refusal.
    pub kind: ErrorKind,
    /// What the client gets.
    pub body: ErrorBody,
}

/// An error as it goes over the wire.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// For programs: a word that does not change.
    pub code: String,
    /// For people: what, and why.
    pub message: String,
    /// For people: the way out, if it is not in the message.
    pub hint: Option<String>,
}

impl ApiError {
    /// A refusal.
    pub fn new(kind: ErrorKind, code: &str, message: impl Into<String>) -> Self {
        let message = printable(&message.into());
        ApiError { kind, body: ErrorBody { code: code.to_owned(), message, hint: None } }
    }

    /// The same with a way out.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(printable(&hint.into()));
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = match self.kind {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
            ErrorKind::Conflict => StatusCode::CONFLICT,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut response = (status, Json(self.body.clone())).into_response();
        // For whoever tells of it.
        response.extensions_mut().insert(self.body);
        response
    }
}
