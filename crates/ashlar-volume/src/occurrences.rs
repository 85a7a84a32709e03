//! What happens in pools and is over before anybody looks: each is put down when it happens, for
//! events.
//!
//! The pools put it into a queue that has a bound, and one reader outside takes it. Who puts never
//! waits: what the queue has no room for is counted, and the reader is told how many.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ashlar_block::{Notify, PoolUuid};
use ashlar_store::Loss;

use crate::door::HostNqn;
use crate::name::VolumeName;

/// Occurrences that wait for their reader.
const QUEUED_MAX: usize = 1024;

/// Something that has happened in a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// When.
    pub at: SystemTime,
    /// Grows from one to the next: a report of the pool knows of those that are not above it.
    pub number: u64,
    /// The pool.
    pub pool: PoolUuid,
    /// What it was.
    pub what: Occurred,
}

/// What has happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Occurred {
    /// The pool has lost something.
    Lost(Loss),
    /// All that a volume held is erased, or was to be.
    Erased(VolumeErase),
}

/// The end of the erase of a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeErase {
    /// The pool's name.
    pub pool: String,
    /// The volume.
    pub volume: VolumeName,
    /// By what.
    pub by: ErasedBy,
    /// Why it has failed. None: it has not.
    pub failed: Option<String>,
}

/// What has a volume erased.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErasedBy {
    /// A Format of this host.
    Format(HostNqn),
    /// A Sanitize of this host.
    Sanitize(HostNqn),
    /// Nobody: an erase goes on that a start of the daemon has found unfinished.
    Start,
}

/// What the queue has given.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TakenOccurrences {
    /// In their order.
    pub all: Vec<Occurrence>,
    /// Those that it had no room for, since it was asked last.
    pub lost: u64,
}

/// The queue from the pools to the reader.
#[derive(Default)]
pub struct Occurrences {
    inner: Mutex<Inner>,
    has_come: Notify,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Occurrence>,
    /// The last number that was given out.
    number: u64,
    lost: u64,
}

impl Occurrences {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts one down, without a wait.
    pub(crate) fn put(&self, pool: PoolUuid, what: Occurred) {
        let mut inner = self.inner();
        inner.number += 1;
        if inner.queue.len() < QUEUED_MAX {
            let (at, number) = (SystemTime::now(), inner.number);
            inner.queue.push_back(Occurrence { at, number, pool, what });
        } else {
            inner.lost += 1;
        }
        drop(inner);
        self.ring();
    }

    /// Has the reader look at once: something is as it was not before.
    pub(crate) fn ring(&self) {
        // Kept for a reader that does not wait at the moment.
        self.has_come.notify_one();
    }

    /// The number of the last one.
    pub(crate) fn number(&self) -> u64 {
        self.inner().number
    }

    /// Takes those that are there. One reader does.
    pub fn take(&self) -> TakenOccurrences {
        let mut inner = self.inner();
        TakenOccurrences {
            all: std::mem::take(&mut inner.queue).into(),
            lost: std::mem::take(&mut inner.lost),
        }
    }

    /// Waits until there may be something to take, or to look at.
    pub async fn have_come(&self) {
        self.has_come.notified().await;
    }
}

#[cfg(test)]
mod tests;
