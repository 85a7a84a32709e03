//! What has happened lately: the newest events, and who follows them.
//!
//! A follower is a place in the log and nothing else. One that is slow makes nothing wait and
//! nothing grow: it misses what leaves the log before it has come there, and the gap in the numbers
//! says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use humantime::format_rfc3339_millis;
use tokio::sync::watch;

use crate::types::{Event, Happening};

/// Events that are kept.
pub const EVENTS_MAX: usize = 1024;
/// Clients that may follow at a time.
pub const FOLLOWERS_MAX: usize = 64;

/// The newest events of a daemon.
pub struct EventLog {
    kept: Mutex<Kept>,
    /// Changes with each addition; whether there will be no more.
    ended: watch::Sender<bool>,
}

/// Their numbers follow one another without a gap.
struct Kept {
    events: VecDeque<Event>,
    next_seq: u64,
}

impl EventLog {
    /// An empty one. Its numbers begin with the time in milliseconds: above all that an earlier
    /// daemon gave out, as long as that had fewer than a thousand events a second.
    pub fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::beginning_at(since_1970.map_or(0, |time| time.as_millis() as u64))
    }

    fn beginning_at(next_seq: u64) -> Self {
        let kept = Mutex::new(Kept { events: VecDeque::new(), next_seq });
        EventLog { kept, ended: watch::Sender::new(false) }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder of the lock panics")
    }

    /// Adds what has happened now. The oldest events go.
    pub(crate) fn add(&self, happenings: Vec<Happening>) {
        if happenings.is_empty() {
            return;
        }
        let time = format_rfc3339_millis(SystemTime::now()).to_string();
        let mut kept = self.kept();
        for what in happenings {
            if kept.events.len() == EVENTS_MAX {
                kept.events.pop_front();
            }
            let seq = kept.next_seq;
            kept.events.push_back(Event { seq, time: time.clone(), what });
            kept.next_seq += 1;
        }
        drop(kept);
        self.ended.send_modify(|_| ());
    }

    /// The events that are kept and come after `seq`, the oldest first.
    pub fn after(&self, seq: u64) -> Vec<Event> {
        let kept = self.kept();
        kept.events.iter().skip(kept.place_after(seq)).cloned().collect()
    }

    fn first_after(&self, seq: u64) -> Option<Event> {
        let kept = self.kept();
        kept.events.get(kept.place_after(seq)).cloned()
    }

    /// Follows what comes after `seq`. Nothing, if too many do.
    pub(crate) fn follow(self: &Arc<Self>, seq: u64) -> Option<Follower> {
        let follower = Follower { log: self.clone(), ended: self.ended.subscribe(), seq };
        (self.followers() <= FOLLOWERS_MAX).then_some(follower)
    }

    /// Clients that follow.
    pub fn followers(&self) -> usize {
        self.ended.receiver_count()
    }

    /// There will be no more: followers end once they have come to the last one.
    pub fn end(&self) {
        self.ended.send_replace(true);
    }
}

impl Default for EventLog {
    fn default() -> Self {
        Self::new()
    }
}

impl Kept {
    /// The place of the oldest event after `seq`.
    fn place_after(&self, seq: u64) -> usize {
        let first = self.next_seq - self.events.len() as u64;
        usize::try_from((seq.saturating_add(1)).saturating_sub(first)).unwrap_or(usize::MAX)
    }
}

/// A client's place in the log.
pub(crate) struct Follower {
    log: Arc<EventLog>,
    ended: watch::Receiver<bool>,
    seq: u64,
}

impl Follower {
    /// The next event, when it is there; nothing once the log has ended.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            // Marked as seen before the log is looked at: what comes in between wakes.
            let ended = *self.ended.borrow_and_update();
            if let Some(event) = self.log.first_after(self.seq) {
                self.seq = event.seq;
                return Some(event);
            }
            if ended || self.ended.changed().await.is_err() {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
