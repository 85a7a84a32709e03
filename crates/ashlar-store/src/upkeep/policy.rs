//! What upkeep does next: a pure function of the situation.

use ashlar_block::{DriveId, VolumeId};
use ashlar_format::ids::{GroupKey, ShardId};
use ashlar_format::location::SegmentId;

use crate::jobs::rebuild::policy::RebuildTask;
use crate::jobs::sweep::SweepNeed;
use crate::space::capacity::COLLECTION_SEGMENTS;

/// How things stand: all that the choice of what to do next depends on.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    pub halted: bool,
    pub drive_lost: bool,
    /// A drive that has had too many faults, if the pool can do without it.
    pub faulty: Option<DriveId>,
    pub checkpoint_wanted: bool,
    pub audit_wanted: bool,
    pub hosts_want_window: bool,
    pub moves_want_window: bool,
    pub window_low: bool,
    /// Segments of the window that only a checkpoint may take are all that is left of it.
    pub window_empty: bool,
    /// There is room for a larger window.
    pub window_can_grow: bool,
    /// A checkpoint may take a segment. Without that, only what cannot wait asks for one.
    pub checkpoint_has_room: bool,
    pub replay_bytes: u64,
    pub replay_bytes_max: u64,
    pub replay_records: u64,
    pub replay_records_max: u64,
    pub fresh_entries: usize,
    pub fresh_entries_max: usize,
    /// What the next checkpoint writes of the index.
    pub index_bytes: u64,
    pub index_bytes_max: u64,
    /// Memory of leaves of the index that have changed.
    pub leaf_bytes: usize,
    pub leaf_bytes_max: usize,
    pub buffer_bytes: usize,
    pub buffer_bytes_max: usize,
    pub free_segments: u64,
    pub reserve_mark: u64,
    pub collect_mark: u64,
    /// What the next checkpoint frees, if it has room.
    pub reclaimable: u64,
    /// There is more to be freed or collected once batches that are on their way have been
    /// published and reads have ended.
    pub held_back: bool,
    pub room_wanted: bool,
    /// A sweep would find that less lives than is counted.
    pub inexact: bool,
    /// The shard with most that is in durable deltas, if any has.
    pub fullest_shard: Option<ShardId>,
    /// A shard of whose deltas a page cannot be read.
    pub spoiled_shard: Option<ShardId>,
    /// A shard whose deltas are spread thin.
    pub thin_shard: Option<ShardId>,
    /// A leaf of the index with a group that is to be merged.
    pub unmerged: Option<(ShardId, GroupKey)>,
    pub deleting: Option<VolumeId>,
    /// Checkpoints have room for what a purge hides, until it gives space back.
    pub purge_has_room: bool,
    pub sweep: SweepNeed,
    /// Hosts have changed nothing for a while, and less may live than is counted.
    pub quiet_and_inexact: bool,
    /// What is to be done about lost drives.
    pub rebuild: Option<RebuildTask>,
    /// More lives than may, because drives are lost.
    pub is_overfull: bool,
    /// No segment could have the chunks that are free, but columns can.
    pub only_columns_fit: bool,
    /// There is something to be looked at by a scrub.
    pub scrub: bool,
    /// Something may be to be done so that what lives is spread over all drives.
    pub rebalance: bool,
    /// If collection and the map both have something to do while there is no space, it is the map's
    /// turn.
    pub map_turn: bool,
    /// If the rebuild and either collection or the map have something to do, it is the rebuild's
    /// turn.
    pub rebuild_turn: bool,
    /// The segment most worth collecting, if collecting gains anything.
    pub victim: Option<SegmentId>,
}

impl Situation {
    fn is_short_of_space(&self) -> bool {
        self.free_segments <= self.collect_mark
    }

    /// The next checkpoint has as much to write as the segments are meant for that are kept for it.
    fn checkpoint_is_large(&self) -> bool {
        self.fresh_entries > self.fresh_entries_max
            || self.index_bytes > self.index_bytes_max
            || self.leaf_bytes > self.leaf_bytes_max
    }

    /// What gives hosts that wait for a segment one, or an answer. `None`: what they wait for comes
    /// by itself.
    fn for_waiting_hosts(&self) -> Option<Task> {
        if self.free_segments > self.reserve_mark || self.reclaimable > 0 {
            return Some(Task::Checkpoint);
        }
        // A deleted volume's space comes back without a page being written.
        let gained = self.for_space().or(self.for_deleted());
        gained.or_else(|| self.for_hosts_without_victim())
    }

    /// What is held back by a drive that takes its time is worth waiting for. With exact counts
    /// there may be something worth collecting after all.
    fn for_hosts_without_victim(&self) -> Option<Task> {
        match () {
            () if self.held_back => None,
            () if self.inexact && self.map_has_room() => Some(Task::Sweep),
            () => Some(Task::Refuse),
        }
    }

    /// What gives space back, if anything does. Thin deltas first: that takes a few reads, and as
    /// long as they are there they count as living, so that the rest is collected sooner and with
    /// more to move. In a pool that is busy and nearly full there is never time for them otherwise,
    /// and they grow until they are all that is left.
    fn for_space(&self) -> Option<Task> {
        let thin = self.thin_shard.filter(|_| self.map_has_room());
        thin.map(Task::Compact).or(self.for_the_map_in_turn()).or(self.victim.map(Task::Collect))
    }

    /// What returns the space of what the map hides and keeps it within its memory, after each
    /// collection: collecting alone, a pool that is busy and nearly full would never do it, and
    /// alone it would take all the space that is collected. Merging first: distribution takes space
    /// and makes more to merge.
    fn for_the_map_in_turn(&self) -> Option<Task> {
        if !self.map_turn || !self.map_has_room() {
            return None;
        }
        let too_large = self.buffer_bytes > self.buffer_bytes_max;
        let merge = self.unmerged.map(|(shard, group)| Task::Merge(shard, group));
        merge.or(self.fullest_shard.filter(|_| too_large).map(Task::Distribute))
    }

    /// What makes room for data beyond what is counted as living, or says that there is none.
    fn for_writes_without_room(&self) -> Task {
        if self.inexact && self.map_has_room() {
            return Task::Sweep;
        }
        if self.reclaimable > 0 { Task::Checkpoint } else { Task::DeclareFull }
    }

    /// A start would take longer than it should. Where a checkpoint may halt the pool, it is put
    /// off until hosts wait for it: at twice as many records.
    fn replay_is_long(&self) -> bool {
        if self.checkpoint_has_room {
            self.replay_bytes > self.replay_bytes_max || self.replay_records > self.replay_records_max
        } else {
            self.replay_records >= 2 * self.replay_records_max
        }
    }

    /// A segment can be had for pages of the map.
    fn map_has_room(&self) -> bool {
        !self.window_empty || self.window_can_grow
    }

    /// What keeps the map within its memory and returns the space of what it hides, if there is
    /// room for its pages.
    fn for_the_map(&self) -> Option<Task> {
        if !self.map_has_room() {
            return self.for_deleted();
        }
        if let Some(shard) = self.spoiled_shard {
            return Some(Task::Distribute(shard));
        }
        if self.buffer_bytes > self.buffer_bytes_max {
            // What is not in durable deltas cannot be distributed: a checkpoint comes before that.
            return Some(self.fullest_shard.map_or(Task::Checkpoint, Task::Distribute));
        }
        let compact = self.thin_shard.map(Task::Compact);
        let merge = self.unmerged.map(|(shard, group)| Task::Merge(shard, group));
        compact.or(merge).or(self.for_deleted())
    }

    /// What gives back the space of deleted volumes.
    fn for_deleted(&self) -> Option<Task> {
        self.deleting.filter(|_| self.purge_has_room).map(Task::Purge)
    }

    /// What is to be restored now. It takes room: not the last that there is, but what no segment
    /// could have, for drives that have been added to a full pool may be all that has any; and what
    /// collection would need, if there is nothing to collect. Where more lives than may,
    /// checkpoints and collection need all that is kept: until hosts give something back nothing
    /// else makes room.
    fn to_restore(&self) -> Option<RebuildTask> {
        let collects_nothing = self.victim.is_none() && !self.is_overfull;
        let for_collection = if collects_nothing { COLLECTION_SEGMENTS } else { 0 };
        let kept = self.reserve_mark - for_collection;
        let has_room = self.free_segments > kept || self.only_columns_fit;
        let takes_room = |task| matches!(task, RebuildTask::Move(_) | RebuildTask::Collect(_));
        self.rebuild.filter(|task| has_room || !takes_room(*task))
    }

    /// Whether there is something to restore and no room for it, and what is done `next` does not
    /// make any.
    pub fn rebuild_lacks_room(&self, next: Task) -> bool {
        let makes_none = matches!(next, Task::Rest | Task::Rebalance | Task::DeclareFull);
        makes_none && self.rebuild.is_some() && self.to_restore().is_none()
    }

    /// What gives moves that wait for a segment one, if anything does.
    fn for_waiting_moves(&self) -> Option<Task> {
        if self.reclaimable > 0 || (self.window_empty && self.window_can_grow) {
            return Some(Task::Checkpoint);
        }
        self.for_space()
    }
}

/// What upkeep does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Make durable what the maps say, free what nothing needs, form a new window.
    Checkpoint,
    /// Move the buffer of a shard into runs.
    Distribute(ShardId),
    /// Take the oldest pages out of a shard's deltas.
    Compact(ShardId),
    /// Merge the runs of a group of this leaf.
    Merge(ShardId, GroupKey),
    /// Empty a segment.
    Collect(SegmentId),
    /// Discard the blocks of a deleted volume.
    Purge(VolumeId),
    /// Get on with merging everything, so that segment numbers may be used again.
    Sweep,
    /// Compare what is counted with what is there.
    Audit,
    /// Tell the hosts that wait for a segment that there is none.
    Refuse,
    /// Restore a part of what was on lost drives.
    Rebuild(RebuildTask),
    /// Use a drive no more.
    GiveUp(DriveId),
    /// Begin to look whether some rows are what they should be, and to make them right.
    Scrub,
    /// Spread a part of what lives over all drives.
    Rebalance,
    /// Say that no more room can be made.
    DeclareFull,
    /// Wait.
    Rest,
}

impl Task {
    /// Whether it is chosen instead of a rebuild or after it, by turns: not what comes at once
    /// wherever it is due.
    pub fn competes(self) -> bool {
        match self {
            Task::Distribute(_) | Task::Compact(_) | Task::Merge(..) | Task::Collect(_) => true,
            Task::Purge(_) | Task::Sweep | Task::Rebalance => true,
            Task::Checkpoint | Task::Audit | Task::Refuse | Task::GiveUp(_) | Task::DeclareFull => false,
            Task::Rebuild(_) | Task::Scrub | Task::Rest => false,
        }
    }
}

/// What to do next. What hosts wait for comes first; then what keeps space and memory within
/// bounds; then what can wait.
pub(crate) fn choose(now: &Situation) -> Task {
    if now.audit_wanted {
        return Task::Audit;
    }
    if now.halted {
        return Task::Rest;
    }
    if let Some(drive) = now.faulty {
        return Task::GiveUp(drive);
    }
    // One that becomes too large cannot be written at all, and halts the pool.
    if now.drive_lost || now.checkpoint_wanted || now.checkpoint_is_large() {
        return Task::Checkpoint;
    }
    if now.sweep == SweepNeed::Behind && now.map_has_room() {
        return Task::Sweep;
    }
    if let (true, Some(task)) = (now.hosts_want_window, now.for_waiting_hosts()) {
        return task;
    }
    if let (true, Some(task)) = (now.moves_want_window, now.for_waiting_moves()) {
        return task;
    }
    if now.window_low || now.replay_is_long() {
        return Task::Checkpoint;
    }
    // It goes on beside what comes next.
    if now.scrub {
        return Task::Scrub;
    }
    let rebuild = now.to_restore();
    if let Some(task) = rebuild.filter(|_| now.rebuild_turn) {
        return Task::Rebuild(task);
    }
    // Collection alone would go on for ever in a pool that is busy and nearly full.
    if let (true, Some(task)) = (now.free_segments > now.reserve_mark, now.for_the_map()) {
        return task;
    }
    // A rebuild that may have all of the time would keep who waits for room from ever being told.
    let for_room = (now.room_wanted && rebuild.is_some()).then(|| now.for_writes_without_room());
    if let Some(task) = for_room.or(rebuild.map(Task::Rebuild)).filter(|_| !now.is_short_of_space()) {
        return task;
    }
    if now.is_short_of_space() {
        // Enough is waiting for a root.
        if now.reclaimable * 2 >= now.free_segments.max(2) {
            return Task::Checkpoint;
        }
        if let Some(task) = now.for_space() {
            return task;
        }
    }
    if let Some(task) = for_room.or(rebuild.map(Task::Rebuild)) {
        return task;
    }
    if let Some(task) = now.for_the_map() {
        return task;
    }
    if now.room_wanted {
        return now.for_writes_without_room();
    }
    if now.rebalance {
        return Task::Rebalance;
    }
    if (now.sweep == SweepNeed::Idle || now.quiet_and_inexact) && now.map_has_room() {
        return Task::Sweep;
    }
    Task::Rest
}

#[cfg(test)]
mod tests;
