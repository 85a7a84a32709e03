//! What the segment table says of the segments.
//!
//! A segment is *listed* once a leaf has been written with it, and *apart* before that: then the
//! first table has it, whole. What a leaf says is as of when it is written, but what lives, and
//! that a segment is condemned, is as of the note of its checkpoint.

use ashlar_block::SECTOR_BYTES;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{
    COUNT_LEAF_NUMBERS, Counted, LEAF_NUMBERS, Listed, Occupancy, SegmentState, TableEntry,
    is_paged,
};

use super::slab::PAGE_NUMBERS;
use super::{Segment, Segments};

/// Segments that one checkpoint frees, at most, each of which may change a leaf of its own; fewer
/// where segments are small. All that is found, noted and given back of them is one turn each.
const FREED_AT_A_TIME: usize = 1024;
/// Columns that may have moved until a checkpoint says so, at most.
const MOVED_AT_A_TIME: usize = 4096;
/// Leaves that a checkpoint may have to write beside those of what it frees and of what has moved:
/// of what was sealed.
const LEAVES_SEALED: usize = 128;
/// Bytes that a full leaf takes, header and rows that are not full included.
const LEAF_BYTES: usize = 2048;
/// The same of a count, and of a leaf of counts for itself.
const COUNT_BYTES: usize = 10;
const COUNT_LEAF_BYTES: usize = 128;

impl Segments {
    /// Segments that one checkpoint frees, at most.
    pub fn freed_at_a_time(&self) -> usize {
        self.leaves_at_a_time().min(FREED_AT_A_TIME)
    }

    /// Columns that may have moved until a checkpoint says so, at most: each may change a leaf of
    /// its own.
    pub fn moved_at_a_time(&self) -> usize {
        self.leaves_at_a_time().min(MOVED_AT_A_TIME)
    }

    /// Leaves that one cause may have one checkpoint write, at most.
    fn leaves_at_a_time(&self) -> usize {
        (self.striped_bytes() / 1024).max(32)
    }

    /// The same of columns that a drive which comes back has. No bound where that is room for all
    /// leaves.
    pub fn adopted_at_a_time(&self) -> usize {
        let leaves = self.moved_at_a_time();
        if leaves < self.leaves() { leaves } else { usize::MAX }
    }

    /// Leaves of the table, at most.
    fn leaves(&self) -> usize {
        self.entries.pages_taken() * (PAGE_NUMBERS / LEAF_NUMBERS as usize)
    }

    /// Segments that the pages which one checkpoint writes of the table fill, at most: none in a
    /// small pool, where they all go into the one that is open.
    pub fn filled_by_table(&self) -> usize {
        let leaves =
            self.leaves().min(self.freed_at_a_time() + self.moved_at_a_time() + LEAVES_SEALED);
        let counts =
            self.entries.len() * COUNT_BYTES + self.entries.pages_taken() * COUNT_LEAF_BYTES;
        (leaves * LEAF_BYTES + counts) / self.striped_bytes()
    }

    /// Bytes of a striped segment's data columns.
    fn striped_bytes(&self) -> usize {
        self.summary.segment_rows() as usize * self.stripe.data * SECTOR_BYTES
    }

    /// A checkpoint is noted now: the table of its root says what lives as of now.
    pub fn note(&mut self) {
        self.changes.note();
    }

    /// The root of the checkpoint on its way is durable.
    pub fn end_note(&mut self) {
        self.changes.end_note();
    }

    /// Whether a checkpoint is on its way: what it says of segments is as they were when it said
    /// it.
    pub fn is_noted(&self) -> bool {
        self.changes.is_noted()
    }

    /// Leaves of the table that have changed since they were written.
    pub fn changed_leaves(&self) -> Vec<u32> {
        self.changes.leaves()
    }

    /// Leaves of counts that have changed since they were written.
    pub fn changed_count_leaves(&self) -> Vec<u32> {
        self.changes.count_leaves()
    }

    /// The leaf is to be written anew, for where it lies.
    pub fn touch_leaf(&mut self, leaf: u32) {
        self.changes.touch_leaf(leaf);
    }

    /// The same of a leaf of counts.
    pub fn touch_count_leaf(&mut self, leaf: u32) {
        self.changes.touch_count_leaf(leaf);
    }

    /// A page has this leaf as [`Self::list`] made it, with nothing in between. What it says as of
    /// the note is to be written again.
    pub fn leaf_written(&mut self, leaf: u32) {
        let is_condemned_since = |id: SegmentId| {
            let is_condemned = |segment: &Segment| segment.state == SegmentState::Condemned;
            self.entries.get(id).is_some_and(is_condemned) && self.changes.noted(id).is_some()
        };
        let mut numbers = leaf * LEAF_NUMBERS..(leaf + 1) * LEAF_NUMBERS;
        if !numbers.any(|number| is_condemned_since(SegmentId(number))) {
            self.changes.leaf_written(leaf);
        }
    }

    /// A page has this leaf of counts as of the note.
    pub fn count_leaf_written(&mut self, leaf: u32) {
        self.changes.count_leaf_written(leaf);
    }

    /// What the leaf says. Its segments are listed from now on.
    pub fn list(&mut self, leaf: u32) -> Vec<Listed> {
        let numbers = leaf * LEAF_NUMBERS..(leaf + 1) * LEAF_NUMBERS;
        numbers.filter_map(|number| self.list_number(SegmentId(number))).collect()
    }

    fn list_number(&mut self, id: SegmentId) -> Option<Listed> {
        let Some(segment) = self.entries.get_mut(id) else {
            return self.numbers.rests(id).then_some(Listed::Resting(id));
        };
        if !is_paged(segment.state, segment.kind) {
            return None;
        }
        segment.is_listed = true;
        self.apart.remove(&id);
        let entry = self.noted_entry(id, &self.entries[id]);
        Some(Listed::Segment(TableEntry { live: Occupancy::default(), ..entry }))
    }

    /// What lives in the segments of a leaf of counts that are listed.
    pub fn counted(&self, leaf: u32) -> Vec<Counted> {
        let end = SegmentId((leaf + 1) * COUNT_LEAF_NUMBERS);
        let numbers = self.entries.iter_from(SegmentId(leaf * COUNT_LEAF_NUMBERS));
        numbers
            .take_while(|(id, _)| *id < end)
            .filter(|(_, segment)| segment.is_listed)
            .map(|(id, segment)| (id, self.changes.noted(id).unwrap_or(segment.live)))
            .filter(|(_, live)| *live != Occupancy::default())
            .collect()
    }

    /// The segments that no leaf lists.
    pub fn apart(&self) -> Vec<TableEntry> {
        self.apart.iter().map(|id| self.noted_entry(*id, &self.entries[*id])).collect()
    }

    fn noted_entry(&self, id: SegmentId, segment: &Segment) -> TableEntry {
        let now = segment.table_entry(id);
        match self.changes.noted(id) {
            None => now,
            Some(live) => {
                let was_condemned = now.state == SegmentState::Condemned;
                let state = if was_condemned { SegmentState::Sealed } else { now.state };
                TableEntry { live, state, ..now }
            }
        }
    }
}

#[cfg(test)]
mod tests;
