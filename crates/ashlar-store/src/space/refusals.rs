//! Which writes of hosts were refused for lack of room, and whether they still would be.
//!
//! A pool is full from the first refusal until what was refused fits again, and nearly full before
//! that: counts of what lives may be too high for a while, so that figures alone do not tell.

use std::cell::Cell;

/// A pool that is nearly full is so until a quarter more is left.
const NO_MORE_PART: u64 = 4;

/// The refusals since writes fitted last.
#[derive(Default)]
pub(crate) struct Refusals {
    /// Bytes of the largest write that was refused, if any was.
    bytes: Cell<Option<u64>>,
    /// Writes were refused because there was no segment for them.
    for_segment: Cell<bool>,
    is_nearly_full: Cell<bool>,
}

impl Refusals {
    /// A write of so many bytes had no room below the limit.
    pub fn refused(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().max(Some(bytes)));
    }

    /// Writes had no segment.
    pub fn refused_for_segment(&self) {
        self.for_segment.set(true);
    }

    /// Hosts have got a segment.
    pub fn segment_opened(&self) {
        self.for_segment.set(false);
    }

    /// A write of so many bytes has had room below the limit.
    pub fn admitted(&self, bytes: u64) {
        self.bytes.set(self.bytes.get().filter(|refused| bytes < *refused));
    }

    /// Whether what was refused would be refused now: there are `room` bytes below the limit, and
    /// hosts may open a segment or not.
    pub fn hold(&self, room: u64, may_allocate: bool) -> bool {
        self.bytes.set(self.bytes.get().filter(|bytes| room < *bytes));
        self.for_segment.set(self.for_segment.get() && !may_allocate);
        self.bytes.get().is_some() || self.for_segment.get()
    }

    /// Whether writes were refused because there was no segment, and would be still.
    pub fn hold_for_segment(&self) -> bool {
        self.for_segment.get()
    }

    /// Whether less than `little` room is left. Not by turns with the contrary where it stays about
    /// the same.
    pub fn is_nearly_full(&self, room: u64, little: u64) -> bool {
        let more = if self.is_nearly_full.get() { little / NO_MORE_PART } else { 0 };
        self.is_nearly_full.set(room < little + more);
        self.is_nearly_full.get()
    }
}

#[cfg(test)]
mod tests;
