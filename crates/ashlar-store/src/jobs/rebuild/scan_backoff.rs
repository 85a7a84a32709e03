//! When the rebuild next scans for segments to restore. While the remaining ones cannot be restored
//! yet, or cannot be read, a scan in each turn of upkeep would walk over all of them for nothing.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::{DriveId, Nanos};

use crate::jobs::share::TimeShare;

/// How long after a look that has found nothing to do the next one is, in a pool of so many
/// segments; the more there are, the longer: a look takes 20 ns for each.
pub(super) const READY_POLL: Duration = Duration::from_millis(200);
const SEGMENTS_A_POLL: usize = 1 << 14;

#[derive(Default)]
pub(super) struct ScanBackoff {
    /// When the next one is, if the last one was in vain.
    next: TimeShare,
    /// The drives that were to be restored then, and those where to.
    of: RefCell<(Vec<DriveId>, Vec<DriveId>)>,
    /// Somebody has to come back for it: something was not ready, or may have become so since.
    is_awaited: Cell<bool>,
}

impl ScanBackoff {
    /// The next look may be now: there is something to do, or what was to be waited for has
    /// changed.
    pub fn at_once(&self, now: Nanos) {
        self.next.at_once(now);
        self.is_awaited.set(false);
    }

    /// Whether to look now.
    pub fn is_due(&self, unreleased: &[DriveId], drives: &[DriveId], now: Nanos) -> bool {
        let of = self.of.borrow();
        let is_due = self.next.has_come(now) || of.0 != unreleased || of.1 != drives;
        if !is_due {
            self.is_awaited.set(true);
        }
        is_due
    }

    /// A look at so many `segments` has found nothing to do. `waits`: it has found something that
    /// is not ready.
    pub fn in_vain(
        &self,
        unreleased: &[DriveId],
        drives: &[DriveId],
        now: Nanos,
        waits: bool,
        segments: usize,
    ) {
        self.of.replace((unreleased.to_vec(), drives.to_vec()));
        self.is_awaited.set(waits);
        self.next.pause(now, READY_POLL * (1 + segments / SEGMENTS_A_POLL) as u32);
    }

    /// The last look has found nothing to do, and the next one has not been since.
    pub fn last_was_in_vain(&self, now: Nanos) -> bool {
        self.is_awaited.get() || !self.next.has_come(now)
    }

    /// When somebody has to come back for the next one.
    pub fn wait(&self, now: Nanos) -> Option<Duration> {
        self.is_awaited.get().then(|| self.next.wait(now))
    }
}

#[cfg(test)]
mod tests;
