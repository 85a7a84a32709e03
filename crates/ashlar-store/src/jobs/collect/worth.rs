//! Whether collecting leads anywhere, and what it takes first.

use std::cell::Cell;

use ashlar_block::{DriveId, World};
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;

use crate::jobs::collect::emptying::{InParts, Part};
use crate::jobs::collect::policy::{Candidate, PlacementView, choose_last_resort, choose_victim};
use crate::jobs::collect::{Collected, Rest};
use crate::pool::Pool;
use crate::space::capacity::CHECKPOINT_MIN;
use crate::space::segments::Segments;
use crate::writer::pages::AppendError;

/// Segments that are collected without there being more free ones in the end, until it is given up:
/// what is left of garbage takes as much to collect as it gains.
const FRUITLESS_MAX: u32 = 32;

/// What collection has led to.
#[derive(Default)]
pub(crate) struct Worth {
    /// Segments collected since there were more free ones than ever before since hosts changed
    /// something.
    fruitless: Cell<u32>,
    most_free: Cell<u64>,
    /// Deltas have been compacted since hosts changed something.
    compacted: Cell<bool>,
    /// The segment that is being collected.
    begun: InParts,
    /// What collecting it gains.
    gain_bytes: Cell<u64>,
}

impl Worth {
    /// More is known to be garbage: collecting may gain something again.
    pub fn may_gain(&self) {
        self.fruitless.set(0);
    }

    /// Hosts have changed what lives.
    pub fn content_changed(&self) {
        self.may_gain();
        self.compacted.set(false);
    }

    /// Pages of deltas have become garbage. The checkpoints that collection needs make more of
    /// them, so that this counts once until hosts change something: they would wait for ever.
    pub fn compacted(&self) {
        if !self.compacted.replace(true) {
            self.may_gain();
        }
    }

    /// There is nowhere to collect to, until something changes.
    pub fn give_up(&self) {
        self.fruitless.set(FRUITLESS_MAX);
        self.begun.forget();
    }

    fn is_given_up(&self) -> bool {
        self.fruitless.get() >= FRUITLESS_MAX
    }

    /// A segment is about to be collected, while so much is free.
    fn collects(&self, free: u64) {
        if free > self.most_free.get() || self.fruitless.get() == 0 {
            self.most_free.set(free);
            self.fruitless.set(0);
        }
        self.fruitless.update(|fruitless| fruitless + 1);
    }
}

impl<W: World> Pool<W> {
    /// The segment most worth collecting, if every batch below `floor` has been published and
    /// collecting gains anything.
    pub fn victim(&self, segments: &Segments, drives: &[DriveId], floor: Lsn) -> Option<SegmentId> {
        let begun = self.jobs.collecting.begun.segment(segments);
        let is_given_up = self.jobs.collecting.is_given_up();
        if begun.is_none() && is_given_up {
            return None;
        }
        let view = PlacementView { floor, ..self.view(segments, drives) };
        let candidate = |id: SegmentId| Candidate::of(id, segments.get(id)?, &view);
        let is_cornered = segments.is_cornered(drives);
        let can_go_on =
            |id: &SegmentId| !is_cornered && segments.get(*id).is_some_and(|it| !it.is_unmovable());
        let resumed = begun.filter(can_go_on).and_then(candidate);
        if resumed.is_some() || is_given_up {
            return resumed.map(|candidate| candidate.id);
        }
        if !is_cornered {
            let candidates = segments.summary().one_of_each(candidate);
            return choose_victim(candidates, self.world.unix_seconds());
        }
        // No segment can be opened but for the checkpoint that follows: pages go to the one that is
        // open, if they fit.
        let only_pages = segments.usable_striped() <= CHECKPOINT_MIN;
        let is_of_pages =
            |id: SegmentId| segments.get(id).is_some_and(|segment| segment.kind.is_of_pages());
        let could_go = |id: SegmentId| !only_pages || is_of_pages(id);
        let sparse =
            |id: SegmentId| candidate(id).filter(|candidate| could_go(id) && candidate.is_sparse());
        let has_room = segments.usable_striped() >= CHECKPOINT_MIN;
        has_room.then(|| choose_last_resort(segments.summary().one_of_each(sparse))).flatten()
    }

    /// Collects a part of a segment, and notes whether that leads anywhere.
    pub async fn collect_some(&self, victim: SegmentId) -> Result<Part, AppendError> {
        let collecting = &self.jobs.collecting;
        let begun = collecting.begun.segment(&self.space.segments.borrow());
        if begun != Some(victim) {
            let free = self.space.segments.borrow().placeable_data(&self.allocation_targets());
            collecting.collects(free);
            collecting.gain_bytes.set(self.gain_of_collecting(victim));
        }
        let part = self.collect_in_parts(&collecting.begun, victim, Rest::Stays).await?;
        if let Part::Done(Collected::LeftToCheckpoint) = part {
            self.ordered_checkpoint().await;
        }
        let (pace, now) = (&self.space.pace, self.world.now());
        match part {
            Part::Done(Collected::Emptied | Collected::LeftToCheckpoint) => {
                pace.gained(collecting.gain_bytes.get(), now);
            }
            Part::More | Part::Done(Collected::Unmovable) => pace.collected_part(now),
        }
        Ok(part)
    }
}

#[cfg(test)]
mod tests;
