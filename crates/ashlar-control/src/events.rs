//! Events: what has happened to pools, drives, hosts and the daemon.

use crate::log::{Entry, Log};
use crate::types::{Event, Happening};

pub(crate) mod filter;
pub(crate) mod kinds;

pub use kinds::{EventKind, EventMeaning};

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
