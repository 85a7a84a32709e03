//! What is drawn, and what never is: which pairs of circumstances writes have met.
//!
//! A bug lives where circumstances meet: a write of 256 KiB of a certain content ended the daemon,
//! on pools of two data columns. All of that was possible and nothing drew it together, and nobody
//! could see that. So each dimension of the product has a list of values here, each acknowledged
//! write notes where it was, and a long run fails if two values that can meet never did.
//!
//! What the simulation has no part in (sectors of volumes, digests, reactors) is told of in
//! `docs/reliability.md`.

use std::ops::Range;

use ashlar_block::VolumeId;
use ashlar_store::{DriveCondition, PoolStatus};

use crate::content::{Sort, Version};
use crate::hosts::Run;
use crate::model::Model;
use crate::order::Order;
use crate::plan::Plan;
use crate::start::Pool;

/// One dimension of the product, and its values.
struct Dimension {
    name: &'static str,
    values: &'static [&'static str],
}

const fn dimension(name: &'static str, values: &'static [&'static str]) -> Dimension {
    Dimension { name, values }
}

/// In the order of [`Point`].
const DIMENSIONS: [Dimension; 17] = [
    dimension("data columns", &["1", "2", "3", "4-5", "6-8", "9-20"]),
    dimension("parity columns", &["0", "1", "2", "3", "4"]),
    dimension("drives", &["as many as columns", "more"]),
    dimension("sizes of drives", &["alike", "mixed"]),
    dimension("chunk", &["64KiB", "128KiB", "256KiB", "512KiB", "1MiB"]),
    dimension("segments", &["below 64", "64-127", "128 and more"]),
    dimension(
        "content",
        &["mixed", "raw", "raw but few", "over half", "tiny", "with zeros", "all zeros"],
    ),
    dimension("blocks", &["1", "2-8", "9 and more", "atomic limit", "beyond it"]),
    dimension("alignment", &["aligned", "not", "over a boundary"]),
    dimension("outstanding", &["1", "2-7", "8 and more"]),
    dimension("order", &["random", "ascending", "descending", "same block again"]),
    dimension("full", &["below 25%", "25-75%", "above 75%"]),
    dimension("drives lost", &["0", "1", "2 and more"]),
    dimension("drives that came back", &["none", "some"]),
    dimension("start", &["1st", "2nd-5th", "later"]),
    dimension("volume", &["compact", "scattered", "far apart"]),
    dimension("codec", &["none", "LZ4"]),
];

/// A value of each dimension.
type Point = [u8; DIMENSIONS.len()];

/// Two values that a write does not meet together.
struct Apart {
    one: (&'static str, &'static str),
    other: (&'static str, &'static str),
}

const fn apart(one: (&'static str, &'static str), other: (&'static str, &'static str)) -> Apart {
    Apart { one, other }
}

/// It never does.
const IMPOSSIBLE: [Apart; 8] = [
    // Without parity stripes have up to eight columns.
    apart(("data columns", "9-20"), ("parity columns", "0")),
    // A pool that has lost more drives than its level survives takes no writes.
    apart(("parity columns", "0"), ("drives lost", "1")),
    apart(("parity columns", "0"), ("drives lost", "2 and more")),
    apart(("parity columns", "1"), ("drives lost", "2 and more")),
    apart(("parity columns", "0"), ("drives that came back", "some")),
    // Its islands begin at boundaries, and are small.
    apart(("alignment", "over a boundary"), ("volume", "scattered")),
    // No block lies on both sides of a boundary; and what is larger than the limit is cut anyway.
    apart(("blocks", "1"), ("alignment", "over a boundary")),
    apart(("blocks", "beyond it"), ("alignment", "over a boundary")),
];

/// Two values that a write meets so seldom that a run has to be very long for one of its seeds to
/// have done so: drives are lost at any of a pool's starts, and come back later still.
const SELDOM: [Apart; 2] = [
    apart(("drives lost", "2 and more"), ("start", "1st")),
    apart(("drives that came back", "some"), ("start", "1st")),
];

/// How a write lies to other commands when it is issued.
#[derive(Clone, Copy)]
pub struct Issued {
    /// Those in flight, with itself.
    pub outstanding: u64,
    pub order: Order,
}

/// How the pool is, looked at now and then.
#[derive(Clone, Copy, Default)]
pub struct Circumstances {
    full: u8,
    lost: u8,
    has_rejoined: bool,
}

impl Circumstances {
    /// What a pool's own word makes of it, and whether drives have come back to it.
    pub fn of(status: &PoolStatus, has_rejoined: bool) -> Self {
        let lost = status.drives.iter().filter(|drive| {
            !matches!(
                drive.condition,
                DriveCondition::Online | DriveCondition::Leaving | DriveCondition::Released
            )
        });
        let percent = (status.space.live * 100).checked_div(status.space.limit).unwrap_or(100);
        Circumstances {
            full: bin(percent, &[25, 75]),
            lost: bin(lost.count() as u64, &[1, 2]),
            has_rejoined,
        }
    }
}

/// The number of `bounds` that `value` reaches.
fn bin(value: u64, bounds: &[u64]) -> u8 {
    bounds.iter().filter(|bound| value >= **bound).count() as u8
}

/// For each pair of values how often it was met.
#[derive(Clone)]
pub struct Coverage(Vec<u64>);

impl Default for Coverage {
    fn default() -> Self {
        Coverage(vec![0; VALUES * VALUES])
    }
}

/// Values of all dimensions.
const VALUES: usize = values_before(DIMENSIONS.len());

/// Values of the first dimensions.
const fn values_before(dimensions: usize) -> usize {
    let (mut values, mut nth) = (0, 0);
    while nth < dimensions {
        values += DIMENSIONS[nth].values.len();
        nth += 1;
    }
    values
}

/// Where the count of a pair is: each value with its dimension.
fn index(one: (usize, usize), other: (usize, usize)) -> usize {
    let value = |(dimension, value)| values_before(dimension) + value;
    value(one) * VALUES + value(other)
}

impl Coverage {
    fn note(&mut self, point: &Point) {
        for one in 0..point.len() {
            for other in one + 1..point.len() {
                self.0[index((one, point[one].into()), (other, point[other].into()))] += 1;
            }
        }
    }

    /// Adds what one more seed has met: each of its pairs once.
    pub fn add_seed(&mut self, seed: &Coverage) {
        self.0.iter_mut().zip(&seed.0).for_each(|(all, met)| *all += u64::from(*met > 0));
    }

    /// Adds the seeds that somebody else has counted.
    pub fn add(&mut self, other: &Coverage) {
        self.0.iter_mut().zip(&other.0).for_each(|(all, more)| *all += more);
    }

    /// The pairs that can be met, with the seeds that have: those of the fewest first.
    pub fn pairs(&self) -> Vec<(u64, String)> {
        let values = || {
            (0..DIMENSIONS.len())
                .flat_map(|nth| (0..DIMENSIONS[nth].values.len()).map(move |value| (nth, value)))
        };
        let named =
            |(nth, value): (usize, usize)| (DIMENSIONS[nth].name, DIMENSIONS[nth].values[value]);
        let is_never =
            |pair: &Apart| IMPOSSIBLE.iter().any(|it| (it.one, it.other) == (pair.one, pair.other));
        let mut pairs: Vec<(u64, String)> = values()
            .flat_map(|one| {
                values().filter(move |other| one.0 < other.0).map(move |other| (one, other))
            })
            .map(|(one, other)| (self.0[index(one, other)], apart(named(one), named(other))))
            .filter(|(_, pair)| !is_never(pair))
            .map(|(seeds, pair)| (seeds, pair.words()))
            .collect();
        pairs.sort();
        pairs
    }

    /// The pairs that can be met and were not, by a run that is long or even `is_very_long`.
    pub fn lacks(&self, is_very_long: bool) -> Vec<String> {
        let mut pairs = self.pairs();
        if !is_very_long {
            let seldom: Vec<String> = SELDOM.iter().map(Apart::words).collect();
            pairs.retain(|(_, pair)| !seldom.contains(pair));
        }
        pairs.into_iter().take_while(|(seeds, _)| *seeds == 0).map(|(_, pair)| pair).collect()
    }
}

impl Apart {
    fn words(&self) -> String {
        let (one, other) = (self.one, self.other);
        format!("{} {} with {} {}", one.0, one.1, other.0, other.1)
    }
}

impl Run {
    /// A write has been acknowledged: notes where it was.
    pub fn note_write(
        &self,
        pool: &Pool,
        id: VolumeId,
        blocks: &Range<u64>,
        version: Version,
        issued: Issued,
    ) {
        let has_rejoined = self.known.outcome.get().drives_returned > 0;
        let seen = self.circumstances(|| Circumstances::of(&pool.status(), has_rejoined));
        let mut coverage = self.known.coverage.borrow_mut();
        // Unless it was deleted meanwhile.
        let Some(is_compressed) = self.known.models.borrow().get(&id).map(Model::is_compressed)
        else {
            return;
        };
        coverage.note(&point(
            &self.plan,
            seen,
            self.nth_start,
            blocks,
            version,
            issued,
            is_compressed,
        ));
    }
}

fn point(
    plan: &Plan,
    seen: Circumstances,
    nth_start: u64,
    blocks: &Range<u64>,
    version: Version,
    issued: Issued,
    is_compressed: bool,
) -> Point {
    let data = plan.level.data_columns(plan.drives).expect("chosen to fit") as u64;
    let columns = data + plan.level.parity() as u64;
    let count = blocks.end - blocks.start;
    let atomic = plan.atomic_blocks();
    let is_over_boundary = count <= atomic && !plan.is_atomic(blocks);
    [
        bin(data, &[2, 3, 4, 6, 9]),
        plan.level.parity() as u8,
        bin(plan.drives as u64, &[columns + 1]),
        u8::from(plan.has_mixed_sizes()),
        bin(plan.chunk_bytes.into(), &[128 << 10, 256 << 10, 512 << 10, 1 << 20]),
        bin(plan.segments(), &[64, 128]),
        if version == 0 { Sort::ALL.len() as u8 } else { Sort::of(version) as u8 },
        bin(count, &[2, 9.min(atomic - 2), atomic - 1, atomic + 1]),
        if is_over_boundary {
            2
        } else {
            u8::from(!blocks.start.is_multiple_of(atomic.next_power_of_two() / 2))
        },
        bin(issued.outstanding, &[2, 8]),
        issued.order as u8,
        seen.full,
        seen.lost,
        u8::from(seen.has_rejoined),
        bin(nth_start, &[1, 5]),
        plan.volume.shape as u8,
        u8::from(is_compressed),
    ]
}

#[cfg(test)]
mod tests;
