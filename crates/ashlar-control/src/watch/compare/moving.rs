//! What is told of a rebuild, an evacuation or a rebalance, from its beginning to its end.

use ashlar_block::ByteSize;

use super::super::{Moving, What};
use super::{about, is};
use crate::events::EventKind;
use crate::progress_text::ProgressText;
use crate::types::{Happening, JobKind, Pool, Progress, Severity};

/// Moving what lives, from how far it was to what is to be told of it. It is over when the pool is
/// no longer in want of it: what has been moved is to be made known to the drives first.
pub(super) fn of_moving(
    moving: Option<Moving>,
    what: What,
    progress: Option<Progress>,
    now: &Pool,
) -> (Option<Moving>, Option<Happening>) {
    let event = |what: What, stage: Stage, how: &str| {
        let message = format!("the {} of pool '{}' {how}", what.name(), now.name);
        let done_percent = progress.map(|progress| progress.done_percent as u8);
        let (left_bytes, eta_seconds) = (
            progress.map(|progress| progress.left_bytes),
            progress.and_then(|progress| progress.eta_seconds),
        );
        let happening = about(now, Severity::Info, what.kind(stage), message);
        Happening { done_percent, left_bytes, eta_seconds, ..happening }
    };
    match (moving, progress) {
        (Some(moving), Some(progress)) if moving.what == what => {
            let tenths = tenths(progress.done_percent);
            let how = format!(
                "is done to {:.0} %: {}",
                progress.done_percent.floor(),
                ProgressText::from(&progress)
            );
            let more = (tenths > moving.tenths).then(|| event(what, Stage::Progress, &how));
            (Some(Moving { what, tenths }), more)
        }
        (_, Some(progress)) => {
            let how = format!("has begun: {}", ProgressText::from(&progress));
            (
                Some(Moving { what, tenths: tenths(progress.done_percent) }),
                Some(event(what, Stage::Began, &how)),
            )
        }
        (Some(moving), None) if !is(now, moving.what.state()) => {
            (None, Some(event(moving.what, Stage::Ended, &how_it_ended(moving.what, now))))
        }
        (moving, None) => (moving, None),
    }
}

/// What has come of it.
fn how_it_ended(what: What, now: &Pool) -> String {
    let Some(ended) = now.data_move(what.job()) else { return "has ended".to_owned() };
    match &ended.problem {
        Some(why) => format!("has failed: {why}"),
        None if ended.is("stopped") => "was stopped: what was not moved stays".to_owned(),
        None => format!("has ended: {} were moved", ByteSize(ended.moved_bytes)),
    }
}

/// How far it has come.
#[derive(Clone, Copy)]
enum Stage {
    Began,
    Progress,
    Ended,
}

fn tenths(percent: f64) -> u8 {
    (percent / 10.0) as u8
}

impl What {
    fn name(self) -> &'static str {
        match self {
            What::Rebuild => "rebuild",
            What::Evacuation => "evacuation",
            What::Rebalance => "rebalance",
        }
    }

    fn job(self) -> JobKind {
        match self {
            What::Rebuild => JobKind::Rebuild,
            What::Evacuation => JobKind::Evacuation,
            What::Rebalance => JobKind::Rebalance,
        }
    }

    /// What is told of it.
    fn kind(self, stage: Stage) -> EventKind {
        match (self, stage) {
            (What::Rebuild, Stage::Began) => EventKind::RebuildBegan,
            (What::Rebuild, Stage::Progress) => EventKind::RebuildProgress,
            (What::Rebuild, Stage::Ended) => EventKind::RebuildEnded,
            (What::Evacuation, Stage::Began) => EventKind::EvacuationBegan,
            (What::Evacuation, Stage::Progress) => EventKind::EvacuationProgress,
            (What::Evacuation, Stage::Ended) => EventKind::EvacuationEnded,
            (What::Rebalance, Stage::Began) => EventKind::RebalanceBegan,
            (What::Rebalance, Stage::Progress) => EventKind::RebalanceProgress,
            (What::Rebalance, Stage::Ended) => EventKind::RebalanceEnded,
        }
    }

    /// The state that a pool is in until it is over.
    pub(super) fn state(self) -> &'static str {
        match self {
            What::Rebuild => "degraded",
            What::Evacuation => "evacuating",
            What::Rebalance => "rebalancing",
        }
    }
}
