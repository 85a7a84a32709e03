//! Loads the maps as of the root: the catalog, the shards' indexes and buffers.

use ashlar_block::{IoError, World};
use ashlar_format::catalog::{Catalog, Item, ItemKey};
use ashlar_format::ids::ShardId;
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    CatalogEntry, CatalogTop, Child, GroupsBelow, decode_catalog_directory, decode_catalog_top,
    decode_node,
};
use ashlar_format::root::{Root, ShardRoot};
use futures_util::future::try_join_all;

use crate::checkpoint::catalog_pages::CatalogPages;
use crate::map::deltas::Deltas;
use crate::map::index::{Index, LOWEST};
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::recovery::OpenError;

impl<W: World> Pool<W> {
    /// Loads the volumes and what they store.
    pub async fn load_catalog(&self, root: &Root) -> Result<(), OpenError> {
        if root.catalog.is_none() {
            return Ok(());
        }
        let catalog = self.read_catalog(root.catalog).await?;
        self.space.ledger.load(catalog.usages.clone());
        self.jobs.scrub.resume(catalog.scrub_progress.as_ref(), self.world.now());
        self.jobs.rebuild.done.resume(catalog.rebuilt_bytes);
        self.jobs.rebalance.done.resume(catalog.rebalanced_bytes);
        *self.catalog.borrow_mut() = catalog;
        Ok(())
    }

    /// Reads the catalog that a root names.
    async fn read_catalog(&self, head: Option<Pointer>) -> Result<Catalog, OpenError> {
        let read = async |at: &Pointer| self.read_page(*at).await;
        let (mut list, mut at, mut next) = (Vec::new(), Vec::new(), head);
        while let Some(top) = next.take() {
            let page = read(&top).await?;
            match decode_catalog_top(&page)? {
                CatalogTop::Whole(items) => {
                    let catalog = Catalog::of_items(&items)?;
                    let pages = CatalogPages::loaded_whole(catalog.clone(), page, top);
                    *self.checkpoint.catalog_pages.borrow_mut() = pages;
                    return Ok(catalog);
                }
                CatalogTop::Items(_) => at = vec![top],
                CatalogTop::List(directory) => {
                    list.insert(0, top);
                    at.splice(0..0, directory.pages);
                    next = directory.previous;
                }
            }
        }
        let directories = self.read_pages(&at, read).await?;
        let mut entries: Vec<(ItemKey, CatalogEntry)> = Vec::new();
        for directory in &directories {
            entries.extend(decode_catalog_directory(directory)?);
        }
        let item = async |(item, entry): &(ItemKey, CatalogEntry)| {
            let pages = self.read_pages(&entry.pages, read).await?;
            Ok::<Item, IoError>((*item, pages.concat()))
        };
        let items = self.read_pages(&entries, item).await?;
        let catalog = Catalog::of_items(&items)?;
        let directories = directories.into_iter().zip(at).collect();
        *self.checkpoint.catalog_pages.borrow_mut() =
            CatalogPages::loaded(catalog.clone(), entries, directories, list);
        Ok(catalog)
    }

    /// Loads the shards.
    pub async fn load_shards(&self, root: &Root) -> Result<(), OpenError> {
        let load = |(id, from): (usize, &ShardRoot)| self.load_shard(ShardId(id as u8), *from);
        let shards = try_join_all(root.shards.iter().enumerate().map(load)).await?;
        *self.map.shards.borrow_mut() = shards;
        Ok(())
    }

    async fn load_shard(&self, id: ShardId, from: ShardRoot) -> Result<Shard, OpenError> {
        let mut shard = Shard::new(id);
        self.load_index(&mut shard, from).await?;
        let directories = self.read_directories(from.deltas).await?;
        for (_, directory) in directories.iter().rev() {
            let pages = directory.pages.iter().map(|page| self.read_delta_page(*page));
            for (key, value) in try_join_all(pages).await?.concat() {
                let on_disk = shard.may_have_runs(&key);
                shard.buffer.load(key, value, on_disk);
            }
        }
        shard.deltas = Deltas::loaded(directories);
        Ok(shard)
    }

    /// Where the leaves are. What is in them is read when somebody needs it.
    async fn load_index(&self, shard: &mut Shard, from: ShardRoot) -> Result<(), OpenError> {
        let Some(pointer) = from.index else { return Ok(()) };
        let mut levels = Vec::new();
        let mut children = vec![Child { first: LOWEST, pointer, below: GroupsBelow::default() }];
        for _ in 0..from.index_height {
            let read = async |child: &Child| {
                let page = self.read_page(child.pointer).await?;
                Ok::<_, OpenError>(decode_node(&page)?)
            };
            let below = self.read_pages(&children, read).await?;
            levels.insert(0, std::mem::replace(&mut children, below.concat()));
        }
        shard.index = Index::loaded(children, levels);
        Ok(())
    }
}
