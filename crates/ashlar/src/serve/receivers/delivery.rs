//! A receiver's way through the log of events: what it wants is sent to it in order, again and
//! again until it takes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ashlar_control::types::{Event, Happening, Receiver, Severity};
use ashlar_control::{EventKind, EventLog, Wanted, Watcher};
use humantime::format_rfc3339_seconds;
use tokio::time::sleep;
use uuid::Uuid;

use super::backoff::pause;
use super::place::Place;
use super::{Carrier, Failure, MAIL, Wants};

/// Events that are read from the log at a time.
const READ_MAX: usize = 64;
/// How long is waited where the log cannot be read.
const READ_PAUSE: Duration = Duration::from_secs(30);
/// An event that it does not work comes after so many attempts: one that fails may be chance.
const ATTEMPTS_UNTOLD: u32 = 3;
/// Between two such events there is at least so much time: two receivers that do not work are told
/// of each other's failure, and that may not go round.
const TELL_INTERVAL: Duration = Duration::from_secs(600);

/// A receiver.
pub struct Delivery {
    name: String,
    wants: Wants,
    carrier: Box<dyn Carrier>,
    log: Arc<EventLog>,
    place: Place,
    /// The newest event when the daemon was started: a receiver that is new begins behind it.
    start: u64,
    facts: Mutex<Facts>,
}

/// How it is.
#[derive(Default)]
struct Facts {
    delivered_seq: u64,
    delivered_at: Option<String>,
    problem: Option<String>,
    /// That it does not work was told, and not yet that it works again.
    is_told: bool,
    told: Option<Instant>,
    dropped: u64,
}

impl Delivery {
    pub(super) fn new(
        name: &str,
        wants: Wants,
        carrier: Box<dyn Carrier>,
        log: Arc<EventLog>,
        place: Place,
    ) -> Self {
        let (start, facts) = (*log.newest().borrow(), Mutex::default());
        Delivery { name: name.to_owned(), wants, carrier, log, place, start, facts }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it is, for the API.
    pub fn shown(&self) -> Receiver {
        let facts = self.facts();
        let state = if facts.problem.is_some() { "failing" } else { "ready" };
        Receiver {
            name: self.name.clone(),
            kind: if self.name == MAIL { MAIL } else { "webhook" }.to_owned(),
            address: self.carrier.address(),
            severity: self.wants.severity,
            kinds: self.wants.kinds.clone(),
            states: vec![state.to_owned()],
            problem: facts.problem.clone(),
            delivered_seq: facts.delivered_seq,
            delivered_at: facts.delivered_at.clone(),
            dropped_events: facts.dropped,
        }
    }

    /// Sends these, once and past all that waits.
    pub async fn send_now(&self, events: &[Event]) -> Result<String, Failure> {
        self.carrier.carry(events).await
    }

    /// Sends what comes, for as long as it is polled.
    pub async fn run(&self, watcher: &Watcher) {
        let mut after = self.begin().await;
        loop {
            let events = self.next(&mut after).await;
            for part in events.chunks(self.carrier.events_max()) {
                self.deliver(part, watcher).await;
                after = part.last().map_or(after, |last| last.seq);
                self.keep(after).await;
            }
        }
    }

    /// The number behind which it begins.
    async fn begin(&self) -> u64 {
        let kept = self.place.load().await.unwrap_or_else(|error| {
            let name = &self.name;
            tracing::warn!(%error, "it is not known what '{name}' was told: it is told what comes");
            None
        });
        let after = kept.unwrap_or(self.start);
        if kept.is_none() {
            self.keep(after).await;
        }
        self.facts().delivered_seq = after;
        after
    }

    async fn keep(&self, after: u64) {
        self.facts().delivered_seq = after;
        if let Err(error) = self.place.keep(after).await {
            let name = &self.name;
            tracing::warn!(%error, "what '{name}' was told is not written down: it may be told again");
        }
    }

    /// What it is to be told next, once there is something; `after` goes past what it is not.
    async fn next(&self, after: &mut u64) -> Vec<Event> {
        let mut newest = self.log.newest();
        loop {
            let until = *newest.borrow_and_update();
            match self.log.list(self.wanted(*after)).await {
                Ok(found) if found.is_empty() => *after = until.max(*after),
                Ok(_) if self.carrier.gather_seconds() > 0 => {
                    sleep(Duration::from_secs(self.carrier.gather_seconds())).await;
                    if let Ok(all) = self.log.list(self.wanted(*after)).await {
                        return all;
                    }
                }
                Ok(found) => return found,
                Err(error) => {
                    tracing::warn!(%error, "'{}' is told later: events cannot be read", self.name);
                    sleep(READ_PAUSE).await;
                    continue;
                }
            }
            if newest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn wanted(&self, after: u64) -> Wanted<Event> {
        let (name, wants) = (self.name.clone(), self.wants.clone());
        // That it does not work is of no use to itself, and what it says of that would have no end.
        let filter =
            move |event: &Event| wants.has(event) && event.what.receiver.as_ref() != Some(&name);
        let limit = READ_MAX.max(self.carrier.events_max());
        Wanted { after: Some(after), before: u64::MAX, limit, filter: Arc::new(filter) }
    }

    /// Sends these until they are taken, or given up.
    async fn deliver(&self, events: &[Event], watcher: &Watcher) {
        let (first, mut failed) = (Instant::now(), 0);
        loop {
            let failure = match self.carrier.carry(events).await {
                Ok(_) => return self.has_delivered(watcher),
                Err(failure) => failure,
            };
            failed += 1;
            let random = Uuid::new_v4().as_u64_pair().1;
            let pause = match &failure {
                Failure::Later(_) => pause(failed, first.elapsed(), random),
                Failure::Never(_) => None,
            };
            let Some(pause) = pause else {
                return self.has_dropped(events.len() as u64, &failure.to_string(), watcher);
            };
            self.has_failed(failed, &failure.to_string(), watcher);
            sleep(pause).await;
        }
    }

    fn has_delivered(&self, watcher: &Watcher) {
        let mut facts = self.facts();
        facts.delivered_at = Some(format_rfc3339_seconds(SystemTime::now()).to_string());
        facts.problem = None;
        if std::mem::take(&mut facts.is_told) {
            let message = format!("'{}' takes events again", self.name);
            watcher.tell(self.about(Severity::Info, EventKind::ReceiverWorks, message));
        }
        watcher.warn(&self.warner(), None);
    }

    fn has_failed(&self, times: u32, why: &str, watcher: &Watcher) {
        tracing::warn!(times, "'{}' does not take events: {why}", self.name);
        let mut facts = self.facts();
        facts.problem = Some(why.to_owned());
        if times < ATTEMPTS_UNTOLD {
            return;
        }
        let name = &self.name;
        let warning =
            format!("'{name}' does not take events: {why}. `ashlar notify list` shows more");
        watcher.warn(&self.warner(), Some(warning));
        if !facts.is_told && may_tell(&mut facts) {
            facts.is_told = true;
            let message = format!("'{name}' does not take events, which are sent to it later");
            let failed = self.about(Severity::Warning, EventKind::ReceiverFailed, message);
            watcher.tell(failed.because(Some(why)));
        }
    }

    fn has_dropped(&self, events: u64, why: &str, watcher: &Watcher) {
        tracing::warn!(events, "'{}' is not told of some events: {why}", self.name);
        let mut facts = self.facts();
        facts.problem = Some(why.to_owned());
        facts.dropped += events;
        if may_tell(&mut facts) {
            let (name, all) = (&self.name, facts.dropped);
            let message = format!("'{name}' was not told of {all} events, and will not be");
            let dropped = self.about(Severity::Warning, EventKind::EventsDropped, message);
            watcher.tell(dropped.because(Some(why)));
        }
    }

    fn about(&self, severity: Severity, kind: EventKind, message: String) -> Happening {
        let happening = Happening::new(severity, kind, message);
        Happening { receiver: Some(self.name.clone()), ..happening }
    }

    fn warner(&self) -> String {
        format!("receiver {}", self.name)
    }
}

fn may_tell(facts: &mut Facts) -> bool {
    let may = facts.told.is_none_or(|told| told.elapsed() >= TELL_INTERVAL);
    if may {
        facts.told = Some(Instant::now());
    }
    may
}
