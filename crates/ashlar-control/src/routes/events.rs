//! What has happened: a list, and a stream that goes on.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};

use super::Answer;
use crate::access::Caller;
use crate::access::leave::Leave;
use crate::error::{ApiError, ErrorCode};
use crate::events::filter::{EventQuery, filtered};
use crate::events::{EventKind, EventMeaning};
use crate::log::query::limited;
use crate::log::{FOLLOWERS_MAX, Reader};
use crate::operation::Route;
use crate::query::Query;
use crate::types::Event;
use crate::watch::Watcher;

pub(super) fn routes() -> Vec<Route> {
    let listed = Route::get("/events", "list_events", events)
        .text("What has happened, the oldest first. A gap in the numbers is what was not kept, or a start of the daemon.");
    let followed = Route::get("/events/stream", "follow_events", follow_events)
        .text("The events as a stream of server-sent events that goes on with what happens from then on, within a second. `id` is the number, `data` the event. With `after` it begins with what comes after that number, as far as it is kept; without, with the newest ones. It ends with the daemon, and with the caller's token.")
        .header::<u64>("Last-Event-ID", "The same as `after`, which it goes before.");
    vec![
        Route::get("/event-kinds", "list_event_kinds", kinds)
            .text("Every kind of event, with what it means and what to do.")
            .answers_list::<EventMeaning>("All kinds."),
        limited(filtered(listed))
            .answers_list::<Event>("The events that are kept.")
            .fails(&[ErrorCode::LogUnreadable]),
        filtered(followed)
            .answers_stream::<Event>("The events, one by one.")
            .fails(&[ErrorCode::TooManyFollowers]),
    ]
}

async fn kinds() -> Json<Vec<EventMeaning>> {
    Json(EventKind::ALL.iter().map(|kind| kind.meaning()).collect())
}

async fn events(
    State(watcher): State<Arc<Watcher>>,
    Query(query): Query<EventQuery>,
) -> Answer<Vec<Event>> {
    watcher.look().await;
    let wanted = query.by_names(|pool| watcher.pool_called(pool)).wanted()?;
    watcher.log.list(wanted, Reader::Question).await.map(Json).map_err(|error| {
        let why = format!("the events that are written down cannot be read: {error}");
        ApiError::new(ErrorCode::LogUnreadable, why).with_hint(
            "the newest ones are in memory: ask for them alone, without a filter, or come again",
        )
    })
}

async fn follow_events(
    State(watcher): State<Arc<Watcher>>,
    Extension(leave): Extension<Leave>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Query(query): Query<EventQuery>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let after = last_event_id(&headers)?.or(query.start());
    watcher.look().await;
    let wants = query.by_names(|pool| watcher.pool_called(pool)).wanted()?.filter;
    let follower = watcher.log.follow(after, caller.follows_as()).ok_or_else(too_many)?;
    let events = stream::unfold(follower, move |mut follower| {
        let wants = wants.clone();
        async move {
            loop {
                let event = follower.next().await?;
                if wants(&event) {
                    return Some((Ok(encode(&event)), follower));
                }
            }
        }
    });
    // Whoever is kept out now is told no more.
    let events = events.take_until(Box::pin(leave.ends()));
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// # Errors
/// When it is no number: all that is in memory would come again.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let Some(last) = headers.get("last-event-id") else { return Ok(None) };
    let number = last.to_str().ok().and_then(|last| last.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        ApiError::new(ErrorCode::InvalidRequest, "Last-Event-ID has to be the number of an event")
    })
}

fn encode(event: &Event) -> sse::Event {
    let data = serde_json::to_string(event).expect("an event is plain data");
    sse::Event::default().id(event.seq.to_string()).data(data)
}

pub(super) fn too_many() -> ApiError {
    let why = format!(
        "too many clients follow already: {FOLLOWERS_MAX} in all, or 16 of one user or account"
    );
    ApiError::new(ErrorCode::TooManyFollowers, why).with_hint("end some of them")
}
