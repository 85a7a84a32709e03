//! Who belongs to the pool by a root.

use std::collections::BTreeSet;

use ashlar_block::{DriveId, DriveUuid, World, counted_are};
use ashlar_format::ids::RootGeneration;
use ashlar_format::location::SegmentId;
use ashlar_format::root::{MemberRecord, MemberState};

use crate::members::Loss;
use crate::members::add::Joining;
use crate::pool::Pool;
use crate::space::segments::Redundancy;

/// Segments that are counted in one turn: hosts' operations wait for its end.
const SEGMENTS_IN_A_TURN: usize = 2048;

/// Who belongs to the pool by a root.
pub(super) struct Members {
    pub records: Vec<MemberRecord>,
    /// Columns of parity that are used up, in the segment of which most are.
    pub parity_used: usize,
}

/// More than the pool can go on without.
#[derive(Debug, thiserror::Error)]
#[error("{} lost, and the level survives {parity}", counted_are(*lost, "drive"))]
pub(crate) struct TooManyLost {
    pub lost: usize,
    pub parity: usize,
}

impl<W: World> Pool<W> {
    /// The members as they are now; those that have become absent, since this root. Those that no
    /// segment but the `freed` ones counts on are released: of the others no more may be lost than
    /// the level survives.
    pub(super) fn members(
        &self,
        generation: RootGeneration,
        freed: &BTreeSet<SegmentId>,
    ) -> Result<Members, TooManyLost> {
        let mut records = self.members_now(generation);
        let parity = self.space.segments.borrow().stripe().parity;
        let away = absent(&records);
        let redundancy = self.space.segments.borrow_mut().redundancy(&away, freed);
        if self.could_restore() {
            records = released(records, &self.membership.leaving.borrow(), &redundancy, generation);
        }
        for member in &mut records {
            member.parity_used = redundancy.parity_used_on(member.drive) as u8;
        }
        let lost = records.iter().filter(is_absent);
        let loss = Loss::of(lost.map(|member| (member, member.since == generation)));
        let parity_used = redundancy.parity_used;
        let lost = loss.as_level_counts(parity_used <= parity, parity);
        if lost > parity {
            Err(TooManyLost { lost, parity })
        } else {
            Ok(Members { records, parity_used })
        }
    }

    /// Counts how safe segments are without the drives that are absent now, if these are others
    /// than before.
    pub(super) async fn count_redundancy(&self) {
        let is_more = || {
            let away = absent(&self.members_now(self.checkpoint.roots.newest().generation));
            self.space.segments.borrow_mut().recount_redundancy(&away, SEGMENTS_IN_A_TURN)
        };
        while is_more() {
            self.world.yield_now().await;
        }
    }

    fn members_now(&self, generation: RootGeneration) -> Vec<MemberRecord> {
        let (drives, leaving) = (self.drives(), self.membership.leaving.borrow());
        let joining = self.membership.joining.get();
        let changed = |member: &MemberRecord| match (member.state, joining) {
            (_, Some(Joining { record, was, .. })) if was == Some(member.uuid) => {
                MemberRecord { uuid: record.uuid, given_up: false, ..*member }
            }
            (MemberState::Absent | MemberState::Released, _) => {
                MemberRecord { given_up: member.given_up && !self.is_gone(member.drive), ..*member }
            }
            _ if !drives.contains(&member.drive) => {
                let (state, given_up) = (MemberState::Absent, self.gives_up(member.drive));
                MemberRecord { state, given_up, since: generation, ..*member }
            }
            _ if leaving.contains(&member.drive) => {
                MemberRecord { state: MemberState::Leaving, ..*member }
            }
            _ => MemberRecord { state: MemberState::Present, ..*member },
        };
        let root = self.checkpoint.roots.newest();
        let makes_good = joining.and_then(|joining| joining.makes_good);
        let made_good = |member: MemberRecord| {
            let is_it = makes_good == Some(member.uuid) && !member.state.takes_part();
            MemberRecord { made_good: member.made_good || is_it, ..member }
        };
        let joins = joining.map(|joining| joining.record);
        root.members.iter().map(changed).map(made_good).chain(joins).collect()
    }
}

fn is_absent(member: &&MemberRecord) -> bool {
    member.state == MemberState::Absent
}

/// Those of the members that are absent.
fn absent(members: &[MemberRecord]) -> BTreeSet<DriveId> {
    members.iter().filter(is_absent).map(|member| member.drive).collect()
}

/// The members of the root `generation`, if no segment counts on them, and none has fewer columns
/// of parity than the level, which would make it count on others more than it should: who is lost
/// is released, once a root before has called it absent; who is `leaving`, or came back under
/// another number, is none any more.
///
/// The root before may count on a drive that this one is the first to miss. Where the power fails
/// while this root is on one drive alone, the others open the pool with that one. If this root
/// released it, the first drive could open the pool by itself as well.
fn released(
    members: Vec<MemberRecord>,
    leaving: &BTreeSet<DriveId>,
    redundancy: &Redundancy,
    generation: RootGeneration,
) -> Vec<MemberRecord> {
    if redundancy.has_thin {
        return members;
    }
    let came_back: BTreeSet<DriveUuid> = members
        .iter()
        .filter(|member| member.state.takes_part())
        .map(|member| member.uuid)
        .collect();
    let kept = |member: MemberRecord| match member.state {
        _ if redundancy.uses(member.drive) => Some(member),
        MemberState::Absent | MemberState::Released if came_back.contains(&member.uuid) => None,
        MemberState::Absent if member.since < generation => {
            Some(MemberRecord { state: MemberState::Released, since: generation, ..member })
        }
        MemberState::Leaving | MemberState::Released if leaving.contains(&member.drive) => None,
        _ => Some(member),
    };
    members.into_iter().filter_map(kept).collect()
}
