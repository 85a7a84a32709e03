//! Lines of the log that anybody who reaches a port can cause: one is written, and then, for a while, only counted.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::Nanos;

/// Pause between two lines of a kind.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// How often something of one kind has happened since the log was told.
#[derive(Default)]
pub(super) struct Tally {
    told: Cell<Option<Nanos>>,
    since_then: Cell<u64>,
}

impl Tally {
    /// It has happened again. If it is time to say so: how often since the last line.
    pub(super) fn count(&self, now: Nanos) -> Option<u64> {
        self.since_then.set(self.since_then.get() + 1);
        if self.told.get().is_some_and(|told| now.since(told) < TOLD_EVERY) {
            return None;
        }
        self.told.set(Some(now));
        Some(self.since_then.take())
    }
}

/// What one reactor tells the log of in that way, by kind.
#[derive(Default)]
pub(super) struct Told {
    /// A connection finds no room.
    pub(super) shortage: Tally,
    /// A Connect is refused.
    pub(super) refusal: Tally,
    /// A host sends a terminate request.
    pub(super) termination: Tally,
    /// A host breaks the protocol.
    pub(super) fault: Tally,
}

#[cfg(test)]
mod tests;
