//! What a scrub has found, for people and for the schedule.

use std::collections::BTreeMap;
use std::time::Duration;

use ashlar_block::DriveId;
use ashlar_format::scrub::{Findings, ScrubRecord};

use super::repair::BatchCheck;

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

impl ScrubReport {
    /// Of the last scrub that was finished, if there was one.
    pub(super) fn of_last(record: &ScrubRecord) -> Option<ScrubReport> {
        (record.finished_at > 0).then(|| ScrubReport {
            state: ScrubState::Finished,
            finished_at: Some(record.finished_at),
            part_done: 1.0,
            bytes_checked: record.bytes_checked,
            findings: record.findings,
            drives: record.drives.clone(),
            ..ScrubReport::new(record.started_at)
        })
    }
}
