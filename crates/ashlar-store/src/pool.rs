//! An open pool: all its state, each piece with one owner, and what holds them together.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{DriveId, DriveUuid, Nanos, PoolUuid, VolumeId, World};
use ashlar_format::catalog::Catalog;
use ashlar_format::features::Features;
use ashlar_format::ids::{GroupKey, Incarnation, Lsn, ShardId};
use ashlar_format::location::{Pointer, SegmentId};
use ashlar_format::root::{LINE_MAX, MemberState, Root};
use ashlar_format::superblock::{Secret, Superblock};
use ashlar_raid::{Array, Level};
use futures_util::future::select;
use tokio::sync::Mutex;

use crate::base::halt::Halt;
use crate::base::options::Options;
use crate::base::recycle::Recycler;
use crate::base::requests::Requests;
use crate::base::root_watch::RootWatch;
use crate::checkpoint::catalog_pages::CatalogPages;
use crate::checkpoint::table::TableTrees;
use crate::jobs::collect::worth::Worth;
use crate::jobs::purge::Purge;
use crate::jobs::rebalance::Rebalance;
use crate::jobs::rebuild::Rebuild;
use crate::jobs::relocate::Relocation;
use crate::jobs::scrub::Scrub;
use crate::jobs::sweep::Sweep;
use crate::jobs::trim::Trim;
use crate::lookup::read::Found;
use crate::map::cache::PageCache;
use crate::map::shard::Shard;
use crate::members::add::Joining;
use crate::members::lease::Lease;
use crate::members::naming::{Label, Naming};
use crate::space::ledger::Ledger;
use crate::space::pace::Pace;
use crate::space::refusals::Refusals;
use crate::space::segments::{Claim, Segments};
use crate::upkeep::UpkeepState;
use crate::writer::append::Streams;
use crate::writer::batch::{self, Item};
use crate::writer::commit::{CommitQueue, Ticket};
use crate::writer::destage::Destage;
use crate::writer::heat::Heat;
use crate::writer::lsns::LsnTracker;
use crate::writer::zeroing::Updates;

/// What a pool is: all but its name for ever.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    pub pool: PoolUuid,
    pub naming: Naming,
    pub secret: Secret,
    pub level: Level,
    /// Rows of every segment.
    pub segment_rows: u32,
    /// Numbers that segments are named from.
    pub segment_numbers: u32,
    pub features: Features,
}

impl Identity {
    /// Bytes of a chunk.
    pub fn chunk_bytes(&self) -> u64 {
        u64::from(self.segment_rows) * ashlar_block::SECTOR_BYTES as u64
    }

    /// The identity that a member's superblock gives.
    pub fn of(superblock: &Superblock) -> Self {
        Identity {
            pool: superblock.pool,
            naming: Naming::new(Label::of(superblock)),
            secret: superblock.secret.clone(),
            level: superblock.level(),
            segment_rows: superblock.layout.rows(),
            segment_numbers: superblock.segment_numbers,
            features: superblock.features.clone(),
        }
    }
}

/// Figures of what has happened since the pool was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Blocks that hosts wrote, zeros included.
    pub blocks_written: u64,
    /// Blocks that hosts read.
    pub blocks_read: u64,
    /// Fragment bytes stored for them, before padding.
    pub bytes_stored: u64,
    /// Bytes of rows written, redundancy included, for whatever reason.
    pub bytes_to_drives: u64,
    /// Fragments that were copied from the journal into stripes.
    pub fragments_striped: u64,
    /// Fragments that garbage collection copied.
    pub fragments_moved: u64,
    /// Segments that garbage collection emptied.
    pub segments_collected: u64,
    /// Columns of segments that were on lost drives and are on others now.
    pub columns_restored: u64,
    /// Columns of segments that went to other drives for a rebalance.
    pub columns_moved: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Sweeps of the whole map that have set segment numbers free.
    pub sweeps: u64,
    /// Pages of the map that had to be read from the drives.
    pub map_pages_read: u64,
    /// Blocks that had to be reconstructed because a drive was missing or refused to read.
    pub blocks_reconstructed: u64,
    /// Blocks that were reconstructed because a drive is slow.
    pub blocks_spared: u64,
    /// Blocks that a drive returned wrong and that were reconstructed.
    pub corrupt_reads_corrected: u64,
    /// Sectors that were wrong or could not be read, and were written anew.
    pub sectors_repaired: u64,
    /// Those of them that a read has found, and no scrub.
    pub sectors_healed: u64,
    /// Bytes of free chunks that drives were told of.
    pub bytes_discarded: u64,
    /// Times that a drive has refused that.
    pub discards_failed: u64,
    /// Blocks that could not be read right.
    pub blocks_unrecovered: u64,
}

/// Lists that operations use one after the other.
#[derive(Default)]
pub(crate) struct Lists {
    pub items: Recycler<Item>,
    pub pointers: Recycler<Option<Pointer>>,
    pub tickets: Recycler<Ticket>,
    pub found: Recycler<Found>,
}

/// An open pool.
pub(crate) struct Pool<W: World> {
    pub world: W,
    pub options: Options,
    pub identity: Identity,
    pub incarnation: Incarnation,
    pub array: Rc<Array<W::Device>>,
    pub lease: Lease,
    pub segments: Rc<RefCell<Segments>>,
    pub ledger: Ledger,
    pub shards: RefCell<Vec<Shard>>,
    pub pages: PageCache,
    pub lsns: LsnTracker,
    pub streams: Streams,
    pub commit: CommitQueue,
    pub lists: Lists,
    pub batch_scratch: RefCell<batch::Scratch>,
    pub destage: Destage,
    pub catalog: RefCell<Catalog>,
    pub roots: RootWatch,
    /// Batches that lack what was to go to these drives, whose absence is in no durable root yet.
    pub awaiting_root: RefCell<Vec<(Lsn, Vec<DriveId>)>>,
    /// Drives that work and that are to be members no more: nothing new goes to them. See
    /// `members/remove.rs`.
    pub leaving: RefCell<BTreeSet<DriveId>>,
    /// Identities that drives were to come back under, with those that they had: they may have them
    /// although they did not come back.
    pub renamings: RefCell<BTreeMap<DriveUuid, DriveUuid>>,
    /// Drives that were lost because they were away. See `members/remove.rs`.
    pub gone: RefCell<BTreeSet<DriveId>>,
    /// Drives that the pool has let go of, until their owner asks for them.
    pub departed: RefCell<Vec<DriveUuid>>,
    pub requests: Requests,
    pub upkeep: UpkeepState,
    pub collecting: Worth,
    pub rebuild: Rebuild,
    pub rebalance: Rebalance,
    pub relocation: Relocation,
    pub scrub: Scrub,
    pub trim: Trim,
    pub heat: Heat,
    pub pace: Pace,
    pub refusals: Refusals,
    /// Room was short for the loss of one more drive when it was looked last.
    pub short_for_loss: Cell<bool>,
    /// What pages of the checkpoint under way may take of the window.
    pub checkpoint_claim: Cell<Claim>,
    /// Bytes that may live. See [`Pool::refresh_limit`].
    pub limit_bytes: Cell<u64>,
    /// Data columns of the narrowest segments that drives have room for. Refreshed with that.
    pub narrowest_data: Cell<usize>,
    /// The sweep that is on its way.
    pub sweep: Cell<Option<Sweep>>,
    /// Held while a drive is added.
    pub adding: Mutex<()>,
    /// Held while superblocks of members are written that say another size, or are compared.
    pub labels: Mutex<()>,
    /// A member that the next root is the first to name.
    pub joining: Cell<Option<Joining>>,
    /// Until this start has come to a root: segments in which nothing lived by the root before.
    pub empty_at_start: RefCell<BTreeSet<SegmentId>>,
    /// Held while a volume is resized.
    pub resizing: Mutex<()>,
    /// What zeros that are on their way may still take.
    pub zeroing: OnceCell<Updates>,
    /// Groups that stay held until nothing is on its way. See `lookup/hold.rs`.
    pub outlived_holds: RefCell<Vec<(ShardId, Vec<GroupKey>)>>,
    /// Deleted volumes of which a part of the map cannot be read.
    pub unpurgeable: RefCell<BTreeSet<VolumeId>>,
    /// How far the purge of a deleted volume is, if one is under way.
    pub purge: Cell<Option<Purge>>,
    /// The catalog's pages, as the root has them.
    pub catalog_pages: RefCell<CatalogPages>,
    /// The segment table's pages, as the root has them.
    pub table: RefCell<TableTrees>,
    /// [`Counters::bytes_to_drives`] when the last checkpoint began.
    pub checkpointed_bytes: Cell<u64>,
    /// [`LsnTracker::records`] then.
    pub checkpointed_records: Cell<u64>,
    pub counters: Cell<Counters>,
    pub halt: Halt,
}

/// The pieces that a pool is made of when it is opened.
pub(crate) struct Parts<W: World> {
    pub world: W,
    pub options: Options,
    pub identity: Identity,
    pub incarnation: Incarnation,
    pub array: Rc<Array<W::Device>>,
    pub segments: Segments,
    pub table: TableTrees,
    pub shards: Vec<Shard>,
    pub lsns: LsnTracker,
    pub catalog: Catalog,
    pub root: Root,
    pub absent: BTreeSet<DriveId>,
}

fn leaving_in(root: &Root) -> BTreeSet<DriveId> {
    let leaving = root.members.iter().filter(|member| member.state == MemberState::Leaving);
    leaving.map(|member| member.drive).collect()
}

/// The time, for what has no world of its own.
pub(crate) fn clock_of<W: World>(world: &W) -> impl Fn() -> Nanos + use<W> {
    let world = world.clone();
    move || world.now()
}

impl<W: World> Pool<W> {
    /// A pool of these parts. Nothing runs yet.
    pub fn new(parts: Parts<W>) -> Rc<Self> {
        let segments = Rc::new(RefCell::new(parts.segments));
        let ledger = Ledger::new(segments.clone());
        Rc::new(Pool {
            pages: PageCache::new(parts.options.map_memory_bytes / 2),
            world: parts.world,
            options: parts.options,
            identity: parts.identity,
            incarnation: parts.incarnation,
            array: parts.array,
            lease: Lease::default(),
            segments,
            ledger,
            shards: RefCell::new(parts.shards),
            lsns: parts.lsns,
            streams: Streams::default(),
            commit: CommitQueue::default(),
            lists: Lists::default(),
            batch_scratch: RefCell::default(),
            destage: Destage::default(),
            catalog: RefCell::new(parts.catalog),
            leaving: RefCell::new(leaving_in(&parts.root)),
            renamings: RefCell::default(),
            gone: RefCell::default(),
            departed: RefCell::default(),
            roots: RootWatch::new(parts.root, parts.absent),
            awaiting_root: RefCell::default(),
            requests: Requests::default(),
            upkeep: UpkeepState::default(),
            collecting: Worth::default(),
            rebuild: Rebuild::default(),
            rebalance: Rebalance::default(),
            relocation: Relocation::default(),
            scrub: Scrub::default(),
            trim: Trim::default(),
            heat: Heat::default(),
            pace: Pace::default(),
            refusals: Refusals::default(),
            short_for_loss: Cell::new(false),
            checkpoint_claim: Cell::new(Claim::Checkpoint),
            limit_bytes: Cell::new(0),
            narrowest_data: Cell::new(usize::MAX),
            sweep: Cell::default(),
            adding: Mutex::default(),
            labels: Mutex::default(),
            joining: Cell::default(),
            empty_at_start: RefCell::default(),
            resizing: Mutex::default(),
            zeroing: OnceCell::new(),
            outlived_holds: RefCell::default(),
            unpurgeable: RefCell::default(),
            purge: Cell::default(),
            catalog_pages: RefCell::default(),
            table: RefCell::new(parts.table),
            checkpointed_bytes: Cell::new(0),
            checkpointed_records: Cell::new(0),
            counters: Cell::default(),
            halt: Halt::default(),
        })
    }

    /// Works on one shard. Never across an await.
    pub fn with_shard<T>(&self, id: ShardId, work: impl FnOnce(&mut Shard) -> T) -> T {
        work(&mut self.shards.borrow_mut()[usize::from(id.0)])
    }

    /// Changes the counters.
    pub fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// Drives that are used: members of the pool that work, those that are leaving as well.
    pub fn drives(&self) -> Vec<DriveId> {
        self.array.working_drives()
    }

    /// Drives that new segments may lie on.
    pub fn allocation_targets(&self) -> Vec<DriveId> {
        let leaving = self.leaving.borrow();
        self.array.working_drives().into_iter().filter(|drive| !leaving.contains(drive)).collect()
    }

    /// How many those are; asked at every write.
    pub fn allocation_target_count(&self) -> usize {
        let leaving = self.leaving.borrow();
        let leave = leaving.iter().filter(|drive| self.array.working(**drive).is_some()).count();
        self.array.working_count() - leave
    }

    /// Whether a start of the pool came to a root, as far as the newest one tells. One that was cut
    /// before its root used segments and LSNs that the next one used again: what is left of it
    /// counts nowhere, even where a drive has lost a write.
    pub fn is_of_a_root(&self, incarnation: Incarnation) -> bool {
        let line = &self.roots.newest().line;
        let is_named = line.iter().any(|(named, _)| *named == incarnation);
        is_named || incarnation == self.incarnation || line.len() >= LINE_MAX
    }

    /// A drive that the newest root calls a member has been given up.
    pub fn has_lost_a_drive(&self) -> bool {
        let root = self.roots.newest();
        let mut members = root.members.iter().filter(|member| member.state.takes_part());
        members.any(|member| self.array.working(member.drive).is_none())
    }

    /// Stops all writes for good: something happened after which going on would endanger data.
    /// Reads go on.
    pub fn halt(&self, why: impl std::fmt::Display) {
        if self.halt.begin(why.to_string()) {
            tracing::error!(pool = self.name(), "the pool stops taking writes: {why}");
            self.refuse_waiting();
        }
    }

    /// The same for a reason that comes before any other one.
    pub fn halt_for_good(&self, why: &str) {
        self.halt(why);
        self.halt.overrule(why.to_owned());
    }

    /// The pool has been closed: nothing may be written behind its last root. Its tasks end where
    /// they are, as in a crash.
    pub fn close(&self) {
        let has_halted = self.halt.check().is_err();
        self.halt.close();
        if !has_halted {
            self.refuse_waiting();
        }
        self.refuse_audits();
    }

    /// Runs a task of the pool, which keeps its drives, until it ends or the pool is closed.
    pub fn spawn(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        let pool = self.clone();
        self.world.spawn(async move {
            select(pin!(task), pin!(pool.halt.closed())).await;
        });
    }

    /// Answers whoever waits for what will not come any more.
    fn refuse_waiting(&self) {
        let halted = self.halt.check();
        let Err(error) = &halted else { return };
        self.commit.fail_all(error);
        // Those whom no checkpoint will answer any more.
        self.requests.answer_checkpoints(&halted);
        self.roots.announce();
        self.requests.notify();
    }
}
