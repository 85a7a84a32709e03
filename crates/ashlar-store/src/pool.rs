//! An open pool: all its state, each piece with one owner, and what holds them together.
//!
//! Owns nothing but the assembly. Every part reaches the others' state through it; a piece of state
//! is changed by its owner alone (`ARCHITECTURE.md`, "State, and who owns it").
//!
//! 1. A pool lives on one reactor: nothing in it is locked, and no borrow outlives a turn.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use ashlar_block::{DriveId, Nanos, PoolUuid, World};
use ashlar_format::catalog::Catalog;
use ashlar_format::features::Features;
use ashlar_format::ids::{Incarnation, ShardId};
use ashlar_format::root::{LINE_MAX, Root};
use ashlar_format::superblock::{Secret, Superblock};
use ashlar_raid::{Array, Level};
use futures_util::future::select;

use crate::base::counters::{Counters, StepCounters, Steps};
use crate::base::halt::Halt;
use crate::base::options::Options;
use crate::base::requests::Requests;
use crate::base::root_watch::RootWatch;
use crate::checkpoint::Checkpointer;
use crate::checkpoint::table::TableTrees;
use crate::jobs::Jobs;
use crate::map::Map;
use crate::map::shard::Shard;
use crate::members::Membership;
use crate::members::naming::{Label, Naming};
use crate::reader::dictionaries::Dictionaries;
use crate::space::Allocator;
use crate::space::segments::Segments;
use crate::upkeep::UpkeepState;
use crate::writer::Writer;
use crate::writer::lsns::LsnTracker;

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

/// An open pool.
pub(crate) struct Pool<W: World> {
    pub world: W,
    pub options: Options,
    pub identity: Identity,
    pub array: Rc<Array<W::Device>>,
    pub space: Allocator,
    pub map: Map,
    pub writer: Writer,
    pub checkpoint: Checkpointer,
    /// Volumes, settings and figures that roots keep.
    pub catalog: RefCell<Catalog>,
    pub dictionaries: Dictionaries,
    pub jobs: Jobs,
    pub requests: Requests,
    pub upkeep: UpkeepState,
    pub membership: Membership,
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

/// The time, for what has no world of its own.
pub(crate) fn clock_of<W: World>(world: &W) -> impl Fn() -> Nanos + use<W> {
    let world = world.clone();
    move || world.now()
}

impl<W: World> Pool<W> {
    /// A pool of these parts. Nothing runs yet.
    pub fn new(parts: Parts<W>) -> Rc<Self> {
        let map_memory_bytes = parts.options.map_memory_bytes;
        let membership = Membership::of(&parts.root);
        let roots = RootWatch::new(parts.root, parts.absent);
        Rc::new(Pool {
            world: parts.world,
            options: parts.options,
            identity: parts.identity,
            array: parts.array,
            space: Allocator::new(parts.segments),
            map: Map::new(parts.shards, map_memory_bytes / 2),
            writer: Writer::new(parts.lsns),
            checkpoint: Checkpointer::new(parts.incarnation, roots, parts.table),
            dictionaries: Dictionaries::durable_up_to(parts.catalog.next_dictionary),
            catalog: RefCell::new(parts.catalog),
            jobs: Jobs::default(),
            requests: Requests::default(),
            upkeep: UpkeepState::default(),
            membership,
            counters: Cell::default(),
            halt: Halt::default(),
        })
    }

    /// Works on one shard. Never across an await.
    pub fn with_shard<T>(&self, id: ShardId, work: impl FnOnce(&mut Shard) -> T) -> T {
        work(&mut self.map.shards.borrow_mut()[usize::from(id.0)])
    }

    /// Changes the counters.
    pub fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// Does work of a step that waits for nothing, and counts what it took.
    pub fn timed_step<T>(
        &self,
        step: impl FnOnce(&mut Steps) -> &mut StepCounters,
        work: impl FnOnce() -> T,
    ) -> T {
        let began = self.world.now();
        let done = work();
        let took = self.world.now().since(began);
        self.count(|counters| step(&mut counters.steps).worked(took));
        done
    }

    /// Drives that are used: members of the pool that work, those that are leaving as well.
    pub fn drives(&self) -> Vec<DriveId> {
        self.array.working_drives()
    }

    /// Drives that new segments may lie on.
    pub fn allocation_targets(&self) -> Vec<DriveId> {
        let leaving = self.membership.leaving.borrow();
        self.array.working_drives().into_iter().filter(|drive| !leaving.contains(drive)).collect()
    }

    /// How many those are; asked at every write.
    pub fn allocation_target_count(&self) -> usize {
        let leaving = self.membership.leaving.borrow();
        let leave = leaving.iter().filter(|drive| self.array.working(**drive).is_some()).count();
        self.array.working_count() - leave
    }

    /// Whether a start of the pool came to a root, as far as the newest one tells. One that was cut
    /// before its root used segments and LSNs that the next one used again: what is left of it
    /// counts nowhere, even where a drive has lost a write.
    pub fn is_of_a_root(&self, incarnation: Incarnation) -> bool {
        let line = &self.checkpoint.roots.newest().line;
        let is_named = line.iter().any(|(named, _)| *named == incarnation);
        is_named || incarnation == self.checkpoint.incarnation || line.len() >= LINE_MAX
    }

    /// A drive that the newest root calls a member has been given up.
    pub fn has_lost_a_drive(&self) -> bool {
        let root = self.checkpoint.roots.newest();
        let mut members = root.members.iter().filter(|member| member.state.takes_part());
        members.any(|member| self.array.working(member.drive).is_none())
    }

    /// Stops all writes for good: something happened after which going on would endanger data.
    /// Reads go on.
    pub fn halt(&self, why: impl std::fmt::Display) {
        let why = why.to_string();
        if self.halt.begin(why.clone()) {
            tracing::error!(pool = self.name(), "the pool stops taking writes: {why}");
            self.halt.tell(&why);
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
        self.give_up_verify(error.reason());
        self.writer.commit.fail_all(error);
        // Those whom no checkpoint will answer any more.
        self.requests.answer_checkpoints(&halted);
        self.checkpoint.roots.announce();
        self.requests.notify();
    }
}
