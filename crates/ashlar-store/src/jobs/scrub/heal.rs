//! Self-heal repairs what a read has found corrupt, without waiting for a scrub.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};

use ashlar_block::World;
use ashlar_format::location::{Location, SegmentId};
use ashlar_raid::{Geometry, Source};

use crate::pool::Pool;
use crate::reader::scan::{Expected, Image};
use crate::space::segments::{Segment, pin};

/// Places that wait to be repaired. What finds no room is found again, by the next read or by a
/// scrub.
const WAITING_MAX: usize = 256;

/// Places that are repaired before somebody else has a turn.
const PLACES_A_STEP: usize = 4;

/// Places that could not be repaired, and are left to the next scrub: each read of them would
/// order it anew.
const HOPELESS_MAX: usize = 1024;

/// A row of a segment.
type Spot = (SegmentId, u32);

/// Where reads have found something wrong.
#[derive(Default)]
pub(super) struct HealQueue {
    waiting: RefCell<VecDeque<Spot>>,
    hopeless: RefCell<BTreeSet<Spot>>,
}

impl HealQueue {
    pub fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Notes a place. Whether that is news.
    fn add(&self, spot: Spot) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let is_news = !waiting.contains(&spot) && !self.hopeless.borrow().contains(&spot);
        if is_news && waiting.len() < WAITING_MAX {
            waiting.push_back(spot);
        }
        is_news
    }

    fn take(&self) -> Option<Spot> {
        self.waiting.borrow_mut().pop_front()
    }

    fn give_up(&self, spot: Spot) {
        let mut hopeless = self.hopeless.borrow_mut();
        if hopeless.len() < HOPELESS_MAX {
            hopeless.insert(spot);
        }
    }

    /// A scrub has looked at everything: what it could not repair may be tried again.
    pub fn hope_again(&self) {
        self.hopeless.borrow_mut().clear();
    }
}

impl<W: World> Pool<W> {
    /// A read of what lies at `location` has shown how its drive is: if that works and did not give
    /// it right, it is repaired soon.
    pub fn heal_after(&self, geometry: &Geometry, location: Location, source: Source) {
        let is_working = || self.array.working(geometry.columns[location.column()].drive).is_some();
        if matches!(source, Source::Missing | Source::Corrupt)
            && is_working()
            && self.jobs.scrub.heal_queue.add((location.segment(), location.sectors().start))
        {
            self.requests.notify();
        }
    }

    /// Repairs some places that reads have found wrong.
    pub(super) async fn heal_some(&self) {
        for _ in 0..PLACES_A_STEP {
            let Some(spot) = self.jobs.scrub.heal_queue.take() else { return };
            if !self.heal(spot).await {
                self.jobs.scrub.heal_queue.give_up(spot);
            }
        }
    }

    /// Repairs the batch that the row is of. False: it is not right all the same.
    async fn heal(&self, (segment, row): Spot) -> bool {
        let floor = self.writer.lsns.floor();
        // It may have been freed; what has its number now may have nothing there; and a checkpoint
        // on its way may be about to free a segment in which nothing lives.
        let is_there = |segment: &Segment| row < segment.rows && !segment.is_empty();
        if !self.space.segments.borrow().get(segment).is_some_and(is_there) {
            return true;
        }
        let Some((_pin, geometry)) = pin(&self.space.segments, segment) else { return true };
        let expected = Expected {
            segment,
            generation: self.generation(segment),
            secret: &self.identity.secret,
        };
        let mut image = Image::while_serving(self, &geometry);
        match image.batch_around(&expected, row).await {
            Some(found) if found.header.lsn < floor => {
                let findings = self.check_batch(&mut image, &found).await.sum();
                self.count(|counters| counters.repairs.sectors_healed += findings.repaired);
                findings.unrepaired == 0
            }
            Some(_) => true,
            None => false,
        }
    }
}
