//! The hosts of one start: what they know, and what they do.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, Clock, IoError, Lba, Nanos, Spawn, VolumeId};
use ashlar_store::OpenError;
use futures_util::future::join_all;

use crate::content::{Sort, content_of};
use crate::coverage::Circumstances;
use crate::drive::SimDrive;
use crate::drives::Watched;
use crate::known::Known;
use crate::membership::Members;
use crate::model::{Answer, Ticket, Version};
use crate::order::Course;
use crate::plan::{Kind, Plan};
use crate::start::{self, Pool};
use crate::world::SimWorld;

/// How long all hosts pause together, and how rarely: one in so many of some actions.
const QUIET: Duration = Duration::from_secs(45);
const QUIET_ONCE_IN: u64 = 120;

/// By when a file system that was full has room again, and what waited for it is written.
const ROOM_IS_BACK: Duration = Duration::from_secs(10);

/// How long after each other writes of the same block begin, at most.
const CONTEST_MICROSECONDS: u64 = 400;

/// No request takes longer where drives answer at once. What waits for room waits for whole
/// collections, one after the other.
const PATIENCE: Duration = Duration::from_secs(30);

/// No request takes longer where drives stall: dozens of stalls one after the other.
const PATIENCE_WITH_STALLS: Duration = Duration::from_secs(1800);

/// Writes for which a look at how the pool is will do.
const WRITES_PER_LOOK: u64 = 16;

/// Drive operations that a refused change counts as.
const REFUSAL_OPERATIONS: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Read,
    Write,
    Zero,
}

/// What a host has asked for.
pub struct Request {
    begun: Nanos,
    action: Action,
    id: VolumeId,
    blocks: Range<u64>,
}

/// One start of the pool, and its hosts.
pub struct Run {
    pub world: SimWorld,
    pub plan: Rc<Plan>,
    pub known: Rc<Known>,
    actions_left: Cell<u64>,
    /// Until when hosts pause.
    quiet_until: Cell<Nanos>,
    pool: RefCell<Option<Pool>>,
    closing: Cell<bool>,
    /// The pool was closed in order. Where it was not, a root may have been on its way, as in a
    /// cut.
    pub is_closed: Cell<bool>,
    /// More drives are away or have been bad than the level survives.
    overdrawn: bool,
    /// It is scrubbed until nothing is found any more, and nothing may be left on these drives.
    scrubbed: Option<Watched>,
    /// Nothing goes wrong that has not gone wrong before.
    spared: bool,
    /// That was so, and no drive was missing.
    pub is_pristine: Cell<bool>,
    /// Drives that may come, and come back.
    pub members: Members,
    /// The requests of hosts that have not been answered, in the order in which they began.
    waiting: RefCell<BTreeMap<u64, Request>>,
    next_request: Cell<u64>,
    /// Starts of the pool before this one.
    pub nth_start: u64,
    /// How the pool was when it was last looked at, and how many writes ago that was.
    circumstances: Cell<(Circumstances, u64)>,
}

impl Run {
    pub fn new(world: &SimWorld, plan: &Rc<Plan>, known: &Rc<Known>, actions: u64) -> Self {
        Run {
            world: world.clone(),
            plan: plan.clone(),
            known: known.clone(),
            actions_left: Cell::new(actions),
            quiet_until: Cell::new(Nanos(0)),
            pool: RefCell::new(None),
            closing: Cell::new(false),
            is_closed: Cell::new(false),
            overdrawn: false,
            scrubbed: None,
            spared: false,
            is_pristine: Cell::new(false),
            members: Members::default(),
            waiting: RefCell::default(),
            next_request: Cell::new(0),
            nth_start: 0,
            circumstances: Cell::default(),
        }
    }

    /// The same as one of the pool's later starts.
    pub fn for_start(self, nth_start: u64) -> Self {
        Run { nth_start, ..self }
    }

    /// How the pool is, or was some writes ago: `look` takes its time.
    pub fn circumstances(&self, look: impl FnOnce() -> Circumstances) -> Circumstances {
        let (before, writes) = self.circumstances.get();
        let seen = if writes % WRITES_PER_LOOK == 0 { look() } else { before };
        self.circumstances.set((seen, writes + 1));
        seen
    }

    /// The same with more drives away than the level survives: it may be refused, and if it is not,
    /// all is as it should be.
    pub fn overdrawn(self) -> Self {
        Run { overdrawn: true, ..self }
    }

    /// The same with nothing that goes wrong: it has to be opened.
    pub fn spared(self) -> Self {
        Run { spared: true, ..self }
    }

    /// The same with scrubs of these drives before anything else.
    pub fn scrubbing(self, drives: Watched) -> Self {
        Run { scrubbed: Some(drives), ..self }
    }

    /// The same with drives that may come while hosts are at work.
    pub fn with_members(self, members: Members) -> Self {
        Run { members, ..self }
    }

    /// The pool, if it was opened.
    pub fn take_pool(&self) -> Option<Pool> {
        self.pool.borrow_mut().take()
    }

    /// The pool is being closed, or has been: from then on it is right that it takes nothing.
    pub fn is_closing(&self) -> bool {
        self.closing.get()
    }

    /// What a host asks for.
    pub async fn patiently<T>(
        &self,
        action: Action,
        id: VolumeId,
        blocks: &Range<u64>,
        work: impl Future<Output = T>,
    ) -> T {
        let number = self.next_request.replace(self.next_request.get() + 1);
        let request = Request { begun: self.world.now(), action, id, blocks: blocks.clone() };
        self.waiting.borrow_mut().insert(number, request);
        let done = work.await;
        self.check_patience();
        self.waiting.borrow_mut().remove(&number);
        done
    }

    /// It is a failure if a request has not been answered for too long.
    pub fn check_patience(&self) {
        let patience = if self.plan.has_stalls() { PATIENCE_WITH_STALLS } else { PATIENCE };
        if let Some(Request { begun, action, id, blocks }) = self.waiting.borrow().values().next() {
            let waited = self.world.now().since(*begun);
            if waited > patience {
                self.known.fail(format!(
                    "a host has waited for {waited:?} to {action:?} {blocks:?} of {id:?}"
                ));
            }
        }
    }

    /// From the opening to a clean stop.
    pub async fn whole(self: Rc<Self>, drives: Vec<SimDrive>) {
        match start::open(&self.world, drives, &self.plan).await {
            Ok((pool, opened)) => {
                self.known.count(|outcome| {
                    outcome.replayed += opened.replayed;
                    outcome.torn += opened.torn;
                    outcome.rewritten += opened.rewritten;
                });
                *self.pool.borrow_mut() = Some(pool.clone());
                self.clone().use_pool(&pool).await.unwrap_or_else(|error| self.known.fail(error));
            }
            Err(OpenError::TooManyMissing { .. }) if self.overdrawn => {}
            Err(error) if start::may_be_refused(&error, &self.plan, self.spared) => {}
            Err(error) => self.known.fail(format!("open: {error}")),
        }
    }

    pub async fn choose_settings(&self, pool: &Pool) -> Result<(), String> {
        let wanted = self.plan.settings();
        if pool.settings() == wanted {
            return Ok(());
        }
        match pool.set_settings(wanted).await {
            // Next time.
            Err(error) if self.plan.sparse && error.cause == Cause::CapacityExceeded => Ok(()),
            done => done.map_err(|error| format!("settings: {error}")),
        }
    }

    async fn use_pool(self: Rc<Self>, pool: &Pool) -> Result<(), String> {
        self.check_all(pool).await?;
        self.audit(pool).await?;
        self.verify(pool).await?;
        if let Some(drives) = &self.scrubbed {
            self.scrub_twice(pool, drives).await?;
        }
        if self.actions_left.get() > 0 {
            self.choose_settings(pool).await?;
            self.delete_volumes(pool).await?;
            self.make_volumes(pool).await?;
            match self.plan.kind {
                Kind::Faults => self.clone().work(pool).await?,
                Kind::Full => self.clone().fill_and_empty(pool).await?,
            }
            if self.plan.sparse {
                self.world.sleep(ROOM_IS_BACK).await;
            }
            self.check_all(pool).await?;
            self.audit(pool).await?;
            self.verify(pool).await?;
        }
        let halted = pool.halted().is_some();
        self.closing.set(!halted);
        let has_room = pool.status().space.safe_to_write > 0;
        let closed = pool.close().await;
        tracing::debug!("closed: {closed:?}");
        self.is_closed.set(closed.is_ok());
        match closed {
            Err(error) if !halted && !self.may_end_so(&error, has_room) => {
                Err(format!("close: {error}"))
            }
            _ => Ok(()),
        }
    }

    /// Why a pool that works may have no clean end: without lost drives, for instance, it may have
    /// no room for its maps.
    fn may_end_so(&self, error: &IoError, had_room: bool) -> bool {
        let hangs = error.detail.as_ref().is_some_and(|why| why.contains("has not answered for"));
        let may_lack_room = self.plan.sparse || !had_room;
        hangs || self.overdrawn || (may_lack_room && error.cause == Cause::CapacityExceeded)
    }

    /// All hosts at once, until each is done.
    async fn work(self: Rc<Self>, pool: &Pool) -> Result<(), String> {
        let mut done = Vec::new();
        for worker in 0..=self.plan.hosts {
            let result: Rc<Cell<Option<Result<(), String>>>> = Rc::default();
            let (this, pool, own) = (self.clone(), pool.clone(), result.clone());
            self.world.spawn(async move {
                let work = if worker == 0 {
                    this.change_members(&pool).await
                } else {
                    this.host(&pool).await
                };
                own.set(Some(work));
            });
            done.push(result);
        }
        for result in done {
            loop {
                match result.take() {
                    Some(ended) => break ended?,
                    None => self.world.sleep(Duration::from_millis(20)).await,
                }
            }
        }
        Ok(())
    }

    /// One host: one action after the other.
    async fn host(&self, pool: &Pool) -> Result<(), String> {
        if self.plan.fills && self.world.once_in(2) {
            let ids: Vec<VolumeId> = self.known.models.borrow().keys().copied().collect();
            for id in ids {
                self.fill_volume(pool, id).await?;
            }
        }
        let mut course = Course::default();
        while self.actions_left.get() > 0 && pool.halted().is_none() {
            self.actions_left.set(self.actions_left.get() - 1);
            let pause = self.quiet_until.get().since(self.world.now());
            if !pause.is_zero() {
                self.world.sleep(pause).await;
            }
            let ids: Vec<VolumeId> = self.known.models.borrow().keys().copied().collect();
            let Some(id) = ids.get(self.world.below(ids.len().max(1) as u64) as usize).copied()
            else {
                return Ok(());
            };
            match self.world.below(20) {
                0..=10 => self.write(pool, id, &mut course).await?,
                11 | 12 => self.zero(pool, id).await?,
                13 if self.world.once_in(40) => drop(pool.checkpoint().await),
                13 if self.world.once_in(20) => self.resize(pool, id).await?,
                13 if self.world.once_in(8) => drop(pool.start_scrub()),
                13 if self.plan.trims && self.world.once_in(8) => drop(pool.start_trim()),
                13 if self.plan.grows && self.world.once_in(6) => drop(pool.grow().await),
                13 if self.world.once_in(4) => drop(pool.start_verify()),
                14 if self.world.once_in(QUIET_ONCE_IN) => self.pause_all(pool).await,
                14 if self.world.once_in(2) => self.contest(pool, id).await?,
                14 => self.world.sleep(Duration::from_micros(self.world.below(20_000))).await,
                _ => self.read(pool, id).await?,
            }
        }
        Ok(())
    }

    /// All hosts are quiet for so long that upkeep makes the counts of what lives exact.
    async fn pause_all(&self, pool: &Pool) {
        let before = pool.status().counters.jobs.sweeps;
        self.quiet_until.set(Nanos(self.world.now().0 + QUIET.as_nanos() as u64));
        self.world.sleep(QUIET).await;
        let swept = pool.status().counters.jobs.sweeps > before;
        self.known.count(|outcome| outcome.idle_sweeps += u64::from(swept));
    }

    // --- actions ---------------------------------------------------------------------------------

    async fn write(&self, pool: &Pool, id: VolumeId, course: &mut Course) -> Result<(), String> {
        let count = match self.world.below(16) {
            0..=7 => 1,
            8..=12 => 1 + self.world.below(self.plan.atomic_blocks().min(12)),
            13 => self.plan.atomic_blocks() - self.world.below(3),
            14 => 1 + self.world.below(self.plan.atomic_blocks()),
            _ => 1 + self.world.below(200),
        };
        let anywhere = || Some((id, self.some_blocks(id, count)?));
        match self.next_in_order(course, count).or_else(anywhere) {
            Some((id, blocks)) => self.write_blocks(pool, id, blocks, course).await,
            None => Ok(()),
        }
    }

    /// Writes these blocks, if nobody else does.
    pub async fn write_blocks(
        &self,
        pool: &Pool,
        id: VolumeId,
        blocks: Range<u64>,
        course: &mut Course,
    ) -> Result<(), String> {
        let version =
            if self.world.once_in(30) { 0 } else { self.known.next_version(self.some_sort()) };
        let atomic = self.plan.is_atomic(&blocks);
        let begun = self.known.model(id, |model| model.begin(blocks.clone(), version, atomic));
        let Some(ticket) = begun else { return Ok(()) };
        let issued = course.issue(id, &blocks, self.waiting.borrow().len() as u64 + 1);
        let write = pool.write(id, Lba(blocks.start), content_of(&blocks, version));
        let written = self.patiently(Action::Write, id, &blocks, write).await;
        tracing::debug!("{id:?} {blocks:?} version {version}: {written:?}");
        if written.is_ok() {
            self.note_write(pool, id, &blocks, version, issued);
        }
        self.end(id, ticket, atomic, written).map_err(|error| format!("write: {error}"))
    }

    /// Writes a block several times at once. Which write wins is seen at once, and stays so.
    async fn contest(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        // What comes late would come in any order.
        let Some(blocks) = self.some_blocks(id, 1).filter(|_| !self.plan.sparse) else {
            return Ok(());
        };
        let versions: Vec<Version> = (0..2 + self.world.below(3))
            .map(|_| self.known.next_version(self.some_sort()))
            .collect();
        let (first, rivals) = (versions[0], versions[1..].to_vec());
        let begun = self.known.model(id, |model| model.begin_contest(blocks.start, first, rivals));
        let Some(ticket) = begun else { return Ok(()) };
        let write = async |version: &Version| {
            self.world.sleep(Duration::from_micros(self.world.below(CONTEST_MICROSECONDS))).await;
            let write = pool.write(id, Lba(blocks.start), content_of(&blocks, *version));
            self.patiently(Action::Write, id, &blocks, write).await
        };
        let written = join_all(versions.iter().map(write)).await;
        let all: Result<(), IoError> = written.into_iter().collect();
        tracing::debug!("{id:?} {blocks:?} versions {versions:?}: {all:?}");
        self.end(id, ticket, false, all).map_err(|error| format!("writes at once: {error}"))?;
        self.check_blocks(pool, id, blocks).await
    }

    async fn zero(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        let count = if self.world.once_in(5 * self.plan.cold_once_in) {
            u64::MAX
        } else {
            1 + self.world.below(300)
        };
        let Some(blocks) = self.some_blocks(id, count) else { return Ok(()) };
        let begun = self.known.model(id, |model| model.begin(blocks.clone(), 0, false));
        let Some(ticket) = begun else { return Ok(()) };
        let zero = pool.zero(id, Lba(blocks.start), blocks.end - blocks.start);
        let zeroed = self.patiently(Action::Zero, id, &blocks, zero).await;
        tracing::debug!("{id:?} {blocks:?} zeroed: {zeroed:?}");
        self.end(id, ticket, false, zeroed).map_err(|error| format!("zero: {error}"))
    }

    async fn read(&self, pool: &Pool, id: VolumeId) -> Result<(), String> {
        // Who reads what is being written sees all of it or nothing.
        let written = self.known.model(id, |model| model.being_written(self.world.below(8)));
        let blocks = written.or_else(|| self.some_blocks(id, 1 + self.world.below(3)));
        match blocks {
            Some(blocks) => self.check_blocks(pool, id, blocks).await,
            None => Ok(()),
        }
    }

    fn some_sort(&self) -> Sort {
        if self.world.once_in(2) {
            return Sort::Mixed;
        }
        Sort::ALL[self.world.below(Sort::ALL.len() as u64) as usize]
    }

    /// Blocks on one of the volume's islands, and behind it if so many are wanted. `None`: it is
    /// not in the volume now.
    fn some_blocks(&self, id: VolumeId, count: u64) -> Option<Range<u64>> {
        let islands = &self.plan.volume.islands;
        let hot_part = |whole: u64| {
            if self.world.once_in(self.plan.cold_once_in) { whole } else { whole.div_ceil(8) }
        };
        let island = &islands[self.world.below(hot_part(islands.len() as u64)) as usize];
        let first = island.start + self.world.below(hot_part(island.end - island.start));
        let usable = self.known.model(id, |model| model.usable_blocks());
        let end =
            if count == u64::MAX { usable } else { (first + count).min(island.end).min(usable) };
        (first < end).then_some(first..end)
    }

    /// A change has been answered.
    pub fn end(
        &self,
        id: VolumeId,
        ticket: Ticket,
        atomic: bool,
        done: Result<(), IoError>,
    ) -> Result<(), String> {
        let answer = match done {
            Ok(()) => Answer::Done,
            Err(error) => match error.cause {
                Cause::CapacityExceeded if self.plan.sparse => Answer::Late,
                // Of several units some may have been written.
                Cause::CapacityExceeded if atomic => Answer::Refused,
                Cause::CapacityExceeded => Answer::Failed,
                Cause::WriteFault | Cause::WriteProtected | Cause::NotReady
                    if self.plan.may_lose_drives() =>
                {
                    Answer::Failed
                }
                _ => return Err(error.to_string()),
            },
        };
        self.known.model(id, |model| model.end(ticket, answer));
        if answer != Answer::Done {
            // Hosts that are refused everything must come to an end, too.
            (0..REFUSAL_OPERATIONS).for_each(|_| self.world.count_operation());
        }
        self.known.count(|outcome| match answer {
            Answer::Done => outcome.acknowledged += 1,
            Answer::Refused | Answer::Late => outcome.refused += 1,
            Answer::Failed => {}
        });
        Ok(())
    }
}
