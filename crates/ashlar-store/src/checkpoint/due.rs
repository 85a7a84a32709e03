//! When a checkpoint is due: what has gathered since the last one, and how much may.

use std::collections::BTreeSet;

use ashlar_block::{DriveId, SECTOR_BYTES, World};
use ashlar_format::location::SegmentId;

use crate::base::options::REPLAY_RECORD_BYTES;
use crate::map::buffer::UPDATE_BYTES_MAX;
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::Segments;
use crate::writer::append::StreamId;

/// Bytes of an update in a delta, and a little more for pages that are not full.
const DELTA_BYTES: usize = 32;

/// Updates that are worth a checkpoint, however little memory there is.
const FRESH_ENTRIES_MIN: usize = 256;

/// Bytes of leaves of the index that are worth a checkpoint, however little memory there is: those
/// of a shard, and more.
const LEAF_BYTES_MIN: usize = 512 << 10;

/// Records that are worth a checkpoint, however little memory there is: more than a checkpoint
/// itself makes, or it would be the reason for the next.
const REPLAY_RECORDS_MIN: usize = 4096;

/// What has gathered of something, and how much may before a checkpoint is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gathered {
    pub amount: u64,
    pub max: u64,
}

impl Gathered {
    fn is_too_much(self) -> bool {
        self.amount > self.max
    }
}

/// What a checkpoint is needed for.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointNeed {
    /// A drive is lost, and no root says so.
    pub drive_lost: bool,
    /// Somebody waits for one.
    pub is_wanted: bool,
    /// Few segments of the window are left, and it can grow.
    pub window_is_low: bool,
    /// It may take a segment. Without that, only what cannot wait asks for one.
    pub has_room: bool,
    pub replay_bytes: Gathered,
    pub replay_records: Gathered,
    /// Updates of the maps that are not in deltas.
    pub fresh_entries: Gathered,
    /// What it writes of the index.
    pub index_bytes: Gathered,
    /// Memory of leaves of the index that have changed.
    pub leaf_bytes: Gathered,
}

impl CheckpointNeed {
    /// Whether it comes before anything else. One that becomes larger than what is kept for it
    /// cannot be written at all, and halts the pool.
    pub fn is_urgent(&self) -> bool {
        let is_large = [self.fresh_entries, self.index_bytes, self.leaf_bytes];
        self.drive_lost || self.is_wanted || is_large.into_iter().any(Gathered::is_too_much)
    }

    /// Whether it comes before what can wait.
    pub fn is_due(&self) -> bool {
        self.window_is_low || self.replay_is_long()
    }

    /// A start would take longer than it should. Where a checkpoint may halt the pool, it is put
    /// off until hosts wait for it: at twice as many records.
    fn replay_is_long(&self) -> bool {
        if self.has_room {
            self.replay_bytes.is_too_much() || self.replay_records.is_too_much()
        } else {
            self.replay_records.amount >= 2 * self.replay_records.max
        }
    }
}

impl<W: World> Pool<W> {
    /// What a checkpoint is needed for now, if new segments go to `targets`.
    pub fn checkpoint_need(&self, segments: &Segments, targets: &[DriveId]) -> CheckpointNeed {
        let shards = self.map.shards.borrow();
        let index_bytes: u64 = shards.iter().map(|shard| shard.index.to_write().bytes()).sum();
        let leaf_bytes: usize = shards.iter().map(|shard| shard.index.changed_bytes()).sum();
        drop(shards);
        let gathered =
            |amount: usize, max: usize| Gathered { amount: amount as u64, max: max as u64 };
        CheckpointNeed {
            drive_lost: self.requests.drive_lost() || self.has_lost_a_drive(),
            is_wanted: self.requests.checkpoint_wanted(),
            window_is_low: segments.window_low() && segments.placeable(targets) > 0,
            has_room: self.next_checkpoint_has_room(segments, targets),
            replay_bytes: Gathered {
                amount: self.counters.get().drives.bytes_to_drives
                    - self.checkpoint.bytes_before.get(),
                max: self.options.replay_bytes_max.min(self.raw_bytes(segments) / 64),
            },
            replay_records: Gathered {
                amount: self.replay_records(),
                max: self.replay_records_max(),
            },
            fresh_entries: gathered(self.fresh_entries(), self.fresh_entries_max()),
            index_bytes: Gathered { amount: index_bytes, max: self.map_segment_bytes() as u64 / 2 },
            leaf_bytes: gathered(leaf_bytes, self.leaf_bytes_max()),
        }
    }

    /// Whether a checkpoint that frees what `freed` tells may take a segment. One that finds none
    /// halts the pool.
    pub fn checkpoint_has_room(
        &self,
        segments: &Segments,
        targets: &[DriveId],
        freed: impl FnOnce() -> BTreeSet<SegmentId>,
    ) -> bool {
        segments.usable_striped() >= CHECKPOINT_MIN
            || self.checkpoint_may_take_last(segments, targets, &freed())
    }

    /// The same of a checkpoint that began now.
    pub fn next_checkpoint_has_room(&self, segments: &Segments, targets: &[DriveId]) -> bool {
        self.checkpoint_has_room(segments, targets, || {
            segments.reclaimable(self.writer.lsns.floor())
        })
    }

    /// Whether a checkpoint may take the last segment. That is for the next start, which has to
    /// come to a root, or the pool cannot be opened any more: another checkpoint takes it only if
    /// its root gives one back.
    pub fn checkpoint_may_take_last(
        &self,
        segments: &Segments,
        targets: &[DriveId],
        reclaimable: &BTreeSet<SegmentId>,
    ) -> bool {
        let joins = self.membership.joining.get().is_some();
        self.is_recovering() || joins || segments.has_room_after(reclaimable, targets)
    }

    /// Whether a checkpoint would find room for what it has to write.
    pub fn could_checkpoint(&self) -> bool {
        self.next_checkpoint_has_room(&self.space.segments.borrow(), &self.allocation_targets())
            || !self.has_maps_to_write()
    }

    fn raw_bytes(&self, segments: &Segments) -> u64 {
        segments.chunks_total() * u64::from(self.identity.segment_rows) * SECTOR_BYTES as u64
    }

    /// Entries of all shards that are not in deltas yet.
    pub fn fresh_entries(&self) -> usize {
        self.map.shards.borrow().iter().map(|shard| shard.buffer.fresh_len()).sum()
    }

    /// Records that a start would have to replay now.
    pub fn replay_records(&self) -> u64 {
        self.writer.lsns.records() - self.checkpoint.records_before.get()
    }

    /// Those after which a checkpoint is due.
    pub fn replay_records_max(&self) -> u64 {
        let memory_max =
            (self.options.map_memory_bytes / REPLAY_RECORD_BYTES).max(REPLAY_RECORDS_MIN);
        self.options.replay_records_max.min(memory_max as u64)
    }

    /// Bytes of a segment that pages of the map are written to: the last ones that a pool of
    /// unequal drives has room for are narrower than others.
    fn map_segment_bytes(&self) -> usize {
        let data =
            self.fresh_batch_room(StreamId::Metadata).data.min(self.space.narrowest_data.get());
        self.identity.segment_rows as usize * data * SECTOR_BYTES
    }

    /// Bytes of changed leaves of the index after which a checkpoint is due, which lets them go.
    fn leaf_bytes_max(&self) -> usize {
        (self.options.map_memory_bytes / 4).max(LEAF_BYTES_MIN)
    }

    /// Updates after which a checkpoint is due: their deltas take half of a segment.
    pub fn fresh_entries_max(&self) -> usize {
        (self.map_segment_bytes() / 2 / DELTA_BYTES)
            .min(self.options.map_memory_bytes / 4 / UPDATE_BYTES_MAX)
            .max(FRESH_ENTRIES_MIN)
    }
}

#[cfg(test)]
mod tests;
