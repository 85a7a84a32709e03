//! Which batches belong to a segment, and which are left of an earlier use of its number.

use ashlar_format::header::Prelude;
use ashlar_format::ids::{Incarnation, Lsn};
use ashlar_format::location::SegmentId;
use ashlar_format::superblock::Secret;

/// What a header must say to be one of the segment's.
pub(crate) struct Expected<'a> {
    pub segment: SegmentId,
    pub generation: Generation,
    pub secret: &'a Secret,
}

impl Expected<'_> {
    /// Whether a header at `row` may begin so. What an earlier use of the segment left is refused
    /// here, before the sectors behind it are looked at: they can be had in thousands of ways, and
    /// none would make it right.
    pub(super) fn begins_with(&self, prelude: &Prelude, row: u32) -> bool {
        (prelude.segment, prelude.row) == (self.segment, row)
            && self.generation.is_of(prelude.incarnation, prelude.first_lsn)
    }
}

/// Which use of a segment is meant: a batch of an earlier one may still lie where a drive has lost
/// a write.
#[derive(Clone, Copy)]
pub(crate) enum Generation {
    /// That which this start of the pool began, with this batch or a later one. A start may come
    /// round to a number again, and what it wrote there before is its own, too.
    Begun { by: Incarnation, since: Lsn },
    /// That whose first batch this was.
    Since(Lsn),
}

impl Generation {
    /// Whether a header of this incarnation and first LSN belongs to it.
    pub fn is_of(self, incarnation: Incarnation, first_lsn: Lsn) -> bool {
        match self {
            Generation::Begun { by, since } => incarnation == by && first_lsn >= since,
            Generation::Since(first) => first_lsn == first,
        }
    }
}

#[cfg(test)]
mod tests;
