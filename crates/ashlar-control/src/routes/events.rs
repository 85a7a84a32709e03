//! What has happened: a list, and a stream that goes on.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, stream};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::error::{ApiError, ErrorBody, ErrorKind};
use crate::events::FOLLOWERS_MAX;
use crate::types::Event;
use crate::watch::Watcher;

/// Which events.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct After {
    /// Only those with a greater number.
    #[serde(default)]
    after: u64,
}

type Which = Result<Query<After>, QueryRejection>;

fn after(which: Which) -> Result<u64, ApiError> {
    let invalid =
        |error: QueryRejection| ApiError::new(ErrorKind::Invalid, "invalid_query", error.body_text());
    which.map(|Query(After { after })| after).map_err(invalid)
}

/// Looks after each change, so that whoever has made one finds its events.
pub async fn look_after_change(
    State(watcher): State<Arc<Watcher>>,
    request: Request,
    next: Next,
) -> Response {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let response = next.run(request).await;
    if changes {
        watcher.look().await;
    }
    response
}

/// What has happened lately, the oldest first: the newest 1024 events since the daemon started. A gap in the numbers is
/// what was not kept.
#[utoipa::path(get, path = "/events", params(After),
    responses((status = 200, body = Vec<Event>), (status = "4XX", body = ErrorBody)))]
pub async fn events(State(watcher): State<Arc<Watcher>>, which: Which) -> Result<Json<Vec<Event>>, ApiError> {
    let after = after(which)?;
    watcher.look().await;
    Ok(Json(watcher.log.after(after)))
}

/// The same as a stream of server-sent events that goes on with what happens from then on, within a second: `id` is the
/// number, `data` the event. Last-Event-ID goes before `after`. It ends with the daemon.
#[utoipa::path(get, path = "/events/stream", params(After, ("Last-Event-ID" = Option<u64>, Header)),
    responses((status = 200, body = Event, content_type = "text/event-stream"),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn follow_events(
    State(watcher): State<Arc<Watcher>>,
    which: Which,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok()?.parse().ok());
    let after = last.map_or_else(|| after(which), Ok)?;
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
