//! The blocks of deleted volumes are discarded, some groups of the map at a time: a large volume
//! has a great many, and hosts need upkeep for other things meanwhile.
//!
//! Where it is, is in memory only. A start begins it anew, and finds nothing where it has been.

use ashlar_block::{Lba, VolumeId, World};
use ashlar_format::ids::{GroupKey, SHARD_COUNT, ShardId};

use crate::jobs::merge::Merging;
use crate::pool::Pool;
use crate::store::VOLUME_BLOCKS_MAX;
use crate::writer::pages::AppendError;

/// Groups that are merged before somebody else has a turn.
const GROUPS_A_STEP: usize = 16;

/// How far the purge of a volume is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Purge {
    volume: VolumeId,
    /// What comes next: the first group of this shard after this one.
    shard: ShardId,
    after: Option<GroupKey>,
}

impl Purge {
    fn new(volume: VolumeId) -> Self {
        Purge { volume, shard: ShardId(0), after: None }
    }

    /// What comes after the last group of a shard, unless that was all.
    fn next_shard(self) -> Option<Self> {
        let shard = ShardId(self.shard.0 + 1);
        (usize::from(shard.0) < SHARD_COUNT).then_some(Purge { shard, after: None, ..self })
    }
}

impl<W: World> Pool<W> {
    /// Discards some of the blocks of a deleted volume, and forgets it after the last. If a part of
    /// its map cannot be read it stays, until the pool is opened again or a drive returns.
    pub async fn purge_step(&self, id: VolumeId) -> Result<(), AppendError> {
        let begun = self.purge.get().filter(|purge| purge.volume == id);
        let purge = begun.unwrap_or_else(|| Purge::new(id));
        let groups = self.hide_in_shard(&purge);
        for group in &groups {
            if self.merge(purge.shard, *group).await? == Merging::Unreadable {
                self.unpurgeable.borrow_mut().insert(id);
                self.purge.set(None);
                return Ok(());
            }
        }
        let next = match groups.last() {
            Some(last) => Some(Purge { after: Some(*last), ..purge }),
            None => purge.next_shard(),
        };
        self.purge.set(next);
        if next.is_none() {
            self.forget(id);
        }
        Ok(())
    }

    /// Hides what the shard has of the volume. Returns the groups that are to be merged next, which
    /// discards what is hidden.
    fn hide_in_shard(&self, purge: &Purge) -> Vec<GroupKey> {
        let (family, layer) = {
            let catalog = self.catalog.borrow();
            let volume = &catalog.volumes[&purge.volume];
            (volume.family, volume.layer)
        };
        self.with_shard(purge.shard, |shard| {
            if purge.after.is_none() {
                shard.set_zero(family, layer, &(Lba(0)..Lba(VOLUME_BLOCKS_MAX)), &self.ledger);
            }
            let groups = shard.groups_of(family).into_iter();
            groups.filter(|group| Some(*group) > purge.after).take(GROUPS_A_STEP).collect()
        })
    }

    fn forget(&self, id: VolumeId) {
        let removed = self.catalog.borrow_mut().volumes.remove(&id);
        let family = removed.expect("it is being deleted").family;
        if self.catalog.borrow().volumes.values().all(|volume| volume.family != family) {
            self.ledger.forget(family);
        }
        // What the map still has of its blocks goes with the next sweep.
        self.content_changed(1);
        self.requests.notify();
    }
}
