//! What the maps need: a pure function of their shards.

use std::ops::Bound;

use ashlar_format::ids::{GroupKey, ShardId};

use crate::map::shard::Shard;

/// What is done for the maps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MapTask {
    /// Only what is in durable deltas can be distributed: a checkpoint comes first.
    MakeDurable,
    /// Move the buffer of a shard into runs.
    Distribute(ShardId),
    /// Take the oldest pages out of a shard's deltas.
    Compact(ShardId),
    /// Merge the runs of a group of this leaf.
    Merge(ShardId, GroupKey),
}

/// How the maps stand.
#[derive(Clone, Debug)]
pub(crate) struct MapNeed {
    /// Their buffers take more memory than they should.
    pub is_too_large: bool,
    /// The shard with most that is in durable deltas, if any has.
    pub fullest: Option<ShardId>,
    /// A shard of whose deltas a page cannot be read.
    pub spoiled: Option<ShardId>,
    /// A shard whose deltas are spread thin.
    pub thin: Option<ShardId>,
    /// A leaf of the index with a group that is to be merged.
    pub unmerged: Option<(ShardId, GroupKey)>,
}

impl MapNeed {
    /// Of these shards, if a group of the leaf `merged` was merged last.
    pub fn of(shards: &[Shard], merged: (ShardId, GroupKey), buffer_bytes_max: usize) -> Self {
        let id_of = |which: fn(&Shard) -> bool| {
            shards.iter().find(|shard| which(shard)).map(|shard| shard.id)
        };
        let fullest = shards.iter().max_by_key(|shard| shard.buffer.settled_len());
        let buffer_bytes: usize = shards.iter().map(|shard| shard.buffer.bytes()).sum();
        MapNeed {
            is_too_large: buffer_bytes > buffer_bytes_max,
            fullest: fullest.filter(|shard| shard.buffer.settled_len() > 0).map(|shard| shard.id),
            spoiled: id_of(|shard| shard.deltas.are_spoiled()),
            thin: id_of(Shard::is_thin),
            unmerged: next_unmerged(shards, merged),
        }
    }

    /// What keeps the maps within their memory, and returns the space of what they hide.
    pub fn upkeep(&self) -> Option<MapTask> {
        if let Some(shard) = self.spoiled {
            return Some(MapTask::Distribute(shard));
        }
        if self.is_too_large {
            return Some(self.fullest.map_or(MapTask::MakeDurable, MapTask::Distribute));
        }
        self.compaction().or(self.merge())
    }

    /// What gives pages of thin deltas back. It takes a few reads.
    pub fn compaction(&self) -> Option<MapTask> {
        self.thin.map(MapTask::Compact)
    }

    /// What is done between two collections, while space is short. Merging first: distribution
    /// takes space and makes more to merge.
    pub fn between_collections(&self) -> Option<MapTask> {
        self.merge().or(self.fullest.filter(|_| self.is_too_large).map(MapTask::Distribute))
    }

    fn merge(&self) -> Option<MapTask> {
        self.unmerged.map(|(shard, group)| MapTask::Merge(shard, group))
    }
}

/// The first leaf after `after`, going round, with a group that is to be merged.
fn next_unmerged(shards: &[Shard], after: (ShardId, GroupKey)) -> Option<(ShardId, GroupKey)> {
    let first = |shard: &Shard, from: Bound<GroupKey>| {
        shard
            .index
            .unmerged()
            .range((from, Bound::Unbounded))
            .next()
            .map(|group| (shard.id, *group))
    };
    let (before, from) = shards.split_at(usize::from(after.0.0));
    let (same, later) = from.split_first()?;
    first(same, Bound::Excluded(after.1))
        .or_else(|| later.iter().chain(before).find_map(|shard| first(shard, Bound::Unbounded)))
        .or_else(|| first(same, Bound::Unbounded))
}

#[cfg(test)]
mod tests;
