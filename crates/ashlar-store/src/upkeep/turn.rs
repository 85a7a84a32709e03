//! Whose turn it is when both the rebuild and another job have work.

use std::cell::Cell;
use std::time::Duration;

/// What others have taken is counted up to here: what the rebuild then has at once is not to be
/// long.
const BEHIND_MAX: Duration = Duration::from_millis(100);

/// After each step of others the rebuild has one at least, and as many as it takes to have had as
/// much time: a part of a segment takes a millisecond, a merge thirty.
#[derive(Default)]
pub(super) struct RebuildTurn {
    is_its: Cell<bool>,
    /// Time that others have had more than the rebuild.
    behind: Cell<Duration>,
}

impl RebuildTurn {
    /// Whether it is the rebuild's.
    pub fn is_its(&self) -> bool {
        self.is_its.get()
    }

    /// The rebuild has had so much time.
    pub fn rebuilt_for(&self, took: Duration) {
        self.behind.set(self.behind.get().saturating_sub(took));
        self.is_its.set(!self.behind.get().is_zero());
    }

    /// Something else has.
    pub fn others_took(&self, took: Duration) {
        self.behind.set((self.behind.get() + took).min(BEHIND_MAX));
        self.is_its.set(true);
    }

    /// Others have nothing to do.
    pub fn others_rest(&self) {
        self.behind.set(Duration::ZERO);
    }
}

#[cfg(test)]
mod tests;
