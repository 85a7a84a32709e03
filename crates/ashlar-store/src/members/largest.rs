//! How large a pool can be: pure functions of its shape.
//!
//! Two things end it. Each segment has four numbers, so that one is long out of use before it is
//! used again. And the first table, which has an area of fixed size, lists all segments that hold
//! the segment table: the smaller segments are, the more of these there are for each segment.

use ashlar_block::World;
use ashlar_format::table::TABLE_AREA_BYTES;

use crate::pool::Pool;
use crate::space::segments::{NUMBERS_PER_SEGMENT, Stripe};
use crate::space::stripes::Stripes;

/// What the segment table takes for each segment: leaves of numbers of which a quarter is in use,
/// its count, and as much again that has been replaced and not been collected yet.
const TABLE_BYTES_PER_SEGMENT: u64 = 320;
/// What the first table takes for a segment, beside six bytes for each of its columns.
const ENTRY_BYTES: u64 = 60;
const COLUMN_BYTES: u64 = 6;
/// Of the first table's area the other half is for changed leaves, open segments and the window.
const AREA_PART: u64 = 2;

/// What a pool's largest size follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Largest {
    pub stripe: Stripe,
    pub chunk_bytes: u64,
    pub segment_numbers: u32,
}

impl Largest {
    /// Segments that it can have.
    pub fn segments(self) -> u64 {
        let by_numbers = u64::from(self.segment_numbers) / NUMBERS_PER_SEGMENT;
        let listed = TABLE_AREA_BYTES / AREA_PART / (ENTRY_BYTES + COLUMN_BYTES * self.columns());
        let data_bytes = self.stripe.data as u64 * self.chunk_bytes;
        by_numbers.min(listed * data_bytes / TABLE_BYTES_PER_SEGMENT)
    }

    /// Bytes of those segments, redundancy included.
    pub fn bytes(self) -> u64 {
        self.segments().saturating_mul(self.columns() * self.chunk_bytes)
    }

    /// Segments that drives with so many chunks make.
    pub fn segments_of(self, chunks: Vec<u64>) -> u64 {
        Stripes::new(chunks, self.columns() as usize, self.stripe.parity).segments()
    }

    /// Whether a pool of drives with so many chunks is no larger.
    pub fn holds(self, chunks: Vec<u64>) -> bool {
        self.segments_of(chunks) <= self.segments()
    }

    fn columns(self) -> u64 {
        (self.stripe.data + self.stripe.parity) as u64
    }
}

impl<W: World> Pool<W> {
    /// How large the pool can be with so many drives.
    pub fn largest(&self, drives: usize) -> Largest {
        Largest {
            stripe: Stripe::of(self.identity.level, drives),
            chunk_bytes: self.identity.chunk_bytes(),
            segment_numbers: self.identity.segment_numbers,
        }
    }
}

#[cfg(test)]
mod tests;
