//! A checkpoint makes durable what the maps say, and names the space that may be reused.
//!
//! `docs/format.md`, "Order of events", has the steps, and what a crash between two of them leaves.

pub(crate) mod catalog_pages;
pub(crate) mod due;
mod maps;
pub(crate) mod page_tree;
pub(crate) mod table;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use ashlar_block::{
    AlignedBuf, Cause, DriveId, DriveUuid, Durability, IoError, SECTOR_BYTES, World, counted_are,
};
use ashlar_format::catalog::Catalog;
use ashlar_format::codec::crc32c;
use ashlar_format::ids::{Incarnation, Lsn, RootGeneration, SHARD_COUNT, ShardId};
use ashlar_format::location::SegmentId;
use ashlar_format::root::{MemberRecord, MemberState, Root, TableRoot};
use ashlar_format::superblock::Superblock;
use ashlar_format::table::{FirstTable, TABLE_AREA_BYTES, encode_first_table};
use ashlar_raid::ChunkAddr;
use futures_util::future::join_all;

use crate::base::activity::Activity;
use crate::base::root_watch::RootWatch;
use crate::checkpoint::catalog_pages::{CatalogPages, Due};
use crate::checkpoint::table::TableTrees;
use crate::checkpoint::table::{InlineLeaves, Tree};
use crate::map::shard::Shard;
use crate::members::add::Joining;
use crate::members::{Loss, losses_by_root};
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::{Claim, Redundancy, Shape};
use crate::space::window::Window;
use crate::writer::pages::AppendError;

/// What is noted in one turn, and alone decides what the root says.
struct Noted {
    floor: Lsn,
    drives: Vec<DriveId>,
    /// Those of them that new segments may lie on.
    homes: Vec<DriveId>,
    reclaimable: BTreeSet<SegmentId>,
    catalog: Catalog,
    generation: RootGeneration,
    /// Bytes and records written when it began.
    written: u64,
    records: u64,
    /// Columns that have gone elsewhere since the root before.
    relocated_columns: usize,
}

/// Who belongs to the pool by a root.
struct Members {
    records: Vec<MemberRecord>,
    /// Columns of parity that are used up, in the segment of which most are.
    parity_used: usize,
}

/// More than the pool can go on without.
#[derive(Debug, thiserror::Error)]
#[error("{} lost, and the level survives {parity}", counted_are(*lost, "drive"))]
pub(crate) struct TooManyLost {
    pub lost: usize,
    pub parity: usize,
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
    /// [`Counters::bytes_to_drives`](crate::pool::Counters::bytes_to_drives) when the last
    /// checkpoint began.
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
        let noted = self.note()?;
        // Drives that answer at once end no turn: hosts go on between the steps all the same.
        self.world.yield_now().await;
        let before = self.upkeep.now_does(Activity::WriteMaps);
        let (catalog, shards) = self.write_maps(&noted.catalog).await?;
        self.upkeep.now_does(Activity::WriteTable);
        let freed = self.free(&noted);
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

    fn note(&self) -> Result<Noted, CheckpointError> {
        let generation = RootGeneration(self.checkpoint.roots.newest().generation.0 + 1);
        let drives = self.drives();
        self.seal_off_lost_drives();
        self.keep_reserve_again();
        let floor = self.writer.lsns.floor();
        self.map.shards.borrow_mut().iter_mut().for_each(|shard| shard.buffer.freeze());
        self.space.segments.borrow_mut().note();
        let (homes, reclaimable) =
            (self.allocation_targets(), self.space.segments.borrow().reclaimable(floor));
        self.members(generation, &reclaimable)?;
        let segments = self.space.segments.borrow();
        let takes_last = self.checkpoint_may_take_last(&segments, &homes, &reclaimable);
        let claim = if takes_last { Claim::Last } else { Claim::Checkpoint };
        self.checkpoint.claim.set(claim);
        let mut catalog = self.catalog.borrow_mut();
        catalog.usages = self.space.ledger.usages();
        catalog.scrub_progress = self.jobs.scrub.progress();
        catalog.rebuilt_bytes = self.jobs.rebuild.done.bytes();
        catalog.rebalanced_bytes = self.jobs.rebalance.done.bytes();
        let mut catalog = catalog.clone();
        if !takes_last && segments.usable_striped() < CHECKPOINT_MIN {
            // It would halt the pool, and what jobs have done is not worth that.
            self.checkpoint.catalog_pages.borrow().leave_work_of_jobs_as_written(&mut catalog);
        }
        Ok(Noted {
            floor,
            drives,
            homes,
            reclaimable,
            catalog,
            generation,
            written: self.counters.get().bytes_to_drives,
            records: self.writer.lsns.records(),
            relocated_columns: self.jobs.relocation.unsettled_columns(),
        })
    }

    /// Whether a checkpoint that leaves out what jobs have done has pages of the maps to write.
    pub fn has_maps_to_write(&self) -> bool {
        let pages = self.checkpoint.catalog_pages.borrow();
        let mut catalog = self.catalog.borrow().clone();
        catalog.usages = self.space.ledger.usages();
        pages.leave_work_of_jobs_as_written(&mut catalog);
        let is_stale = |shard: &Shard| shard.index.is_stale() || shard.buffer.fresh_len() > 0;
        !matches!(pages.due(&catalog), Due::Nothing) || self.map.shards.borrow().iter().any(is_stale)
    }

    /// The members as they are now; those that have become absent, since this root. Those that no
    /// segment but the `freed` ones counts on are released: of the others no more may be lost than
    /// the level survives.
    fn members(
        &self,
        generation: RootGeneration,
        freed: &BTreeSet<SegmentId>,
    ) -> Result<Members, CheckpointError> {
        let mut records = self.members_now(generation);
        let parity = self.space.segments.borrow().stripe().parity;
        let is_absent = |member: &&MemberRecord| member.state == MemberState::Absent;
        let away = records.iter().filter(is_absent).map(|member| member.drive).collect();
        let redundancy = self.space.segments.borrow_mut().redundancy(away, freed);
        if self.could_restore() {
            records = released(records, &self.membership.leaving.borrow(), &redundancy, generation);
        }
        for member in &mut records {
            member.parity_used = redundancy.parity_used_on(member.drive) as u8;
        }
        let absent = records.iter().filter(is_absent);
        let loss = Loss::of(absent.map(|member| (member, member.since == generation)));
        let parity_used = redundancy.parity_used;
        let lost = loss.as_level_counts(parity_used <= parity, parity);
        if lost > parity {
            Err(TooManyLost { lost, parity }.into())
        } else {
            Ok(Members { records, parity_used })
        }
    }

    fn members_now(&self, generation: RootGeneration) -> Vec<MemberRecord> {
        let (drives, leaving) = (self.drives(), self.membership.leaving.borrow());
        let joining = self.membership.joining.get();
        let changed = |member: &MemberRecord| match (member.state, joining) {
            (_, Some(Joining { record, was, .. })) if was == Some(member.uuid) => {
                MemberRecord { uuid: record.uuid, given_up: false, ..*member }
            }
            (MemberState::Absent | MemberState::Released, _) => {
                MemberRecord { given_up: member.given_up && !self.is_gone(member.drive), ..*member }
            }
            _ if !drives.contains(&member.drive) => {
                let (state, given_up) = (MemberState::Absent, self.gives_up(member.drive));
                MemberRecord { state, given_up, since: generation, ..*member }
            }
            _ if leaving.contains(&member.drive) => MemberRecord { state: MemberState::Leaving, ..*member },
            _ => MemberRecord { state: MemberState::Present, ..*member },
        };
        let root = self.checkpoint.roots.newest();
        let makes_good = joining.and_then(|joining| joining.makes_good);
        let made_good = |member: MemberRecord| {
            let is_it = makes_good == Some(member.uuid) && !member.state.takes_part();
            MemberRecord { made_good: member.made_good || is_it, ..member }
        };
        let joins = joining.map(|joining| joining.record);
        root.members.iter().map(changed).map(made_good).chain(joins).collect()
    }

    // --- step 3 (2 is in `maps`) -----------------------------------------------------------------

    /// Frees what the new root does not need, but for its chunks: a start may open segments that no
    /// durable root names for what it writes until then, and the root before may need these.
    /// Returns them, without those in which nothing lived by the root before: a start may write
    /// there, and it may have no other room for its pages.
    fn free(&self, noted: &Noted) -> Vec<ChunkAddr> {
        let mut segments = self.space.segments.borrow_mut();
        let mut chunks = Vec::new();
        // The leaves are about to say that the others are there.
        let empty_at_start = self.checkpoint.empty_at_start.take();
        for id in &noted.reclaimable {
            // A start that had no other room has taken it already.
            let Some(freed) = segments.get(*id).is_some().then(|| segments.remove(*id)) else { continue };
            if freed.hot {
                self.writer.heat.hot_segment_lived(freed.last_lsn, self.writer.lsns.next());
            }
            if empty_at_start.contains(id) {
                segments.give_back(freed.geometry.columns.iter().copied());
            } else {
                chunks.extend(&freed.geometry.columns);
            }
        }
        chunks
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
        let window = self.form_windows(&mut segments, &noted.homes);
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

    async fn write_first_table(&self, noted: &Noted, table: &FirstTable) -> Result<Root, CheckpointError> {
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
    fn line(&self, before: &Root, generation: RootGeneration) -> Vec<(Incarnation, RootGeneration)> {
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

    async fn write_everywhere(&self, drives: &[DriveId], offset: u64, bytes: &[u8], durability: Durability) {
        let mut buf = AlignedBuf::zeroed(bytes.len().next_multiple_of(SECTOR_BYTES));
        buf[..bytes.len()].copy_from_slice(bytes);
        let bytes = buf.freeze();
        join_all(drives.iter().map(|drive| self.array.write_raw(*drive, offset, bytes.clone(), durability)))
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
        if self.membership.joining.get().is_some_and(|joining| self.is_member(joining.record.drive)) {
            self.membership.joining.set(None);
        }
        let mut segments = self.space.segments.borrow_mut();
        segments.end_note();
        segments.window_durable(Shape::Striped, window.striped);
        segments.window_durable(Shape::Journal, window.journal);
        segments.release(window.retired);
        drop(segments);
        self.free_chunks_settled();
        if self.unreleased().is_empty() {
            self.rebuild_ended();
        }
        self.checkpoint.bytes_before.set(noted.written);
        self.checkpoint.records_before.set(noted.records);
        self.count(|counters| counters.checkpoints += 1);
        self.refresh_limit();
        self.requests.written(self.fresh_entries());
        if self.drives() != noted.drives {
            // A drive has failed since the note: the root says so, but its window still lies on it.
            self.requests.lose_drive();
        }
        self.let_go_of_drives(&before);
        self.checkpoint.roots.announce();
    }

    /// What the checkpoint has written is in durable deltas. One shard in a turn: hosts go on in
    /// between.
    async fn settle_buffers(&self) {
        for id in shard_ids() {
            self.with_shard(id, Shard::settle);
            self.world.yield_now().await;
        }
    }
}

/// The members of the root `generation`, if no segment counts on them, and none has fewer columns
/// of parity than the level, which would make it count on others more than it should: who is lost
/// is released, once a root before has called it absent; who is `leaving`, or came back under
/// another number, is none any more.
///
/// The root before may count on a drive that this one is the first to miss. Where the power fails
/// while this root is on one drive alone, the others open the pool with that one. If this root
/// released it, the first drive could open the pool by itself as well.
fn released(
    members: Vec<MemberRecord>,
    leaving: &BTreeSet<DriveId>,
    redundancy: &Redundancy,
    generation: RootGeneration,
) -> Vec<MemberRecord> {
    if redundancy.has_thin {
        return members;
    }
    let came_back: BTreeSet<DriveUuid> =
        members.iter().filter(|member| member.state.takes_part()).map(|member| member.uuid).collect();
    let kept = |member: MemberRecord| match member.state {
        _ if redundancy.uses(member.drive) => Some(member),
        MemberState::Absent | MemberState::Released if came_back.contains(&member.uuid) => None,
        MemberState::Absent if member.since < generation => {
            Some(MemberRecord { state: MemberState::Released, since: generation, ..member })
        }
        MemberState::Leaving | MemberState::Released if leaving.contains(&member.drive) => None,
        _ => Some(member),
    };
    members.into_iter().filter_map(kept).collect()
}

fn shard_ids() -> impl Iterator<Item = ShardId> {
    (0..SHARD_COUNT as u8).map(ShardId)
}

#[cfg(test)]
mod tests;
