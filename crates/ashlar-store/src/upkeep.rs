//! Upkeep: one task that does everything which is not an answer to a host. Look, choose
//! ([`policy`]), do, repeat.

mod beside;
mod bounds;
pub(crate) mod policy;
mod state;
mod turn;

use std::ops::Bound;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, DriveId, IoError, VolumeId, World};
use ashlar_format::catalog::{VolumeEntry, VolumeState};
use ashlar_format::ids::{GroupKey, Lsn, ShardId};
use ashlar_format::location::SegmentId;
use futures_util::future::{Either, select};
use tokio::sync::oneshot;

use crate::base::activity::Activity;
use crate::jobs::audit::Audit;
use crate::jobs::collect::Collected;
use crate::jobs::collect::policy::{Candidate, PlacementView, choose_last_resort, choose_victim};
use crate::jobs::progress::Obstacle;
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::space::capacity::{CHECKPOINT_MIN, Request};
use crate::space::segments::Segments;
use crate::writer::pages::AppendError;

use policy::{Situation, Task, choose};
pub(crate) use state::UpkeepState;
use state::{Audited, FRUITLESS_MAX};

/// How often writes that found no room under a file-backed drive are repeated.
const ROOM_RETRY: Duration = Duration::from_secs(1);

impl<W: World> Pool<W> {
    /// Does what is to be done, until told to stop.
    pub async fn upkeep_loop(self: Rc<Self>) {
        while !self.upkeep.stop.get() {
            let situation = self.situation();
            self.pace.look(&situation);
            let task = choose(&situation);
            tracing::trace!(?task, ?situation, "upkeep");
            if situation.rebuild_lacks_room(task) {
                self.rebuild.done.meets(Obstacle::NoRoom);
            }
            match task {
                Task::Rest => {
                    self.upkeep.rebuild_turn.others_rest();
                    self.rest(&situation).await;
                }
                task => {
                    let rest = self.upkeep.now_does(Activity::of(&task));
                    self.take_turn(task).await;
                    self.upkeep.now_does(rest);
                }
            }
            // Also after a rest, which may be over before it begins.
            self.world.yield_now().await;
        }
        self.relocation.look_again();
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
            Task::Distribute(shard) => {
                self.upkeep.map_turn.set(false);
                self.distribute(shard).await
            }
            Task::Compact(shard) => {
                self.compact(shard).await;
                Ok(())
            }
            Task::Merge(shard, group) => {
                self.upkeep.map_turn.set(false);
                self.upkeep.merged.set((shard, group));
                self.merge_one_of(shard, group).await.map(drop)
            }
            Task::Sweep => self.sweep_on().await,
            Task::Purge(volume) => self.purge_step(volume).await,
            Task::Collect(victim) => {
                self.upkeep.map_turn.set(true);
                self.collect_one(victim).await
            }
            Task::Rebuild(task) => {
                let done = self.rebuild_step(task).await;
                self.pace.rested(self.world.now());
                done
            }
            Task::Rebalance => {
                let done = self.rebalance_step().await;
                self.pace.rested(self.world.now());
                done
            }
            Task::Scrub => {
                self.begin_scrub_step();
                Ok(())
            }
            Task::GiveUp(drive) => {
                self.array.give_up_faulty(drive);
                Ok(())
            }
            Task::Refuse => {
                self.requests.refused_hosts();
                self.refusals.refused_for_segment();
                self.commit.refuse_waiting(&Cause::CapacityExceeded.into());
                Ok(())
            }
            Task::DeclareFull => {
                self.requests.declare_full();
                Ok(())
            }
            Task::Rest => Ok(()),
        };
        match done {
            Err(AppendError::WindowEmpty) if self.checkpoint_makes_room() => self.ordered_checkpoint().await,
            Err(AppendError::WindowEmpty) => {
                self.upkeep.give_up_collecting();
                self.postpone_rebuild();
                self.postpone_rebalance();
            }
            Ok(()) | Err(AppendError::Halted) => {}
        }
    }

    /// Whether there would be segments to open after a checkpoint. One that makes no room takes
    /// some: repeated, it takes the last of them, and the pool halts.
    fn checkpoint_makes_room(&self) -> bool {
        let (segments, drives) = (self.segments.borrow(), self.allocation_targets());
        let gains = segments.placeable(&drives) > 0 || segments.has_reclaimable(self.lsns.floor());
        gains && self.checkpoint_has_room(&segments, &drives)
    }

    /// Collects one segment, and notes whether that leads anywhere.
    async fn collect_one(&self, victim: SegmentId) -> Result<(), AppendError> {
        let free = self.segments.borrow().placeable_data(&self.allocation_targets());
        if free > self.upkeep.most_free.get() || self.upkeep.fruitless.get() == 0 {
            self.upkeep.most_free.set(free);
            self.upkeep.fruitless.set(0);
        }
        self.upkeep.fruitless.set(self.upkeep.fruitless.get() + 1);
        let gain_bytes = self.gain_of_collecting(victim);
        match self.collect(victim).await? {
            Collected::Emptied => {}
            Collected::LeftToCheckpoint => self.ordered_checkpoint().await,
            Collected::Unmovable => return Ok(()),
        }
        self.pace.gained(gain_bytes, self.world.now());
        Ok(())
    }

    pub(crate) async fn ordered_checkpoint(&self) {
        let wanted = self.requests.checkpoint_begins();
        if !wanted.is_empty() {
            // It makes garbage of what the one before it has written.
            self.upkeep.collecting_may_gain();
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
        let begun = self.lsns.next();
        let is_quiet =
            || self.halt.why().is_some() || (self.lsns.floor(), self.lsns.next()) == (begun, begun);
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
                select(pin!(self.lsns.quiet()), pin!(halted)).await;
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
                self.commit.answer_all(&Cause::CapacityExceeded.into());
                self.world.sleep(ROOM_RETRY).await;
                self.array.retry_for_room();
            }
        }
    }

    /// Waits until something may be to be done, where there was nothing in this situation.
    async fn rest(&self, was: &Situation) {
        let failed = pin!(self.array.changed());
        let ready = async {
            // One that was due and not begun has no room.
            let sweep = if was.quiet_and_inexact { None } else { self.sweep_waits() };
            match [
                self.rebuild_waits(was.rebuild.is_some()),
                self.rebalance_waits(),
                self.scrub_waits(),
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
        let emptied = self.segments.borrow().emptied.clone();
        let (notify, emptied) = (pin!(self.requests.notified()), pin!(emptied.notified()));
        select(select(notify, emptied), select(pin!(ready), failed)).await;
        self.pace.rested(self.world.now());
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
        self.lsns.published(batch);
        if self.requests.hosts_want_segment() {
            self.requests.notify();
        }
    }

    fn situation(&self) -> Situation {
        self.release_outlived();
        let floor = self.lsns.floor();
        let drives = self.allocation_targets();
        let shards = self.shards.borrow();
        let fullest = shards.iter().max_by_key(|shard| shard.buffer.settled_len());
        let fullest = fullest.filter(|shard| shard.buffer.settled_len() > 0).map(|shard| shard.id);
        let unmerged = next_unmerged(&shards, self.upkeep.merged.get());
        let buffer_bytes = shards.iter().map(|shard| shard.buffer.bytes()).sum();
        let index_bytes = shards.iter().map(|shard| shard.index.to_write().bytes()).sum();
        let leaf_bytes = shards.iter().map(|shard| shard.index.changed_bytes()).sum();
        let id_of =
            |which: fn(&Shard) -> bool| shards.iter().find(|shard| which(shard)).map(|shard| shard.id);
        let spoiled_shard = id_of(|shard| shard.deltas.are_spoiled());
        let thin_shard = id_of(Shard::is_thin);
        drop(shards);
        let marks = self.marks();
        let segments = self.segments.borrow();
        let (placeable, usable) = (segments.placeable(&drives), segments.usable_striped());
        let space_matters = placeable + usable <= marks.collect
            || self.requests.room_wanted()
            || self.requests.hosts_want_segment()
            || self.requests.moves_want_segment();
        let checkpoint_has_room = self.checkpoint_has_room(&segments, &drives);
        let reclaimable =
            if space_matters && checkpoint_has_room { segments.reclaimable_count(floor) } else { 0 };
        let unpurgeable = self.unpurgeable.borrow();
        let deleting = |(id, volume): &(&VolumeId, &VolumeEntry)| {
            volume.state == VolumeState::Deleting && !unpurgeable.contains(id)
        };
        Situation {
            halted: self.halt.why().is_some(),
            faulty: self.faulty_drive(),
            drive_lost: self.requests.drive_lost() || self.has_lost_a_drive(),
            audit_wanted: !self.upkeep.audits_wanted.borrow().is_empty(),
            checkpoint_wanted: self.requests.checkpoint_wanted(),
            hosts_want_window: self.requests.hosts_want_segment(),
            moves_want_window: self.requests.moves_want_segment(),
            window_low: segments.window_low() && placeable > 0,
            window_empty: segments.window_is_empty(),
            window_can_grow: placeable > 0,
            replay_bytes: self.counters.get().bytes_to_drives - self.checkpointed_bytes.get(),
            checkpoint_has_room,
            replay_bytes_max: self.options.replay_bytes_max.min(self.space_raw(&segments) / 64),
            replay_records: self.replay_records(),
            replay_records_max: self.replay_records_max(),
            fresh_entries: self.fresh_entries(),
            fresh_entries_max: self.fresh_entries_max(),
            index_bytes,
            index_bytes_max: self.map_segment_bytes() as u64 / 2,
            buffer_bytes,
            buffer_bytes_max: self.options.map_memory_bytes / 2,
            free_segments: placeable + usable,
            reserve_mark: marks.reserve,
            collect_mark: marks.collect,
            reclaimable,
            held_back: self.requests.hosts_want_segment() && self.is_held_back(&segments, &drives),
            room_wanted: self.requests.room_wanted(),
            inexact: self.counts_are_inexact(),
            fullest_shard: fullest,
            spoiled_shard,
            thin_shard,
            unmerged,
            leaf_bytes,
            leaf_bytes_max: self.leaf_bytes_max(),
            deleting: self.catalog.borrow().volumes.iter().find(deleting).map(|(id, _)| *id),
            purge_has_room: !segments.is_cornered(&drives) || self.purge_has_room(usable),
            sweep: self.sweep_need(),
            quiet_and_inexact: self.sweep_waits().is_some_and(|wait| wait.is_zero()),
            rebuild: self.next_rebuild(&segments, floor, &drives),
            is_overfull: segments.live().bytes() > self.limit_bytes.get(),
            only_columns_fit: placeable == 0
                && usable > CHECKPOINT_MIN
                && segments.most_free(&drives) > marks.reserve,
            scrub: self.scrub_is_ready(),
            rebalance: self.rebalance_is_ready(),
            map_turn: self.upkeep.map_turn.get(),
            rebuild_turn: self.upkeep.rebuild_turn.is_its(),
            victim: if space_matters { self.victim(&segments, &drives, floor) } else { None },
        }
    }

    /// Whether a checkpoint may take a segment: the last is for the next start, unless its root
    /// gives one back. One that finds none halts the pool.
    fn checkpoint_has_room(&self, segments: &Segments, drives: &[DriveId]) -> bool {
        segments.usable_striped() >= CHECKPOINT_MIN
            || segments.has_room_after(&segments.reclaimable(self.lsns.floor()), drives)
    }

    /// Whether a checkpoint would find room for what it has to write.
    pub fn could_checkpoint(&self) -> bool {
        self.checkpoint_has_room(&self.segments.borrow(), &self.allocation_targets())
            || !self.has_maps_to_write()
    }

    /// Whether a purge may go on although there is no room for a window: each checkpoint takes some
    /// of the segments that are left, until what it has hidden gives some back.
    fn purge_has_room(&self, usable: u64) -> bool {
        let few = self.fresh_entries() < self.fresh_entries_max() / 2;
        usable > CHECKPOINT_MIN || (usable == CHECKPOINT_MIN && few)
    }

    /// Whether there would be more to free or collect if every batch had been published and every
    /// read had ended.
    fn is_held_back(&self, segments: &Segments, drives: &[DriveId]) -> bool {
        segments.summary().has_empty() || self.victim(segments, drives, self.lsns.next()).is_some()
    }

    /// The segment most worth collecting, if every batch below `floor` has been published.
    fn victim(&self, segments: &Segments, drives: &[DriveId], floor: Lsn) -> Option<SegmentId> {
        if self.upkeep.fruitless.get() >= FRUITLESS_MAX {
            return None;
        }
        let view = PlacementView { floor, ..self.view(segments, drives) };
        let candidate = |id: SegmentId| Candidate::of(id, segments.get(id)?, &view);
        if !segments.is_cornered(drives) {
            let candidates = segments.summary().one_of_each(candidate);
            return choose_victim(candidates, self.world.unix_seconds());
        }
        // No segment can be opened but for the checkpoint that follows: pages go to the one that is
        // open, if they fit.
        let only_pages = segments.usable_striped() <= CHECKPOINT_MIN;
        let is_of_pages = |id: SegmentId| segments.get(id).is_some_and(|segment| segment.kind.is_of_pages());
        let could_go = |id: SegmentId| !only_pages || is_of_pages(id);
        let sparse = |id: SegmentId| candidate(id).filter(|candidate| could_go(id) && candidate.is_sparse());
        let has_room = segments.usable_striped() >= CHECKPOINT_MIN;
        has_room.then(|| choose_last_resort(segments.summary().one_of_each(sparse))).flatten()
    }

    fn space_raw(&self, segments: &Segments) -> u64 {
        segments.chunks_total() * u64::from(self.identity.segment_rows) * ashlar_block::SECTOR_BYTES as u64
    }
}

/// The first leaf after `after`, going round, with a group that is to be merged.
fn next_unmerged(shards: &[Shard], after: (ShardId, GroupKey)) -> Option<(ShardId, GroupKey)> {
    let first = |shard: &Shard, from: Bound<GroupKey>| {
        shard.index.unmerged().range((from, Bound::Unbounded)).next().map(|group| (shard.id, *group))
    };
    let (before, from) = shards.split_at(usize::from(after.0.0));
    let (same, later) = from.split_first()?;
    first(same, Bound::Excluded(after.1))
        .or_else(|| later.iter().chain(before).find_map(|shard| first(shard, Bound::Unbounded)))
        .or_else(|| first(same, Bound::Unbounded))
}

#[cfg(test)]
mod tests;
