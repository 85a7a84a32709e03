//! What rebuilds, evacuations and rebalances have come to: of each kind the one that goes on, or
//! else the last one since the pool was opened.
//!
//! Roots say what goes on: a rebuild while one names a drive absent, an evacuation while one names
//! a drive leaving. So what has ended here is over for good.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{DriveId, World};
use ashlar_format::root::{MemberRecord, MemberState};

use crate::jobs::progress::Progress;
use crate::pool::Pool;

/// Why data is moved.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MoveKind {
    /// It lived on drives that are lost.
    Rebuild,
    /// It lives on drives that are to leave the pool.
    Evacuation,
    /// It is to be spread over all drives.
    Rebalance,
}

impl MoveKind {
    fn name(self) -> &'static str {
        match self {
            MoveKind::Rebuild => "rebuild",
            MoveKind::Evacuation => "evacuation",
            MoveKind::Rebalance => "rebalance",
        }
    }
}

/// How that stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MoveState {
    /// It goes on.
    Running,
    /// All was moved that was to be.
    Done,
    /// Somebody has stopped it: what was not moved stays where it is.
    Stopped,
    /// It could not be done, and why.
    Failed(String),
}

/// What moving data has come to.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveReport {
    /// Why it is moved.
    pub kind: MoveKind,
    /// How it stands.
    pub state: MoveState,
    /// The drives because of which data is moved; none of a rebalance.
    pub drives: BTreeSet<DriveId>,
    /// Unix seconds. None: it has begun before the pool was opened.
    pub started_at: Option<u64>,
    /// Unix seconds; none while it goes on.
    pub finished_at: Option<u64>,
    /// Bytes of columns that were written meanwhile. What a rebuild and an evacuation write at the
    /// same time counts for both.
    pub bytes_moved: u64,
    /// Part that is done, 0 to 1.
    pub part_done: f64,
}

/// How much was moved by now.
#[derive(Clone, Copy)]
struct Moved {
    /// What is counted, from a moment on that may be before the beginning of this move.
    bytes: u64,
    /// None: nothing is being moved now.
    part_done: Option<f64>,
}

struct Noted {
    report: MoveReport,
    /// What was counted when it began.
    bytes_before: u64,
}

impl Noted {
    fn see(&mut self, moved: Moved) {
        self.report.bytes_moved = moved.bytes.saturating_sub(self.bytes_before);
        // One that is over has come as far as it had when it was seen last.
        self.report.part_done = moved.part_done.unwrap_or(self.report.part_done);
    }

    fn end(&mut self, state: MoveState, at: u64) {
        if state == MoveState::Done {
            self.report.part_done = 1.0;
        }
        (self.report.state, self.report.finished_at) = (state, Some(at));
    }
}

/// What is known of moves.
#[derive(Default)]
pub(crate) struct Moves(RefCell<BTreeMap<MoveKind, Noted>>);

impl Moves {
    fn begin(
        &self,
        kind: MoveKind,
        drives: BTreeSet<DriveId>,
        started_at: Option<u64>,
        bytes_before: u64,
    ) {
        let report = MoveReport {
            kind,
            state: MoveState::Running,
            drives,
            started_at,
            finished_at: None,
            bytes_moved: 0,
            part_done: 0.0,
        };
        self.0.borrow_mut().insert(kind, Noted { report, bytes_before });
    }

    /// The drives because of which it goes on.
    fn drives_of(&self, kind: MoveKind) -> Option<BTreeSet<DriveId>> {
        self.with(kind, |noted| noted.report.drives.clone())
    }

    /// Does that with the one that goes on.
    fn with<T>(&self, kind: MoveKind, act: impl FnOnce(&mut Noted) -> T) -> Option<T> {
        let mut all = self.0.borrow_mut();
        all.get_mut(&kind).filter(|noted| noted.report.state == MoveState::Running).map(act)
    }
}

/// The members because of which data is moved, by what is said of them.
fn reasons(members: &[MemberRecord], kind: MoveKind) -> BTreeSet<DriveId> {
    let state = match kind {
        MoveKind::Rebuild => MemberState::Absent,
        MoveKind::Evacuation => MemberState::Leaving,
        MoveKind::Rebalance => return BTreeSet::new(),
    };
    members.iter().filter(|member| member.state == state).map(|member| member.drive).collect()
}

/// How a move has ended because of which these drives were, by what is said of them now.
fn how_it_ended(kind: MoveKind, drives: &BTreeSet<DriveId>, now: &[MemberRecord]) -> MoveState {
    if kind != MoveKind::Evacuation {
        return MoveState::Done;
    }
    let left = now.iter().filter(|member| drives.contains(&member.drive));
    let (stay, lost): (Vec<&MemberRecord>, Vec<&MemberRecord>) =
        left.partition(|member| member.state.takes_part());
    match lost.first() {
        Some(lost) => {
            let why = "was lost before all that lived on it was on others, which the rebuild goes \
                       on with";
            MoveState::Failed(format!("{} {why}", lost.drive))
        }
        None if !stay.is_empty() => MoveState::Stopped,
        None => MoveState::Done,
    }
}

impl<W: World> Pool<W> {
    /// The pool is being opened: what goes on has begun before.
    pub fn resume_moves(&self) {
        let root = self.checkpoint.roots.newest();
        for kind in [MoveKind::Rebuild, MoveKind::Evacuation] {
            let drives = reasons(&root.members, kind);
            if !drives.is_empty() {
                self.jobs.moves.begin(kind, drives, None, 0);
            }
        }
        if self.is_rebalancing() {
            self.jobs.moves.begin(MoveKind::Rebalance, BTreeSet::new(), None, 0);
        }
    }

    /// Somebody wants what lives to be spread over all drives.
    pub fn note_rebalance(&self) {
        let now = Some(self.world.unix_seconds());
        self.jobs.moves.begin(MoveKind::Rebalance, BTreeSet::new(), now, 0);
    }

    /// That goes on no more.
    pub fn note_rebalance_end(&self, state: MoveState) {
        let moved = self.moved(MoveKind::Rebalance);
        let ended = self.jobs.moves.with(MoveKind::Rebalance, |noted| {
            noted.see(moved);
            noted.end(state, self.world.unix_seconds());
        });
        if ended.is_some() {
            self.tell_end(MoveKind::Rebalance);
        }
    }

    /// Notes what has begun and ended by what the newest root says.
    pub fn note_moves(&self) {
        for kind in [MoveKind::Rebuild, MoveKind::Evacuation] {
            let root = self.checkpoint.roots.newest();
            let drives = reasons(&root.members, kind);
            let Some(before) = self.jobs.moves.drives_of(kind) else {
                if !drives.is_empty() {
                    let now = Some(self.world.unix_seconds());
                    self.jobs.moves.begin(kind, drives, now, self.moved(kind).bytes);
                }
                continue;
            };
            let moved = self.moved(kind);
            let end = drives.is_empty().then(|| how_it_ended(kind, &before, &root.members));
            let is_over = end.is_some();
            self.jobs.moves.with(kind, |noted| {
                noted.see(moved);
                noted.report.drives.extend(drives);
                end.into_iter().for_each(|end| noted.end(end, self.world.unix_seconds()));
            });
            if is_over {
                self.tell_end(kind);
            }
        }
    }

    fn tell_end(&self, kind: MoveKind) {
        let all = self.jobs.moves.0.borrow();
        let MoveReport { state, bytes_moved, .. } = &all[&kind].report;
        let (pool, name) = (&self.name(), kind.name());
        match state {
            MoveState::Failed(why) => tracing::warn!(pool, bytes_moved, "the {name} failed: {why}"),
            MoveState::Stopped => tracing::info!(pool, bytes_moved, "the {name} was stopped"),
            MoveState::Running | MoveState::Done => {
                tracing::info!(pool, bytes_moved, "the {name} has ended");
            }
        }
    }

    /// Of each kind the one that goes on, or else the last one since the pool was opened.
    pub fn move_reports(&self) -> Vec<MoveReport> {
        let kinds: Vec<MoveKind> = self.jobs.moves.0.borrow().keys().copied().collect();
        for kind in kinds {
            let moved = self.moved(kind);
            self.jobs.moves.with(kind, |noted| noted.see(moved));
        }
        self.jobs.moves.0.borrow().values().map(|noted| noted.report.clone()).collect()
    }

    fn moved(&self, kind: MoveKind) -> Moved {
        let (done, progress) = match kind {
            MoveKind::Rebalance => (&self.jobs.rebalance.done, self.rebalance_progress()),
            _ => (&self.jobs.rebuild.done, self.rebuild_progress()),
        };
        Moved { bytes: done.bytes(), part_done: progress.as_ref().map(Progress::part_done) }
    }
}

#[cfg(test)]
mod tests;
