//! What room there is for segments, and who waits for some.

use crate::space::capacity::Marks;

/// How a pool's room stands.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// Segments that are not in use: see `Segments::free_segments`.
    pub free_segments: u64,
    pub marks: Marks,
    /// Segments that the next checkpoint frees, if it has room itself.
    pub reclaimable: u64,
    /// All that is left of the window is for checkpoints alone.
    pub window_is_empty: bool,
    /// The next checkpoint can add segments to the window.
    pub window_can_grow: bool,
    /// Hosts wait for a segment.
    pub hosts_wait: bool,
    /// More could be freed or collected for them once batches that are on their way have been
    /// published and reads have ended.
    pub is_held_back: bool,
    /// Moves wait for a segment.
    pub moves_wait: bool,
    /// Writes wait, because what is counted as living leaves no room for them.
    pub writes_wait: bool,
}

impl Room {
    /// Garbage collection has to work.
    pub fn is_short(&self) -> bool {
        self.free_segments <= self.marks.collect
    }

    /// More is free than what is kept for the pool's own work.
    pub fn is_above_reserve(&self) -> bool {
        self.free_segments > self.marks.reserve
    }

    /// A segment can be had for pages of the map.
    pub fn is_there_for_maps(&self) -> bool {
        !self.window_is_empty || self.window_can_grow
    }

    /// A checkpoint is worth what it takes: half as many segments as are free wait for its root,
    /// and twice as many as hosts may open until it is durable.
    pub fn is_worth_a_checkpoint(&self) -> bool {
        let for_hosts = self.free_segments.saturating_sub(self.marks.reserve);
        self.reclaimable * 2 >= self.free_segments.max(2) && self.reclaimable >= for_hosts * 2
    }

    /// What is free once the next checkpoint has ended.
    pub fn segments_after_checkpoint(&self) -> u64 {
        self.free_segments + self.reclaimable
    }
}
