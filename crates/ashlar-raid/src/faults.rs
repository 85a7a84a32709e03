//! Drives that refuse reads or give wrong bytes too often. One time says little, for parity makes it good; many within a short
//! time say that the drive is about to fail.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use ashlar_block::Nanos;

/// So many faults within this time are too many.
pub const FAULT_WINDOW: Duration = Duration::from_secs(600);

/// The last faults of a drive.
#[derive(Default)]
pub(crate) struct Faults {
    /// When they were, as many as the threshold asks for.
    last: RefCell<VecDeque<Nanos>>,
}

impl Faults {
    /// One more. True: it is the `threshold`th within the window, or later.
    pub fn note(&self, now: Nanos, threshold: u32) -> bool {
        let mut last = self.last.borrow_mut();
        last.push_back(now);
        while last.len() > threshold as usize {
            last.pop_front();
        }
        last.len() == threshold as usize && now.since(last[0]) <= FAULT_WINDOW
    }

    /// They are forgotten.
    pub fn forget(&self) {
        self.last.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests;
