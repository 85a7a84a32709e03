//! Which numbers segments get.
//!
//! Runs of the map may name a segment long after it was freed: what they say of it is hidden by
//! newer runs, until a merge discards it. A number that came back before would be discarded from
//! the wrong segment. So the numbers form a circle of four quarters, and a quarter is given out
//! anew only after a *sweep* that began when the quarter before it was entered: it merges every
//! group. What is freed while that goes on, and would come back within the two quarters, rests
//! until its turn is past.

use std::collections::BTreeSet;

use ashlar_format::location::SegmentId;
use ashlar_format::root::Root;

/// Numbers in the circle for each segment that a pool can have.
pub const NUMBERS_PER_SEGMENT: u64 = 4;

const QUARTERS: u64 = 4;

/// The numbers that segments have been given, and those that they may be.
#[derive(Debug)]
pub struct Numbers {
    /// How many there are: a multiple of four.
    circle: u32,
    /// Turns so far: segments opened or passed over since the pool was made.
    ordinal: u64,
    /// The last quarter, counted since the pool was made, that may be given out.
    swept: u64,
    /// Free, but not to be given out this time round.
    resting: BTreeSet<SegmentId>,
    /// No sweep can end: a part of the maps cannot be read.
    given_up: bool,
}

impl Numbers {
    /// The last quarter that needs no sweep: the first time round nothing has been freed.
    pub const SWEPT_AT_FIRST: u64 = QUARTERS - 1;

    /// As a root has them. Which ones rest, the table says.
    pub fn loaded(circle: u32, root: &Root) -> Self {
        Numbers { ordinal: root.segment_ordinal, swept: root.segment_swept, ..Self::fresh(circle) }
    }

    /// These rest.
    pub fn load_resting(&mut self, resting: impl IntoIterator<Item = SegmentId>) {
        self.resting.extend(resting);
    }

    /// The numbers of a new pool.
    pub fn fresh(circle: u32) -> Self {
        assert!(
            circle > 0 && u64::from(circle).is_multiple_of(QUARTERS),
            "a circle of {circle} numbers"
        );
        Numbers {
            circle,
            ordinal: 0,
            swept: Self::SWEPT_AT_FIRST,
            resting: BTreeSet::new(),
            given_up: false,
        }
    }

    /// Turns so far.
    pub fn ordinal(&self) -> u64 {
        self.ordinal
    }

    /// The last quarter that may be given out.
    pub fn swept(&self) -> u64 {
        self.swept
    }

    /// Whether the number rests.
    pub fn rests(&self, id: SegmentId) -> bool {
        self.resting.contains(&id)
    }

    /// The next number that is not `taken`. `None` until the sweep is done. `rested` hears of those
    /// that rested and do not any more.
    pub fn next(
        &mut self,
        taken: impl Fn(SegmentId) -> bool,
        mut rested: impl FnMut(SegmentId),
    ) -> Option<SegmentId> {
        while !self.are_used_up() {
            let id = SegmentId((self.ordinal % u64::from(self.circle)) as u32 + 1);
            self.ordinal += 1;
            if self.resting.remove(&id) {
                rested(id);
            } else if !taken(id) {
                return Some(id);
            }
        }
        None
    }

    /// A segment is gone.
    pub fn freed(&mut self, id: SegmentId) {
        let circle = u64::from(self.circle);
        let ahead = (u64::from(id.0 - 1) + circle - self.ordinal % circle) % circle;
        if (self.ordinal + ahead) / self.quarter_len() <= self.quarter() + 1 {
            self.resting.insert(id);
        }
    }

    /// The quarter for which a sweep may begin now, if there is one to be made.
    pub fn sweep_due(&self) -> Option<u64> {
        let next = self.quarter() + 1;
        (next > self.swept).then_some(next)
    }

    /// A sweep cannot end, because a part of the maps cannot be read.
    pub fn give_up_sweep(&mut self) {
        self.given_up = true;
    }

    /// What could not be read may be readable again.
    pub fn try_sweep_again(&mut self) {
        self.given_up = false;
    }

    /// No sweep is to be begun now.
    pub fn sweep_given_up(&self) -> bool {
        self.given_up
    }

    /// There are no numbers left, and no sweep will set any free. Some are kept for when one can be
    /// made again: it takes segments itself, and so does a start.
    pub fn are_gone(&self) -> bool {
        self.given_up && self.are_used_up()
    }

    fn are_used_up(&self) -> bool {
        let kept = if self.given_up { self.quarter_len() / 2 } else { 0 };
        self.ordinal + kept >= (self.swept + 1) * self.quarter_len()
    }

    /// A sweep has ended that began when `quarter` was due.
    pub fn sweep_done(&mut self, quarter: u64) {
        self.swept = self.swept.max(quarter);
    }

    /// How much of half of the quarter has been given out, in `of` parts: a sweep that keeps up
    /// with that is done long before its numbers are wanted.
    pub fn used_of_half(&self, of: u64) -> u64 {
        if self.quarter() > self.swept {
            return of;
        }
        (self.ordinal % self.quarter_len() * 2 * of / self.quarter_len()).min(of)
    }

    fn quarter(&self) -> u64 {
        self.ordinal / self.quarter_len()
    }

    fn quarter_len(&self) -> u64 {
        u64::from(self.circle) / QUARTERS
    }
}

#[cfg(test)]
mod tests;
