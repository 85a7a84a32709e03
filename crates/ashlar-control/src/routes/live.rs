//! How it is from second to second: one stream, of what a client wants to watch.
//!
//! 1. What costs the node a question is asked for once, however many clients watch.
//! 2. A client that reads slowly gets fewer looks, and keeps nothing waiting.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, State};
use axum::response::sse::{self, KeepAlive, Sse};
use futures_util::{Stream, StreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use utoipa::ToSchema;

use super::Node;
use super::events::too_many;
use super::jobs::all_jobs;
use super::node::whole_status;
use crate::access::Caller;
use crate::access::leave::Leave;
use crate::error::{ApiError, ErrorCode};
use crate::log::Follower;
use crate::node_api::NodeApi;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{Event, IoScope, IoStat, Job, Status};
use crate::watch::Watcher;

#[cfg(test)]
mod tests;

/// Seconds from one look to the next, where nobody says so, and at most.
const INTERVAL_SECONDS: u64 = 1;
const INTERVAL_SECONDS_MAX: u64 = 60;
/// A look that is not older serves the next client, too.
const LOOK_AGE_MAX: Duration = Duration::from_millis(500);

/// What may be watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Topic {
    Status,
    IoStat,
    Jobs,
}

const TOPICS: [(&str, Topic); 3] =
    [("status", Topic::Status), ("iostat", Topic::IoStat), ("jobs", Topic::Jobs)];

/// What the data of such an event is.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is here for the document of the API")]
enum Look {
    Status(Box<Status>),
    IoStat(IoStat),
    Jobs(Vec<Job>),
}

/// The newest look at each topic.
#[derive(Default)]
pub(crate) struct Looks([Mutex<Option<Newest>>; TOPICS.len()]);

/// A look: when it was taken, and what is answered.
type Newest = (Instant, Arc<str>);

impl Looks {
    /// The newest look at it, which is taken if there is none that is new enough. None: the node
    /// does not answer.
    async fn at(&self, node: &dyn NodeApi, watcher: &Watcher, topic: Topic) -> Option<Arc<str>> {
        let mut newest = self.0[topic as usize].lock().await;
        if let Some((at, text)) = &*newest
            && at.elapsed() < LOOK_AGE_MAX
        {
            return Some(text.clone());
        }
        let text: Arc<str> = look(node, watcher, topic).await.ok()?.into();
        *newest = Some((Instant::now(), text.clone()));
        Some(text)
    }
}

async fn look(node: &dyn NodeApi, watcher: &Watcher, topic: Topic) -> Result<String, ApiError> {
    let all = IoScope { names: Vec::new(), drives: true };
    let text = match topic {
        Topic::Status => serde_json::to_string(&whole_status(node, watcher).await?),
        Topic::IoStat => serde_json::to_string(&node.iostat(all).await?),
        Topic::Jobs => serde_json::to_string(&all_jobs(node).await?),
    };
    Ok(text.expect("an answer is plain data"))
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/live", "watch", watch)
            .text("How it is from second to second, as server-sent events: `event` is the topic, `data` what the path of that name answers (`/status`, `/iostat?drives=true`, `/jobs`). What has happened is at `/events/stream`. It ends with the daemon.")
            .query::<String>("topics", "What is wanted of `status`, `iostat` and `jobs`, with commas between them: `status` if it is not given.")
            .query::<u8>("interval_seconds", "Seconds from one look to the next, 1 to 60: 1 if it is not given.")
            .answers_stream::<Look>("The looks, one by one.")
            .fails(&[ErrorCode::TooManyFollowers]),
    ]
}

/// What is asked for.
#[derive(Deserialize)]
struct Wanted {
    topics: Option<String>,
    interval_seconds: Option<u64>,
}

impl Wanted {
    /// Each once, however often it is named.
    fn topics(&self) -> Result<Vec<Topic>, ApiError> {
        let named = |name: &str| {
            let known = TOPICS.iter().find(|(known, _)| *known == name);
            known.map(|(_, topic)| *topic).ok_or_else(|| {
                invalid(format!("topics={name} cannot be: choose status, iostat or jobs"))
            })
        };
        let mut topics = Vec::new();
        for topic in self.topics.as_deref().unwrap_or("status").split(',').map(named) {
            let topic = topic?;
            if !topics.contains(&topic) {
                topics.push(topic);
            }
        }
        Ok(topics)
    }

    fn interval(&self) -> Result<Interval, ApiError> {
        let seconds = self.interval_seconds.unwrap_or(INTERVAL_SECONDS);
        if !(1..=INTERVAL_SECONDS_MAX).contains(&seconds) {
            let why =
                format!("interval_seconds={seconds} cannot be: choose 1 to {INTERVAL_SECONDS_MAX}");
            return Err(invalid(why));
        }
        let mut interval = interval(Duration::from_secs(seconds));
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(interval)
    }
}

fn invalid(why: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidQuery, why)
}

/// A client that watches.
struct Viewer {
    node: Arc<dyn NodeApi>,
    watcher: Arc<Watcher>,
    looks: Arc<Looks>,
    topics: Vec<Topic>,
    interval: Interval,
    follower: Follower<Event>,
}

impl Viewer {
    /// The next look at all topics. None: the daemon ends.
    async fn next(&mut self) -> Option<Vec<sse::Event>> {
        tokio::select! {
            _ = self.interval.tick() => {}
            () = self.follower.ended() => return None,
        }
        let mut events = Vec::new();
        for topic in &self.topics {
            let name = TOPICS[*topic as usize].0;
            let text = self.looks.at(&*self.node, &self.watcher, *topic).await;
            events.extend(text.map(|text| sse::Event::default().event(name).data(text)));
        }
        Some(events)
    }
}

async fn watch(
    State(node): Node,
    State(watcher): State<Arc<Watcher>>,
    State(looks): State<Arc<Looks>>,
    Extension(leave): Extension<Leave>,
    Extension(caller): Extension<Caller>,
    Query(wanted): Query<Wanted>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let (topics, interval) = (wanted.topics()?, wanted.interval()?);
    let follower = watcher.log.follow(Some(u64::MAX), caller.follows_as()).ok_or_else(too_many)?;
    let viewer = Viewer { node, watcher, looks, topics, interval, follower };
    let looks = stream::unfold(viewer, async |mut viewer| {
        let events = viewer.next().await?;
        Some((stream::iter(events.into_iter().map(Ok)), viewer))
    });
    // Whoever is kept out now sees no more.
    let looks = looks.flatten().take_until(Box::pin(leave.ends()));
    Ok(Sse::new(looks).keep_alive(KeepAlive::default()))
}
