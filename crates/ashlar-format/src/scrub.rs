//! What of scrubs goes where the pool goes.

use std::collections::BTreeMap;

use ashlar_block::DriveId;

use crate::ids::Lsn;
use crate::location::SegmentId;

/// Sectors of 4 KiB that were not as they should be.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Findings {
    /// Read, with wrong bytes.
    pub wrong: u64,
    /// Not read: the drive refused.
    pub unreadable: u64,
    /// Of both, those that were written anew and read back right.
    pub repaired: u64,
    /// Those that are as they were, and those of which nobody knows what they should be.
    pub unrepaired: u64,
}

impl std::ops::AddAssign for Findings {
    fn add_assign(&mut self, more: Findings) {
        self.wrong += more.wrong;
        self.unreadable += more.unreadable;
        self.repaired += more.repaired;
        self.unrepaired += more.unrepaired;
    }
}

/// The last scrub, and when the next one is due.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ScrubRecord {
    /// When the time to the next one began, in Unix seconds: the end of the last one, or the pool's
    /// first start. 0: never.
    pub counted_from: u64,
    /// The last one that was finished began then, in Unix seconds.
    pub started_at: u64,
    /// It ended then; 0 if there was none.
    pub finished_at: u64,
    /// What it looked at.
    pub bytes_checked: u64,
    /// What it found.
    pub findings: Findings,
    /// On which drives.
    pub drives: BTreeMap<DriveId, Findings>,
}

/// How far a scrub is that goes on: a restart takes it up again there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScrubProgress {
    /// It began then, in Unix seconds.
    pub started_at: u64,
    /// What was written from then on is not looked at.
    pub end: Lsn,
    /// Rows before it are done.
    pub next: (SegmentId, u32),
    /// Rows that were looked at.
    pub rows_done: u64,
    /// Rows that there were when it began.
    pub rows_total: u64,
    /// What it has looked at.
    pub bytes_checked: u64,
    /// What it has found.
    pub findings: Findings,
    /// On which drives.
    pub drives: BTreeMap<DriveId, Findings>,
}
