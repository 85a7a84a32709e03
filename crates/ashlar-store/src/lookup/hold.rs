//! Holds keep groups of the map in memory: a hold reads their leaves of the index, so that the
//! groups can be changed in one turn, without waiting.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::{Rc, Weak};

use ashlar_block::{IoError, Lba, World};
use ashlar_format::ids::{
    Family, GIB_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS, SHARD_COUNT, ShardId,
};
use ashlar_format::location::Pointer;
use ashlar_format::page::{Run, StoredLeaf};
use futures_util::future::{join_all, try_join_all};
use tokio::sync::OwnedSemaphorePermit;

use crate::base::limits::PAGES_READ_AT_A_TIME;
use crate::lookup::map_unreadable;
use crate::map::Outlived;
use crate::map::index::Place;
use crate::map::shard::{HIDDEN_SINGLY_MAX, Pages, Shard};
use crate::pool::Pool;

/// Ranges of the buffer of each shard that are looked at in a turn.
const RANGES_A_TURN: usize = 16;

/// Groups of a shard that are held until this is dropped.
pub(crate) struct Held<'a, W: World> {
    pool: &'a Pool<W>,
    shard: ShardId,
    groups: Vec<GroupKey>,
    /// Those of them whose leaf cannot be read: they are not held.
    pub unreadable: BTreeSet<GroupKey>,
    /// Why the first one cannot.
    pub error: Option<IoError>,
}

impl<W: World> Drop for Held<'_, W> {
    fn drop(&mut self) {
        self.pool.with_shard(self.shard, |shard| shard.index.release(&self.groups));
    }
}

/// Groups that are held for zeros of a host. Where it is dropped before these are in the maps,
/// the groups stay held until they are: not held, each block would be an update.
pub(crate) struct HeldForZeros<'a, W: World> {
    pool: &'a Pool<W>,
    held: Vec<Held<'a, W>>,
    /// Is there as long as zeros are on their way.
    pub on_their_way: Weak<OwnedSemaphorePermit>,
}

impl<W: World> Drop for HeldForZeros<'_, W> {
    fn drop(&mut self) {
        if self.on_their_way.strong_count() == 0 {
            return;
        }
        let outlived = self.held.iter_mut().map(|held| Outlived {
            shard: held.shard,
            groups: std::mem::take(&mut held.groups),
            on_their_way: self.on_their_way.clone(),
        });
        self.pool.map.outlived_holds.borrow_mut().extend(outlived);
    }
}

impl<'a, W: World> Held<'a, W> {
    /// Whether this was to hold the group, and its leaf cannot be read.
    pub fn lacks(&self, shard: ShardId, group: GroupKey) -> bool {
        self.shard == shard && self.unreadable.contains(&group)
    }

    /// All groups, or why one cannot be held.
    pub fn all(mut self) -> Result<Self, IoError> {
        self.error.take().map_or(Ok(self), Err)
    }
}

impl<W: World> Pool<W> {
    /// Holds groups of a shard, which are in order.
    pub async fn hold(&self, id: ShardId, groups: Vec<GroupKey>) -> Held<'_, W> {
        self.with_shard(id, |shard| shard.index.hold(&groups));
        let mut held =
            Held { pool: self, shard: id, groups, unreadable: BTreeSet::new(), error: None };
        let mut unread = Vec::new();
        loop {
            let mut missing = self.with_shard(id, |shard| shard.index.missing(&held.groups));
            missing.retain(|leaf| !unread.contains(leaf));
            // While these are read others may be written elsewhere: it asks anew where those are.
            missing.truncate(PAGES_READ_AT_A_TIME);
            if missing.is_empty() {
                break;
            }
            let read = join_all(missing.iter().map(|(_, at)| self.leaf(*at))).await;
            for ((key, at), read) in missing.into_iter().zip(read) {
                match read {
                    Ok(leaf) => {
                        self.with_shard(id, |shard| shard.index.read(key, at, leaf.groups()));
                    }
                    // If it has been written elsewhere meanwhile, it is missing no more.
                    Err(error) => {
                        unread.push((key, at));
                        held.error.get_or_insert(map_unreadable(error));
                    }
                }
            }
            self.world.yield_now().await;
        }
        held.unreadable = self.with_shard(id, |shard| {
            let is_stored =
                |group: &&GroupKey| matches!(shard.index.place(**group), Place::Stored(_));
            held.groups.iter().filter(is_stored).copied().collect()
        });
        if held.unreadable.is_empty() {
            held.error = None;
        }
        held
    }

    /// Holds one group.
    pub async fn hold_group(&self, id: ShardId, group: GroupKey) -> Result<Held<'_, W>, IoError> {
        self.hold(id, vec![group]).await.all()
    }

    /// Holds all groups that have any of these blocks, if what runs say of so many is hidden by
    /// cuts: a few are hidden one by one, for which no leaf is needed.
    pub async fn hold_to_hide(
        &self,
        family: Family,
        blocks: &Range<Lba>,
    ) -> Result<Vec<Held<'_, W>>, IoError> {
        if blocks.end.0 - blocks.start.0 <= HIDDEN_SINGLY_MAX {
            return Ok(Vec::new());
        }
        let groups: Vec<GroupKey> = gibs_of(blocks).map(|gib| GroupKey { family, gib }).collect();
        let shards = shards_of(family, blocks);
        let held = join_all(shards.map(|id| self.hold(id, groups.clone()))).await;
        held.into_iter().map(Held::all).collect()
    }

    /// Holds what [`Self::hold_to_hide`] holds until zeros of a host are in the maps.
    pub async fn hold_for_zeros(
        &self,
        family: Family,
        blocks: &Range<Lba>,
    ) -> Result<HeldForZeros<'_, W>, IoError> {
        let held = self.hold_to_hide(family, blocks).await?;
        Ok(HeldForZeros { pool: self, held, on_their_way: Weak::new() })
    }

    /// The leaf at `pointer`, from the cache if it is there.
    async fn leaf(&self, pointer: Pointer) -> Result<Rc<StoredLeaf>, IoError> {
        match self.map.pages.leaf(pointer) {
            Some(leaf) => Ok(leaf),
            None => self.read_leaf(pointer).await,
        }
    }

    /// What `look` says of a shard; or the leaf that it has to ask, read, and what it knows of it.
    /// Where the leaf has been written elsewhere meanwhile, it looks again.
    async fn look_or_leaf<T, K>(
        &self,
        id: ShardId,
        look: impl Fn(&Shard) -> Result<T, (Pointer, K)>,
    ) -> Result<Result<T, (Rc<StoredLeaf>, K)>, IoError> {
        loop {
            let (pointer, known) = match self.with_shard(id, |shard| look(shard)) {
                Ok(says) => return Ok(Ok(says)),
                Err(asks) => asks,
            };
            match self.leaf(pointer).await {
                Ok(leaf) => return Ok(Err((leaf, known))),
                Err(error) => match self.with_shard(id, |shard| look(shard)) {
                    Err((same, _)) if same == pointer => return Err(map_unreadable(error)),
                    _ => {}
                },
            }
        }
    }

    /// Whether a run of the group has its page at `at`.
    pub async fn names_run_page(
        &self,
        id: ShardId,
        group: GroupKey,
        at: Pointer,
    ) -> Result<bool, IoError> {
        let is_it = |run: &Run| run.pages().iter().any(|page| page.pointer == at);
        let look = |shard: &Shard| match shard.index.place(group) {
            Place::InMemory(runs) => Ok(runs.iter().any(is_it)),
            Place::Stored(pointer) => Err((pointer, ())),
        };
        Ok(match self.look_or_leaf(id, look).await? {
            Ok(is_named) => is_named,
            Err((leaf, ())) => {
                leaf.runs_of(group).into_iter().flatten().any(|run| run.has_page(at))
            }
        })
    }

    /// The first GiB in which there may be anything of `blocks`.
    pub async fn first_gib_that_holds(
        &self,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
    ) -> Result<Option<u32>, IoError> {
        let firsts =
            shards_of(family, blocks).map(|id| self.first_gib_in(id, family, layer, blocks));
        Ok(try_join_all(firsts).await?.into_iter().flatten().min())
    }

    async fn first_gib_in(
        &self,
        id: ShardId,
        family: Family,
        layer: Layer,
        blocks: &Range<Lba>,
    ) -> Result<Option<u32>, IoError> {
        let buffered = self.first_buffered_gib(id, family, layer, blocks.clone()).await;
        let last = GroupKey::of(family, Lba(blocks.end.0 - 1)).gib;
        let mut from = GroupKey::of(family, blocks.start);
        loop {
            let (found, next) = self.first_group_of_leaf(id, from).await?;
            let found = found.filter(|group| group.family == family && group.gib <= last);
            match (found, next) {
                (Some(group), _) => {
                    return Ok(Some(buffered.map_or(group.gib, |gib| gib.min(group.gib))));
                }
                (None, Some(next)) if next.family == family && next.gib <= last => from = next,
                (None, _) => return Ok(buffered),
            }
            self.world.yield_now().await;
        }
    }

    async fn first_buffered_gib(
        &self,
        id: ShardId,
        family: Family,
        layer: Layer,
        mut rest: Range<Lba>,
    ) -> Option<u32> {
        loop {
            let found = self.with_shard(id, |shard| {
                shard.buffer.first_that_holds(family, layer, &rest, RANGES_A_TURN)
            });
            match found {
                Ok(group) => return group.map(|group| group.gib),
                Err(next) => rest.start = next,
            }
            self.world.yield_now().await;
        }
    }

    /// The first group from `from` on that its leaf has, and the leaf behind that one.
    async fn first_group_of_leaf(
        &self,
        id: ShardId,
        from: GroupKey,
    ) -> Result<(Option<GroupKey>, Option<GroupKey>), IoError> {
        let look = |shard: &Shard| {
            let index = &shard.index;
            let Some(key) = index.leaf_from(from) else { return Ok((None, None)) };
            let behind = index.leaf_behind(key);
            match index.place(key) {
                Place::InMemory(_) => {
                    let mut groups = index.groups_of(key).map(|(group, _)| group);
                    Ok((groups.find(|group| *group >= from), behind))
                }
                Place::Stored(pointer) => Err((pointer, behind)),
            }
        };
        Ok(match self.look_or_leaf(id, look).await? {
            Ok(found) => found,
            Err((leaf, behind)) => {
                let mut groups = leaf.groups().into_iter().map(|(group, _)| group);
                (groups.find(|group| *group >= from), behind)
            }
        })
    }

    /// Whether there may be anything of `blocks`, which lie in one GiB. Where it is not held,
    /// there may.
    pub fn may_hold(&self, key: Key, blocks: &Range<Lba>) -> bool {
        let group = GroupKey::of(key.family, blocks.start);
        shards_of(key.family, blocks)
            .any(|id| self.with_shard(id, |shard| shard.may_hold(group, key.layer, blocks)))
    }

    /// Whether what runs say of `blocks`, which lie in one GiB, is hidden block by block in any
    /// shard: their group is crowded there, or not held.
    pub fn is_hidden_singly(&self, key: Key, blocks: &Range<Lba>) -> bool {
        let group = GroupKey::of(key.family, blocks.start);
        shards_of(key.family, blocks).any(|id| self.with_shard(id, |shard| shard.is_crowded(group)))
    }

    /// Releases groups that were held for zeros whose host went before they were in the maps, once
    /// they are.
    pub fn release_outlived(&self) {
        self.map.outlived_holds.borrow_mut().retain(|held| {
            let stays = held.on_their_way.strong_count() > 0;
            if !stays {
                self.with_shard(held.shard, |shard| shard.index.release(&held.groups));
            }
            stays
        });
    }
}

/// The shards that have any of these blocks.
fn shards_of(family: Family, blocks: &Range<Lba>) -> impl Iterator<Item = ShardId> + use<> {
    let ranges = blocks.start.0 / RANGE_BLOCKS..blocks.end.0.div_ceil(RANGE_BLOCKS);
    let touched = (ranges.end - ranges.start).min(SHARD_COUNT as u64);
    (0..touched).map(move |nth| ShardId::of(family, Lba((ranges.start + nth) * RANGE_BLOCKS)))
}

/// The GiBs that blocks lie in.
pub(crate) fn gibs_of(blocks: &Range<Lba>) -> Range<u32> {
    (blocks.start.0 / GIB_BLOCKS) as u32..blocks.end.0.div_ceil(GIB_BLOCKS) as u32
}
