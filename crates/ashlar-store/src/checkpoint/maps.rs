//! What a checkpoint writes before the table names it: deltas, indexes and the catalog.

use std::collections::{BTreeMap, VecDeque};

use ashlar_block::World;
use ashlar_format::catalog::Catalog;
use ashlar_format::header::PageKind;
use ashlar_format::ids::{GroupKey, Key, ShardId};
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    DELTA_ENTRIES_MAX, Directory, StoredLeaf, Value, encode_delta, encode_directory,
};
use ashlar_format::root::ShardRoot;

use super::{CheckpointError, UPDATES_IN_A_TURN, shard_ids};
use crate::map::index::LOWEST;
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::writer::pages::{AppendError, NewPage};

/// Leaves or nodes of indexes that are written together.
const LEAVES_AT_A_TIME: usize = 256;
/// Leaves that are encoded, or let go of, in one turn: hosts' operations wait for its end.
const LEAVES_IN_A_TURN: usize = 4;

/// A leaf of a shard's index that is to be written.
type DueLeaf = (ShardId, GroupKey, Vec<u8>);

/// Leaves that have been cut.
#[derive(Default)]
struct CutLeaves {
    /// Those that are not written yet.
    due: Vec<DueLeaf>,
    /// How many were cut, those included that have become empty.
    count: usize,
}

impl<W: World> Pool<W> {
    /// Writes deltas, indexes and the catalog. Returns where the catalog and the shards begin.
    pub(super) async fn write_maps(
        &self,
        catalog: &Catalog,
    ) -> Result<(Option<Pointer>, Vec<ShardRoot>), CheckpointError> {
        let catalog = self.write_catalog(catalog).await?;
        self.write_deltas().await?;
        self.write_indexes().await?;
        let shards = self.map.shards.borrow();
        let root = |shard: &Shard| {
            let (index_height, index) = shard.index.root();
            ShardRoot { index_height, index, deltas: shard.deltas.head() }
        };
        Ok((catalog, shards.iter().map(root).collect()))
    }

    pub(super) async fn append_map(
        &self,
        pages: Vec<NewPage>,
    ) -> Result<Vec<Pointer>, AppendError> {
        self.append_pages(self.checkpoint.claim.get(), pages).await
    }

    async fn write_deltas(&self) -> Result<(), CheckpointError> {
        let new = self.write_delta_pages().await?;
        let mut directories = Vec::new();
        for id in shard_ids() {
            let pages = new.get(&id).map_or(&[][..], Vec::as_slice);
            let addition = self.with_shard(id, |shard| shard.deltas.add(pages));
            addition.replaced.into_iter().for_each(|old| self.space.ledger.discard_page(old));
            if !addition.directories.is_empty() {
                directories.push((id, addition.directories.into()));
            }
        }
        self.write_directories(directories).await
    }

    async fn write_delta_pages(&self) -> Result<BTreeMap<ShardId, Vec<Pointer>>, CheckpointError> {
        let mut owners = Vec::new();
        let mut pages = Vec::new();
        for id in shard_ids() {
            for chunk in self.freezing(id).await.chunks(DELTA_ENTRIES_MAX) {
                owners.push(id);
                pages.push(NewPage::of_map(PageKind::Delta, id, LOWEST, encode_delta(chunk)));
                self.world.yield_now().await;
            }
        }
        let pointers = self.append_map(pages).await?;
        let mut written: BTreeMap<ShardId, Vec<Pointer>> = BTreeMap::new();
        owners
            .into_iter()
            .zip(pointers)
            .for_each(|(id, page)| written.entry(id).or_default().push(page));
        Ok(written)
    }

    /// What is to be written of a shard's updates, in order. It may have a great many: hosts go on
    /// in between.
    async fn freezing(&self, id: ShardId) -> Vec<(Key, Value)> {
        let mut found = Vec::new();
        for first in (0..).step_by(UPDATES_IN_A_TURN) {
            let some =
                self.with_shard(id, |shard| shard.buffer.freezing_from(first, UPDATES_IN_A_TURN));
            let Some(some) = some else { break };
            found.extend(some);
            self.world.yield_now().await;
        }
        self.with_shard(id, |shard| shard.buffer.freezing(found))
    }

    /// Writes each shard's directories, the first ones of all shards together, and so on.
    async fn write_directories(
        &self,
        mut rest: Vec<(ShardId, VecDeque<Vec<Pointer>>)>,
    ) -> Result<(), CheckpointError> {
        while !rest.is_empty() {
            let next = |(id, directories): &mut (ShardId, VecDeque<Vec<Pointer>>)| {
                let pages = directories.pop_front()?;
                Some((*id, self.with_shard(*id, |shard| shard.deltas.following(&pages))))
            };
            let round: Vec<(ShardId, Directory)> = rest.iter_mut().filter_map(next).collect();
            rest.retain(|(_, directories)| !directories.is_empty());
            let page = |(id, directory): &(ShardId, Directory)| {
                NewPage::of_map(PageKind::Directory, *id, LOWEST, encode_directory(directory))
            };
            let pointers = self.append_map(round.iter().map(page).collect()).await?;
            for ((id, directory), at) in round.into_iter().zip(pointers) {
                self.with_shard(id, |shard| shard.deltas.directory_written(directory, at));
            }
        }
        Ok(())
    }

    /// Writes what has changed of the indexes: leaves, then the nodes above them, level by level.
    async fn write_indexes(&self) -> Result<(), CheckpointError> {
        let mut stale = Vec::new();
        let mut leaves = CutLeaves::default();
        for id in shard_ids().filter(|id| self.with_shard(*id, |shard| shard.index.is_stale())) {
            stale.push(id);
            for key in self.with_shard(id, |shard| shard.index.take_changed()) {
                self.cut_leaf(id, key, &mut leaves).await?;
            }
        }
        self.write_index_leaves(leaves.due).await?;
        self.write_index_nodes(stale).await
    }

    /// Cuts a leaf into pages, and writes those that are due as soon as they are enough. An error
    /// halts the pool: what is cut and not written is in memory alone.
    async fn cut_leaf(
        &self,
        id: ShardId,
        key: GroupKey,
        leaves: &mut CutLeaves,
    ) -> Result<(), CheckpointError> {
        let mut next = Some(key);
        while let Some(key) = next {
            let cut = self.with_shard(id, |shard| shard.index.cut(key));
            cut.replaced.into_iter().for_each(|old| self.space.ledger.discard_page(old));
            leaves.due.extend(cut.page.map(|(key, bytes)| (id, key, bytes)));
            leaves.count += 1;
            if leaves.due.len() >= LEAVES_AT_A_TIME {
                self.write_index_leaves(std::mem::take(&mut leaves.due)).await?;
            } else if leaves.count.is_multiple_of(LEAVES_IN_A_TURN) {
                self.world.yield_now().await;
            }
            next = cut.rest;
        }
        Ok(())
    }

    async fn write_index_leaves(&self, leaves: Vec<DueLeaf>) -> Result<(), CheckpointError> {
        let page = |(id, key, bytes): &DueLeaf| {
            NewPage::of_map(PageKind::IndexLeaf, *id, *key, bytes.clone())
        };
        let pointers = self.append_map(leaves.iter().map(page).collect()).await?;
        for (nth, ((id, key, bytes), pointer)) in leaves.into_iter().zip(pointers).enumerate() {
            // In the cache before it goes out of memory.
            self.keep_leaf(pointer, StoredLeaf::encoded(bytes));
            self.with_shard(id, |shard| shard.index.leaf_written(key, pointer));
            if (nth + 1).is_multiple_of(LEAVES_IN_A_TURN) {
                self.world.yield_now().await;
            }
        }
        Ok(())
    }

    async fn write_index_nodes(&self, mut stale: Vec<ShardId>) -> Result<(), CheckpointError> {
        for level in 0.. {
            let mut due = Vec::new();
            let mut grown = Vec::new();
            for id in stale {
                let Some(nodes) = self.with_shard(id, |shard| shard.index.changed_nodes(level))
                else {
                    continue;
                };
                grown.push(id);
                nodes.replaced.into_iter().for_each(|old| self.space.ledger.discard_page(old));
                due.extend(nodes.pages.into_iter().map(|(key, bytes)| (id, key, bytes)));
                if due.len() >= LEAVES_AT_A_TIME {
                    self.write_nodes(level, std::mem::take(&mut due)).await?;
                }
                self.world.yield_now().await;
            }
            self.write_nodes(level, due).await?;
            stale = grown;
            if stale.is_empty() {
                break;
            }
        }
        for id in shard_ids() {
            let unneeded = self.with_shard(id, |shard| shard.index.take_unneeded());
            unneeded.into_iter().for_each(|old| self.space.ledger.discard_page(old));
        }
        Ok(())
    }

    async fn write_nodes(
        &self,
        level: usize,
        nodes: Vec<(ShardId, GroupKey, Vec<u8>)>,
    ) -> Result<(), CheckpointError> {
        let keys: Vec<(ShardId, GroupKey)> = nodes.iter().map(|(id, key, _)| (*id, *key)).collect();
        let page = |(id, key, bytes)| NewPage::of_map(PageKind::IndexNode, id, key, bytes);
        let pointers = self.append_map(nodes.into_iter().map(page).collect()).await?;
        for ((id, key), pointer) in keys.into_iter().zip(pointers) {
            self.with_shard(id, |shard| shard.index.node_written(level, key, pointer));
        }
        Ok(())
    }
}
