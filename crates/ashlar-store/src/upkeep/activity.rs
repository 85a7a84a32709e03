//! What upkeep is doing, for monitoring.

use super::policy::Task;

/// What upkeep is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Activity {
    /// Nothing.
    #[default]
    Rest,
    /// It writes what of the maps has changed: the first part of a checkpoint.
    WriteMaps,
    /// It writes the segment table: the second part of a checkpoint.
    WriteTable,
    /// It writes the root: the last part of a checkpoint.
    WriteRoot,
    /// It moves updates from deltas into runs.
    Distribute,
    /// It takes pages out of deltas.
    Compact,
    /// It merges the runs of a group.
    Merge,
    /// It merges everything, so that segment numbers can be used again.
    Sweep,
    /// It empties a segment.
    Collect,
    /// It discards the blocks of a deleted volume.
    Purge,
    /// It restores what was on lost drives, or moves what is on drives that are leaving.
    Rebuild,
    /// It spreads what lives over all drives.
    Rebalance,
    /// It looks whether drives hold what they should.
    Scrub,
    /// It compares counts with what is there.
    Audit,
}

impl Activity {
    /// All of them but rest.
    pub const ALL: [Activity; 13] = [
        Activity::WriteMaps,
        Activity::WriteTable,
        Activity::WriteRoot,
        Activity::Distribute,
        Activity::Compact,
        Activity::Merge,
        Activity::Sweep,
        Activity::Collect,
        Activity::Purge,
        Activity::Rebuild,
        Activity::Rebalance,
        Activity::Scrub,
        Activity::Audit,
    ];

    /// What it is to do this. The parts of a checkpoint are told by the checkpoint itself.
    pub(super) fn of(task: &Task) -> Self {
        match task {
            Task::Distribute(_) => Activity::Distribute,
            Task::Compact(_) => Activity::Compact,
            Task::Merge(..) => Activity::Merge,
            Task::Sweep => Activity::Sweep,
            Task::Collect(_) => Activity::Collect,
            Task::Purge(_) => Activity::Purge,
            Task::Rebuild(_) => Activity::Rebuild,
            Task::Rebalance => Activity::Rebalance,
            Task::Scrub => Activity::Scrub,
            Task::Audit => Activity::Audit,
            Task::Checkpoint | Task::GiveUp(_) | Task::Refuse | Task::DeclareFull | Task::Rest => {
                Activity::Rest
            }
        }
    }
}
