//! Pages of the map on the drives: reading them, appending them.

use std::rc::Rc;

use ashlar_block::{AlignedBuf, Cause, IoError, World};
use ashlar_format::codec::crc32c;
use ashlar_format::header::{PageKind, RecordKind, page_key, page_owner};
use ashlar_format::ids::{GroupKey, Key, ShardId};
use ashlar_format::location::Pointer;
use ashlar_format::page::{
    Directory, PageEntry, StoredLeaf, Value, decode_delta, decode_directory, decode_map_page,
};
use ashlar_raid::{ReadError, Source};
use futures_util::future::try_join_all;

use crate::base::limits::PAGES_READ_AT_A_TIME;
use crate::map::cache::Page;
use crate::map::index::LOWEST;
use crate::pool::Pool;
use crate::reader::decompress::decompress_page;
use crate::space::ledger::NamedAt;
use crate::space::segments::{Claim, pin};
use crate::writer::append::{BatchRoom, StreamId, WindowEmpty};
use crate::writer::batch::Item;
use crate::writer::compress::{compress_page, raw_page};

/// Why pages could not be written.
#[derive(Debug)]
pub(crate) enum AppendError {
    /// A checkpoint has to form a new window first.
    WindowEmpty,
    /// The pool has halted.
    Halted,
}

impl From<WindowEmpty> for AppendError {
    fn from(_: WindowEmpty) -> Self {
        AppendError::WindowEmpty
    }
}

/// Pages that are compressed in one turn.
const PAGES_COMPRESSED_IN_A_TURN: usize = 2;
/// Pages that are counted in one.
const PAGES_CREDITED_IN_A_TURN: usize = 1024;

/// Of a pool that has so many times the memory of its maps, deltas are a small part: they take
/// twice what the maps' buffers do, and those a part of that memory.
const DELTAS_PART: u64 = 32;

/// A page that is to be written.
#[derive(Debug)]
pub(crate) struct NewPage {
    kind: PageKind,
    key: Key,
    bytes: Vec<u8>,
}

impl NewPage {
    /// A page of a shard's map. `group`: the one that it is of, or the lowest.
    pub fn of_map(kind: PageKind, shard: ShardId, group: GroupKey, bytes: Vec<u8>) -> Self {
        NewPage { kind, key: page_key(shard, group), bytes }
    }

    /// A page of which a list in memory knows where it is.
    pub fn listed(kind: PageKind, bytes: Vec<u8>) -> Self {
        NewPage { kind, key: page_key(ShardId(0), LOWEST), bytes }
    }

    /// The group that it is of, if it is a page of a run.
    fn of_run(&self) -> Option<NamedAt> {
        let owner = (self.kind == PageKind::Map).then(|| page_owner(&self.key)).flatten();
        owner.map(|(shard, group)| NamedAt { shard, group })
    }

    fn item(self, deltas: Deltas) -> Item {
        let fragment = match (self.kind, deltas) {
            (PageKind::Delta, Deltas::Raw) => raw_page(self.bytes),
            _ => compress_page(self.bytes),
        };
        Item { kind: RecordKind::Page(self.kind), key: self.key, fragment: Some(fragment) }
    }
}

/// How pages of deltas are stored. They live for a few checkpoints, each of which pays for what is
/// done with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deltas {
    Raw,
    /// All of them would take a part of the pool that matters.
    Compressed,
}

impl Deltas {
    /// Of maps that have so much memory, in a pool in which so many bytes may live.
    fn of(map_memory_bytes: u64, limit_bytes: u64) -> Self {
        if map_memory_bytes > limit_bytes / DELTAS_PART { Deltas::Compressed } else { Deltas::Raw }
    }
}

impl<W: World> Pool<W> {
    /// The bytes at `pointer`, right or not at all.
    pub async fn read_fragment(&self, pointer: Pointer) -> Result<AlignedBuf, IoError> {
        let location = pointer.location;
        let gone = || IoError::new(Cause::Internal, format!("{location:?} is in no segment"));
        let (_pin, geometry) = pin(&self.space.segments, location.segment()).ok_or_else(gone)?;
        let within = location.within_sectors();
        let right = |sectors: &[u8]| crc32c(&sectors[within.clone()]) == pointer.crc;
        let read =
            self.array.read_checked(&geometry, location.column(), location.sectors(), right).await;
        self.note_read(1, &read.as_ref().map(|(_, source)| *source));
        if let Ok((_, source)) = &read {
            self.heal_after(&geometry, location, *source);
        }
        let (sectors, _) = read.map_err(|error| self.unrecovered(location, &error))?;
        Ok(if within == (0..sectors.len()) {
            sectors
        } else {
            AlignedBuf::copy_of(&sectors[within])
        })
    }

    /// Counts what a read of `blocks` fragments has shown of the drives.
    pub fn note_read(&self, blocks: u64, read: &Result<Source, &ReadError>) {
        self.count(|counters| match read {
            Ok(Source::Direct) => {}
            Ok(Source::Missing) => counters.reads.blocks_reconstructed += blocks,
            Ok(Source::Spared) => counters.reads.blocks_spared += blocks,
            Ok(Source::Corrupt) => counters.reads.corrupt_reads_corrected += blocks,
            Err(_) => counters.reads.blocks_unrecovered += blocks,
        });
    }

    /// The page at `pointer`.
    pub async fn read_page(&self, pointer: Pointer) -> Result<Vec<u8>, IoError> {
        let stored = self.read_fragment(pointer).await?;
        let damaged =
            || IoError::new(Cause::Internal, format!("{:?} is not a page", pointer.location));
        decompress_page(&stored, pointer.location.codec()).ok_or_else(damaged)
    }

    /// What `read` makes of each of the pages: a few are read in a turn, so that hosts go on in
    /// between.
    pub async fn read_pages<P, T, E>(
        &self,
        pages: &[P],
        read: impl AsyncFn(&P) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let mut all = Vec::with_capacity(pages.len());
        for few in pages.chunks(PAGES_READ_AT_A_TIME) {
            all.extend(try_join_all(few.iter().map(|page| read(page))).await?);
            self.world.yield_now().await;
        }
        Ok(all)
    }

    /// The map page at `pointer`, which then is in the cache.
    pub async fn read_map_page(&self, pointer: Pointer) -> Result<Rc<Vec<PageEntry>>, IoError> {
        let bytes = self.read_page(pointer).await?;
        let entries =
            decode_map_page(&bytes).map_err(|error| IoError::new(Cause::Internal, error))?;
        let entries = Rc::new(entries);
        self.count(|counters| counters.reads.map_pages_read += 1);
        self.limit_cache();
        self.map.pages.keep(pointer, Page::Entries(entries.clone()));
        Ok(entries)
    }

    /// The leaf of an index at `pointer`, which then is in the cache.
    pub async fn read_leaf(&self, pointer: Pointer) -> Result<Rc<StoredLeaf>, IoError> {
        let bytes = self.read_page(pointer).await?;
        let leaf = StoredLeaf::new(bytes).map_err(|error| IoError::new(Cause::Internal, error))?;
        self.count(|counters| counters.reads.map_pages_read += 1);
        Ok(self.keep_leaf(pointer, leaf))
    }

    /// Puts a leaf into the cache.
    pub fn keep_leaf(&self, pointer: Pointer, leaf: StoredLeaf) -> Rc<StoredLeaf> {
        let leaf = Rc::new(leaf);
        self.limit_cache();
        self.map.pages.keep(pointer, Page::Leaf(leaf.clone()));
        leaf
    }

    /// The cache has what the index leaves of its half of the map's memory.
    fn limit_cache(&self) {
        let index_bytes: usize =
            self.map.shards.borrow().iter().map(|shard| shard.index.bytes()).sum();
        self.map.pages.limit((self.options.map_memory_bytes / 2).saturating_sub(index_bytes));
    }

    /// The updates of the delta page at `pointer`.
    pub async fn read_delta_page(&self, pointer: Pointer) -> Result<Vec<(Key, Value)>, IoError> {
        let bytes = self.read_page(pointer).await?;
        decode_delta(&bytes).map_err(|error| IoError::new(Cause::Internal, error))
    }

    /// The directory at `head` and those before it, newest first.
    pub async fn read_directories(
        &self,
        head: Option<Pointer>,
    ) -> Result<Vec<(Pointer, Directory)>, IoError> {
        let mut directories = Vec::new();
        let mut next = head;
        while let Some(pointer) = next {
            let page = self.read_page(pointer).await?;
            let directory =
                decode_directory(&page).map_err(|error| IoError::new(Cause::Internal, error))?;
            next = directory.previous;
            directories.push((pointer, directory));
        }
        Ok(directories)
    }

    /// The pages as items, compressed: a few in a turn, so that hosts go on in between.
    async fn page_items(&self, pages: Vec<NewPage>) -> Vec<Item> {
        let deltas = Deltas::of(self.options.map_memory_bytes as u64, self.space.limit_bytes.get());
        let mut items = Vec::with_capacity(pages.len());
        for (nth, page) in pages.into_iter().enumerate() {
            if nth > 0 && nth.is_multiple_of(PAGES_COMPRESSED_IN_A_TURN) {
                self.world.yield_now().await;
            }
            items.push(page.item(deltas));
        }
        items
    }

    /// Appends pages of the map and returns where they are, once they are written. They count as
    /// named then; only a root makes them matter. A segment that has been sealed meanwhile looks
    /// empty until they do. Upkeep does one thing after the other, so no checkpoint is noted in
    /// between.
    pub async fn append_pages(
        &self,
        claim: Claim,
        pages: Vec<NewPage>,
    ) -> Result<Vec<Pointer>, AppendError> {
        self.append_pages_to(StreamId::Metadata, claim, pages).await
    }

    /// The same to a stream of pages.
    pub async fn append_pages_to(
        &self,
        stream: StreamId,
        claim: Claim,
        pages: Vec<NewPage>,
    ) -> Result<Vec<Pointer>, AppendError> {
        let mut pointers = Vec::with_capacity(pages.len());
        let of: Vec<Option<NamedAt>> = pages.iter().map(NewPage::of_run).collect();
        let mut items = self.page_items(pages).await.into_iter();
        while !items.as_slice().is_empty() {
            let take = |room: BatchRoom, taken: &mut Vec<Item>| {
                let fitting = room.fitting(items.as_slice());
                taken.extend(items.by_ref().take(fitting));
            };
            let mut appended = match self.try_append(stream, claim, take).await {
                Err(WindowEmpty) if self.extend_window() => continue,
                appended => appended?,
            };
            self.write_for_root(&mut appended).await.ok_or(AppendError::Halted)?;
            self.published(appended.lsn);
            pointers.extend(appended.pointers.iter().flatten());
            self.world.yield_now().await;
        }
        for (nth, (pointer, of)) in pointers.iter().zip(of).enumerate() {
            self.space.ledger.credit_page(of, *pointer);
            if (nth + 1).is_multiple_of(PAGES_CREDITED_IN_A_TURN) {
                self.world.yield_now().await;
            }
        }
        Ok(pointers)
    }
}

#[cfg(test)]
mod tests;
