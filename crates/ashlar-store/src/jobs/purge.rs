//! Purge discards the blocks of deleted volumes, some groups of the map at a time: a large volume
//! has a great many, and hosts need upkeep for other things meanwhile.
//!
//! Its position is in memory only. A start begins the purge anew, and finds nothing where it has
//! been.

use ashlar_block::{DriveId, Lba, VolumeId, World};
use ashlar_format::catalog::{VolumeEntry, VolumeState};
use ashlar_format::ids::{GIB_BLOCKS, GroupKey, Layer, SHARD_COUNT, ShardId};

use crate::base::limits::VOLUME_BLOCKS_MAX;
use crate::jobs::merge::Merging;
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::Segments;
use crate::writer::pages::AppendError;

/// Groups that are merged before somebody else has a turn.
const GROUPS_A_STEP: usize = 16;

/// Updates after which nothing more is hidden in a turn: one GiB of a shard may have
/// as many.
const UPDATES_A_STEP: usize = 4096;

/// How far the purge of a volume is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Purge {
    volume: VolumeId,
    /// What comes next: the groups of this shard from this GiB on.
    shard: ShardId,
    from_gib: u32,
}

impl Purge {
    fn new(volume: VolumeId) -> Self {
        Purge { volume, shard: ShardId(0), from_gib: 0 }
    }

    /// What comes after the last group of a shard, unless that was all.
    fn next_shard(self) -> Option<Self> {
        let shard = ShardId(self.shard.0 + 1);
        (usize::from(shard.0) < SHARD_COUNT).then_some(Purge { shard, from_gib: 0, ..self })
    }
}

impl<W: World> Pool<W> {
    /// A deleted volume whose blocks can be discarded now. Checkpoints need room for what that
    /// hides, until it gives space back.
    pub fn next_purge(&self, segments: &Segments, drives: &[DriveId]) -> Option<VolumeId> {
        let unpurgeable = self.jobs.unpurgeable.borrow();
        let is_to_go = |(id, volume): &(&VolumeId, &VolumeEntry)| {
            volume.state == VolumeState::Deleting && !unpurgeable.contains(id)
        };
        let catalog = self.catalog.borrow();
        let (id, _) = catalog.volumes.iter().find(is_to_go)?;
        let has_room =
            !segments.is_cornered(drives) || self.purge_has_room(segments.usable_striped());
        has_room.then_some(*id)
    }

    /// Whether a purge may go on although there is no room for a window: each checkpoint takes some
    /// of the segments that are left, until what it has hidden gives some back.
    fn purge_has_room(&self, usable: u64) -> bool {
        let few = self.fresh_entries() < self.fresh_entries_max() / 2;
        usable > CHECKPOINT_MIN || (usable == CHECKPOINT_MIN && few)
    }

    /// Discards some of the blocks of a deleted volume, and forgets it after the last. If a part of
    /// its map cannot be read it stays, until the pool is opened again or a drive returns.
    pub async fn purge_step(&self, id: VolumeId) -> Result<(), AppendError> {
        let begun = self.jobs.purge.get().filter(|purge| purge.volume == id);
        let purge = begun.unwrap_or_else(|| Purge::new(id));
        let (family, layer) = {
            let catalog = self.catalog.borrow();
            let volume = &catalog.volumes[&purge.volume];
            (volume.family, volume.layer)
        };
        let from = GroupKey { family, gib: purge.from_gib };
        let Ok(_held) = self.hold_group(purge.shard, from).await else {
            self.cannot_purge(id);
            return Ok(());
        };
        let (groups, next) = self.hide_in_leaf(purge.shard, from, layer);
        for group in groups {
            if self.merge(purge.shard, group).await? == Merging::Unreadable {
                self.cannot_purge(id);
                return Ok(());
            }
        }
        let next = match next {
            Some(gib) => Some(Purge { from_gib: gib, ..purge }),
            None => purge.next_shard(),
        };
        self.jobs.purge.set(next);
        if next.is_none() {
            self.forget(id);
        }
        Ok(())
    }

    fn cannot_purge(&self, id: VolumeId) {
        self.jobs.unpurgeable.borrow_mut().insert(id);
        self.jobs.purge.set(None);
    }

    /// Hides what the leaf of `from`, which is held, has of the volume from there on, and what the
    /// buffer has of these GiBs. Returns the groups that are to be merged next, which discards what
    /// is hidden; and the GiB that comes next, if any does.
    fn hide_in_leaf(
        &self,
        id: ShardId,
        from: GroupKey,
        layer: Layer,
    ) -> (Vec<GroupKey>, Option<u32>) {
        let family = from.family;
        self.with_shard(id, |shard| {
            let leaf = shard.index.leaf_from(from).expect("it is held");
            let of_family = |group: &GroupKey| *group >= from && group.family == family;
            let found = shard.index.groups_of(leaf).map(|(group, _)| group).filter(of_family);
            let mut groups: Vec<GroupKey> = found.take(GROUPS_A_STEP).collect();
            // Of a crowded one each block is an update.
            if let Some(at) = groups.iter().position(|group| shard.is_crowded(*group)) {
                groups.truncate(at + 1);
            }
            let ends_here =
                |last: &GroupKey| groups.len() == GROUPS_A_STEP || shard.is_crowded(*last);
            let next = match groups.last().filter(|last| ends_here(last)) {
                Some(last) => last.next(),
                None => shard.index.leaf_behind(leaf),
            };
            let next = next.filter(|next| next.family == family);
            let end = next.map_or(Lba(VOLUME_BLOCKS_MAX), GroupKey::first_block);
            let blocks = from.first_block()..end;
            let (keys, rest) = shard.buffer.keys(family, layer, &blocks, UPDATES_A_STEP);
            keys.into_iter().for_each(|key| shard.set(key, None, &self.space.ledger));
            groups.retain(|group| rest.is_none_or(|rest| *group < rest));
            let next = rest.or(next);
            for group in &groups {
                let first = group.first_block();
                shard.set_zero(family, layer, &(first..first.plus(GIB_BLOCKS)), &self.space.ledger);
            }
            (groups, next.map(|next| next.gib))
        })
    }

    fn forget(&self, id: VolumeId) {
        let family = self.catalog.borrow_mut().remove(id).expect("it is being deleted");
        if self.catalog.borrow().volumes.values().all(|volume| volume.family != family) {
            self.space.ledger.forget(family);
            self.unlearn(family);
        }
        // What the map still has of its blocks goes with the next sweep.
        self.content_changed(1);
        self.requests.notify();
    }
}

#[cfg(test)]
mod tests;
