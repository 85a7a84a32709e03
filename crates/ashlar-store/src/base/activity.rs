//! What a pool does in the background, for monitoring.

/// What a pool does in the background.
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
    /// It empties a segment to compress anew what is cold.
    Recompress,
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
    /// It walks over the maps to prove the ledger.
    Verify,
}

impl Activity {
    /// All of them but rest.
    pub const ALL: [Activity; 15] = [
        Activity::WriteMaps,
        Activity::WriteTable,
        Activity::WriteRoot,
        Activity::Distribute,
        Activity::Compact,
        Activity::Merge,
        Activity::Sweep,
        Activity::Collect,
        Activity::Recompress,
        Activity::Purge,
        Activity::Rebuild,
        Activity::Rebalance,
        Activity::Scrub,
        Activity::Audit,
        Activity::Verify,
    ];
}
