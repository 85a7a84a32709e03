//! The sweep merges every group of which anything may be hidden, by another of its runs or by the
//! buffer.
//!
//! It makes the count of live data exact, which a pool that seems full needs. It must end before
//! segment numbers come back (`segments/numbers.rs` says why): what comes meanwhile hides only
//! names of segments that lived when the sweep began.
//!
//! A sweep for which hosts are quiet begins and ends with a checkpoint: it also drops pages of the
//! map that only say what is absent, so that an emptied pool uses as much as a new one.

use std::time::Duration;

use ashlar_block::World;
use ashlar_format::ids::{GroupKey, SHARD_COUNT, ShardId};

use crate::jobs::merge::Merging;
use crate::map::index::LOWEST;
use crate::map::shard::Shard;
use crate::pool::Pool;
use crate::writer::pages::AppendError;

/// Records that are worth a sweep when room is wanted.
const INEXACT_RECORDS_MIN: u64 = 256;

/// Leaves of the index that are passed over in a step: nothing is hidden there.
const LEAVES_A_STEP: usize = 256;

/// Parts that a sweep's progress is told in.
const PROGRESS_PARTS: u64 = SHARD_COUNT as u64;

/// A sweep on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sweep {
    /// The quarter whose numbers it sets free, if one was due when it began.
    quarter: Option<u64>,
    /// Hosts had changed nothing for a while when it began.
    is_quiet: bool,
    /// What comes next: the first group of this shard from this one on that has anything to merge.
    shard: u8,
    from: GroupKey,
}

/// What a step of a sweep has done.
enum Swept {
    /// This group has been merged.
    Group(GroupKey),
    /// A leaf has nothing that is hidden; this one comes next.
    Leaf(Option<GroupKey>),
    /// This group, or its leaf.
    Unreadable(GroupKey),
}

/// Where a sweep goes on.
enum Next {
    /// Something may be hidden in this leaf; the other one is behind it.
    Leaf(GroupKey, Option<GroupKey>),
    /// Nothing is before this leaf.
    From(Option<GroupKey>),
}

/// The first of some leaves from that of `from` on in which anything may be hidden. What is below
/// the first leaf of all is looked at with it.
fn next_leaf(shard: &Shard, from: GroupKey) -> Next {
    let mut leaf = shard.index.leaf_from(from).unwrap_or(LOWEST);
    for _ in 0..LEAVES_A_STEP {
        let behind = shard.index.leaf_behind(leaf);
        if shard.index.is_stacked(leaf) || shard.buffer.knows_between(leaf.min(from), behind) {
            return Next::Leaf(leaf, behind);
        }
        match behind {
            Some(behind) => leaf = behind,
            None => return Next::From(None),
        }
    }
    Next::From(Some(leaf))
}

/// How much segment numbers need a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Urgency {
    /// Not now.
    None,
    /// When there is nothing else to do.
    Idle,
    /// Numbers are being used faster than it gets on.
    Behind,
}

/// What a sweep is needed for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepNeed {
    /// Segment numbers are to be used again.
    pub for_numbers: Urgency,
    /// It would find that less lives than is counted.
    pub counts_are_inexact: bool,
    /// Less may live than is counted, and hosts have changed nothing for a while.
    pub is_quiet: bool,
}

impl SweepNeed {
    /// Whether it comes before what hosts wait for: without numbers they get no segment.
    pub fn is_urgent(&self) -> bool {
        self.for_numbers == Urgency::Behind
    }

    /// Whether it is worth its while where there is nothing else to do.
    pub fn can_wait(&self) -> bool {
        self.for_numbers == Urgency::Idle || self.is_quiet
    }
}

impl Sweep {
    fn new(quarter: Option<u64>, is_quiet: bool) -> Self {
        Sweep { quarter, is_quiet, shard: 0, from: LOWEST }
    }

    /// In [`PROGRESS_PARTS`]; never all of them.
    fn progress(&self) -> u64 {
        u64::from(self.shard)
    }

    /// What comes from this group on; where there is none, after the last group of the shard.
    fn go_on_from(self, group: Option<GroupKey>) -> Option<Self> {
        group.map_or_else(|| self.next_shard(), |from| Some(Sweep { from, ..self }))
    }

    /// What comes after the last group of a shard, unless that was all.
    fn next_shard(self) -> Option<Self> {
        let shard = self.shard + 1;
        (usize::from(shard) < SHARD_COUNT).then_some(Sweep { shard, from: LOWEST, ..self })
    }
}

/// How much a sweep that has got this far is needed, when so much of the numbers before it has been
/// used.
fn urgency(progress: u64, used: u64) -> Urgency {
    if progress < used { Urgency::Behind } else { Urgency::Idle }
}

impl<W: World> Pool<W> {
    /// What a sweep is needed for now.
    pub fn sweep_need(&self) -> SweepNeed {
        SweepNeed {
            for_numbers: self.sweep_for_numbers(),
            counts_are_inexact: self.counts_are_inexact(),
            is_quiet: self.sweep_waits().is_some_and(|wait| wait.is_zero()),
        }
    }

    fn sweep_for_numbers(&self) -> Urgency {
        let segments = self.space.segments.borrow();
        let numbers = segments.numbers();
        if numbers.sweep_due().is_none() || numbers.sweep_given_up() {
            return Urgency::None;
        }
        let progress = self.jobs.sweep.get().map_or(0, |sweep| sweep.progress());
        urgency(progress, numbers.used_of_half(PROGRESS_PARTS))
    }

    /// How long it is until hosts have been quiet for so long that a sweep is worth its while.
    /// `None`: it is not.
    pub fn sweep_waits(&self) -> Option<Duration> {
        if self.halt.why().is_some() || self.space.segments.borrow().numbers().sweep_given_up() {
            return None;
        }
        let goes_on = self.jobs.sweep.get().map(|_| Duration::ZERO);
        goes_on.or_else(|| self.upkeep.sweep_waits(self.world.now()))
    }

    /// Whether a sweep would find that less lives than is counted.
    pub fn counts_are_inexact(&self) -> bool {
        let enough =
            self.upkeep.inexact_records().is_none_or(|records| records >= INEXACT_RECORDS_MIN);
        (enough || self.jobs.sweep.get().is_some())
            && !self.space.segments.borrow().numbers().sweep_given_up()
    }

    /// Does the next step of the sweep that is due. Repeats it if it fails for want of a segment.
    pub async fn sweep_on(&self) -> Result<(), AppendError> {
        let Some(sweep) = self.jobs.sweep.get() else {
            self.begin_sweep().await;
            return Ok(());
        };
        let next = match self.sweep_leaf(&sweep).await? {
            Swept::Group(group) => sweep.go_on_from(group.next()),
            Swept::Leaf(behind) => sweep.go_on_from(behind),
            Swept::Unreadable(group) => {
                self.give_up_sweep(group);
                return Ok(());
            }
        };
        let shard = ShardId(sweep.shard);
        let is_over = next.is_none_or(|next| next.shard != sweep.shard);
        if is_over && sweep.is_quiet && self.with_shard(shard, |shard| shard.is_loose()) {
            self.compact(shard).await;
            return Ok(());
        }
        self.jobs.sweep.set(next);
        if next.is_none() {
            self.end_sweep(sweep);
        }
        Ok(())
    }

    /// Merges the next group of the leaf that the sweep has come to, or is done with the leaf.
    async fn sweep_leaf(&self, sweep: &Sweep) -> Result<Swept, AppendError> {
        let shard = ShardId(sweep.shard);
        let (leaf, behind) = match self.with_shard(shard, |shard| next_leaf(shard, sweep.from)) {
            Next::Leaf(leaf, behind) => (leaf, behind),
            Next::From(from) => return Ok(Swept::Leaf(from)),
        };
        let Ok(_held) = self.hold_group(shard, leaf).await else {
            return Ok(Swept::Unreadable(leaf));
        };
        match self.with_shard(shard, |shard| shard.next_mergeable(leaf, sweep.from)) {
            Some(group) => match self.merge(shard, group).await? {
                Merging::Done => Ok(Swept::Group(group)),
                Merging::Unreadable => Ok(Swept::Unreadable(group)),
            },
            None => {
                let first = leaf.min(sweep.from);
                self.with_shard(shard, |shard| shard.forget_absences_outside_runs(first, behind));
                Ok(Swept::Leaf(behind))
            }
        }
    }

    async fn begin_sweep(&self) {
        let is_quiet = self.upkeep.hosts_are_quiet(self.world.now());
        self.upkeep.counts_become_exact();
        let quarter = self.space.segments.borrow().numbers().sweep_due();
        self.jobs.sweep.set(Some(Sweep::new(quarter, is_quiet)));
        // Only what is in deltas can leave the buffer.
        if is_quiet && self.has_room_for_checkpoints() {
            self.ordered_checkpoint().await;
        }
    }

    /// Checkpoints that only give back what the map takes are not worth the last segments.
    fn has_room_for_checkpoints(&self) -> bool {
        !self.space.segments.borrow().is_cornered(&self.allocation_targets())
    }

    fn give_up_sweep(&self, group: GroupKey) {
        tracing::error!(
            pool = self.name(),
            "{group:?} of the map cannot be read: the space of what it hides, and segment numbers, \
             stay in use until the missing drives are back"
        );
        self.space.segments.borrow_mut().give_up_sweep();
        self.jobs.sweep.set(None);
    }

    fn end_sweep(&self, sweep: Sweep) {
        tracing::debug!(sweep.quarter, "the sweep has ended");
        self.jobs.collecting.may_gain();
        self.count(|counters| counters.jobs.sweeps += 1);
        if sweep.is_quiet && self.has_room_for_checkpoints() {
            self.checkpoint_soon();
        }
        let Some(quarter) = sweep.quarter else { return };
        self.space.segments.borrow_mut().sweep_done(quarter);
        // A number that comes back is another segment.
        self.space.segments.borrow_mut().all_may_move();
        self.map.pages.clear();
    }
}

#[cfg(test)]
mod tests;
