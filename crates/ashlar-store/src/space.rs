//! Room on the drives: segments, their chunks and live counts, windows, how much may live, and how
//! fast hosts may write while space is short.
//!
//! Owns the state of every segment. It must not know what the blocks in them mean.
//!
//! 1. A chunk belongs to one segment at most.
//! 2. What lives is never counted too low. After a crash it may be too high, until a sweep.
//! 3. A segment that something names, that has a batch at or above the replay floor, or that
//!    somebody reads is not freed.
//! 4. The last segments of the window are a checkpoint's, and the very last one is a start's.

pub(crate) mod after_loss;
pub(crate) mod capacity;
pub(crate) mod ledger;
pub(crate) mod over_limit;
pub(crate) mod pace;
pub(crate) mod promises;
pub(crate) mod refusals;
pub(crate) mod room;
pub(crate) mod segments;
pub(crate) mod stripes;
pub(crate) mod throttle;
pub(crate) mod window;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use ledger::Ledger;
use over_limit::OverLimit;
use pace::Pace;
use refusals::Refusals;
use segments::Segments;
use throttle::Throttle;

/// What a pool knows of its room.
pub(crate) struct Allocator {
    pub segments: Rc<RefCell<Segments>>,
    /// Live counts, as the maps change them.
    pub ledger: Ledger,
    pub pace: Pace,
    pub throttle: Throttle,
    pub refusals: Refusals,
    /// Room was short for the loss of one more drive when it was looked last.
    pub short_for_loss: Cell<bool>,
    pub over_limit: OverLimit,
    /// Bytes that may live. See `capacity.rs`.
    pub limit_bytes: Cell<u64>,
    /// Data columns of the narrowest segments that drives have room for. Refreshed with that.
    pub narrowest_data: Cell<usize>,
}

impl Allocator {
    pub fn new(segments: Segments) -> Self {
        let segments = Rc::new(RefCell::new(segments));
        Allocator {
            ledger: Ledger::new(segments.clone()),
            segments,
            pace: Pace::default(),
            throttle: Throttle::default(),
            refusals: Refusals::default(),
            short_for_loss: Cell::new(false),
            over_limit: OverLimit::default(),
            limit_bytes: Cell::new(0),
            narrowest_data: Cell::new(usize::MAX),
        }
    }
}
