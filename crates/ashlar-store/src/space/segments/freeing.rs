//! When a segment is freed.
//!
//! 1. Nothing in the maps names it, all its batches are below the replay floor, and nobody reads
//!    it: it is *reclaimable*.
//! 2. A checkpoint notes it, and from then on nobody may pin it.
//! 3. The checkpoint removes it, and the table that it writes does not list it.
//! 4. With the window of the checkpoint's root its chunks may be reserved again; its number may be
//!    had again when no run of the map can name it any more (`numbers`).

use std::collections::BTreeSet;

use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;

use super::Segments;
use super::segment::Segment;

impl Segments {
    /// Segments that nothing needs: as many as one checkpoint frees.
    pub fn reclaimable(&self, floor: Lsn) -> BTreeSet<SegmentId> {
        self.unread(floor).take(self.freed_at_a_time()).collect()
    }

    /// Whether there are any.
    pub fn has_reclaimable(&self, floor: Lsn) -> bool {
        self.unread(floor).next().is_some()
    }

    /// How many of them the next checkpoint frees.
    pub fn reclaimable_count(&self, floor: Lsn) -> u64 {
        self.unread(floor).take(self.freed_at_a_time()).count() as u64
    }

    /// Segments that nothing names, whose batches are all below `floor`, read or not: as many as
    /// one checkpoint frees.
    pub fn empty(&self, floor: Lsn) -> BTreeSet<SegmentId> {
        self.summary.empty_below(floor).take(self.freed_at_a_time()).collect()
    }

    fn unread(&self, floor: Lsn) -> impl Iterator<Item = SegmentId> {
        self.summary.empty_below(floor).filter(|id| self.entries[*id].pins == 0)
    }

    /// The segment is gone; its chunks may be reserved again. Returns what it was.
    pub fn free(&mut self, id: SegmentId) -> Segment {
        let segment = self.remove(id);
        self.give_back(segment.geometry.columns.iter().copied());
        segment
    }

    /// The segment is gone, and its chunks are nobody's until they are given back. Returns what it
    /// was.
    pub fn remove(&mut self, id: SegmentId) -> Segment {
        let segment = self.entries.remove(id).expect("only existing segments are freed");
        self.summary.remove(id, &segment);
        self.numbers.freed(id);
        self.apart.remove(&id);
        self.changes.freed(id);
        self.live = self.live.minus(segment.live).expect("all are no less than one segment's");
        assert_eq!(segment.pins, 0, "{id} is freed while it is being read");
        segment
    }
}
