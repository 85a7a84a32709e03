//! What proofs of the ledger have come to.

use ashlar_control::types::{VerifiedFigure, Verify};
use ashlar_store::{Compared, VerifyReport, VerifyState};

use super::{BLOCK_BYTES, seconds, time};

/// One that goes on, or has ended.
pub(super) fn verify(report: &VerifyReport) -> Verify {
    let (state, problem) = match &report.state {
        VerifyState::Running => ("running", None),
        VerifyState::Proven => ("proven", None),
        VerifyState::Wrong => ("wrong", None),
        VerifyState::Stopped => ("stopped", None),
        VerifyState::Failed(why) => ("failed", Some(why.clone())),
    };
    Verify {
        states: vec![state.to_owned()],
        done_percent: (report.part_done * 1000.0).floor() / 10.0,
        started_at: time(report.started_at),
        finished_at: report.finished_at.map(time),
        eta_seconds: report.remaining.map(seconds),
        problem,
        figures: report.compared.iter().map(figure).collect(),
        volumes_compared: report.volumes,
        overwritten_bytes: report.overwritten.blocks * BLOCK_BYTES,
        differences: report.wrong.clone(),
    }
}

fn figure(compared: &Compared) -> VerifiedFigure {
    VerifiedFigure {
        name: compared.figure.to_owned(),
        counted_bytes: compared.counted,
        found_bytes: compared.found,
    }
}
