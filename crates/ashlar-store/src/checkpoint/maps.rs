//! What a checkpoint writes before the table names it: deltas, indexes and the catalog.

use std::collections::{BTreeMap, VecDeque};

use ashlar_block::World;
use ashlar_format::ids::{GroupKey, ShardId};
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    DELTA_ENTRIES_MAX, DIRECTORY_PAGES_MAX, Directory, encode_delta, encode_directory,
};
use ashlar_format::root::ShardRoot;

use super::{CheckpointError, shard_ids};
use crate::checkpoint::catalog_pages::CatalogPages;
use crate::map::index::nodes_above;
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::writer::pages::AppendError;

/// Bytes of a catalog page.
const CATALOG_PAGE_BYTES: usize = 4096;

impl<W: World> Pool<W> {
    /// Writes deltas, indexes and the catalog. Returns where the catalog and the shards begin.
    pub(super) async fn write_maps(
        &self,
        catalog: &[u8],
    ) -> Result<(Option<Pointer>, Vec<ShardRoot>), CheckpointError> {
        let catalog = self.write_catalog(catalog).await?;
        self.write_deltas().await?;
        self.write_indexes().await?;
        let shards = self.shards.borrow();
        let root = |shard: &Shard| {
            let (index_height, index) = shard.index.root();
            ShardRoot { index_height, index, deltas: shard.deltas.head() }
        };
        Ok((catalog, shards.iter().map(root).collect()))
    }

    async fn append_map(&self, pages: Vec<Vec<u8>>) -> Result<Vec<Pointer>, AppendError> {
        self.append_pages(self.checkpoint_claim.get(), pages).await
    }

    /// Writes the catalog. One that has not changed stays where it is while no segment can be had:
    /// a start of a pool that is full has nothing else to write, and each would take one. What the
    /// catalog says is looked at then alone: it may be many megabytes.
    async fn write_catalog(&self, bytes: &[u8]) -> Result<Option<Pointer>, CheckpointError> {
        let is_cornered = self.segments.borrow().is_cornered(&self.allocation_targets());
        if is_cornered && self.catalog_pages.borrow().hold(bytes) {
            return Ok(self.roots.newest().catalog);
        }
        let pages = bytes.chunks(CATALOG_PAGE_BYTES).map(<[u8]>::to_vec).collect();
        let pages = self.append_map(pages).await?;
        let mut all = pages.clone();
        let mut previous = None;
        for chunk in pages.chunks(DIRECTORY_PAGES_MAX) {
            let directory = Directory { previous, pages: chunk.to_vec() };
            previous = self.append_map(vec![encode_directory(&directory)]).await?.pop();
            all.extend(previous);
        }
        let written =
            if is_cornered { CatalogPages::holding(bytes, all) } else { CatalogPages::of_anything(all) };
        let before = self.catalog_pages.replace(written);
        before.pages().iter().for_each(|old| self.ledger.discard_page(*old));
        Ok(previous)
    }

    async fn write_deltas(&self) -> Result<(), CheckpointError> {
        let new = self.write_delta_pages().await?;
        let mut directories = Vec::new();
        for id in shard_ids() {
            let pages = new.get(&id).map_or(&[][..], Vec::as_slice);
            let addition = self.with_shard(id, |shard| shard.deltas.add(pages));
            addition.replaced.into_iter().for_each(|old| self.ledger.discard_page(old));
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
            let updates = self.with_shard(id, |shard| shard.buffer.freezing());
            // A shard may have a great many: hosts go on in between.
            self.world.yield_now().await;
            for chunk in updates.chunks(DELTA_ENTRIES_MAX) {
                owners.push(id);
                pages.push(encode_delta(chunk));
            }
        }
        let pointers = self.append_map(pages).await?;
        let mut written: BTreeMap<ShardId, Vec<Pointer>> = BTreeMap::new();
        owners.into_iter().zip(pointers).for_each(|(id, page)| written.entry(id).or_default().push(page));
        Ok(written)
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
            let pages = round.iter().map(|(_, directory)| encode_directory(directory)).collect();
            let pointers = self.append_map(pages).await?;
            for ((id, directory), at) in round.into_iter().zip(pointers) {
                self.with_shard(id, |shard| shard.deltas.directory_written(directory, at));
            }
        }
        Ok(())
    }

    async fn write_indexes(&self) -> Result<(), CheckpointError> {
        let mut leaves: Vec<(ShardId, GroupKey)> = Vec::new();
        let mut pages = Vec::new();
        let mut stale = Vec::new();
        for id in shard_ids() {
            let changed = self.with_shard(id, |shard| {
                let groups = &shard.groups;
                shard.index.is_stale().then(|| shard.index.changed_leaves(groups))
            });
            let Some((new, replaced)) = changed else { continue };
            replaced.into_iter().for_each(|old| self.ledger.discard_page(old));
            stale.push(id);
            for (key, page) in new {
                leaves.push((id, key));
                pages.push(page);
            }
        }
        let pointers = self.append_map(pages).await?;
        for ((id, key), pointer) in leaves.into_iter().zip(pointers) {
            self.with_shard(id, |shard| shard.index.leaf_written(key, pointer));
        }
        for id in stale {
            self.write_nodes(id).await?;
        }
        Ok(())
    }

    async fn write_nodes(&self, id: ShardId) -> Result<(), CheckpointError> {
        let mut children = self.with_shard(id, |shard| shard.index.children());
        let mut nodes = Vec::new();
        let mut height = 0;
        while children.len() > 1 {
            let (keys, pages): (Vec<_>, Vec<_>) = nodes_above(&children).into_iter().unzip();
            let pointers = self.append_map(pages).await?;
            nodes.extend(&pointers);
            children = keys.into_iter().zip(pointers).collect();
            height += 1;
        }
        let root = children.first().map(|(_, pointer)| *pointer);
        let replaced = self.with_shard(id, |shard| shard.index.nodes_written(nodes, height, root));
        replaced.into_iter().for_each(|old| self.ledger.discard_page(old));
        Ok(())
    }
}
