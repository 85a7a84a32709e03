//! Upkeep: one task that does everything which is not an answer to a host. Look, choose
//! ([`policy`]), do, repeat.
//!
//! Owns which job is next, and the tasks that go on beside it. It must not know how a job does its
//! work, nor keep anything of it: each part says what it wants.
//!
//! 1. Checkpoints, merges, distributions and collection never overlap: upkeep does one at a time.
//! 2. What goes on beside upkeep touches nothing that upkeep works on.
//! 3. The choice is a pure function of what the parts want.
//! 4. Upkeep ends after all that it has begun.

mod beside;
pub(crate) mod policy;
mod state;
mod turn;

use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, DriveId, IoError, World};
use ashlar_format::ids::Lsn;
use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use crate::jobs::audit::Audit;
use crate::jobs::collect::emptying::Part;
use crate::jobs::progress::Obstacle;
use crate::map::need::{MapNeed, MapTask};
use crate::pool::Pool;
use crate::space::capacity::Request;
use crate::space::room::Room;
use crate::space::segments::Segments;
use crate::writer::pages::AppendError;

use policy::{Task, Wants, choose};
use state::Audited;
pub(crate) use state::UpkeepState;

/// When upkeep looks again at the soonest where it found nothing to do.
const LOOK_MIN: Duration = Duration::from_millis(1);

/// How often writes that found no room under a file-backed drive are repeated.
const ROOM_RETRY: Duration = Duration::from_secs(1);

impl<W: World> Pool<W> {
    /// Does what is to be done, until told to stop.
    pub async fn upkeep_loop(self: Rc<Self>) {
        while !self.upkeep.stop.get() {
            let wants = self.wants();
            self.space.pace.look(&wants.room);
            let task = choose(&wants);
            tracing::trace!(?task, ?wants, "upkeep");
            if wants.rebuild_lacks_room(task) {
                self.jobs.rebuild.done.meets(Obstacle::NoRoom);
            }
            match task {
                Task::Rest => {
                    self.upkeep.rebuild_turn.others_rest();
                    self.rest(&wants).await;
                }
                task => {
                    let rest = self.upkeep.now_does(task.activity());
                    self.take_turn(task).await;
                    self.upkeep.now_does(rest);
                }
            }
            // Also after a rest, which may be over before it begins.
            self.world.yield_now().await;
        }
        self.jobs.relocation.look_again();
        self.upkeep.beside.all_ended().await;
        self.requests.answer_checkpoints(&Err(Cause::NotReady.into()));
        self.upkeep.audits_wanted.take();
        self.upkeep.stopped.set(true);
        self.upkeep.ended.notify_one();
    }

    /// Performs it, and counts the time for whose turn is next.
    async fn take_turn(self: &Rc<Self>, task: Task) {
        let begun = self.world.now();
        self.perform(task).await;
        let took = self.world.now().since(begun);
        match task {
            Task::Rebuild(_) => self.upkeep.rebuild_turn.rebuilt_for(took),
            task if task.competes() => self.upkeep.rebuild_turn.others_took(took),
            _ => self.upkeep.rebuild_turn.others_took(Duration::ZERO),
        }
    }

    async fn perform(self: &Rc<Self>, task: Task) {
        let done = match task {
            Task::Checkpoint => return self.ordered_checkpoint().await,
            Task::Audit => return self.ordered_audit().await,
            Task::Scrub => return self.begin_scrub_step(),
            Task::Verify => return self.verify_step().await,
            Task::GiveUp(drive) => return self.array.give_up_faulty(drive),
            Task::Refuse => return self.refuse_hosts(),
            Task::DeclareFull => return self.requests.declare_full(),
            Task::Rest => return,
            Task::Map(task) => self.work_on_map(task).await,
            Task::Sweep => self.sweep_on().await,
            Task::Purge(volume) => self.purge_step(volume).await,
            Task::Collect(victim) => {
                let collected = self.collect_some(victim).await;
                if !matches!(collected, Ok(Part::More)) {
                    self.upkeep.map_turn.set(true);
                }
                collected.map(drop)
            }
            Task::Recompress(victim) => self.recompress_step(victim).await,
            Task::Rebuild(task) => self.rebuild_step(task).await,
            Task::Rebalance => self.rebalance_step().await,
        };
        if matches!(task, Task::Rebuild(_) | Task::Rebalance) {
            self.space.pace.rested(self.world.now());
        }
        match done {
            Err(AppendError::WindowEmpty) if self.checkpoint_makes_room() => {
                self.ordered_checkpoint().await
            }
            Err(AppendError::WindowEmpty) => {
                self.jobs.collecting.give_up();
                self.postpone_rebuild();
                self.postpone_rebalance();
            }
            Ok(()) | Err(AppendError::Halted) => {}
        }
    }

    /// Hosts that wait for a segment get none.
    fn refuse_hosts(&self) {
        self.requests.refused_hosts();
        self.space.refusals.refused_for_segment();
        self.writer.commit.refuse_waiting(&Cause::CapacityExceeded.into());
    }

    async fn work_on_map(&self, task: MapTask) -> Result<(), AppendError> {
        match task {
            MapTask::MakeDurable => {
                self.ordered_checkpoint().await;
                Ok(())
            }
            MapTask::Distribute(shard) => {
                self.upkeep.map_turn.set(false);
                self.distribute(shard).await
            }
            MapTask::Compact(shard) => {
                self.compact(shard).await;
                Ok(())
            }
            MapTask::Merge(shard, group) => {
                self.upkeep.map_turn.set(false);
                self.upkeep.merged.set((shard, group));
                self.merge_one_of(shard, group).await.map(drop)
            }
        }
    }

    /// Whether there would be segments to open after a checkpoint. One that makes no room takes
    /// some: repeated, it takes the last of them, and the pool halts.
    fn checkpoint_makes_room(&self) -> bool {
        let (segments, drives) = (self.space.segments.borrow(), self.allocation_targets());
        let gains =
            segments.placeable(&drives) > 0 || segments.has_reclaimable(self.writer.lsns.floor());
        gains && self.next_checkpoint_has_room(&segments, &drives)
    }

    pub(crate) async fn ordered_checkpoint(&self) {
        let wanted = self.requests.checkpoint_begins();
        if !wanted.is_empty() {
            // It makes garbage of what the one before it has written.
            self.jobs.collecting.may_gain();
        }
        let done = self.checkpoint(false).await;
        if let Err(error) = &done {
            self.halt(error.reason());
        }
        for answer in wanted {
            // Who asked may have gone.
            let _ = answer.send(done.as_ref().map_err(Clone::clone).copied());
        }
    }

    async fn ordered_audit(&self) {
        for answer in self.upkeep.audits_wanted.take() {
            let audit = self.audit_if_quiet().await;
            // Who asked may have gone.
            let _ = answer.send(audit);
        }
    }

    async fn audit_if_quiet(&self) -> Audited {
        let begun = self.writer.lsns.next();
        let is_quiet = || {
            self.halt.why().is_some()
                || (self.writer.lsns.floor(), self.writer.lsns.next()) == (begun, begun)
        };
        if !is_quiet() {
            return Ok(None);
        }
        let audit = self.audit().await?;
        Ok(is_quiet().then_some(audit))
    }

    /// Compares what is counted as live with what is, while nothing else is done to the maps. Hosts
    /// must be quiet; what is moved out of the journal is waited for.
    pub async fn audit_now(&self) -> Result<Audit, IoError> {
        loop {
            let halted = self.halt.begins();
            if self.halt.why().is_none() {
                select(pin!(self.writer.lsns.quiet()), pin!(halted)).await;
            }
            if self.halt.is_closed() {
                return Err(Cause::NotReady.into());
            }
            let (answer, answered) = oneshot::channel();
            self.upkeep.audits_wanted.borrow_mut().push(answer);
            self.requests.notify();
            if let Some(audit) = answered.await.unwrap_or_else(|_| Err(Cause::NotReady.into()))? {
                return Ok(audit);
            }
        }
    }

    /// The pool has been closed: nobody compares anything any more.
    pub fn refuse_audits(&self) {
        self.upkeep.audits_wanted.take();
    }

    /// Hosts have changed what lives, by so many records.
    pub fn content_changed(&self, records: usize) {
        self.jobs.collecting.content_changed();
        if self.upkeep.content_changed(records, self.world.now()) {
            self.requests.notify();
        }
    }

    /// Repeats writes that found no room under a file-backed drive, until the pool halts. A task of
    /// its own: upkeep may be one of those that wait.
    pub async fn room_loop(self: Rc<Self>) {
        while self.halt.why().is_none() {
            select(pin!(self.array.lacks_room()), pin!(self.halt.wait())).await;
            if self.array.out_of_room() {
                self.writer.commit.answer_all(&Cause::CapacityExceeded.into());
                self.world.sleep(ROOM_RETRY).await;
                self.array.retry_for_room();
            }
        }
    }

    /// Waits until something may be to be done, where nothing of what was wanted was.
    async fn rest(&self, was: &Wants) {
        let failed = pin!(self.array.changed());
        let ready = async {
            // The clock on the wall may have been set since, by which scrubs are due: upkeep must
            // not look for ever at once.
            let scrub = self.scrub_waits().map(|wait| wait.max(LOOK_MIN));
            // One that was due and not begun has no room.
            let sweep = if was.sweep.is_quiet { None } else { self.sweep_waits() };
            match [
                self.rebuild_waits(was.rebuild.task.is_some()),
                self.rebalance_waits(),
                scrub,
                self.verify_waits(),
                self.recompress_waits(),
                sweep,
            ]
            .into_iter()
            .flatten()
            .min()
            {
                Some(pause) => self.world.sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        let emptied = self.space.segments.borrow().emptied.clone();
        let (notify, emptied) = (pin!(self.requests.notified()), pin!(emptied.notified()));
        select(select(notify, emptied), select(pin!(ready), failed)).await;
        self.space.pace.rested(self.world.now());
    }

    /// Drives `work`, which may wait for a drive's absence to become durable; makes it so when it
    /// does. Meanwhile the work goes on: drives whose answers to it nobody took would look as if
    /// they gave none.
    pub async fn guarding<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match select(work.as_mut(), pin!(self.requests.loses_drive())).await {
                Either::Left((done, _)) => return done,
                Either::Right(_) => {}
            }
            // Upkeep may have seen to it by now: the next checkpoint is not this one's to begin.
            if !self.requests.drive_lost() {
                continue;
            }
            match select(work.as_mut(), pin!(self.ordered_checkpoint())).await {
                Either::Left((done, checkpoint)) => {
                    checkpoint.await;
                    return done;
                }
                Either::Right(_) => {}
            }
        }
    }

    /// A checkpoint that begins after this call.
    pub async fn checkpoint_now(&self) -> Result<(), IoError> {
        self.halt.check()?;
        self.requests.checkpoint().await.unwrap_or_else(|_| Err(Cause::NotReady.into()))
    }

    /// The same for a change of the pool's drives, behind which other changes wait, of other pools
    /// as well: where drives hang that the pool cannot do without, it ends with an error, and the
    /// checkpoint may still come.
    pub async fn checkpoint_unless_hung(&self) -> Result<(), IoError> {
        match select(pin!(self.checkpoint_now()), pin!(self.hangs())).await {
            Either::Left((done, _)) => done,
            Either::Right((why, _)) => Err(why),
        }
    }

    /// Asks for a checkpoint that nobody waits for, if there is room for one.
    pub fn checkpoint_soon(&self) {
        if self.admit_request(Request::Change).is_ok() {
            drop(self.requests.checkpoint());
        }
    }

    /// The maps have taken what a batch says. What it held back may be had now.
    pub fn published(&self, batch: Lsn) {
        self.writer.lsns.published(batch);
        if self.requests.hosts_want_segment() {
            self.requests.notify();
        }
    }

    pub(crate) fn wants(&self) -> Wants {
        self.release_outlived();
        let drives = self.allocation_targets();
        let segments = self.space.segments.borrow();
        let checkpoint = self.checkpoint_need(&segments, &drives);
        let mut room = self.room_for_segments(&segments, &drives);
        let is_wanted = room.is_short() || room.hosts_wait || room.moves_wait || room.writes_wait;
        if is_wanted && checkpoint.has_room {
            room.reclaimable = segments.reclaimable_count(self.writer.lsns.floor());
        }
        let victim = if is_wanted {
            self.victim(&segments, &drives, self.writer.lsns.floor())
        } else {
            None
        };
        let recompress = if room.is_short() {
            None
        } else {
            self.next_to_recompress(&segments, self.writer.lsns.floor())
        };
        let buffer_bytes_max = self.options.map_memory_bytes / 2;
        Wants {
            is_halted: self.halt.why().is_some(),
            audit: !self.upkeep.audits_wanted.borrow().is_empty(),
            faulty: self.faulty_drive(),
            checkpoint,
            room,
            map: MapNeed::of(&self.map.shards.borrow(), self.upkeep.merged.get(), buffer_bytes_max),
            map_turn: self.upkeep.map_turn.get(),
            sweep: self.sweep_need(),
            purge: self.next_purge(&segments, &drives),
            rebuild: self.rebuild_need(&segments, &drives),
            rebuild_turn: self.upkeep.rebuild_turn.is_its(),
            victim,
            recompress,
            scrub: self.scrub_is_ready(),
            verify: self.verify_is_ready(),
            rebalance: self.rebalance_is_ready(),
        }
    }

    /// The room that there is without a checkpoint.
    fn room_for_segments(&self, segments: &Segments, drives: &[DriveId]) -> Room {
        let hosts_wait = self.requests.hosts_want_segment();
        Room {
            free_segments: segments.free_segments(drives),
            marks: self.marks(),
            reclaimable: 0,
            window_is_empty: segments.window_is_empty(),
            window_can_grow: segments.placeable(drives) > 0,
            hosts_wait,
            is_held_back: hosts_wait && self.is_held_back(segments, drives),
            moves_wait: self.requests.moves_want_segment(),
            writes_wait: self.requests.room_wanted(),
        }
    }

    /// Whether there would be more to free or collect if every batch had been published and every
    /// read had ended.
    pub(crate) fn is_held_back(&self, segments: &Segments, drives: &[DriveId]) -> bool {
        let next = self.writer.lsns.next();
        let may_free = segments.summary().has_empty()
            && self.checkpoint_has_room(segments, drives, || segments.empty(next));
        may_free || self.victim(segments, drives, next).is_some()
    }
}

#[cfg(test)]
mod tests;
