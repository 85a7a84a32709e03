//! What the figures are to be: every target in one table, and the verdict on what was measured.

use ashlar_load::load::{Direction, Load};
use ashlar_load::ratio::Ratio;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// What a target is about, in the order in which they are told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The wire alone.
    Wire,
    /// Volumes of pools.
    Store,
    /// Volumes that were overwritten for long.
    Steady,
    /// Copies, and allocations.
    Copies,
    /// How data are compressed.
    Codec,
    /// Garbage collection.
    Collection,
    /// Memory and time of a daemon with little to do, and of its start.
    MemoryAndTime,
    /// Pools of a million segments.
    Size,
    /// Several reactors.
    Scaling,
    /// Connections that say nothing.
    Silence,
    /// Parity kernels.
    Parity,
    /// The loss of a drive.
    Loss,
    /// What of the drives' bandwidth is left for hosts.
    Bandwidth,
    /// What compression gives where the drives' media are the limit.
    Media,
    /// How fast a rebuild is.
    Rebuild,
    /// How limits of volumes are held.
    Qos,
}

/// What a figure has to be.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// This, or more.
    AtLeast(f64),
    /// This, or less.
    AtMost(f64),
    /// Less than this.
    Below(f64),
    /// Whatever it is: it is to be known.
    Known,
}

/// One target.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Target {
    /// What it is about.
    pub topic: Topic,
    /// What is measured, and in which unit.
    pub figure: &'static str,
    /// What that has to be.
    pub bound: Bound,
}

const fn target(topic: Topic, figure: &'static str, bound: Bound) -> Target {
    Target { topic, figure, bound }
}

/// The table of all targets.
impl Target {
    pub const ECHO_RATE: Target = target(
        Topic::Wire,
        "null volume: operations per processor second / echo",
        Bound::AtLeast(0.75),
    );
    pub const ECHO_LATENCY: Target = target(
        Topic::Wire,
        "null volume, one at a time: median latency / echo",
        Bound::AtMost(1.1),
    );
    pub const SPINNING_LATENCY: Target = target(
        Topic::Wire,
        "null volume, one at a time, spinning: median latency / echo",
        Bound::AtMost(1.1),
    );
    pub const DIGESTS: Target = target(
        Topic::Wire,
        "digests: operations per processor second / without",
        Bound::AtLeast(0.9),
    );
    pub const POLLING_NULL: Target = target(
        Topic::Wire,
        "null volume: operations per processor second / a polling target's core",
        Bound::AtLeast(1.0),
    );
    pub const POLLING_MEMORY: Target = target(
        Topic::Wire,
        "drive in memory: operations per processor second / a polling target's core",
        Bound::AtLeast(1.0),
    );
    pub const POLLING_POOL: Target =
        target(Topic::Wire, "pool of level 0 on it, for comparison: the same", Bound::Known);
    pub const STORE_COST: Target = target(
        Topic::Store,
        "processor time of an operation / its unavoidable parts",
        Bound::AtMost(1.4),
    );
    pub const STORE_WRITES: Target = target(
        Topic::Store,
        "compressed, parity-protected 4 KiB writes per processor second",
        Bound::AtLeast(100_000.0),
    );
    pub const STEADY_READ: Target =
        target(Topic::Steady, "4 KiB reads: processor time, µs", Bound::AtMost(2.7));
    pub const STEADY_LARGE_READ: Target =
        target(Topic::Steady, "128 KiB reads: processor time, µs", Bound::AtMost(40.0));
    pub const STEADY_WRITE: Target =
        target(Topic::Steady, "4 KiB writes: processor time, µs", Bound::AtMost(6.0));
    pub const STEADY_LARGE_WRITE: Target =
        target(Topic::Steady, "128 KiB writes: processor time, µs", Bound::AtMost(90.0));
    pub const STEADY_SPREAD: Target =
        target(Topic::Steady, "128 KiB writes: 99th percentile / median", Bound::AtMost(3.0));
    pub const STEADY_P999: Target =
        target(Topic::Steady, "single 4 KiB writes: 99.9th percentile, ms", Bound::AtMost(0.3));
    pub const COPIES_WRITTEN: Target = target(
        Topic::Copies,
        "copies of a written block, compression not counted",
        Bound::AtMost(1.0),
    );
    pub const COPIES_READ: Target = target(
        Topic::Copies,
        "copies of a read block, decompression not counted",
        Bound::AtMost(1.0),
    );
    pub const ALLOCATIONS: Target =
        target(Topic::Copies, "allocations for an operation", Bound::AtMost(0.0));
    pub const COUNTING: Target = target(
        Topic::Store,
        "counting latencies: percent of an operation's processor time",
        Bound::AtMost(1.0),
    );
    pub const CODEC_RATIO: Target =
        target(Topic::Codec, "a pool's ratio / the codec's alone", Bound::AtLeast(0.97));
    pub const CODEC_COLD: Target =
        target(Topic::Codec, "ratio of auto, once cold / of LZ4", Bound::AtLeast(1.25));
    pub const CODEC_NOISE: Target = target(
        Topic::Codec,
        "noise: processor time of a write with auto / with none",
        Bound::AtMost(1.03),
    );
    pub const UNIFORM_70: Target = target(
        Topic::Collection,
        "blocks written per block, uniform, 70 % live",
        Bound::AtMost(1.9 * 1.1),
    );
    pub const UNIFORM_80: Target = target(
        Topic::Collection,
        "blocks written per block, uniform, 80 % live",
        Bound::AtMost(2.7 * 1.1),
    );
    pub const UNIFORM_85: Target = target(
        Topic::Collection,
        "blocks written per block, uniform, 85 % live",
        Bound::AtMost(3.5 * 1.1),
    );
    pub const HOT_COLD_80: Target = target(
        Topic::Collection,
        "blocks written per block, hot/cold 90/10, 80 % live",
        Bound::AtMost(1.9),
    );
    pub const COLLECTION_P99: Target =
        target(Topic::Collection, "99th percentile with collection / without", Bound::AtMost(3.0));
    pub const IDLE_PROCESSOR: Target =
        target(Topic::MemoryAndTime, "idle: percent of a processor", Bound::Below(1.0));
    pub const IDLE_MEMORY: Target =
        target(Topic::MemoryAndTime, "idle: memory beside the map's, MiB", Bound::Below(100.0));
    pub const MAP_MEMORY: Target = target(
        Topic::MemoryAndTime,
        "memory of a map of 1 TiB, buffers not counted, MiB",
        Bound::AtMost(20.0),
    );
    pub const RECOVERY: Target = target(
        Topic::MemoryAndTime,
        "ready after kill -9, map of 1 TiB, full window, s",
        Bound::AtMost(2.0),
    );
    pub const MAP_READS: Target = target(
        Topic::MemoryAndTime,
        "map reads of a random read, map several times its memory",
        Bound::AtMost(1.2),
    );
    pub const TURN: Target = target(Topic::Size, "longest turn, ms", Bound::AtMost(1.0));
    pub const TURN_OF_A_MILLION: Target =
        target(Topic::Size, "longest turn of a million segments, ms", Bound::AtMost(2.0));
    pub const CHECKPOINT_OF_ONE: Target = target(
        Topic::Size,
        "checkpoint after one overwrite, to all drives, MiB",
        Bound::AtMost(1.0),
    );
    pub const CHECKPOINT_OF_MANY: Target = target(
        Topic::Size,
        "checkpoint after 100,000 overwrites, to all drives, MiB",
        Bound::AtMost(40.0),
    );
    pub const STATUS: Target = target(Topic::Size, "status of the pool, µs", Bound::AtMost(100.0));
    pub const IDLE_OF_MANY: Target =
        target(Topic::Size, "idle: percent of a processor", Bound::Below(1.0));
    pub const SEGMENT_MEMORY: Target =
        target(Topic::Size, "memory of a segment, bytes", Bound::AtMost(512.0));
    pub const START_OF_MANY: Target =
        target(Topic::Size, "ready after a crash, s", Bound::AtMost(5.0));
    pub const LARGE_MAP: Target = target(
        Topic::Size,
        "memory of a map of 100 TiB that has 128 MiB, MiB",
        Bound::AtMost(128.0),
    );
    pub const LARGE_MAP_DAEMON: Target =
        target(Topic::Size, "memory of a daemon that serves it, MiB", Bound::AtMost(256.0));
    pub const RATE_BESIDE: Target =
        target(Topic::Size, "sequential writes, many segments / few", Bound::AtLeast(0.9));
    pub const P99_BESIDE: Target = target(
        Topic::Size,
        "99th percentile of single writes, many segments / few",
        Bound::AtMost(1.2),
    );
    pub const TWO_REACTORS: Target =
        target(Topic::Scaling, "operations per second of two reactors / one", Bound::Known);
    pub const HOP_LATENCY: Target =
        target(Topic::Scaling, "the hop to another reactor and back: latency, µs", Bound::Known);
    pub const HOP_PROCESSOR: Target = target(
        Topic::Scaling,
        "the hop to another reactor and back: processor time, µs",
        Bound::Known,
    );
    pub const SILENT_P99: Target = target(
        Topic::Silence,
        "99th percentile among silent connections / alone",
        Bound::AtMost(1.2),
    );
    pub const SILENT_MEMORY: Target =
        target(Topic::Silence, "memory of a silent connection, KiB", Bound::AtMost(64.0));
    pub const DRIVES_WRITES: Target = target(
        Topic::Bandwidth,
        "sequential writes / the drives' without parity's part",
        Bound::AtLeast(0.97),
    );
    pub const DRIVES_DEGRADED: Target = target(
        Topic::Bandwidth,
        "sequential reads without one drive / with all",
        Bound::AtLeast(0.9),
    );
    pub const MEDIA_RANDOM: Target = target(
        Topic::Media,
        "modelled drives: random 4 KiB writes a second, 4:1 / 1:1",
        Bound::AtLeast(1.7),
    );
    pub const MEDIA_SEQUENTIAL: Target = target(
        Topic::Media,
        "modelled drives: sequential 64 KiB writes a second, 4:1 / 1:1",
        Bound::AtLeast(1.5),
    );
    pub const LOSS_IOPS: Target = target(
        Topic::Loss,
        "operations per second / normal, at a steady rate",
        Bound::AtLeast(0.99),
    );
    pub const LOSS_P999: Target = target(
        Topic::Loss,
        "99.9th percentile of 4 s, median / normal, recon-prio 10",
        Bound::AtMost(1.5),
    );
    pub const LOSS_HELD: Target = target(
        Topic::Loss,
        "99th percentile / recon-p99, or normal where that is more",
        Bound::AtMost(1.25),
    );
    pub const QOS_OVER_ALL: Target =
        target(Topic::Qos, "distance from the limit over 10 s, parts of it", Bound::AtMost(0.05));
    pub const QOS_SECOND: Target = target(
        Topic::Qos,
        "distance from the limit in the worst second, parts of it",
        Bound::AtMost(0.15),
    );
    pub const QOS_WEIGHTS: Target = target(
        Topic::Qos,
        "distance of the parts of volumes from those of their weights, parts of it",
        Bound::AtMost(0.15),
    );
    pub const QOS_NEIGHBOUR: Target = target(
        Topic::Qos,
        "99th percentile of a quiet volume beside a noisy one / of one elsewhere",
        Bound::AtMost(1.2),
    );
    pub const REBUILD_RATE: Target = target(
        Topic::Rebuild,
        "speed / what drives, or the processor, could do",
        Bound::AtLeast(0.7),
    );
    pub const REBUILD_BY_LIVE: Target =
        target(Topic::Loss, "seconds of a rebuild / with half of that alive", Bound::AtLeast(1.6));
    pub const REBUILD_BY_SIZE: Target = target(
        Topic::Loss,
        "seconds of a rebuild / on drives of half the size",
        Bound::AtMost(1.2),
    );
    pub const PARITY: Target =
        target(Topic::Parity, "data beyond the caches: speed / a copy's", Bound::AtLeast(1.0));
}

/// Operations per second of a polling target that is known for its speed, on one such core:
/// direction, bytes, operations outstanding.
const POLLING_NULL: [(Direction, u32, u32, f64); 8] = [
    (Direction::Read, 4 << 10, 1, 64e3),
    (Direction::Write, 4 << 10, 1, 73e3),
    (Direction::Read, 4 << 10, 32, 454e3),
    (Direction::Write, 4 << 10, 32, 689e3),
    (Direction::Read, 4 << 10, 128, 628e3),
    (Direction::Write, 4 << 10, 128, 782e3),
    (Direction::Read, 128 << 10, 32, 31e3),
    (Direction::Write, 128 << 10, 32, 21e3),
];
/// The same with a drive in memory.
const POLLING_MEMORY: [(Direction, u32, u32, f64); 2] =
    [(Direction::Read, 4 << 10, 128, 444e3), (Direction::Write, 4 << 10, 128, 457e3)];

/// What the polling target does with nothing behind it under `load`, if that is known.
pub fn polling_null(load: &Load) -> Option<f64> {
    of_polling(&POLLING_NULL, load)
}

/// What the polling target does with a drive in memory under `load`, if that is known.
pub fn polling_memory(load: &Load) -> Option<f64> {
    of_polling(&POLLING_MEMORY, load)
}

fn of_polling(table: &[(Direction, u32, u32, f64)], load: &Load) -> Option<f64> {
    let is_it = |(direction, bytes, depth, _): &&(Direction, u32, u32, f64)| {
        (*direction, *bytes, *depth) == (load.direction, load.bytes, load.depth)
    };
    table.iter().find(is_it).filter(|_| load.connections == 1).map(|(.., rate)| *rate)
}

/// What was measured, and whether it is what it has to be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// What it has to be.
    #[serde(flatten)]
    pub target: Target,
    /// What it is of.
    pub of: String,
    /// What it is, if that could be measured.
    pub measured: Option<f64>,
    /// Whether the target is met, if it has a bound and there is a figure whose rounds agree on
    /// that.
    pub met: Option<bool>,
}

impl Bound {
    fn allows(self, figure: f64) -> Option<bool> {
        match self {
            Bound::AtLeast(bound) => Some(figure >= bound),
            Bound::AtMost(bound) => Some(figure <= bound),
            Bound::Below(bound) => Some(figure < bound),
            Bound::Known => None,
        }
    }

    /// The figure of two that is further from meeting it.
    fn worse(self, one: f64, other: f64) -> f64 {
        if matches!(self, Bound::AtLeast(_)) { one.min(other) } else { one.max(other) }
    }

    fn words(self) -> String {
        match self {
            Bound::AtLeast(bound) => format!("at least {}", number(bound)),
            Bound::AtMost(bound) => format!("at most {}", number(bound)),
            Bound::Below(bound) => format!("below {}", number(bound)),
            Bound::Known => "to be known".to_owned(),
        }
    }
}

impl Verdict {
    /// On `measured`, of the load or thing `of`.
    pub fn new(target: Target, of: impl Into<String>, measured: impl Into<Option<f64>>) -> Self {
        let measured = measured.into();
        let met = measured.and_then(|figure| target.bound.allows(figure));
        Verdict { target, of: of.into(), measured, met }
    }

    /// On the median of a ratio. If its rounds do not agree, it is undecided.
    pub fn of_ratio(target: Target, of: impl Into<String>, ratio: Option<Ratio>) -> Self {
        let verdict = Self::new(target, of, ratio.map(|ratio| ratio.median));
        let agree =
            |ratio: Ratio| target.bound.allows(ratio.low) == target.bound.allows(ratio.high);
        Verdict { met: verdict.met.filter(|_| ratio.is_some_and(agree)), ..verdict }
    }

    fn word(&self) -> &'static str {
        match (self.measured, self.met) {
            (None, _) => "not measured",
            (_, Some(true)) => "met",
            (_, Some(false)) => "MISSED",
            (_, None) if self.target.bound == Bound::Known => "",
            (_, None) => "undecided",
        }
    }
}

fn number(figure: f64) -> String {
    if figure.abs() >= 1000.0 { format!("{figure:.0}") } else { format!("{figure:.2}") }
}

fn figure(measured: Option<f64>) -> String {
    measured.map_or("-".to_owned(), number)
}

fn table(header: [&str; 5]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    table
        .column_iter_mut()
        .skip(2)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// Every figure beside its target.
pub fn each(verdicts: &[Verdict]) -> String {
    let mut table = table(["FIGURE", "OF", "TARGET", "MEASURED", "VERDICT"]);
    for verdict in verdicts {
        let Target { figure: name, bound, .. } = verdict.target;
        let measured = figure(verdict.measured);
        table.add_row([name, &verdict.of, &bound.words(), &measured, verdict.word()]);
    }
    table.to_string()
}

/// One line for each target: how many of its figures meet it, and the one that is furthest from it.
pub fn summary(verdicts: &[Verdict]) -> String {
    let mut table = table(["TARGETS", "FIGURE", "TARGET", "WORST", "VERDICT"]);
    let mut sorted: Vec<&Verdict> = verdicts.iter().collect();
    // Sorting is stable: within a topic targets stay in the order in which they were measured
    // first.
    let first = |target| verdicts.iter().position(|verdict| verdict.target == target);
    sorted.sort_by_key(|verdict| (verdict.target.topic, first(verdict.target)));
    let mut last = None;
    for of_one in sorted.chunk_by(|one, other| one.target == other.target) {
        let Target { topic, figure: name, bound } = of_one[0].target;
        let heading =
            if last.replace(topic) == Some(topic) { String::new() } else { topic_name(topic) };
        let worst = of_one.iter().filter_map(|verdict| verdict.measured);
        let worst = figure(worst.reduce(|one, other| bound.worse(one, other)));
        table.add_row([heading, name.to_owned(), bound.words(), worst, verdict_on_all(of_one)]);
    }
    table.to_string()
}

fn topic_name(topic: Topic) -> String {
    let name = match topic {
        Topic::Wire => "wire",
        Topic::Store => "store",
        Topic::Steady => "steady state",
        Topic::Copies => "copies",
        Topic::Codec => "compression",
        Topic::Collection => "garbage collection",
        Topic::MemoryAndTime => "memory and time",
        Topic::Size => "real size",
        Topic::Scaling => "scaling",
        Topic::Silence => "silent connections",
        Topic::Parity => "parity",
        Topic::Loss => "loss of a drive",
        Topic::Bandwidth => "drives' bandwidth",
        Topic::Media => "drives' media",
        Topic::Rebuild => "rebuild",
        Topic::Qos => "limits",
    };
    name.to_owned()
}

/// The verdict on all figures of one target.
fn verdict_on_all(of_one: &[&Verdict]) -> String {
    let count = |met| of_one.iter().filter(|verdict| verdict.met == met).count();
    match (count(Some(true)), count(Some(false)), count(None)) {
        (0, 0, _) => of_one[0].word().to_owned(),
        (_, 0, 0) => "met".to_owned(),
        (met, 0, open) => format!("met by {met} of {}, others undecided", met + open),
        (met, missed, open) => format!("MISSED by {missed} of {}", met + missed + open),
    }
}

#[cfg(test)]
mod tests;
