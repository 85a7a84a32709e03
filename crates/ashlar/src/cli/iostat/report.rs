//! What there is to say of an interval: the differences of what was counted before it and after it.

use std::collections::BTreeMap;

use ashlar_block::latency::{Histogram, Operations};
use ashlar_control::types::{IoCounts, IoStat, IoStatDrive, IoStatVolume, LatencyFigures};
use serde::Serialize;

/// What is counted of a thing, in this order.
pub const KINDS: [&str; 3] = ["read", "write", "trim"];

/// An interval.
pub struct Report {
    /// Nothing was counted before it: it began with the daemon.
    pub is_since_start: bool,
    /// The daemon has been restarted since the report before.
    pub is_restarted: bool,
    pub interval_seconds: f64,
    /// Each pool, its volumes and its drives; then what is of no pool that is wanted as a whole.
    pub lines: Vec<Line>,
}

/// What a line is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thing {
    Pool,
    Volume,
    Drive,
}

/// A thing in an interval.
pub struct Line {
    pub thing: Thing,
    pub pool: String,
    /// Of a pool its own, else that in the pool.
    pub name: String,
    /// It stands below its pool.
    pub is_below_pool: bool,
    /// In the order of [`KINDS`].
    pub kinds: [Operations; 3],
    pub operations_in_flight: u64,
    pub compression_ratio: Option<f64>,
}

/// What is counted of a thing.
trait Counted {
    fn uuid(&self) -> &str;
    fn counts(&self) -> [&IoCounts; 3];
}

impl Counted for IoStatVolume {
    fn uuid(&self) -> &str {
        &self.uuid
    }

    fn counts(&self) -> [&IoCounts; 3] {
        [&self.reads, &self.writes, &self.trims]
    }
}

impl Counted for IoStatDrive {
    fn uuid(&self) -> &str {
        &self.uuid
    }

    fn counts(&self) -> [&IoCounts; 3] {
        [&self.reads, &self.writes, &self.trims]
    }
}

/// What has ended between two states of a thing. What is counted anew since was counted in between.
fn between(before: Option<[&IoCounts; 3]>, now: [&IoCounts; 3]) -> [Operations; 3] {
    let now = now.map(Operations::from);
    let Some(before) = before.map(|before| before.map(Operations::from)) else { return now };
    let since = |at: usize| now[at].since(&before[at]);
    match (since(0), since(1), since(2)) {
        (Some(reads), Some(writes), Some(trims)) => [reads, writes, trims],
        _ => now,
    }
}

/// States of things, by their identities.
fn by_uuid<T: Counted>(all: &[T]) -> BTreeMap<&str, [&IoCounts; 3]> {
    all.iter().map(|one| (one.uuid(), one.counts())).collect()
}

impl Report {
    pub fn new(before: Option<&IoStat>, now: &IoStat) -> Self {
        let same = before.filter(|before| before.instance == now.instance);
        let begun = same.map_or(0.0, |before| before.uptime_seconds);
        let volumes = volume_lines(same, now);
        let drives = drive_lines(same, now);
        Report {
            is_since_start: before.is_none(),
            is_restarted: before.is_some() && same.is_none(),
            interval_seconds: (now.uptime_seconds - begun).max(f64::MIN_POSITIVE),
            lines: in_order(now, volumes, drives),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Operations that were under way at a time, in the mean: by Little's law the sum of what all
    /// of them took, over the interval.
    pub fn mean_queue(&self, line: &Line) -> f64 {
        let took_us: u64 = line.kinds.iter().map(|kind| kind.took.total_us()).sum();
        took_us as f64 / 1e6 / self.interval_seconds
    }

    /// The report for programs.
    pub fn shown(&self) -> impl Serialize {
        let of = |thing| {
            let lines = self.lines.iter().filter(move |line| line.thing == thing);
            lines.map(|line| ShownLine::new(self, line)).collect()
        };
        ShownReport {
            since_start: self.is_since_start,
            restarted: self.is_restarted,
            interval_seconds: self.interval_seconds,
            pools: of(Thing::Pool),
            volumes: of(Thing::Volume),
            drives: of(Thing::Drive),
        }
    }
}

impl Report {
    /// The same as rows, each of a pool, a volume or a drive.
    pub fn rows(&self) -> impl Serialize {
        let row = |line: &Line| ShownRow {
            interval_seconds: self.interval_seconds,
            kind: match line.thing {
                Thing::Pool => "pool",
                Thing::Volume => "volume",
                Thing::Drive => "drive",
            },
            line: ShownLine::new(self, line),
        };
        self.lines.iter().map(row).collect::<Vec<_>>()
    }
}

fn volume_lines(before: Option<&IoStat>, now: &IoStat) -> Vec<Line> {
    let known = before.map(|before| by_uuid(&before.volumes)).unwrap_or_default();
    let line = |volume: &IoStatVolume| Line {
        thing: Thing::Volume,
        pool: volume.pool.clone(),
        name: volume.name.clone(),
        is_below_pool: now.pools.iter().any(|pool| pool.name == volume.pool),
        kinds: between(known.get(volume.uuid()).copied(), volume.counts()),
        operations_in_flight: volume.operations_in_flight,
        compression_ratio: volume.compression_ratio,
    };
    now.volumes.iter().map(line).collect()
}

fn drive_lines(before: Option<&IoStat>, now: &IoStat) -> Vec<Line> {
    let known = before.map(|before| by_uuid(&before.drives)).unwrap_or_default();
    let line = |drive: &IoStatDrive| Line {
        thing: Thing::Drive,
        pool: drive.pool.clone(),
        name: drive.name.clone(),
        is_below_pool: now.pools.iter().any(|pool| pool.name == drive.pool),
        kinds: between(known.get(drive.uuid()).copied(), drive.counts()),
        operations_in_flight: drive.operations_in_flight,
        compression_ratio: None,
    };
    now.drives.iter().map(line).collect()
}

/// Each pool with what is below it, then the others.
fn in_order(now: &IoStat, volumes: Vec<Line>, drives: Vec<Line>) -> Vec<Line> {
    let mut of_pools = BTreeMap::<String, Vec<Line>>::new();
    let mut others = Vec::new();
    for line in volumes.into_iter().chain(drives) {
        match line.is_below_pool {
            true => of_pools.entry(line.pool.clone()).or_default().push(line),
            false => others.push(line),
        }
    }
    let mut all = Vec::new();
    for pool in &now.pools {
        let below = of_pools.remove(&pool.name).unwrap_or_default();
        all.push(sum(&pool.name, pool.compression_ratio, &below));
        all.extend(below);
    }
    all.extend(others);
    all
}

/// A pool: the sum of its volumes.
fn sum(pool: &str, compression_ratio: Option<f64>, below: &[Line]) -> Line {
    let mut line = Line {
        thing: Thing::Pool,
        pool: pool.to_owned(),
        name: pool.to_owned(),
        is_below_pool: false,
        kinds: Default::default(),
        operations_in_flight: 0,
        compression_ratio,
    };
    for volume in below.iter().filter(|line| line.thing == Thing::Volume) {
        line.kinds.iter_mut().zip(&volume.kinds).for_each(|(sum, more)| sum.add(more));
        line.operations_in_flight += volume.operations_in_flight;
    }
    line
}

#[derive(Serialize)]
struct ShownReport {
    since_start: bool,
    restarted: bool,
    interval_seconds: f64,
    pools: Vec<ShownLine>,
    volumes: Vec<ShownLine>,
    drives: Vec<ShownLine>,
}

#[derive(Serialize)]
struct ShownLine {
    name: String,
    pool: String,
    operations_in_flight: u64,
    mean_queue: f64,
    compression_ratio: Option<f64>,
    reads: ShownKind,
    writes: ShownKind,
    trims: ShownKind,
}

#[derive(Serialize)]
struct ShownRow {
    interval_seconds: f64,
    kind: &'static str,
    #[serde(flatten)]
    line: ShownLine,
}

#[derive(Serialize)]
struct ShownKind {
    operations: u64,
    transferred_bytes: u64,
    #[serde(flatten)]
    figures: LatencyFigures,
}

impl ShownLine {
    fn new(report: &Report, line: &Line) -> Self {
        let [reads, writes, trims] = line.kinds.each_ref().map(ShownKind::new);
        ShownLine {
            name: line.name.clone(),
            pool: line.pool.clone(),
            operations_in_flight: line.operations_in_flight,
            mean_queue: (report.mean_queue(line) * 1000.0).round() / 1000.0,
            compression_ratio: line.compression_ratio,
            reads,
            writes,
            trims,
        }
    }
}

impl ShownKind {
    fn new(all: &Operations) -> Self {
        let took: &Histogram = &all.took;
        ShownKind { operations: took.count(), transferred_bytes: all.bytes, figures: took.into() }
    }
}

#[cfg(test)]
pub(super) mod tests;
