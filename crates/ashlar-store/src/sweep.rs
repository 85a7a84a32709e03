//! The sweep that must end before segment numbers come back; `segments/numbers.rs` says why.
//!
//! It distributes every shard's buffer, so that no run's entry is hidden by it alone, and merges every group that has
//! more than one run. What comes meanwhile hides only names of segments that lived when the sweep began.

use ashlar_block::World;

use crate::maintain::Merging;
use crate::pages::AppendError;
use crate::pool::Pool;
use crate::types::{GroupKey, SHARD_COUNT, ShardId};

/// Parts that a sweep's progress is told in: each shard is distributed, then merged.
pub(crate) const PROGRESS_PARTS: u64 = 2 * SHARD_COUNT as u64;

/// What a sweep does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// A checkpoint, so that all of the buffers is in deltas.
    Settle,
    Distribute(u8),
    /// The first group of the shard after this one that needs it.
    Merge(u8, Option<GroupKey>),
}

/// A sweep on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sweep {
    /// The quarter whose numbers it sets free.
    quarter: u64,
    step: Step,
}

/// How much a sweep is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SweepNeed {
    /// Not now.
    None,
    /// When there is nothing else to do.
    Idle,
    /// Numbers are being used faster than it gets on.
    Behind,
}

impl Sweep {
    fn new(quarter: u64) -> Self {
        Sweep { quarter, step: Step::Settle }
    }

    fn progress(&self) -> u64 {
        match self.step {
            Step::Settle => 0,
            Step::Distribute(shard) => u64::from(shard),
            Step::Merge(shard, _) => SHARD_COUNT as u64 + u64::from(shard),
        }
    }

    fn at(self, step: Step) -> Self {
        Sweep { step, ..self }
    }
}

/// Whether a sweep that has got this far is needed, when so much of the numbers before it has been used.
fn need(progress: u64, used: u64) -> SweepNeed {
    if progress < used { SweepNeed::Behind } else { SweepNeed::Idle }
}

impl<W: World> Pool<W> {
    /// How much a sweep is needed.
    pub fn sweep_need(&self) -> SweepNeed {
        let segments = self.segments.borrow();
        let numbers = segments.numbers();
        if numbers.sweep_due().is_none() || self.sweep_stuck.get() {
            return SweepNeed::None;
        }
        let progress = self.sweep.get().map_or(0, |sweep| sweep.progress());
        need(progress, numbers.used_of_half(PROGRESS_PARTS))
    }

    /// Does the next step of the sweep that is due. Repeats it if it fails for want of a segment.
    pub async fn sweep_on(&self) -> Result<(), AppendError> {
        let Some(due) = self.segments.borrow().numbers().sweep_due() else { return Ok(()) };
        let sweep = self.sweep.get().unwrap_or(Sweep::new(due));
        let next = match sweep.step {
            Step::Settle => {
                self.ordered_checkpoint().await;
                self.running().map_err(|_| AppendError::Halted)?;
                Some(sweep.at(Step::Distribute(0)))
            }
            Step::Distribute(shard) => {
                self.distribute(ShardId(shard)).await?;
                Some(sweep.at(after_distributing(shard)))
            }
            Step::Merge(shard, after) => self.sweep_group(sweep, shard, after).await?,
        };
        self.sweep.set(next);
        Ok(())
    }

    /// Merges the next group of a shard that has something to merge. `None` when the sweep has ended.
    async fn sweep_group(
        &self,
        sweep: Sweep,
        shard: u8,
        after: Option<GroupKey>,
    ) -> Result<Option<Sweep>, AppendError> {
        let Some(group) = self.with_shard(ShardId(shard), |shard| shard.next_mergeable(after)) else {
            return Ok(match shard + 1 {
                next if usize::from(next) < SHARD_COUNT => Some(sweep.at(Step::Merge(next, None))),
                _ => self.end_sweep(sweep),
            });
        };
        if self.merge(ShardId(shard), group).await? == Merging::Unreadable {
            tracing::error!(
                pool = self.identity.name,
                "segment numbers cannot be used again while {group:?} of the map cannot be read: \
                 return the missing drives"
            );
            self.sweep_stuck.set(true);
            return Ok(None);
        }
        Ok(Some(sweep.at(Step::Merge(shard, Some(group)))))
    }

    fn end_sweep(&self, sweep: Sweep) -> Option<Sweep> {
        tracing::debug!(quarter = sweep.quarter, "the sweep has ended");
        self.segments.borrow_mut().sweep_done(sweep.quarter);
        self.count(|counters| counters.sweeps += 1);
        // A number that comes back is another segment.
        self.unmovable.borrow_mut().clear();
        self.pages.clear();
        None
    }
}

fn after_distributing(shard: u8) -> Step {
    let next = shard + 1;
    if usize::from(next) < SHARD_COUNT { Step::Distribute(next) } else { Step::Merge(0, None) }
}

#[cfg(test)]
mod tests;
