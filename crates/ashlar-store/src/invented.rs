//! An open pool that is made large and old for a measurement, because nobody writes one that large.
//! Only `ashlar-bench` builds this.

use std::cell::RefCell;

use ashlar_block::{World, XorShift};
use ashlar_format::location::SegmentId;
use ashlar_format::table::Occupancy;

use crate::store::Store;

/// Segments of a pool that hold nothing.
pub struct Invented {
    segments: Vec<SegmentId>,
    chance: RefCell<XorShift>,
}

impl<W: World> Store<W> {
    /// Adds so many segments that hold nothing, of each of which some half is said to live.
    pub fn invent_segments(&self, count: usize) -> Invented {
        let (drives, lsn) = (self.pool.allocation_targets(), self.pool.writer.lsns.next());
        let segments = self.pool.space.segments.borrow_mut().invent(count, &drives, lsn);
        Invented { segments, chance: RefCell::new(XorShift::new(2)) }
    }

    /// Discards so many blocks at random places of what was invented, as hosts do that overwrite.
    pub fn discard_invented(&self, invented: &Invented, blocks: u64) {
        let mut segments = self.pool.space.segments.borrow_mut();
        let mut chance = invented.chance.borrow_mut();
        for _ in 0..blocks {
            let id = invented.segments[chance.below(invented.segments.len() as u64) as usize];
            segments.discard(id, Occupancy { slots: 1, fragments: 1 });
        }
    }

    /// Records that a start would have to replay now.
    pub fn replay_records(&self) -> u64 {
        self.pool.replay_records()
    }

    /// Leaves the pool as a crash does.
    pub fn crash(&self) {
        self.pool.close();
    }
}
