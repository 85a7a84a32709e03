//! How much those of one address are answered who have not said who they are: the files of the
//! dashboard, the document of the API, and refusals cost little, but not nothing.

use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::{Api, guard};
use crate::access::{Buckets, Entrance};
use crate::error::{ApiError, ErrorCode};

/// Answers that one address may have at once, and how often one more: the dashboard is some tens of
/// files, and many people may come by one address.
const ANSWERS_MAX: u32 = 1024;
const ANSWER_INTERVAL: Duration = Duration::from_millis(10);

/// An answer has it if it was given to somebody who is known.
#[derive(Clone, Copy)]
pub(super) struct Known;

/// As many as that.
pub(super) fn answers() -> Buckets {
    Buckets::new(ANSWERS_MAX, ANSWER_INTERVAL)
}

/// Answers, or ends the connection of an address that has had too much.
pub(super) async fn answer(State(api): State<Api>, request: Request, next: Next) -> Response {
    let Some(Entrance::Network(address)) = request.extensions().get().copied() else {
        return next.run(request).await;
    };
    let now = Instant::now();
    if !api.unknown.has_some(address.ip(), now) && !shows_token(&api, &request) {
        return refusal();
    }
    let response = next.run(request).await;
    if response.extensions().get::<Known>().is_none() {
        api.unknown.take(address.ip(), now);
    }
    response
}

/// A token that is known costs next to nothing to look up: its owner is let in, whoever else comes
/// from there.
fn shows_token(api: &Api, request: &Request) -> bool {
    guard::bearer(request).is_some_and(|shown| api.accounts.look_up(shown).known().is_some())
}

fn refusal() -> Response {
    let why = "so much was asked for from there without a token that no more is answered";
    let refusal = ApiError::new(ErrorCode::TooManyAttempts, why).with_hint("wait for a minute");
    let mut response = refusal.into_response();
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}
