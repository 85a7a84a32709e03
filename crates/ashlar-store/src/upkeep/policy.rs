//! What upkeep does next: a pure function of what the parts of the store want. Each part says what
//! it wants beside its own work.

use ashlar_block::{DriveId, VolumeId};
use ashlar_format::location::SegmentId;

use crate::base::activity::Activity;
use crate::checkpoint::due::CheckpointNeed;
use crate::jobs::rebuild::policy::{RebuildNeed, RebuildTask};
use crate::jobs::sweep::SweepNeed;
use crate::map::need::{MapNeed, MapTask};
use crate::space::room::Room;

/// What each part wants, and whose turn it is where two want the same.
#[derive(Clone, Debug)]
pub(crate) struct Wants {
    pub is_halted: bool,
    /// Somebody waits for what is counted to be compared with what is there.
    pub audit: bool,
    /// A drive that has had too many faults, if the pool can do without it.
    pub faulty: Option<DriveId>,
    pub checkpoint: CheckpointNeed,
    pub room: Room,
    pub map: MapNeed,
    /// If collection and the map both have something to do while there is no space, it is the map's
    /// turn.
    pub map_turn: bool,
    pub sweep: SweepNeed,
    /// A deleted volume whose blocks can be discarded.
    pub purge: Option<VolumeId>,
    pub rebuild: RebuildNeed,
    /// If the rebuild and either collection or the map have something to do, it is the rebuild's
    /// turn.
    pub rebuild_turn: bool,
    /// The segment most worth collecting, if collecting gains anything.
    pub victim: Option<SegmentId>,
    /// The segment that is emptied to compress anew what is cold in it, if its step may begin.
    pub recompress: Option<SegmentId>,
    /// There is something to be looked at by a scrub.
    pub scrub: bool,
    /// Somebody has asked for the ledger to be proved, and the next step may begin.
    pub verify: bool,
    /// Something may be to be done so that what lives is spread over all drives.
    pub rebalance: bool,
}

impl Wants {
    /// What gives hosts that wait for a segment one, or an answer. `None`: what they wait for comes
    /// by itself.
    fn for_waiting_hosts(&self) -> Option<Task> {
        if self.room.is_above_reserve() || self.room.reclaimable > 0 {
            return Some(Task::Checkpoint);
        }
        // A deleted volume's space comes back without a page being written.
        let gained = self.for_space().or(self.purge.map(Task::Purge));
        gained.or_else(|| self.for_hosts_without_victim())
    }

    /// What is held back by a drive that takes its time is worth waiting for. With exact counts
    /// there may be something worth collecting after all.
    fn for_hosts_without_victim(&self) -> Option<Task> {
        match () {
            () if self.room.is_held_back => None,
            () if self.sweep.counts_are_inexact && self.room.is_there_for_maps() => {
                Some(Task::Sweep)
            }
            () => Some(Task::Refuse),
        }
    }

    /// What gives moves that wait for a segment one, if anything does.
    fn for_waiting_moves(&self) -> Option<Task> {
        let window_grows = self.room.window_is_empty && self.room.window_can_grow;
        if self.room.reclaimable > 0 || window_grows {
            return Some(Task::Checkpoint);
        }
        self.for_space()
    }

    /// What gives space back, if anything does. Thin deltas first: as long as they are there they
    /// count as living, so that the rest is collected sooner and with more to move. In a pool that
    /// is busy and nearly full there is never time for them otherwise, and they grow until they are
    /// all that is left. The map has its turn after each collection: collecting alone, such a pool
    /// would never merge, and merging alone would take all the space that is collected.
    fn for_space(&self) -> Option<Task> {
        let map = || {
            self.map
                .compaction()
                .or_else(|| self.map.between_collections().filter(|_| self.map_turn))
        };
        let map = self.room.is_there_for_maps().then(map).flatten();
        map.map(Task::Map).or(self.victim.map(Task::Collect))
    }

    /// What makes room for data beyond what is counted as living, or says that there is none.
    fn for_waiting_writes(&self) -> Task {
        match () {
            () if self.sweep.counts_are_inexact && self.room.is_there_for_maps() => Task::Sweep,
            () if self.room.reclaimable > 0 => Task::Checkpoint,
            () => Task::DeclareFull,
        }
    }

    /// What keeps the map within its memory and returns the space of what it hides, deleted volumes
    /// included.
    fn for_the_map(&self) -> Option<Task> {
        let map = self.map.upkeep().filter(|_| self.room.is_there_for_maps());
        map.map(Task::Map).or(self.purge.map(Task::Purge))
    }

    /// What can be restored now.
    fn to_restore(&self) -> Option<RebuildTask> {
        self.rebuild.with(&self.room, self.victim.is_some())
    }

    /// Whether there is something to restore and no room for it, and what is done `next` does not
    /// make any.
    pub fn rebuild_lacks_room(&self, next: Task) -> bool {
        let makes_none = matches!(next, Task::Rest | Task::Rebalance | Task::DeclareFull);
        makes_none && self.rebuild.task.is_some() && self.to_restore().is_none()
    }
}

/// What upkeep does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Task {
    /// Make durable what the maps say, free what nothing needs, form a new window.
    Checkpoint,
    /// Something for the maps.
    Map(MapTask),
    /// Empty a part of a segment.
    Collect(SegmentId),
    /// Empty a part of a segment to compress anew what is cold.
    Recompress(SegmentId),
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
    /// Count anew a part of what the maps name.
    Verify,
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
            Task::Map(task) => task != MapTask::MakeDurable,
            Task::Collect(_) | Task::Purge(_) | Task::Sweep | Task::Rebalance => true,
            Task::Recompress(_) => true,
            Task::Checkpoint | Task::Audit | Task::Refuse | Task::GiveUp(_) | Task::DeclareFull => {
                false
            }
            Task::Rebuild(_) | Task::Scrub | Task::Verify | Task::Rest => false,
        }
    }

    /// What people are told that upkeep does. The parts of a checkpoint are told by the checkpoint
    /// itself.
    pub fn activity(self) -> Activity {
        match self {
            Task::Map(MapTask::Distribute(_)) => Activity::Distribute,
            Task::Map(MapTask::Compact(_)) => Activity::Compact,
            Task::Map(MapTask::Merge(..)) => Activity::Merge,
            Task::Sweep => Activity::Sweep,
            Task::Collect(_) => Activity::Collect,
            Task::Recompress(_) => Activity::Recompress,
            Task::Purge(_) => Activity::Purge,
            Task::Rebuild(_) => Activity::Rebuild,
            Task::Rebalance => Activity::Rebalance,
            Task::Scrub => Activity::Scrub,
            Task::Audit => Activity::Audit,
            Task::Verify => Activity::Verify,
            Task::Checkpoint | Task::Map(MapTask::MakeDurable) => Activity::Rest,
            Task::GiveUp(_) | Task::Refuse | Task::DeclareFull | Task::Rest => Activity::Rest,
        }
    }
}

/// What to do next. What hosts wait for comes first; then what keeps space and memory within
/// bounds; then what can wait.
pub(crate) fn choose(now: &Wants) -> Task {
    if now.audit {
        return Task::Audit;
    }
    if now.is_halted {
        return Task::Rest;
    }
    if let Some(drive) = now.faulty {
        return Task::GiveUp(drive);
    }
    if now.checkpoint.is_urgent() {
        return Task::Checkpoint;
    }
    if now.sweep.is_urgent() && now.room.is_there_for_maps() {
        return Task::Sweep;
    }
    if let (true, Some(task)) = (now.room.hosts_wait, now.for_waiting_hosts()) {
        return task;
    }
    if let (true, Some(task)) = (now.room.moves_wait, now.for_waiting_moves()) {
        return task;
    }
    if now.checkpoint.is_due() {
        return Task::Checkpoint;
    }
    // It goes on beside what comes next.
    if now.scrub {
        return Task::Scrub;
    }
    // It has a small share of the time.
    if now.verify {
        return Task::Verify;
    }
    for_lost_drives_or_space(now).unwrap_or_else(|| what_can_wait(now))
}

/// The rebuild, collection and the map, each in its turn.
fn for_lost_drives_or_space(now: &Wants) -> Option<Task> {
    let rebuild = now.to_restore().map(Task::Rebuild);
    if now.rebuild_turn && rebuild.is_some() {
        return rebuild;
    }
    // Collection alone would go on for ever in a pool that is busy and nearly full.
    if let (true, Some(task)) = (now.room.is_above_reserve(), now.for_the_map()) {
        return Some(task);
    }
    // A rebuild that may have all of the time would keep who waits for room from ever being told.
    let for_room = (now.room.writes_wait && rebuild.is_some()).then(|| now.for_waiting_writes());
    let rebuild = for_room.or(rebuild);
    if !now.room.is_short() {
        return rebuild;
    }
    if now.room.is_worth_a_checkpoint() {
        return Some(Task::Checkpoint);
    }
    now.for_space().or(rebuild)
}

fn what_can_wait(now: &Wants) -> Task {
    if let Some(task) = now.for_the_map() {
        return task;
    }
    if now.room.writes_wait {
        return now.for_waiting_writes();
    }
    if now.rebalance {
        return Task::Rebalance;
    }
    if let Some(segment) = now.recompress {
        return Task::Recompress(segment);
    }
    if now.sweep.can_wait() && now.room.is_there_for_maps() {
        return Task::Sweep;
    }
    Task::Rest
}

#[cfg(test)]
mod tests;
