//! What may gather between two checkpoints, and at how much a checkpoint is due.

use ashlar_block::{SECTOR_BYTES, World};

use crate::base::options::REPLAY_RECORD_BYTES;
use crate::map::buffer::UPDATE_BYTES_MAX;
use crate::pool::Pool;
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

impl<W: World> Pool<W> {
    /// Entries of all shards that are not in deltas yet.
    pub fn fresh_entries(&self) -> usize {
        self.shards.borrow().iter().map(|shard| shard.buffer.fresh_len()).sum()
    }

    /// Records that a start would have to replay now.
    pub fn replay_records(&self) -> u64 {
        self.lsns.records() - self.checkpointed_records.get()
    }

    /// Those after which a checkpoint is due.
    pub fn replay_records_max(&self) -> u64 {
        let memory_max = (self.options.map_memory_bytes / REPLAY_RECORD_BYTES).max(REPLAY_RECORDS_MIN);
        self.options.replay_records_max.min(memory_max as u64)
    }

    /// Bytes of a segment that pages of the map are written to: the last ones that a pool of
    /// unequal drives has room for are narrower than others.
    pub(super) fn map_segment_bytes(&self) -> usize {
        let data = self.fresh_batch_room(StreamId::Metadata).data.min(self.narrowest_data.get());
        self.identity.segment_rows as usize * data * SECTOR_BYTES
    }

    /// Bytes of changed leaves of the index after which a checkpoint is due, which lets them go.
    pub(super) fn leaf_bytes_max(&self) -> usize {
        (self.options.map_memory_bytes / 4).max(LEAF_BYTES_MIN)
    }

    /// Updates after which a checkpoint is due: their deltas take half of a segment.
    pub fn fresh_entries_max(&self) -> usize {
        (self.map_segment_bytes() / 2 / DELTA_BYTES)
            .min(self.options.map_memory_bytes / 4 / UPDATE_BYTES_MAX)
            .max(FRESH_ENTRIES_MIN)
    }
}
