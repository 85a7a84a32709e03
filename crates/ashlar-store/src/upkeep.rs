//! Upkeep: one task that does everything which is not an answer to a host. Look, choose, do, repeat.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Cause, IoError, VolumeId, World};
use futures_util::future::{Either, select};
use tokio::sync::{Notify, oneshot};

use crate::audit::Audit;
use crate::catalog::VolumeState;
use crate::format::location::SegmentId;
use crate::gc::{Candidate, Collected, choose_victim};
use crate::map::buffer::ENTRY_BYTES;
use crate::pages::AppendError;
use crate::pool::Pool;
use crate::types::{GroupKey, Lsn, ShardId};

/// How often writes that found no room under a file-backed drive are repeated.
const ROOM_RETRY: Duration = Duration::from_secs(1);

/// Bytes of an update in a delta, and a little more for pages that are not full.
const DELTA_BYTES: usize = 32;

/// Updates that are worth a checkpoint, however little memory there is.
const FRESH_ENTRIES_MIN: usize = 256;

type Answer = Result<(), IoError>;

/// What others want of upkeep.
#[derive(Default)]
pub(crate) struct Orders {
    rung: Notify,
    /// Rung when a write waits for a drive's absence to become durable.
    lost: Notify,
    drive_lost: Cell<bool>,
    window_wanted: Cell<bool>,
    room_wanted: Cell<bool>,
    room_exact: Cell<bool>,
    fresh_entries: Cell<usize>,
    checkpoints_wanted: RefCell<Vec<oneshot::Sender<Answer>>>,
    audits_wanted: RefCell<Vec<oneshot::Sender<Result<Audit, IoError>>>>,
    stop: Cell<bool>,
    stopped: Cell<bool>,
    /// Rung when the task has ended.
    ended: Notify,
}

impl Orders {
    /// Something may be to be done.
    pub fn ring(&self) {
        self.rung.notify_one();
    }

    /// A stream waits for a segment.
    pub fn want_window(&self) {
        self.window_wanted.set(true);
        self.ring();
    }

    /// A segment has been opened.
    pub fn window_used(&self) {
        self.ring();
    }

    /// A write waits for a drive's absence to become durable.
    pub fn drive_lost(&self) {
        self.drive_lost.set(true);
        self.lost.notify_one();
        self.ring();
    }

    /// The maps have changed; this many entries are not in deltas yet.
    pub fn written(&self, fresh_entries: usize) {
        self.room_exact.set(false);
        let before = self.fresh_entries.replace(fresh_entries);
        // Once in a while is enough: the limits are far apart.
        if before >> 10 != fresh_entries >> 10 {
            self.ring();
        }
    }

    /// Entries that are not in deltas yet.
    pub fn fresh_entries(&self) -> usize {
        self.fresh_entries.get()
    }

    /// A write waits for space.
    pub fn make_room(&self) {
        self.room_wanted.set(true);
        self.ring();
    }

    /// There is no more room to be made.
    pub fn room_is_exact(&self) -> bool {
        self.room_exact.get()
    }

    /// Returns when the task has ended.
    pub async fn stopped(&self) {
        while !self.stopped.get() {
            self.ended.notified().await;
        }
    }

    /// Ends the task when what it does now is done.
    pub fn stop(&self) {
        self.stop.set(true);
        self.ring();
    }
}

/// How things stand: all that the choice of what to do next depends on.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    pub halted: bool,
    pub drive_lost: bool,
    pub checkpoint_wanted: bool,
    pub audit_wanted: bool,
    pub window_wanted: bool,
    pub window_low: bool,
    pub replay_bytes: u64,
    pub replay_bytes_max: u64,
    pub fresh_entries: usize,
    pub fresh_entries_max: usize,
    pub buffer_entries: usize,
    pub buffer_entries_max: usize,
    pub free_segments: u64,
    pub collect_mark: u64,
    pub reclaimable: u64,
    pub room_wanted: bool,
    pub fullest_shard: ShardId,
    pub unmerged: Option<(ShardId, GroupKey)>,
    pub deleting: Option<VolumeId>,
    pub victim: Option<SegmentId>,
}

/// What upkeep does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Make durable what the maps say, free what nothing needs, form a new window.
    Checkpoint,
    /// Move the buffer of a shard into runs.
    Distribute(ShardId),
    /// Merge the runs of a group.
    Merge(ShardId, GroupKey),
    /// Empty a segment.
    Collect(SegmentId),
    /// Discard the blocks of a deleted volume.
    Purge(VolumeId),
    /// Compare what is counted with what is there.
    Audit,
    /// Say that no more room can be made.
    DeclareFull,
    /// Wait.
    Rest,
}

/// What to do next. What hosts wait for comes first; then what keeps space and memory within bounds; then what can
/// wait.
pub(crate) fn choose(now: &Situation) -> Task {
    let short_of_space = now.free_segments <= now.collect_mark;
    if now.audit_wanted {
        return Task::Audit;
    }
    if now.halted {
        return Task::Rest;
    }
    if now.drive_lost || now.checkpoint_wanted {
        return Task::Checkpoint;
    }
    // A checkpoint that would free nothing forms no window where there is no room for one: collect first.
    let window_can_grow = now.free_segments > 0 || now.reclaimable > 0;
    if now.window_wanted
        && window_can_grow
        && (!short_of_space || now.reclaimable > 0 || now.victim.is_none())
    {
        return Task::Checkpoint;
    }
    if now.window_low || now.fresh_entries > now.fresh_entries_max || now.replay_bytes > now.replay_bytes_max
    {
        return Task::Checkpoint;
    }
    if short_of_space && now.reclaimable * 2 >= now.free_segments.max(2) {
        return Task::Checkpoint;
    }
    if let (true, Some(victim)) = (short_of_space, now.victim) {
        return Task::Collect(victim);
    }
    if now.buffer_entries > now.buffer_entries_max {
        return Task::Distribute(now.fullest_shard);
    }
    if let Some((shard, group)) = now.unmerged {
        return Task::Merge(shard, group);
    }
    if let Some(volume) = now.deleting {
        return Task::Purge(volume);
    }
    if now.room_wanted {
        return if now.reclaimable > 0 { Task::Checkpoint } else { Task::DeclareFull };
    }
    Task::Rest
}

impl<W: World> Pool<W> {
    /// Does what is to be done, until told to stop.
    pub async fn upkeep_loop(self: Rc<Self>) {
        while !self.orders.stop.get() {
            let situation = self.situation();
            match choose(&situation) {
                Task::Rest => self.rest().await,
                task => {
                    self.perform(task).await;
                    self.world.yield_now().await;
                }
            }
        }
        self.answer_checkpoints(Err(Cause::NotReady.into()));
        self.orders.audits_wanted.take();
        self.orders.stopped.set(true);
        self.orders.ended.notify_one();
    }

    async fn perform(&self, task: Task) {
        let done = match task {
            Task::Checkpoint => return self.ordered_checkpoint().await,
            Task::Audit => return self.ordered_audit().await,
            Task::Distribute(shard) => self.distribute(shard).await,
            Task::Merge(shard, group) => self.merge(shard, group).await,
            Task::Purge(volume) => self.purge(volume).await,
            Task::Collect(victim) => match self.collect(victim).await {
                Ok(Collected::Emptied | Collected::Unmovable) => Ok(()),
                Ok(Collected::LeftToCheckpoint) => return self.ordered_checkpoint().await,
                Err(error) => Err(error),
            },
            Task::DeclareFull => {
                self.orders.room_exact.set(true);
                self.orders.room_wanted.set(false);
                self.refuse_if_stuck();
                Ok(())
            }
            Task::Rest => Ok(()),
        };
        match done {
            Err(AppendError::WindowEmpty) => self.ordered_checkpoint().await,
            Ok(()) | Err(AppendError::Halted) => {}
        }
    }

    /// A stream waits for a segment, and none can be had: the hosts are told.
    fn refuse_if_stuck(&self) {
        if self.orders.window_wanted.get() && !self.hosts_may_allocate() {
            self.commit.answer_all(&Cause::CapacityExceeded.into());
        }
    }

    async fn ordered_checkpoint(&self) {
        self.orders.drive_lost.set(false);
        self.orders.window_wanted.set(false);
        let wanted = self.orders.checkpoints_wanted.take();
        let done = self.checkpoint(false).await;
        if let Err(error) = &done {
            self.halt(error);
        }
        for answer in wanted {
            // Who asked may have gone.
            let _ = answer.send(done.as_ref().map_err(Clone::clone).copied());
        }
    }

    async fn ordered_audit(&self) {
        for answer in self.orders.audits_wanted.take() {
            // Who asked may have gone.
            let _ = answer.send(self.audit().await);
        }
    }

    /// Compares what is counted as live with what is, while nothing else is done to the maps. Hosts must be quiet.
    pub async fn audit_now(&self) -> Result<Audit, IoError> {
        let (answer, answered) = oneshot::channel();
        self.orders.audits_wanted.borrow_mut().push(answer);
        self.orders.ring();
        answered.await.unwrap_or_else(|_| Err(Cause::NotReady.into()))
    }

    fn answer_checkpoints(&self, with: Answer) {
        for answer in self.orders.checkpoints_wanted.take() {
            let _ = answer.send(with.clone());
        }
    }

    /// Waits until something may be to be done.
    async fn rest(&self) {
        if self.array.out_of_room() {
            self.commit.answer_all(&Cause::CapacityExceeded.into());
            self.world.sleep(ROOM_RETRY).await;
            self.array.retry_for_room();
            return;
        }
        let failed = pin!(self.array.changed());
        match select(pin!(self.orders.rung.notified()), failed).await {
            Either::Left(_) => {}
            Either::Right(_) => {
                if self.lost_drives().iter().any(|drive| !self.absent.borrow().contains(drive)) {
                    self.orders.drive_lost.set(true);
                }
            }
        }
    }

    /// Drives `work`, which may wait for a drive's absence to become durable; makes it so when it does.
    pub async fn guarding<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match select(work.as_mut(), pin!(self.orders.lost.notified())).await {
                Either::Left((done, _)) => return done,
                Either::Right(_) => self.ordered_checkpoint().await,
            }
        }
    }

    /// A checkpoint that begins after this call.
    pub async fn checkpoint_now(&self) -> Result<(), IoError> {
        self.running()?;
        let (answer, answered) = oneshot::channel();
        self.orders.checkpoints_wanted.borrow_mut().push(answer);
        self.orders.ring();
        answered.await.unwrap_or_else(|_| Err(Cause::NotReady.into()))
    }

    /// Entries of all shards that are not in deltas yet.
    pub fn fresh_entries(&self) -> usize {
        self.shards.borrow().iter().map(|shard| shard.buffer.fresh_len()).sum()
    }

    fn situation(&self) -> Situation {
        let floor = self.log.floor();
        let drives = self.drives();
        let shards = self.shards.borrow();
        let fullest = shards.iter().max_by_key(|shard| shard.buffer.settled().len()).map(|shard| shard.id);
        let unmerged = shards.iter().find_map(|shard| shard.unmerged.first().map(|group| (shard.id, *group)));
        let buffer_entries = shards.iter().map(|shard| shard.buffer.len()).sum();
        drop(shards);
        let marks = self.marks();
        let segments = self.segments.borrow();
        let free_segments = segments.placeable(&drives) + segments.usable_striped();
        let short_of_space = free_segments <= marks.collect;
        let deleting = |volume: &crate::catalog::VolumeEntry| volume.state == VolumeState::Deleting;
        Situation {
            halted: self.halted().is_some(),
            drive_lost: self.orders.drive_lost.get(),
            audit_wanted: !self.orders.audits_wanted.borrow().is_empty(),
            checkpoint_wanted: !self.orders.checkpoints_wanted.borrow().is_empty(),
            window_wanted: self.orders.window_wanted.get(),
            window_low: segments.window_low() && free_segments > segments.usable_striped(),
            replay_bytes: self.counters.get().bytes_to_drives - self.checkpointed_bytes.get(),
            replay_bytes_max: self.options.replay_bytes_max.min(self.space_raw(&segments) / 64),
            fresh_entries: self.fresh_entries(),
            fresh_entries_max: self.fresh_entries_max(),
            buffer_entries,
            buffer_entries_max: self.options.map_memory_bytes / 2 / ENTRY_BYTES,
            free_segments,
            collect_mark: marks.collect,
            reclaimable: if short_of_space || self.orders.room_wanted.get() || self.orders.window_wanted.get()
            {
                segments.reclaimable(floor).len() as u64
            } else {
                0
            },
            room_wanted: self.orders.room_wanted.get(),
            fullest_shard: fullest.expect("a pool has shards"),
            unmerged,
            deleting: self
                .catalog
                .borrow()
                .volumes
                .iter()
                .find(|(_, volume)| deleting(volume))
                .map(|(id, _)| *id),
            victim: if short_of_space { self.victim(&segments, floor) } else { None },
        }
    }

    fn victim(&self, segments: &crate::segments::Segments, floor: Lsn) -> Option<SegmentId> {
        let unmovable = self.unmovable.borrow();
        let slots = u64::from(self.identity.segment_rows) * 64;
        let candidates = segments
            .iter()
            .filter(|(id, _)| !unmovable.contains(id))
            .filter_map(|(id, segment)| Candidate::of(id, segment, slots, floor));
        choose_victim(candidates, self.world.unix_seconds())
    }

    fn space_raw(&self, segments: &crate::segments::Segments) -> u64 {
        segments.chunks_total() * u64::from(self.identity.segment_rows) * ashlar_block::SECTOR_BYTES as u64
    }

    /// Updates after which a checkpoint is due: their deltas take half of a segment.
    pub fn fresh_entries_max(&self) -> usize {
        let data = self.fresh_batch_room(crate::append::StreamId::Metadata).data;
        let segment_bytes = self.identity.segment_rows as usize * data * ashlar_block::SECTOR_BYTES;
        (segment_bytes / 2 / DELTA_BYTES)
            .min(self.options.map_memory_bytes / 4 / ENTRY_BYTES)
            .max(FRESH_ENTRIES_MIN)
    }
}

#[cfg(test)]
mod tests;
