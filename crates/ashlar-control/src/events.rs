//! Events: what has happened to pools, drives, hosts and the daemon.

use crate::log::{Entry, Log};
use crate::types::{Event, Happening};

pub(crate) mod filter;
pub(crate) mod kinds;

pub use kinds::{
    EventKind, EventMeaning, EventSubject, hint_of_drive_state, hint_of_pool_state,
    severity_of_drive_state, severity_of_pool_state,
};

/// The log of events.
pub type EventLog = Log<Event>;

impl Entry for Event {
    type What = Happening;

    fn new(seq: u64, time: String, what: Happening) -> Self {
        Event { seq, time, what: what.settled() }
    }

    fn seq(&self) -> u64 {
        self.seq
    }
}
