//! What has happened: a list, and a stream that goes on.

use std::convert::Infallible;
use std::error::Error;
use std::sync::Arc;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{ConnectInfo, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use http_body_util::LengthLimitError;
use utoipa::IntoParams;

use super::API_ROOT;
use crate::changes::{Change, Peer};
use crate::error::{ApiError, ErrorBody, ErrorKind};
use crate::events::FOLLOWERS_MAX;
use crate::types::Event;
use crate::watch::Watcher;

/// Which events.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub struct After {
    /// Only those with a greater number; 0 if it is not given.
    #[param(required = false)]
    after: u64,
}

impl<S: Send + Sync> FromRequestParts<S> for After {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let after = query.strip_prefix("after=").and_then(|after| after.parse().ok());
        let after = if query.is_empty() { Some(0) } else { after };
        after.map(|after| After { after }).ok_or_else(|| {
            let why = format!(
                "'{query}' is not understood: the query may be after=N, the number of an event"
            );
            ApiError::new(ErrorKind::Invalid, "invalid_query", why)
        })
    }
}

/// Largest body of a request, in bytes.
const BODY_BYTES_MAX: usize = 2 << 20;

/// Tells of each change, and looks after it, so that whoever has made one finds its events.
pub async fn look_after_change(
    State(watcher): State<Arc<Watcher>>,
    request: Request,
    next: Next,
) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match to_bytes(body, BODY_BYTES_MAX).await {
        Ok(body) => body,
        Err(error) => return unread(&error).into_response(),
    };
    let peer = parts.extensions.get().map_or_else(Peer::default, |ConnectInfo(peer)| *peer);
    let path = parts.uri.path().strip_prefix(API_ROOT).unwrap_or_default();
    let change = Change::of(&parts.method, path, &body, peer);
    let response = next.run(Request::from_parts(parts, body.into())).await;
    if let Some(happening) = change.and_then(|change| change.happening(&response)) {
        watcher.tell_change(happening);
    }
    watcher.look().await;
    response
}

fn unread(error: &axum::Error) -> ApiError {
    let is_too_large = error.source().is_some_and(|source| source.is::<LengthLimitError>());
    match is_too_large {
        true => ApiError::new(ErrorKind::TooLarge, "body_too_large", "the body has more than 2MiB"),
        false => ApiError::new(ErrorKind::Invalid, "invalid_body", "the body is cut off"),
    }
}

/// What has happened lately, the oldest first: the newest 1024 events since the daemon started. A
/// gap in the numbers is what was not kept.
#[utoipa::path(get, path = "/events", params(After),
    responses((status = 200, body = Vec<Event>), (status = "4XX", body = ErrorBody)))]
pub async fn events(
    State(watcher): State<Arc<Watcher>>,
    After { after }: After,
) -> Result<Json<Vec<Event>>, ApiError> {
    watcher.look().await;
    Ok(Json(watcher.log.after(after)))
}

/// The same as a stream of server-sent events that goes on with what happens from then on, within a
/// second: `id` is the number, `data` the event. Last-Event-ID goes before `after`. It ends with
/// the daemon.
#[utoipa::path(get, path = "/events/stream", params(After, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, body = Event, content_type = "text/event-stream"),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn follow_events(
    State(watcher): State<Arc<Watcher>>,
    headers: HeaderMap,
    which: Result<After, ApiError>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok()?.parse().ok());
    let after = last.map_or_else(|| which.map(|After { after }| after), Ok)?;
    watcher.look().await;
    let follower = watcher.log.follow(after).ok_or_else(too_many)?;
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok(encode(&event)), follower))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

fn encode(event: &Event) -> sse::Event {
    let data = serde_json::to_string(event).expect("an event is plain data");
    sse::Event::default().id(event.seq.to_string()).data(data)
}

fn too_many() -> ApiError {
    let why = format!("{FOLLOWERS_MAX} clients follow the events already");
    ApiError::new(ErrorKind::Unavailable, "too_many_followers", why).with_hint("end some of them")
}
