//! The catalog on the drives: which pages hold its items, and what a checkpoint writes of it.
//!
//! A checkpoint writes items together if they fit a page: each append takes a row at least, and
//! pools without free space have no more of them. Of a larger catalog it writes the items that have
//! changed, then the directories that list them, then the list of directories, if there is more
//! than one. What has not changed stays where it is.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::World;
use ashlar_format::catalog::{Catalog, Item, ItemKey, Lifetime};
use ashlar_format::header::PageKind;
use ashlar_format::location::{Location, Pointer, SegmentId};
use ashlar_format::page::{
    CATALOG_ENTRIES_BYTES_MAX, CatalogEntry, DIRECTORY_PAGES_MAX, Directory, PAGE_BYTES_MAX,
    catalog_entry_bytes, encode_catalog_directory, encode_catalog_list, encode_whole_catalog,
};

use super::CheckpointError;
use crate::pool::Pool;
use crate::writer::pages::NewPage;

/// Pages of items that are written together.
const PAGES_AT_A_TIME: usize = 256;

/// Where the catalog is that the newest root names.
#[derive(Default)]
pub(crate) struct CatalogPages {
    /// What the pages say. It shares what is large with the catalog in use.
    written: Catalog,
    /// The page of all items, if there is one. There is no other then.
    whole: Option<(Vec<u8>, Pointer)>,
    items: BTreeMap<ItemKey, CatalogEntry>,
    /// Items that are to be written anew whatever they say.
    moving: BTreeSet<ItemKey>,
    /// Directories, in order.
    directories: Vec<(Vec<u8>, Pointer)>,
    /// The list of directories, from its beginning.
    list: Vec<Pointer>,
    /// The list is to be written anew.
    list_moves: bool,
}

/// What of a catalog a checkpoint has to write.
pub(crate) enum Due {
    Nothing,
    /// All of it is one page.
    Whole(Vec<u8>),
    /// Those that have changed, and those that are to be forgotten.
    Items {
        changed: Vec<ItemKey>,
        gone: Vec<ItemKey>,
    },
}

impl CatalogPages {
    /// The page that was found on the drives, and the catalog that it is.
    pub fn loaded_whole(written: Catalog, page: Vec<u8>, at: Pointer) -> Self {
        CatalogPages { written, whole: Some((page, at)), ..CatalogPages::default() }
    }

    /// The pages that were found on the drives, and the catalog that they are.
    pub fn loaded(
        written: Catalog,
        items: Vec<(ItemKey, CatalogEntry)>,
        directories: Vec<(Vec<u8>, Pointer)>,
        list: Vec<Pointer>,
    ) -> Self {
        let items = items.into_iter().collect();
        CatalogPages { written, items, directories, list, ..CatalogPages::default() }
    }

    /// Has a catalog say of scrubs, rebuild, rebalance and all that was written what the pages say.
    pub fn leave_work_of_jobs_as_written(&self, catalog: &mut Catalog) {
        catalog.scrub = self.written.scrub.clone();
        catalog.scrub_progress = self.written.scrub_progress.clone();
        catalog.rebuilt_bytes = self.written.rebuilt_bytes;
        catalog.rebalanced_bytes = self.written.rebalanced_bytes;
        catalog.lifetime = self.written.lifetime;
    }

    /// Has a catalog say how much was written, if anything else of it is to be written, or if hosts
    /// have written and this is the last one. Each checkpoint itself makes it more: an idle pool
    /// would have checkpoints for ever.
    pub fn note_lifetime(
        &self,
        catalog: &mut Catalog,
        now: impl FnOnce(&Catalog) -> Lifetime,
        is_last: bool,
    ) {
        let now = now(catalog);
        catalog.lifetime = self.written.lifetime;
        let have_hosts_written = now.blocks_written > catalog.lifetime.blocks_written;
        if (is_last && have_hosts_written) || !matches!(self.due(catalog), Due::Nothing) {
            catalog.lifetime = now;
        }
    }

    fn pages(&self) -> impl Iterator<Item = Pointer> {
        let items = self.items.values().flat_map(|item| item.pages.iter().copied());
        let directories = self.directories.iter().chain(&self.whole).map(|(_, at)| *at);
        items.chain(directories).chain(self.list.iter().copied())
    }

    pub fn locations(&self) -> impl Iterator<Item = Location> {
        self.pages().map(|page| page.location)
    }

    /// Has the next checkpoint write elsewhere what lies in `segment`.
    pub fn touch_in(&mut self, segment: SegmentId) {
        let inside = |page: &Pointer| page.location.segment() == segment;
        let items = self.items.iter().filter(|(_, item)| item.pages.iter().any(inside));
        self.moving.extend(items.map(|(item, _)| *item));
        for (bytes, _) in
            self.directories.iter_mut().chain(&mut self.whole).filter(|(_, at)| inside(at))
        {
            // No page is that.
            bytes.clear();
        }
        self.list_moves |=
            self.list.iter().any(inside) || self.directories.iter().any(|(_, at)| inside(at));
    }

    /// What is to be written of a catalog.
    pub fn due(&self, catalog: &Catalog) -> Due {
        if let Some(page) = whole_page(catalog) {
            let is_written = self.whole.as_ref().is_some_and(|(written, _)| *written == page);
            return if is_written { Due::Nothing } else { Due::Whole(page) };
        }
        let keys = catalog.item_keys();
        let is_due = |item: &ItemKey| {
            !self.items.contains_key(item)
                || self.moving.contains(item)
                || catalog.has_changed(*item, &self.written)
        };
        let changed: Vec<ItemKey> = keys.iter().filter(|item| is_due(item)).copied().collect();
        let gone: Vec<ItemKey> =
            self.items.keys().filter(|item| !keys.contains(item)).copied().collect();
        let is_nothing = changed.is_empty() && gone.is_empty() && !self.list_moves;
        if is_nothing { Due::Nothing } else { Due::Items { changed, gone } }
    }

    /// The directories of the items, in order.
    fn form_directories(&self) -> Vec<Vec<u8>> {
        let mut directories = Vec::new();
        let mut some: Vec<(ItemKey, &CatalogEntry)> = Vec::new();
        let mut bytes = 0;
        for (item, entry) in &self.items {
            let more = catalog_entry_bytes(entry);
            if bytes + more > CATALOG_ENTRIES_BYTES_MAX {
                directories.push(encode_catalog_directory(&some));
                some.clear();
                bytes = 0;
            }
            bytes += more;
            some.push((*item, entry));
        }
        if !some.is_empty() {
            directories.push(encode_catalog_directory(&some));
        }
        directories
    }
}

impl<W: World> Pool<W> {
    /// Writes what has changed of the catalog. Returns where it begins.
    pub(super) async fn write_catalog(
        &self,
        catalog: &Catalog,
    ) -> Result<Option<Pointer>, CheckpointError> {
        let due = self.checkpoint.catalog_pages.borrow().due(catalog);
        match due {
            Due::Nothing => Ok(self.checkpoint.roots.newest().catalog),
            Due::Whole(page) => self.write_whole_catalog(catalog, page).await.map(Some),
            Due::Items { changed, gone } => {
                self.write_catalog_in_items(catalog, changed, gone).await
            }
        }
    }

    async fn write_whole_catalog(
        &self,
        catalog: &Catalog,
        page: Vec<u8>,
    ) -> Result<Pointer, CheckpointError> {
        let new = vec![NewPage::listed(PageKind::Catalog, page.clone())];
        let at = self.append_map(new).await?.pop().expect("one page");
        let pages = CatalogPages::loaded_whole(catalog.clone(), page, at);
        let before = self.checkpoint.catalog_pages.replace(pages);
        self.discard_catalog_pages(before.pages());
        Ok(at)
    }

    async fn write_catalog_in_items(
        &self,
        catalog: &Catalog,
        changed: Vec<ItemKey>,
        gone: Vec<ItemKey>,
    ) -> Result<Option<Pointer>, CheckpointError> {
        for item in gone {
            let entry = self.checkpoint.catalog_pages.borrow_mut().items.remove(&item);
            self.discard_catalog_pages(entry.into_iter().flat_map(|entry| entry.pages));
        }
        let mut some = Vec::new();
        let mut pages = 0;
        for item in changed {
            let bytes = catalog.encode_item(item);
            pages += bytes.len().div_ceil(PAGE_BYTES_MAX);
            some.push((item, bytes));
            if pages >= PAGES_AT_A_TIME {
                pages = 0;
                self.write_catalog_items(std::mem::take(&mut some)).await?;
            }
        }
        self.write_catalog_items(some).await?;
        self.checkpoint.catalog_pages.borrow_mut().written = catalog.clone();
        let whole = self.checkpoint.catalog_pages.borrow_mut().whole.take();
        self.discard_catalog_pages(whole.into_iter().map(|(_, at)| at));
        self.write_catalog_directories().await?;
        self.write_catalog_list().await
    }

    fn discard_catalog_pages(&self, pages: impl Iterator<Item = Pointer>) {
        pages.for_each(|page| self.space.ledger.discard_page(page));
    }

    async fn write_catalog_items(&self, items: Vec<Item>) -> Result<(), CheckpointError> {
        let chunks = items.iter().flat_map(|(_, bytes)| bytes.chunks(PAGE_BYTES_MAX));
        let new = chunks.map(|chunk| NewPage::listed(PageKind::Catalog, chunk.to_vec())).collect();
        let mut written = self.append_map(new).await?.into_iter();
        for (item, bytes) in items {
            let pages = written.by_ref().take(bytes.len().div_ceil(PAGE_BYTES_MAX)).collect();
            let entry = CatalogEntry { bytes: bytes.len() as u32, pages };
            let mut all = self.checkpoint.catalog_pages.borrow_mut();
            all.moving.remove(&item);
            let before = all.items.insert(item, entry);
            self.discard_catalog_pages(before.into_iter().flat_map(|entry| entry.pages));
        }
        Ok(())
    }

    async fn write_catalog_directories(&self) -> Result<(), CheckpointError> {
        let (formed, before) = {
            let mut pages = self.checkpoint.catalog_pages.borrow_mut();
            (pages.form_directories(), std::mem::take(&mut pages.directories))
        };
        let mut before: BTreeMap<Vec<u8>, Vec<Pointer>> = before.into_iter().fold(
            BTreeMap::new(),
            |mut all: BTreeMap<_, Vec<Pointer>>, (bytes, at)| {
                all.entry(bytes).or_default().push(at);
                all
            },
        );
        let kept: Vec<Option<Pointer>> =
            formed.iter().map(|bytes| before.get_mut(bytes).and_then(Vec::pop)).collect();
        let new = formed.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        let new = new.map(|(bytes, _)| NewPage::listed(PageKind::Catalog, bytes.clone())).collect();
        let mut written = self.append_map(new).await?.into_iter();
        let place =
            |kept: Option<Pointer>| kept.or_else(|| written.next()).expect("it is kept or written");
        let directories = formed.into_iter().zip(kept.into_iter().map(place)).collect();
        self.checkpoint.catalog_pages.borrow_mut().directories = directories;
        self.discard_catalog_pages(before.into_values().flatten());
        Ok(())
    }

    async fn write_catalog_list(&self) -> Result<Option<Pointer>, CheckpointError> {
        let directories: Vec<Pointer> =
            self.checkpoint.catalog_pages.borrow().directories.iter().map(|(_, at)| *at).collect();
        // The root names an only directory itself.
        let only = directories.first().filter(|_| directories.len() == 1).copied();
        let (mut list, mut previous) = (Vec::new(), only);
        for pages in directories.chunks(DIRECTORY_PAGES_MAX).filter(|_| only.is_none()) {
            let directory = Directory { previous, pages: pages.to_vec() };
            let page = NewPage::listed(PageKind::Directory, encode_catalog_list(&directory));
            previous = self.append_map(vec![page]).await?.pop();
            list.extend(previous);
        }
        let mut pages = self.checkpoint.catalog_pages.borrow_mut();
        pages.list_moves = false;
        let before = std::mem::replace(&mut pages.list, list);
        self.discard_catalog_pages(before.into_iter());
        Ok(previous)
    }
}

/// The page of all items, if they fit one. Nothing is written of a catalog without any.
fn whole_page(catalog: &Catalog) -> Option<Vec<u8>> {
    let keys = catalog.item_keys();
    let items = keys.iter().map(|item| (*item, catalog.encode_item(*item)));
    encode_whole_catalog(items).filter(|_| !keys.is_empty())
}

#[cfg(test)]
mod tests;
