//! What a read of the heartbeats says, and what the lease does with it.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::{DriveId, Nanos};
use ashlar_format::heartbeat::Heartbeat;
use ashlar_format::root::Root;

use super::{CONTESTED, LEASE, after};

/// What a read of the heartbeat on a drive says of the pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum View {
    Ours,
    Theirs,
    /// No heartbeat, an older one or none that can be read: it says nothing of now.
    Nothing,
}

pub(super) fn view(own: &Heartbeat, seen: Option<&Heartbeat>) -> View {
    match seen.filter(|seen| seen.pool == own.pool) {
        Some(seen) if (seen.epoch, seen.session) == (own.epoch, own.session) => View::Ours,
        Some(seen) if seen.epoch >= own.epoch => View::Theirs,
        _ => View::Nothing,
    }
}

/// On how many of its drives a pool of so many `members` has to be seen to be ours: whoever else
/// opens it has one of them at least. It has all but as many as the level survives; and more than
/// half, unless somebody has said that the others are lost.
pub(super) fn looks_wanted(parity: usize, members: usize) -> usize {
    (parity + 1).min(members.div_ceil(2))
}

/// Reads in a row that a drive may refuse where the lease needs it: while the lease is not certain
/// nothing else is asked of the drive that would find it out.
const REFUSED_MAX: u32 = 3;

#[derive(Clone, Copy)]
struct Look {
    began: Nanos,
    is_ours: bool,
}

/// Another node may have the lease: it is contested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contested {
    since: Nanos,
    /// A heartbeat of this machine may have come over that of another one.
    is_late: bool,
}

impl Contested {
    /// Once such a heartbeat has been written.
    pub fn late(since: Nanos) -> Self {
        Contested { since, is_late: true }
    }
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Stay,
    /// No look was in time: from now on it is contested.
    Contested(Contested),
    /// The pool was ours when a look began.
    Permit(Nanos),
    /// The heartbeats alone cannot say it. When it was ours by them, if it was.
    AskRoots(Option<Nanos>),
}

/// The newest look at each drive, and what is not certain.
#[derive(Default)]
pub(super) struct Looks {
    newest: BTreeMap<DriveId, Look>,
    /// How many in a row a drive has refused.
    refused: BTreeMap<DriveId, u32>,
    contested: Option<Contested>,
    /// Where a heartbeat is on its way: it comes late if the process is stopped before.
    pub heartbeats_under_way: BTreeSet<DriveId>,
}

impl Looks {
    pub fn note(&mut self, drive: DriveId, began: Nanos, view: View) {
        self.newest.insert(drive, Look { began, is_ours: view == View::Ours });
        self.refused.remove(&drive);
    }

    /// A drive has refused a read of its heartbeat. Returns whether it has done so often enough to
    /// be given up, if the others do not confirm the lease without it.
    pub fn note_refused(&mut self, drive: DriveId) -> bool {
        let refused = self.refused.entry(drive).or_default();
        *refused += 1;
        *refused >= REFUSED_MAX
    }

    /// Whether as many of the `working` drives as are `needed` have said within [`LEASE`] who has
    /// the pool.
    pub fn are_enough(&self, working: &[DriveId], needed: usize, now: Nanos) -> bool {
        let newest = working.iter().filter_map(|drive| self.newest.get(drive));
        seen_on(newest, needed).is_some_and(|began| now < after(began, LEASE))
    }

    pub fn contest(&mut self, contested: Contested) {
        self.contested = Some(contested);
    }

    pub fn end_contest(&mut self) {
        self.contested = None;
    }

    /// What follows from looks at the `working` drives, of which so many are `needed`.
    pub fn next(&self, working: &[DriveId], needed: usize, now: Nanos, is_permitted: bool) -> Next {
        let newest = || working.iter().filter_map(|drive| self.newest.get(drive));
        let ours = seen_on(newest().filter(|look| look.is_ours), needed);
        let Some(contested) = self.contested else {
            return match ours.filter(|began| now < after(*began, LEASE)) {
                Some(began) => Next::Permit(began),
                None if is_permitted => Next::Stay,
                None => Next::Contested(Contested {
                    since: now,
                    is_late: !self.heartbeats_under_way.is_empty(),
                }),
            };
        };
        let is_over = |began: &Nanos| *began >= after(contested.since, CONTESTED);
        match (ours, seen_on(newest(), needed)) {
            // Whoever had taken it would have been seen.
            (Some(began), _) if !contested.is_late && began >= contested.since => {
                Next::Permit(began)
            }
            (ours, Some(any)) if is_over(&any) => Next::AskRoots(ours.filter(is_over)),
            _ => Next::Stay,
        }
    }
}

/// When the oldest began of as many looks as are needed, the newest ones.
fn seen_on<'a>(looks: impl Iterator<Item = &'a Look>, needed: usize) -> Option<Nanos> {
    let mut began: Vec<Nanos> = looks.map(|look| look.began).collect();
    began.sort_unstable_by(|a, b| b.cmp(a));
    began.get(needed.checked_sub(1)?).copied()
}

/// What the roots on the drives say of a pool whose last root here is `own`. Whoever opens it
/// writes one before anything else, so that they say it for all time.
pub(super) fn view_of_roots(on_drives: &[Vec<Root>], own: &Root, needed: usize) -> View {
    let (incarnation, first) = own.line[0];
    let is_theirs = |root: &Root| root.incarnation() != incarnation && root.generation >= first;
    let has_own = |roots: &&Vec<Root>| roots.iter().any(|root| root.incarnation() == incarnation);
    if on_drives.iter().flatten().any(is_theirs) {
        View::Theirs
    } else if on_drives.iter().filter(has_own).count() >= needed {
        View::Ours
    } else {
        View::Nothing
    }
}

#[cfg(test)]
mod tests;
