//! A receiver's way through the log of events: what it wants is sent to it in order, again and
//! again until it takes it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use ashlar_control::types::{Event, Happening, Receiver, Severity};
use ashlar_control::{EventKind, EventLog, Reader, Wanted, Watcher};
use futures_util::future::join3;
use humantime::format_rfc3339_seconds;
use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use super::backoff::pause;
use super::place::{Kept, Place};
use super::{Carried, Carrier, Failure, MAIL, Wants};

/// Events that are read from the log at a time.
const READ_MAX: usize = 64;
/// How often it is tried to read what is on disk, and how long is waited in between. Where it
/// cannot be read the receiver does without: what comes now may be of that very disk.
const READS_MAX: u32 = 4;
const READ_PAUSE: Duration = Duration::from_secs(5);
/// How long the place of a receiver that is new is waited for: without it, it would be new at the
/// next start, too, and miss what comes until then.
const PLACE_WAIT: Duration = Duration::from_secs(10);
/// Of events that it is not told of, the place behind them is written once in so long.
const PASS_INTERVAL: Duration = Duration::from_secs(10);
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
    /// It has gone past events that it is not told of.
    has_passed: Notify,
    /// The newest event when the daemon was started: a receiver that is new begins behind it.
    start: u64,
    facts: Mutex<Facts>,
}

/// How it is.
#[derive(Default)]
struct Facts {
    delivered_seq: u64,
    /// That is further than what is kept.
    is_ahead: bool,
    delivered_at: Option<String>,
    problem: Option<String>,
    /// Since the last attempt.
    is_failing: bool,
    /// That it does not work was told, and not yet that it works again.
    is_told: bool,
    told: Option<Instant>,
    sent: u64,
    failed_attempts: u64,
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
        let (name, has_passed) = (name.to_owned(), Notify::new());
        Delivery { name, wants, carrier, log, place, has_passed, start, facts }
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
        let state = if facts.is_failing { "failing" } else { "ready" };
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
            sent_events: facts.sent,
            failed_attempts: facts.failed_attempts,
            queued_events: self.queued(facts.delivered_seq),
            dropped_events: facts.dropped,
        }
    }

    /// How many of those in memory it is still to be sent, where it has come to that number.
    fn queued(&self, delivered_seq: u64) -> u64 {
        match delivered_seq {
            // Where it begins is not read yet.
            0 => 0,
            seq => self.log.count_recent(&self.wanted(seq)),
        }
    }

    /// Sends these, once and past all that waits.
    pub(super) async fn send_now(&self, events: &[Event]) -> Result<Carried, Failure> {
        self.carrier.carry(events).await
    }

    /// Waits so long until it is written where it has come to.
    pub async fn settled(&self, longest: Duration) {
        self.keep_passed();
        self.place.settled(longest).await;
    }

    /// Sends what comes, and again what was not taken by all, for as long as it is polled.
    pub async fn run(&self, watcher: &Watcher) {
        join3(self.send_all(watcher), self.settle_all(watcher), self.keep_all_passed()).await;
    }

    async fn keep_all_passed(&self) {
        loop {
            self.has_passed.notified().await;
            sleep(PASS_INTERVAL).await;
            self.keep_passed();
        }
    }

    async fn settle_all(&self, watcher: &Watcher) {
        loop {
            let flaw = self.carrier.settled().await;
            let mut facts = self.facts();
            // Otherwise what fails now counts, and is told.
            if !facts.is_failing {
                facts.problem.clone_from(&flaw);
                drop(facts);
                self.warn_of_flaw(flaw.as_deref(), watcher);
            }
        }
    }

    async fn send_all(&self, watcher: &Watcher) {
        let mut after = self.begin(watcher).await;
        loop {
            let events = self.next(&mut after, watcher).await;
            for part in events.chunks(self.carrier.events_max()) {
                self.deliver(part, watcher).await;
                after = part.last().map_or(after, |last| last.seq);
                self.keep(after);
            }
        }
    }

    /// The number behind which it begins: none that the log has not given out yet, as where the
    /// clock was set back since.
    async fn begin(&self, watcher: &Watcher) -> u64 {
        let kept = self.load(watcher).await;
        let after = kept.map_or(self.start, |kept| kept.delivered_seq.min(self.start));
        self.facts().is_told = kept.is_some_and(|kept| kept.is_told);
        self.keep(after);
        if kept.is_none() {
            self.place.settled(PLACE_WAIT).await;
        }
        after
    }

    /// Where it was; nothing: it is new, or nobody knows.
    async fn load(&self, watcher: &Watcher) -> Option<Kept> {
        let mut failed = 0;
        loop {
            let error = match self.place.load().await {
                Ok(kept) => return kept,
                Err(error) => error,
            };
            failed += 1;
            if failed == READS_MAX {
                let what = "what had happened before this start and was not sent";
                self.does_without(what, &error, watcher);
                return None;
            }
            sleep(READ_PAUSE).await;
        }
    }

    fn keep(&self, after: u64) {
        let mut facts = self.facts();
        (facts.delivered_seq, facts.is_ahead) = (after, false);
        self.place.keep(facts.kept());
    }

    /// Up to there is nothing that it is to be told: if it wants more after a start, then only of
    /// what comes later. That is written by and by, and not for each event.
    fn pass(&self, after: u64) {
        let mut facts = self.facts();
        if facts.delivered_seq < after {
            (facts.delivered_seq, facts.is_ahead) = (after, true);
            self.has_passed.notify_one();
        }
    }

    fn keep_passed(&self) {
        let mut facts = self.facts();
        if std::mem::take(&mut facts.is_ahead) {
            self.place.keep(facts.kept());
        }
    }

    /// What it is to be told next, once there is something; `after` goes past what it is not.
    async fn next(&self, after: &mut u64, watcher: &Watcher) -> Vec<Event> {
        let (mut newest, mut failed) = (self.log.newest(), 0);
        loop {
            let until = *newest.borrow_and_update();
            match self.gathered(*after).await {
                Ok(found) if found.is_empty() => {
                    *after = until.max(*after);
                    self.pass(*after);
                }
                Ok(found) => return found,
                Err(error) => {
                    failed += 1;
                    if failed == READS_MAX {
                        let what = "what has left the daemon's memory and was not sent";
                        self.does_without(what, &error, watcher);
                        (*after, failed) = (self.log.before_memory().max(*after), 0);
                    } else {
                        let name = &self.name;
                        tracing::warn!(%error, "'{name}' is told later: events cannot be read");
                        sleep(READ_PAUSE).await;
                    }
                    continue;
                }
            }
            if newest.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What there is, once what goes with it has had time to come.
    async fn gathered(&self, after: u64) -> io::Result<Vec<Event>> {
        let found = self.log.list(self.wanted(after), Reader::Receiver).await?;
        let gather = Duration::from_secs(self.carrier.gather_seconds());
        if found.is_empty() || gather.is_zero() || found.len() >= self.carrier.events_max() {
            return Ok(found);
        }
        sleep(gather).await;
        self.log.list(self.wanted(after), Reader::Receiver).await
    }

    fn wanted(&self, after: u64) -> Wanted<Event> {
        let (name, wants) = (self.name.clone(), self.wants.clone());
        // That it does not work is of no use to itself, and what it says of that would have no end.
        let filter =
            move |event: &Event| wants.has(event) && event.what.receiver.as_ref() != Some(&name);
        let limit = READ_MAX.max(self.carrier.events_max());
        Wanted {
            after: Some(after),
            before: u64::MAX,
            limit,
            filter: Arc::new(filter),
            or_recent: false,
        }
    }

    /// Sends these until they are taken, or given up.
    async fn deliver(&self, events: &[Event], watcher: &Watcher) {
        let (first, mut failed) = (Instant::now(), 0);
        loop {
            let failure = match self.carrier.carry(events).await {
                Ok(carried) => {
                    return self.has_delivered(events.len() as u64, carried.flaw, watcher);
                }
                Err(failure) => failure,
            };
            failed += 1;
            self.facts().failed_attempts += 1;
            let random = Uuid::new_v4().as_u64_pair().1;
            let Some(pause) = pause(&failure, failed, first.elapsed(), random) else {
                return self.has_dropped(events.len() as u64, &failure.to_string(), watcher);
            };
            self.has_failed(failed, &failure.to_string(), watcher);
            sleep(pause).await;
        }
    }

    fn has_delivered(&self, events: u64, flaw: Option<String>, watcher: &Watcher) {
        let name = &self.name;
        self.warn_of_flaw(flaw.as_deref(), watcher);
        let mut facts = self.facts();
        facts.sent += events;
        facts.delivered_at = Some(format_rfc3339_seconds(SystemTime::now()).to_string());
        (facts.problem, facts.is_failing) = (flaw, false);
        if std::mem::take(&mut facts.is_told) {
            let message = format!("'{name}' takes events again");
            watcher.tell(self.about(Severity::Info, EventKind::ReceiverWorks, message));
        }
    }

    fn warn_of_flaw(&self, flaw: Option<&str>, watcher: &Watcher) {
        let warning = flaw.map(|flaw| format!("'{}' takes events, but {flaw}", self.name));
        watcher.warn(&self.warner(), warning);
    }

    fn has_failed(&self, times: u32, why: &str, watcher: &Watcher) {
        tracing::warn!(times, "'{}' does not take events: {why}", self.name);
        let mut facts = self.facts();
        (facts.problem, facts.is_failing) = (Some(why.to_owned()), true);
        if times < ATTEMPTS_UNTOLD {
            return;
        }
        self.warn_of(why, watcher);
        if !facts.is_told && may_tell(&mut facts) {
            facts.is_told = true;
            // So that it is told that it works again, by whichever daemon sees that.
            self.place.keep(facts.kept());
            let message =
                format!("'{}' does not take events, which are sent to it later", self.name);
            let failed = self.about(Severity::Warning, EventKind::ReceiverFailed, message);
            watcher.tell(failed.because(Some(why)));
        }
    }

    fn has_dropped(&self, events: u64, why: &str, watcher: &Watcher) {
        tracing::warn!(events, "'{}' is not told of some events: {why}", self.name);
        self.warn_of(why, watcher);
        let mut facts = self.facts();
        (facts.problem, facts.is_failing) = (Some(why.to_owned()), true);
        facts.dropped += events;
        if may_tell(&mut facts) {
            let (name, all) = (&self.name, facts.dropped);
            let message = format!("'{name}' was not told of {all} events, and will not be");
            let dropped = self.about(Severity::Warning, EventKind::EventsDropped, message);
            watcher.tell(dropped.because(Some(why)));
        }
    }

    fn warn_of(&self, why: &str, watcher: &Watcher) {
        let name = &self.name;
        let warning =
            format!("'{name}' does not take events: {why}. `ashlar notify list` shows more");
        watcher.warn(&self.warner(), Some(warning));
    }

    /// It is sent what comes, and what cannot be read it is not.
    fn does_without(&self, what: &str, error: &io::Error, watcher: &Watcher) {
        let name = &self.name;
        let why = format!("it cannot be read: {error}");
        tracing::warn!("'{name}' is not told {what}: {why}");
        watcher.warn(&self.warner(), Some(format!("'{name}' is not told {what}: {why}")));
        let mut facts = self.facts();
        facts.problem = Some(format!("{what} is not sent: {why}"));
        // How many they are nobody knows.
        facts.dropped += 1;
        drop(facts);
        let message = format!("'{name}' is not told {what}");
        let dropped = self.about(Severity::Warning, EventKind::EventsDropped, message);
        watcher.tell(dropped.because(Some(&why)));
    }

    fn about(&self, severity: Severity, kind: EventKind, message: String) -> Happening {
        let happening = Happening::new(severity, kind, message);
        Happening { receiver: Some(self.name.clone()), ..happening }
    }

    fn warner(&self) -> String {
        format!("receiver {}", self.name)
    }
}

impl Facts {
    fn kept(&self) -> Kept {
        Kept { delivered_seq: self.delivered_seq, is_told: self.is_told }
    }
}

fn may_tell(facts: &mut Facts) -> bool {
    let may = facts.told.is_none_or(|told| told.elapsed() >= TELL_INTERVAL);
    if may {
        facts.told = Some(Instant::now());
    }
    may
}
