//! A checkpoint makes durable what the maps say, and names the space that may be reused.
//!
//! Owns when a checkpoint is due, what it writes before the root and in which order, and where the
//! catalog and the segment table are. It must not know who asked for it.
//!
//! 1. One is on its way at a time. Its note, taken in one turn, alone decides what the root says.
//! 2. All that a root names is on stable media on every drive that the root calls present.
//! 3. A segment is freed only by a root that does not need it, and its chunks are nobody's until
//!    the root before counts no more.
//! 4. What grows with the pool is done in slices: hosts go on between two of them.
//!
//! `docs/format.md`, "Order of events", has the steps, and what a crash between two of them leaves.

pub(crate) mod catalog_pages;
pub(crate) mod due;
mod maps;
mod membership;
pub(crate) mod page_tree;
pub(crate) mod table;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ashlar_block::{AlignedBuf, Cause, DriveId, Durability, IoError, SECTOR_BYTES, World};
use ashlar_format::catalog::{Catalog, Lifetime};
use ashlar_format::codec::crc32c;
use ashlar_format::ids::{Incarnation, Lsn, RootGeneration, SHARD_COUNT, ShardId};
use ashlar_format::location::SegmentId;
use ashlar_format::root::{Root, TableRoot};
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{FirstTable, TABLE_AREA_BYTES, encode_first_table};
use ashlar_raid::ChunkAddr;
use futures_util::future::join_all;

use crate::base::activity::Activity;
use crate::base::root_watch::RootWatch;
use crate::checkpoint::catalog_pages::{CatalogPages, Due};
use crate::checkpoint::membership::Members;
pub(crate) use crate::checkpoint::membership::TooManyLost;
use crate::checkpoint::table::{InlineLeaves, TableTrees, Tree};
use crate::map::shard::Shard;
use crate::members::losses_by_root;
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::{Claim, Shape};
use crate::space::window::Window;
use crate::writer::pages::AppendError;

/// Updates of a shard that are found, or settle, in one turn: hosts' operations wait for its end.
const UPDATES_IN_A_TURN: usize = 512;

/// The same of segments that are freed.
const FREED_IN_A_TURN: usize = 128;

/// What is noted in one turn, and alone decides what the root says.
struct Noted {
    floor: Lsn,
    drives: Vec<DriveId>,
    /// Those of them that new segments may lie on.
    targets: Vec<DriveId>,
    reclaimable: BTreeSet<SegmentId>,
    catalog: Catalog,
    generation: RootGeneration,
    /// Bytes and records written when it began.
    written: u64,
    records: u64,
    /// Columns that have gone elsewhere since the root before.
    relocated_columns: usize,
}

/// Why a checkpoint failed. All of these halt the pool.
#[derive(Debug, thiserror::Error)]
enum CheckpointError {
    #[error("{0}")]
    TooManyLost(#[from] TooManyLost),
    #[error("no segment is left for the maps")]
    NoMetadataSegment,
    #[error("the segment table takes {bytes} bytes, and its area has {room}")]
    TableTooLarge { bytes: u64, room: u64 },
    #[error("the pool has halted")]
    Halted,
}

impl From<AppendError> for CheckpointError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::WindowEmpty => CheckpointError::NoMetadataSegment,
            AppendError::Halted => CheckpointError::Halted,
        }
    }
}

/// What the newest root says, and what has changed since.
pub(crate) struct Checkpointer {
    /// This start of the pool: its roots and batches carry it.
    pub incarnation: Incarnation,
    pub roots: RootWatch,
    /// What pages of the checkpoint under way may take of the window.
    pub claim: Cell<Claim>,
    /// The catalog's pages, as the root has them.
    pub catalog_pages: RefCell<CatalogPages>,
    /// The segment table's pages, as the root has them.
    pub table: RefCell<TableTrees>,
    /// Bytes that had been written to drives when the last checkpoint began.
    pub bytes_before: Cell<u64>,
    /// [`LsnTracker::records`](crate::writer::lsns::LsnTracker::records) then.
    pub records_before: Cell<u64>,
    /// Until this start has come to a root: segments in which nothing lived by the root before.
    pub empty_at_start: RefCell<BTreeSet<SegmentId>>,
}

impl Checkpointer {
    pub fn new(incarnation: Incarnation, roots: RootWatch, table: TableTrees) -> Self {
        Checkpointer {
            incarnation,
            roots,
            claim: Cell::new(Claim::Checkpoint),
            catalog_pages: RefCell::default(),
            table: RefCell::new(table),
            bytes_before: Cell::new(0),
            records_before: Cell::new(0),
            empty_at_start: RefCell::default(),
        }
    }
}

impl<W: World> Pool<W> {
    /// One checkpoint. `clean`: nothing will be written after it. Only upkeep, and who makes, opens
    /// or closes the pool, may call it.
    pub async fn checkpoint(&self, clean: bool) -> Result<(), IoError> {
        self.halt.check()?;
        let quiet = self.writer.lsns.floor() == self.writer.lsns.next();
        assert!(quiet || !clean, "a clean root would hide batches that are on their way");
        self.try_checkpoint(clean).await.map_err(|error| IoError::new(Cause::WriteFault, error))
    }

    async fn try_checkpoint(&self, clean: bool) -> Result<(), CheckpointError> {
        self.count_redundancy().await;
        let noted = self.note(clean)?;
        // Drives that answer at once end no turn: hosts go on between the steps all the same.
        self.world.yield_now().await;
        let before = self.upkeep.now_does(Activity::WriteMaps);
        let (catalog, shards) = self.write_maps(&noted.catalog).await?;
        self.upkeep.now_does(Activity::WriteTable);
        let freed = self.free(&noted).await;
        let leaves = self.write_leaves().await?;
        let (table, window) = self.form_first_table(&noted, leaves, freed);
        self.world.yield_now().await;
        let root = self.write_first_table(&noted, &table).await?;
        self.world.yield_now().await;
        self.upkeep.now_does(Activity::WriteRoot);
        let root = self.write_root(&noted, Root { catalog, shards, clean, ..root }).await?;
        self.upkeep.now_does(before);
        self.window_is_back(&window).await;
        self.install(noted, root, window);
        // What it has itself written may lie on a drive that is to take nothing new: in an idle
        // pool nothing else would ever seal it.
        self.seal_off_lost_drives();
        self.settle_buffers().await;
        Ok(())
    }

    // --- step 1 ----------------------------------------------------------------------------------

    fn note(&self, clean: bool) -> Result<Noted, CheckpointError> {
        let generation = RootGeneration(self.checkpoint.roots.newest().generation.0 + 1);
        let drives = self.drives();
        self.seal_off_lost_drives();
        self.keep_reserve_again();
        let floor = self.writer.lsns.floor();
        self.map.shards.borrow_mut().iter_mut().for_each(|shard| shard.buffer.freeze());
        self.space.segments.borrow_mut().note();
        let (targets, reclaimable) =
            (self.allocation_targets(), self.space.segments.borrow().reclaimable(floor));
        self.members(generation, &reclaimable)?;
        let segments = self.space.segments.borrow();
        let takes_last = self.checkpoint_may_take_last(&segments, &targets, &reclaimable);
        let claim = if takes_last { Claim::Last } else { Claim::Checkpoint };
        self.checkpoint.claim.set(claim);
        let mut catalog = self.catalog.borrow_mut();
        catalog.usages = self.space.ledger.usages();
        catalog.scrub_progress = self.jobs.scrub.progress();
        catalog.rebuilt_bytes = self.jobs.rebuild.done.bytes();
        catalog.rebalanced_bytes = self.jobs.rebalance.done.bytes();
        let mut catalog = catalog.clone();
        let pages = self.checkpoint.catalog_pages.borrow();
        if !takes_last && segments.usable_striped() < CHECKPOINT_MIN {
            // It would halt the pool, and what jobs have done is not worth that.
            pages.leave_work_of_jobs_as_written(&mut catalog);
        } else {
            pages.note_lifetime(&mut catalog, |before| self.lifetime(before), clean);
        }
        Ok(Noted {
            floor,
            drives,
            targets,
            reclaimable,
            catalog,
            generation,
            written: self.counters.get().drives.bytes_to_drives,
            records: self.writer.lsns.records(),
            relocated_columns: self.jobs.relocation.unsettled_columns(),
        })
    }

    /// What has been written since the pool was made. The catalog in use says what that was when it
    /// was opened.
    pub fn lifetime(&self, catalog: &Catalog) -> Lifetime {
        let (Lifetime { blocks_written, bytes_to_drives }, since) =
            (catalog.lifetime, self.counters.get());
        Lifetime {
            blocks_written: blocks_written + since.hosts.blocks_written,
            bytes_to_drives: bytes_to_drives + since.drives.bytes_to_drives,
        }
    }

    /// Whether a checkpoint that leaves out what jobs have done has pages of the maps to write.
    pub fn has_maps_to_write(&self) -> bool {
        let pages = self.checkpoint.catalog_pages.borrow();
        let mut catalog = self.catalog.borrow().clone();
        catalog.usages = self.space.ledger.usages();
        pages.leave_work_of_jobs_as_written(&mut catalog);
        let is_stale = |shard: &Shard| shard.index.is_stale() || shard.buffer.fresh_len() > 0;
        !matches!(pages.due(&catalog), Due::Nothing)
            || self.map.shards.borrow().iter().any(is_stale)
    }

    // --- step 3 (2 is in `maps`) -----------------------------------------------------------------

    /// Frees what the new root does not need, but for its chunks: a start may open segments that no
    /// durable root names for what it writes until then, and the root before may need these.
    /// Returns them, without those in which nothing lived by the root before: a start may write
    /// there, and it may have no other room for its pages.
    async fn free(&self, noted: &Noted) -> Vec<ChunkAddr> {
        let mut chunks = Vec::new();
        // The leaves are about to say that the others are there.
        let empty_at_start = self.checkpoint.empty_at_start.take();
        for (nth, id) in noted.reclaimable.iter().enumerate() {
            chunks.extend(self.free_segment(*id, &empty_at_start));
            if (nth + 1).is_multiple_of(FREED_IN_A_TURN) {
                self.world.yield_now().await;
            }
        }
        chunks
    }

    /// Frees a segment. Returns its chunks, if it is not one of those that were `empty` by the root
    /// before.
    fn free_segment(&self, id: SegmentId, empty: &BTreeSet<SegmentId>) -> Box<[ChunkAddr]> {
        let mut segments = self.space.segments.borrow_mut();
        // A start that had no other room has taken it already.
        if segments.get(id).is_none() {
            return Box::default();
        }
        let freed = segments.remove(id);
        if freed.hot {
            self.writer.heat.hot_segment_lived(freed.last_lsn, self.writer.lsns.next());
        }
        let chunks = freed.geometry.columns.clone();
        if !empty.contains(&id) {
            return chunks;
        }
        segments.give_back(chunks);
        Box::default()
    }

    /// The first table, with the segments that the root adds to the windows. No page is written
    /// after that.
    fn form_first_table(
        &self,
        noted: &Noted,
        leaves: InlineLeaves,
        freed: Vec<ChunkAddr>,
    ) -> (FirstTable, Window) {
        let mut segments = self.space.segments.borrow_mut();
        segments.give_back(freed);
        let window = self.form_windows(&mut segments, &noted.targets);
        let mut trees = self.checkpoint.table.borrow_mut();
        let table = FirstTable {
            entries: trees.tree(Tree::Entries).top(),
            counts: trees.tree(Tree::Counts).top(),
            segments: segments.apart(),
            leaves: leaves.entries,
            count_leaves: leaves.counts,
        };
        (table, window)
    }

    async fn write_first_table(
        &self,
        noted: &Noted,
        table: &FirstTable,
    ) -> Result<Root, CheckpointError> {
        let encoded = encode_first_table(table);
        let (bytes, room) = (encoded.len() as u64, TABLE_AREA_BYTES);
        if bytes > room {
            return Err(CheckpointError::TableTooLarge { bytes, room });
        }
        let before = self.checkpoint.roots.newest().clone();
        let area = 1 - before.table.area;
        let offset = Superblock::table_offset(area);
        self.write_everywhere(&noted.drives, offset, &encoded, Durability::Cached).await;
        self.flush_everywhere(&noted.drives).await;
        self.count_redundancy().await;
        // Not before: a drive that has failed since the note lacks pages that this root names.
        let Members { records, parity_used } = self.members(noted.generation, &BTreeSet::new())?;
        let table = TableRoot { area, bytes, crc: crc32c(&encoded) };
        let segments = self.space.segments.borrow();
        Ok(Root {
            generation: noted.generation,
            next_lsn: self.writer.lsns.next(),
            replay_floor: noted.floor,
            segment_ordinal: segments.numbers().ordinal(),
            segment_swept: segments.numbers().swept(),
            written_at: self.world.unix_seconds(),
            table,
            parity_used: parity_used as u8,
            members: records,
            line: self.line(&before, noted.generation),
            ..before
        })
    }

    /// The incarnations of this root: this one, then those before it.
    fn line(
        &self,
        before: &Root,
        generation: RootGeneration,
    ) -> Vec<(Incarnation, RootGeneration)> {
        let mut line = before.line.clone();
        if before.incarnation() != self.checkpoint.incarnation {
            line.insert(0, (self.checkpoint.incarnation, generation));
        }
        line.truncate(ashlar_format::root::LINE_MAX);
        line
    }

    // --- steps 4 and 5 ---------------------------------------------------------------------------

    /// Writes the root to every drive that works. One that fails is given up; the next root will
    /// say so. If a start could not tell from this root that the pool has all that it needs without
    /// the drives that have failed, that next root comes at once. Returns the last one.
    async fn write_root(&self, noted: &Noted, mut root: Root) -> Result<Root, CheckpointError> {
        loop {
            let offset = Superblock::root_offset(root.generation.0);
            self.checkpoint.roots.begin(root.clone());
            self.write_everywhere(&noted.drives, offset, &root.encode(), Durability::Stable).await;
            let is_gone = |drive: DriveId| self.array.working(drive).is_none();
            let parity = self.space.segments.borrow().stripe().parity;
            if losses_by_root(&root, is_gone, parity) <= parity {
                return Ok(root);
            }
            self.count_redundancy().await;
            let generation = RootGeneration(root.generation.0 + 1);
            let Members { records, parity_used } = self.members(generation, &BTreeSet::new())?;
            root = Root { generation, members: records, parity_used: parity_used as u8, ..root };
        }
    }

    /// Writes the pool's root to drives that do not have it: the power failed before it came to
    /// them.
    pub async fn spread_root(&self, drives: &[DriveId]) {
        let root = self.checkpoint.roots.newest().clone();
        let offset = Superblock::root_offset(root.generation.0);
        self.write_everywhere(drives, offset, &root.encode(), Durability::Stable).await;
    }

    async fn write_everywhere(
        &self,
        drives: &[DriveId],
        offset: u64,
        bytes: &[u8],
        durability: Durability,
    ) {
        let mut buf = AlignedBuf::zeroed(bytes.len().next_multiple_of(SECTOR_BYTES));
        buf[..bytes.len()].copy_from_slice(bytes);
        let bytes = buf.freeze();
        join_all(
            drives
                .iter()
                .map(|drive| self.array.write_raw(*drive, offset, bytes.clone(), durability)),
        )
        .await;
    }

    async fn flush_everywhere(&self, drives: &[DriveId]) {
        join_all(drives.iter().map(|drive| self.array.flush(*drive))).await;
    }

    // --- step 6 ----------------------------------------------------------------------------------

    /// Nothing is written to a chunk that a drive is being told of. A window has one only where its
    /// drive had no other left.
    async fn window_is_back(&self, window: &Window) {
        let added = window.striped.iter().chain(&window.journal);
        let chunks: Vec<ChunkAddr> = self.space.segments.borrow().chunks_of(added).collect();
        self.chunks_are_back(chunks).await;
    }

    fn install(&self, noted: Noted, root: Root, window: Window) {
        let before = self.checkpoint.roots.install(root).members;
        self.settle_awaiting_root();
        self.jobs.relocation.settled(noted.relocated_columns);
        if self.membership.joining.get().is_some_and(|joining| self.is_member(joining.record.drive))
        {
            self.membership.joining.set(None);
        }
        let mut segments = self.space.segments.borrow_mut();
        segments.end_note();
        segments.window_durable(Shape::Striped, window.striped);
        segments.window_durable(Shape::Journal, window.journal);
        segments.release(window.retired);
        drop(segments);
        self.free_chunks_settled();
        // Before what was counted is forgotten.
        self.note_moves();
        if self.unreleased().is_empty() {
            self.rebuild_ended();
        }
        self.dictionaries.are_durable(noted.catalog.next_dictionary);
        self.checkpoint.bytes_before.set(noted.written);
        self.checkpoint.records_before.set(noted.records);
        self.count(|counters| counters.jobs.checkpoints += 1);
        self.refresh_limit();
        self.requests.written(self.fresh_entries());
        if self.drives() != noted.drives {
            // A drive has failed since the note: the root says so, but its window still lies on it.
            self.requests.lose_drive();
        }
        self.let_go_of_drives(&before);
        self.checkpoint.roots.announce();
    }

    /// What the checkpoint has written is in durable deltas. A part of a shard in a turn: hosts go
    /// on in between.
    async fn settle_buffers(&self) {
        for id in shard_ids() {
            while self.with_shard(id, |shard| shard.settle(UPDATES_IN_A_TURN)) {
                self.world.yield_now().await;
            }
            self.world.yield_now().await;
        }
    }
}

fn shard_ids() -> impl Iterator<Item = ShardId> {
    (0..SHARD_COUNT as u8).map(ShardId)
}

#[cfg(test)]
mod tests;
