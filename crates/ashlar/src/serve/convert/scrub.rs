//! What scrubs and trims have come to.

use ashlar_control::types::{Scrub, ScrubbedDrive, Trim};
use ashlar_store::{ScrubReport, ScrubState, TrimReport};
use ashlar_volume::DriveReport;

use super::{PoolState, given_up, seconds, spec_of, time};

/// A scrub that goes on, or has ended.
pub(super) fn scrub(
    report: &ScrubReport,
    drives: &[DriveReport],
    remembered: Option<&PoolState>,
) -> Scrub {
    let of_drive = |drive: &DriveReport| {
        let found = report.drives.get(&drive.status.drive)?;
        Some(ScrubbedDrive {
            name: drive.name(),
            spec: spec_of(drive, remembered),
            wrong: found.wrong,
            unreadable: found.unreadable,
            repaired: found.repaired,
            unrepaired: found.unrepaired,
            given_up: given_up(&drive.status),
        })
    };
    Scrub {
        states: vec![scrub_state(report.state).to_owned()],
        done_percent: (report.part_done * 1000.0).floor() / 10.0,
        started_at: time(report.started_at),
        finished_at: report.finished_at.map(time),
        checked_bytes: report.bytes_checked,
        left_bytes: left_to_scrub(report),
        eta_seconds: report.remaining.map(seconds),
        wrong: report.findings.wrong,
        unreadable: report.findings.unreadable,
        repaired: report.findings.repaired,
        unrepaired: report.findings.unrepaired,
        drives: drives.iter().filter_map(of_drive).collect(),
    }
}

/// Bytes that are about left of a scrub that runs, by what is done of it.
fn left_to_scrub(report: &ScrubReport) -> Option<u64> {
    let part_done = report.part_done;
    let is_known = report.state == ScrubState::Running && part_done > 0.0;
    is_known.then(|| (report.bytes_checked as f64 * (1.0 - part_done) / part_done).ceil() as u64)
}

fn scrub_state(state: ScrubState) -> &'static str {
    match state {
        ScrubState::Running => "running",
        ScrubState::Finished => "finished",
        ScrubState::Stopped => "stopped",
    }
}

/// A trim that goes on, or has ended.
pub(super) fn trim(report: &TrimReport, drives: &[DriveReport]) -> Trim {
    let state = match report.finished_at {
        None => "running",
        Some(_) if report.is_stopped => "stopped",
        Some(_) => "finished",
    };
    let part = match report.bytes_total {
        0 => 1.0,
        total => report.bytes_done as f64 / total as f64,
    };
    let skipped_drives =
        drives.iter().filter(|drive| report.skipped_drives.contains(&drive.status.drive));
    Trim {
        states: vec![state.to_owned()],
        done_percent: (part * 1000.0).floor() / 10.0,
        started_at: time(report.started_at),
        finished_at: report.finished_at.map(time),
        free_bytes: report.bytes_total,
        left_bytes: report.bytes_total - report.bytes_done,
        eta_seconds: report.remaining.map(seconds),
        refusals: report.failed,
        skipped_drives: skipped_drives.map(DriveReport::name).collect(),
    }
}

#[cfg(test)]
mod tests;
