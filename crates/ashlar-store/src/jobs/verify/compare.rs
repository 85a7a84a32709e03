//! What the ledger says beside what was found, figure by figure. The orders in which segments are
//! kept are no figures of it: an audit compares those.

use std::collections::BTreeMap;
use std::fmt::Debug;

use ashlar_block::{BLOCK_BYTES, SECTOR_BYTES, World};
use ashlar_format::catalog::Usage;
use ashlar_format::ids::{Family, SHARD_COUNT, ShardId};
use ashlar_format::location::{Location, SLOT_BYTES, SegmentId};
use ashlar_format::table::{Occupancy, SegmentState};

use super::{Pass, STEP, VerifyState, is_end};
use crate::pool::Pool;
use crate::space::ledger::Proof;
use crate::space::segments::Segments;

/// How many differences are told.
const WRONG_MAX: usize = 100;

/// Segments that are compared in one turn, for whose end hosts wait: in some 20 microseconds.
const SEGMENTS_IN_A_TURN: usize = 64;

/// A figure of a pool, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compared {
    /// Its name.
    pub figure: &'static str,
    /// What is counted.
    pub counted: u64,
    /// What is there.
    pub found: u64,
}

/// What is named, and by that what of the drives is for what.
struct Figures {
    /// Blocks that hold data.
    written: Usage,
    /// All that lives, the pages of the maps included.
    live: Occupancy,
    garbage: u64,
    parity: u64,
    free: u64,
}

impl Figures {
    fn each(&self) -> [(&'static str, u64); 7] {
        let (live, stored) = (self.live.bytes(), self.written.slots * SLOT_BYTES as u64);
        [
            ("written", self.written.blocks * BLOCK_BYTES as u64),
            ("stored", stored),
            ("map", live.saturating_sub(stored)),
            ("live", live),
            ("garbage", self.garbage),
            ("parity", self.parity),
            ("free", self.free),
        ]
    }
}

fn compared(counted: &Figures, found: &Figures) -> Vec<Compared> {
    let each = counted.each().into_iter().zip(found.each());
    each.map(|((figure, counted), (_, found))| Compared { figure, counted, found }).collect()
}

/// Differences between what two counts say of each of many.
fn differences<K: Ord + Debug, V: PartialEq + Default + Debug + Copy>(
    counted: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
) -> Vec<String> {
    let keys = counted.keys().chain(found.keys().filter(|key| !counted.contains_key(key)));
    let difference = |key: &K| {
        let of = |all: &BTreeMap<K, V>| all.get(key).copied().unwrap_or_default();
        let (counted, found) = (of(counted), of(found));
        (counted != found).then(|| format!("{key:?}: {counted:?} is counted, {found:?} is there"))
    };
    keys.filter_map(difference).collect()
}

/// Where the comparison has come to.
pub(super) struct Comparing {
    /// The segment that is next.
    next: SegmentId,
    differing: Differing,
}

impl Default for Comparing {
    fn default() -> Self {
        Comparing { next: SegmentId(0), differing: Differing::default() }
    }
}

/// Where segments are not what they say.
#[derive(Default)]
struct Differing {
    wrong: Vec<String>,
    /// What is counted of segments of which something else is there.
    counted: Occupancy,
    /// What is there of these.
    found: Occupancy,
}

impl Differing {
    fn compare(&mut self, id: SegmentId, counted: Occupancy, found: Occupancy) {
        if counted != found {
            self.tell(format!("{id:?}: {counted:?} is counted, {found:?} is there"));
            self.counted += counted;
            self.found += found;
        }
    }

    fn tell(&mut self, what: String) {
        if self.wrong.len() < WRONG_MAX {
            self.wrong.push(what);
        }
    }

    /// What lives, if `counted` is what all segments together say now. Every change since a segment
    /// was compared was counted twice: what differed then differs by as much now.
    fn live(&self, counted: Occupancy) -> Occupancy {
        let mut found = counted.minus(self.counted).unwrap_or_default();
        found += self.found;
        found
    }
}

/// Sums of what segments say of themselves.
#[derive(Default)]
struct Sums {
    live: Occupancy,
    data_sectors: u64,
    parity_columns: u64,
}

impl Sums {
    fn of(segments: &Segments) -> Self {
        let mut sums = Sums::default();
        for (_, segment) in segments.iter() {
            sums.live += segment.live;
            sums.data_sectors += u64::from(segment.rows) * segment.geometry.data() as u64;
            sums.parity_columns += segment.geometry.parity() as u64;
        }
        sums
    }
}

impl<W: World> Pool<W> {
    /// The walk has come to its end: compares some segments more, and after the last the sums.
    ///
    /// What was equal when it was compared is equal at the end, and what differed differs by as
    /// much: every change in between is a change of both counts, in one turn. Sums are compared in
    /// one turn, with a million segments in some 50 ms.
    pub(super) async fn compare_some(&self) {
        let pages = self.listed_pages().await;
        // The list is made anew in each step, as upkeep changes pages in between. It takes longer
        // than a step where pages are many, and has to be worth it.
        let begun = self.world.now();
        loop {
            let is_over = {
                let mut pass = self.jobs.verify.pass.borrow_mut();
                // It may have been given up or stopped meanwhile, and another one been begun.
                let Some(Pass { comparing, .. }) = pass.as_mut() else { return };
                if !self.space.ledger.proof_goes_on_from().is_some_and(is_end) {
                    return;
                }
                let next = self.compare_segments(comparing.next, &pages, &mut comparing.differing);
                comparing.next = next.unwrap_or(comparing.next);
                next.is_none()
            };
            if is_over {
                return self.compare_sums();
            }
            if self.world.now().since(begun) >= STEP {
                return;
            }
            self.world.yield_now().await;
        }
    }

    fn compare_sums(&self) {
        let mut pass = self.jobs.verify.pass.borrow_mut();
        let differing = pass.as_mut().map(|pass| std::mem::take(&mut pass.comparing.differing));
        drop(pass);
        let (Some(proof), Some(differing)) = (self.space.ledger.end_proof(), differing) else {
            return;
        };
        let families = self.stored_by_families();
        let compared = self.compared(&proof, &differing);
        let of_figures = compared.iter().filter(|it| it.counted != it.found).map(|it| {
            format!("{}: {} bytes are counted, {} are there", it.figure, it.counted, it.found)
        });
        let of_families = differences(&families, proof.families());
        let wrong: Vec<String> =
            of_figures.chain(differing.wrong).chain(of_families).take(WRONG_MAX).collect();
        self.end_verify(|report| {
            report.state = if wrong.is_empty() { VerifyState::Proven } else { VerifyState::Wrong };
            report.part_done = 1.0;
            report.compared = compared;
            report.volumes = families.len() as u64;
            report.overwritten = proof.hidden();
            report.wrong = wrong;
        });
    }

    /// Compares what some segments from this one on say with what is named in them. Returns the
    /// segment that is next.
    fn compare_segments(
        &self,
        from: SegmentId,
        pages: &BTreeMap<SegmentId, Occupancy>,
        differing: &mut Differing,
    ) -> Option<SegmentId> {
        let segments = self.space.segments.borrow();
        self.space.ledger.with_proof(|proof| {
            let mut rest = segments.iter_from(from);
            for (id, segment) in rest.by_ref().take(SEGMENTS_IN_A_TURN) {
                let named = |of: &BTreeMap<SegmentId, Occupancy>| of.get(&id).copied();
                // Of one that is condemned all names are stale.
                let counts = segment.state != SegmentState::Condemned;
                let mut found = Occupancy::default();
                [proof.segments(), pages]
                    .into_iter()
                    .filter_map(named)
                    .filter(|_| counts)
                    .for_each(|part| found += part);
                differing.compare(id, segment.live, found);
                for column in segments.columns_on_free_chunks(segment) {
                    differing.tell(format!("{id} has {column:?}, which counts as free"));
                }
            }
            rest.next().map(|(id, _)| id)
        })?
    }

    fn compared(&self, proof: &Proof, differing: &Differing) -> Vec<Compared> {
        let segments = self.space.segments.borrow();
        let found = self.figures_found(&segments, proof, differing);
        compared(&self.figures_counted(&segments), &found)
    }

    /// Families that store anything.
    fn stored_by_families(&self) -> BTreeMap<Family, Usage> {
        let mut families = self.space.ledger.usages();
        families.retain(|_, usage| *usage != Usage::default());
        families
    }

    /// What pages take, of which memory has a list, in each segment. Upkeep alone changes them,
    /// of which this is a step.
    async fn listed_pages(&self) -> BTreeMap<SegmentId, Occupancy> {
        let mut pages = BTreeMap::new();
        let mut add = |location: Location| {
            let of_segment: &mut Occupancy = pages.entry(location.segment()).or_default();
            of_segment.add(location);
        };
        self.checkpoint.catalog_pages.borrow().locations().for_each(&mut add);
        self.checkpoint.table.borrow().locations().for_each(&mut add);
        for id in (0..SHARD_COUNT as u8).map(ShardId) {
            self.with_shard(id, |shard| {
                let of_shard = shard.index.pages().chain(shard.deltas.pages());
                of_shard.for_each(|page| add(page.location));
            });
            self.world.yield_now().await;
        }
        pages
    }

    fn figures_counted(&self, segments: &Segments) -> Figures {
        let (drives, summary) = (self.drives(), segments.summary());
        let live = segments.live();
        Figures {
            written: self.space.ledger.total(),
            live,
            garbage: summary.data_bytes().saturating_sub(live.bytes()),
            parity: summary.parity_columns() * self.column_bytes(),
            free: segments.free_chunks_on(&drives) * self.column_bytes(),
        }
    }

    fn figures_found(&self, segments: &Segments, proof: &Proof, differing: &Differing) -> Figures {
        let (drives, sums) = (self.drives(), Sums::of(segments));
        let live = differing.live(sums.live);
        let mut written = Usage::default();
        for usage in proof.families().values() {
            written.blocks += usage.blocks;
            written.slots += usage.slots;
        }
        let data_bytes = sums.data_sectors * SECTOR_BYTES as u64;
        Figures {
            written,
            live,
            garbage: data_bytes.saturating_sub(live.bytes()),
            parity: sums.parity_columns * self.column_bytes(),
            free: segments.free_chunks_anew(&drives) * self.column_bytes(),
        }
    }
}
