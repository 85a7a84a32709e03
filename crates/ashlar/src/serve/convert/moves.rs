//! What moving data has come to.

use ashlar_control::types::{DataMove, JobKind};
use ashlar_store::{MoveKind, MoveReport, MoveState};

use super::time;

/// A move that goes on, or has ended.
pub(super) fn data_move(report: &MoveReport) -> DataMove {
    let kind = match report.kind {
        MoveKind::Rebuild => JobKind::Rebuild,
        MoveKind::Evacuation => JobKind::Evacuation,
        MoveKind::Rebalance => JobKind::Rebalance,
    };
    let (state, problem) = match &report.state {
        MoveState::Running => ("running", None),
        MoveState::Done => ("finished", None),
        MoveState::Stopped => ("stopped", None),
        MoveState::Failed(why) => ("failed", Some(why.clone())),
    };
    let took = report.started_at.zip(report.finished_at);
    DataMove {
        kind,
        states: vec![state.to_owned()],
        // By their numbers: one that has left is no member that could be asked for its name.
        drives: report.drives.iter().map(|drive| format!("drive-{}", drive.0)).collect(),
        done_percent: (report.part_done * 1000.0).floor() / 10.0,
        started_at: report.started_at.map(time),
        finished_at: report.finished_at.map(time),
        took_seconds: took.map(|(started, finished)| finished.saturating_sub(started)),
        moved_bytes: report.bytes_moved,
        problem,
    }
}

#[cfg(test)]
mod tests;
