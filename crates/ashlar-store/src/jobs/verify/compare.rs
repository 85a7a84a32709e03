//! What the ledger says beside what was found, figure by figure.

use std::collections::BTreeMap;
use std::fmt::Debug;

use ashlar_block::{BLOCK_BYTES, World};
use ashlar_format::catalog::Usage;
use ashlar_format::ids::Family;
use ashlar_format::location::{Location, SLOT_BYTES, SegmentId};
use ashlar_format::table::{Occupancy, SegmentState};

use super::VerifyState;
use crate::pool::Pool;
use crate::space::ledger::Proof;
use crate::space::segments::{Segments, Summary};

/// How many differences are told.
const WRONG_MAX: usize = 100;

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

/// What counts of what is named in a segment: nothing of one that is gone or condemned, where all
/// names are stale.
fn that_counts(
    segments: &Segments,
    named: impl Iterator<Item = (SegmentId, Occupancy)>,
) -> BTreeMap<SegmentId, Occupancy> {
    let counts = |id: SegmentId| {
        segments.get(id).is_some_and(|segment| segment.state != SegmentState::Condemned)
    };
    let mut all: BTreeMap<SegmentId, Occupancy> = BTreeMap::new();
    named.filter(|(id, _)| counts(*id)).for_each(|(id, part)| *all.entry(id).or_default() += part);
    all
}

/// Where what is kept of all segments is not what they say.
fn wrong_sums(segments: &Segments, anew: &Summary) -> impl Iterator<Item = String> {
    let sums = (segments.summary() != anew)
        .then(|| "the running totals are not the sums of the segments".to_owned());
    let twice: Vec<String> = segments
        .columns_on_free_chunks()
        .take(WRONG_MAX)
        .map(|(id, at)| format!("{id} has {at:?}, which counts as free"))
        .collect();
    sums.into_iter().chain(twice)
}

impl<W: World> Pool<W> {
    /// The walk has come to its end: compares, in one turn, which sums up all segments. With a
    /// million of them hosts wait for it once.
    pub(super) fn compare(&self) {
        let Some(proof) = self.space.ledger.end_proof() else { return };
        let segments = self.space.segments.borrow();
        let pages = self.listed_pages().into_iter().map(|at| (at.segment(), at.into()));
        let of_runs_and_blocks = proof.segments().iter().map(|(id, part)| (*id, *part));
        let found = that_counts(&segments, of_runs_and_blocks.chain(pages));
        let counted: BTreeMap<SegmentId, Occupancy> = segments
            .iter()
            .map(|(id, segment)| (id, segment.live))
            .filter(|(_, live)| *live != Occupancy::default())
            .collect();
        let families = self.stored_by_families();
        let anew = segments.summary_anew();
        let mut wrong: Vec<String> = differences(&counted, &found)
            .into_iter()
            .chain(differences(&families, proof.families()))
            .chain(wrong_sums(&segments, &anew))
            .take(WRONG_MAX)
            .collect();
        let found = self.figures_found(&segments, &anew, &proof, &found);
        let compared = compared(&self.figures_counted(&segments), &found);
        wrong.extend(compared.iter().filter(|it| it.counted != it.found).map(|it| {
            format!("{}: {} bytes are counted, {} are there", it.figure, it.counted, it.found)
        }));
        drop(segments);
        self.end_verify(|report| {
            report.state = if wrong.is_empty() { VerifyState::Proven } else { VerifyState::Wrong };
            report.part_done = 1.0;
            report.compared = compared;
            report.volumes = families.len() as u64;
            report.overwritten = proof.hidden();
            report.wrong = wrong;
        });
    }

    /// Families that store anything.
    fn stored_by_families(&self) -> BTreeMap<Family, Usage> {
        let mut families = self.space.ledger.usages();
        families.retain(|_, usage| *usage != Usage::default());
        families
    }

    /// Where the pages are of which memory has a list.
    fn listed_pages(&self) -> Vec<Location> {
        let mut pages: Vec<Location> = self.checkpoint.catalog_pages.borrow().locations().collect();
        pages.extend(self.checkpoint.table.borrow().locations());
        for shard in self.map.shards.borrow().iter() {
            let of_shard = shard.index.pages().chain(shard.deltas.pages());
            pages.extend(of_shard.map(|page| page.location));
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

    fn figures_found(
        &self,
        segments: &Segments,
        anew: &Summary,
        proof: &Proof,
        named: &BTreeMap<SegmentId, Occupancy>,
    ) -> Figures {
        let drives = self.drives();
        let mut live = Occupancy::default();
        named.values().for_each(|part| live += *part);
        let mut written = Usage::default();
        for usage in proof.families().values() {
            written.blocks += usage.blocks;
            written.slots += usage.slots;
        }
        Figures {
            written,
            live,
            garbage: anew.data_bytes().saturating_sub(live.bytes()),
            parity: anew.parity_columns() * self.column_bytes(),
            free: segments.free_chunks_anew(&drives) * self.column_bytes(),
        }
    }
}
