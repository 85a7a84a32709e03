//! Drives that refuse reads or give wrong bytes too often. One time says little, for parity makes
//! it good; many within a short time say that the drive is about to fail.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use ashlar_block::{DeviceError, Nanos};

/// So many faults within this time are too many.
pub const FAULT_WINDOW: Duration = Duration::from_secs(600);

/// Why a drive is not used any more.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// What it said last, or that it is gone.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Somebody has asked for that.
    #[error("given up by request")]
    ByRequest,
    /// It refused reads or gave wrong bytes too often to be kept.
    #[error("it refused reads or gave wrong bytes {times} times within {} minutes", FAULT_WINDOW.as_secs() / 60)]
    TooManyFaults {
        /// How often.
        times: NonZeroU32,
    },
    /// It owed answers, and gave none.
    #[error("it has answered nothing for {seconds} s")]
    Silent {
        /// For how long.
        seconds: u64,
    },
}

/// The last faults of a drive.
#[derive(Default)]
pub(crate) struct Faults {
    /// When they were, as many as the threshold asks for.
    last: RefCell<VecDeque<Nanos>>,
    /// With the last one they were too many.
    were_too_many: Cell<bool>,
}

impl Faults {
    /// One more. True: with it they have become too many.
    pub fn note(&self, now: Nanos, threshold: NonZeroU32) -> bool {
        let mut last = self.last.borrow_mut();
        last.push_back(now);
        while last.len() > threshold.get() as usize {
            last.pop_front();
        }
        drop(last);
        let are_too_many = self.are_too_many(now, threshold);
        !self.were_too_many.replace(are_too_many) && are_too_many
    }

    /// They are as many within the window as the threshold. Those that are older say nothing any
    /// more of a drive that could not be given up then.
    pub fn are_too_many(&self, now: Nanos, threshold: NonZeroU32) -> bool {
        let last = self.last.borrow();
        last.len() == threshold.get() as usize && now.since(last[0]) <= FAULT_WINDOW
    }

    /// They are forgotten.
    pub fn forget(&self) {
        self.last.borrow_mut().clear();
        self.were_too_many.set(false);
    }
}

#[cfg(test)]
mod tests;
