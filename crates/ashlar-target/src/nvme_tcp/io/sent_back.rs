//! Commands that have waited for the limits of their volumes and were sent back to their host, to
//! come again: since when each has waited, and how often it was sent back.
//!
//! A command that comes again keeps its place: else those that were sent meanwhile would stand
//! before it each time, and its host gives a command up that was sent back a few times. What it is
//! known by is what it does. Two of one queue that do the same may take each other's place, of
//! which nobody is the worse.

use std::collections::BTreeMap;
use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_nvme::sqe::Sqe;

/// For how long a command that was sent back is awaited. Hosts send it at once, or not at all.
const AWAITED: Duration = Duration::from_secs(60);

/// What tells commands of one queue from each other, also when they come again under another
/// identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Doing {
    opcode: u8,
    nsid: u32,
    /// Blocks, or ranges.
    what: [u32; 3],
}

impl Doing {
    pub(super) fn of(sqe: &Sqe) -> Self {
        let what = std::array::from_fn(|index| sqe.cdw10[index].get());
        Doing { opcode: sqe.opcode, nsid: sqe.nsid.get(), what }
    }
}

/// Where a command stands among those that wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// When its host first sent it.
    pub(super) since: Nanos,
    /// How often it was sent back.
    pub(super) times: u8,
}

/// The commands of a queue that were sent back, each until it comes again.
#[derive(Default, Debug)]
pub(super) struct SentBack {
    /// When each went, and how often that has happened. The oldest of those that do the same comes
    /// first.
    places: BTreeMap<(Doing, Nanos, u64), (u8, Nanos)>,
    next_number: u64,
}

impl SentBack {
    /// The place of a command that comes, if it comes again.
    pub(super) fn take(&mut self, doing: Doing, now: Nanos) -> Option<Place> {
        let all = (doing, Nanos(0), 0)..=(doing, Nanos(u64::MAX), u64::MAX);
        while let Some(key) = self.places.range(all.clone()).next().map(|(key, _)| *key) {
            let (times, went) = self.places.remove(&key)?;
            if now.since(went) <= AWAITED {
                return Some(Place { since: key.1, times });
            }
        }
        None
    }

    /// A command is sent back that stood there. At most `count_max` are awaited: as many as the
    /// host may have outstanding.
    pub(super) fn put(&mut self, doing: Doing, place: Place, now: Nanos, count_max: usize) {
        if self.places.len() >= count_max {
            self.places.retain(|_, (_, went)| now.since(*went) <= AWAITED);
        }
        if self.places.len() < count_max {
            self.next_number += 1;
            let key = (doing, place.since, self.next_number);
            self.places.insert(key, (place.times + 1, now));
        }
    }
}

#[cfg(test)]
mod tests;
