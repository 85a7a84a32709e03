//! What a scrub has found, for people and for the schedule.

use std::collections::BTreeMap;
use std::time::Duration;

use ashlar_block::DriveId;

use super::repair::BatchCheck;
use crate::base::ids::Lsn;
use crate::format::location::SegmentId;

/// How a scrub stands, or how it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScrubState {
    /// It goes on.
    Running,
    /// Everything was looked at.
    Finished,
    /// Somebody stopped it.
    Stopped,
}

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

/// What a scrub has come to.
#[derive(Clone, PartialEq, Debug)]
pub struct ScrubReport {
    /// How it stands.
    pub state: ScrubState,
    /// Unix seconds.
    pub started_at: u64,
    /// Unix seconds; none while it runs.
    pub finished_at: Option<u64>,
    /// Part of the rows that has been looked at, 0 to 1.
    pub part_done: f64,
    /// How long it takes from now on, if it goes on as it has since it began. `None`: that is not
    /// known, or it does not run.
    pub remaining: Option<Duration>,
    /// Bytes of columns that were looked at, parity included.
    pub bytes_checked: u64,
    /// On all drives, and what is known to be lost without a drive that would be to blame.
    pub findings: Findings,
    /// Drives on which something was not as it should be.
    pub drives: BTreeMap<DriveId, Findings>,
}

impl ScrubReport {
    /// Of a scrub that begins now.
    pub(super) fn new(now_seconds: u64) -> Self {
        ScrubReport {
            state: ScrubState::Running,
            started_at: now_seconds,
            finished_at: None,
            part_done: 0.0,
            remaining: None,
            bytes_checked: 0,
            findings: Findings::default(),
            drives: BTreeMap::new(),
        }
    }

    /// Adds what a batch has come to.
    pub(super) fn add(&mut self, check: &BatchCheck) {
        self.findings += check.sum();
        for (drive, findings) in &check.drives {
            *self.drives.entry(*drive).or_default() += *findings;
        }
    }
}

/// What of scrubs goes where the pool goes.
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

impl ScrubRecord {
    /// The report of the last scrub that was finished, if there was one.
    pub(super) fn report(&self) -> Option<ScrubReport> {
        (self.finished_at > 0).then(|| ScrubReport {
            state: ScrubState::Finished,
            finished_at: Some(self.finished_at),
            part_done: 1.0,
            bytes_checked: self.bytes_checked,
            findings: self.findings,
            drives: self.drives.clone(),
            ..ScrubReport::new(self.started_at)
        })
    }
}
