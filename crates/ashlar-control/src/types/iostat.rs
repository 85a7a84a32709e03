//! What hosts do with volumes, and pools with drives: how much, and how long it took.

use ashlar_block::latency::{Histogram, Operations, SizeClass};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ThreadFigures;

/// Operations of one kind that have ended. Of two answers the differences are what came between;
/// whoever finds less in the later one has it from another start of the daemon, or another opening.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IoCounts {
    /// How many.
    pub operations: u64,
    /// The bytes that they were for.
    pub transferred_bytes: u64,
    /// The sum of what they took.
    pub total_us: u64,
    /// The longest.
    pub max_us: u64,
    /// `[from, operations]`: how many took so many microseconds or more, and less than where the
    /// next bucket could begin. Buckets below 64 µs have 1 µs; each octave from there on has 64 of
    /// the same width. Those without operations are left out.
    pub buckets: Vec<[u64; 2]>,
}

impl From<&Operations> for IoCounts {
    fn from(all: &Operations) -> Self {
        let took = &all.took;
        IoCounts {
            operations: took.count(),
            transferred_bytes: all.bytes,
            total_us: took.total_us(),
            max_us: took.max().map_or(0, |max| max.as_micros() as u64),
            buckets: took.buckets().map(|bucket| [bucket.from_us, bucket.count]).collect(),
        }
    }
}

impl From<&IoCounts> for Operations {
    fn from(counts: &IoCounts) -> Self {
        let buckets = counts.buckets.iter().map(|[from_us, count]| (*from_us, *count));
        Operations {
            took: Histogram::of_parts(buckets, counts.total_us, counts.max_us),
            bytes: counts.transferred_bytes,
        }
    }
}

/// What goes on in pools, volumes and drives.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IoStat {
    /// Another text after each start of the daemon: counts begin at 0 then.
    pub instance: String,
    /// Seconds since the daemon started, when this was read.
    pub uptime_seconds: f64,
    /// Pools that are wanted as a whole: what goes on in them is the sum of their volumes.
    pub pools: Vec<IoStatPool>,
    /// Volumes, in the order of their names.
    pub volumes: Vec<IoStatVolume>,
    /// Drives.
    pub drives: Vec<IoStatDrive>,
    /// Threads of the daemon: those called `reactor-0` and so on serve hosts and pools.
    #[serde(default)]
    pub threads: Vec<ThreadFigures>,
    /// Reactors look for work before they sleep (`spin_us`): that is in their processor time, which
    /// then does not say how busy they are.
    #[serde(default)]
    pub reactors_spin: bool,
}

/// A pool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IoStatPool {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// Logical over stored data. Null: nothing is stored.
    pub compression_ratio: Option<f64>,
}

/// Commands of hosts for a volume, since the daemon started or its pool was imported. A command
/// counts from when it has come whole until its answer is sent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IoStatVolume {
    /// Its name.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// Its identity.
    pub uuid: String,
    /// Logical over stored data. Null: nothing is stored.
    pub compression_ratio: Option<f64>,
    /// Commands that are not answered yet.
    pub operations_in_flight: u64,
    /// Read.
    pub reads: IoCounts,
    /// Write.
    pub writes: IoCounts,
    /// Dataset Management that deallocates, and Write Zeroes.
    pub trims: IoCounts,
    /// Commands that wait for the limits of its policy.
    pub waiting_operations: u64,
    /// Commands that have waited for them.
    pub delayed_operations: u64,
    /// How long those have waited, all together.
    pub delayed_seconds: f64,
}

/// Operations of a pool on a drive, since it was opened.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct IoStatDrive {
    /// Its name within the pool.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// Its identity as a member.
    pub uuid: String,
    /// Where it is.
    pub spec: String,
    /// Operations that it has not answered yet.
    pub operations_in_flight: u64,
    /// For how long there was at least one. A drive that does several at a time may have more to
    /// give although it is busy all the time.
    pub busy_seconds: f64,
    /// Reads.
    pub reads: IoCounts,
    /// Writes.
    pub writes: IoCounts,
    /// Discards.
    pub trims: IoCounts,
}

/// How long operations took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct LatencyFigures {
    /// The mean. This and what follows is null where there were no operations.
    pub mean_us: Option<f64>,
    /// Half took no longer.
    pub p50_us: Option<u64>,
    /// 90 % took no longer.
    pub p90_us: Option<u64>,
    /// 99 % took no longer.
    pub p99_us: Option<u64>,
    /// 99.9 % took no longer.
    pub p999_us: Option<u64>,
    /// 99.99 % took no longer.
    pub p9999_us: Option<u64>,
    /// The longest.
    pub max_us: Option<u64>,
}

impl From<&Histogram> for LatencyFigures {
    fn from(took: &Histogram) -> Self {
        let within = |part| took.quantile(part).map(|time| time.as_micros() as u64);
        LatencyFigures {
            mean_us: took.mean().map(|mean| (mean.as_secs_f64() * 1e7).round() / 10.0),
            p50_us: within(0.5),
            p90_us: within(0.9),
            p99_us: within(0.99),
            p999_us: within(0.999),
            p9999_us: within(0.9999),
            max_us: took.max().map(|max| max.as_micros() as u64),
        }
    }
}

/// Operations of one kind, of any size or of some.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct SizedLatency {
    /// Larger than this.
    pub above_bytes: u64,
    /// No larger than this. Null: there is no bound.
    pub up_to_bytes: Option<u64>,
    /// What was counted.
    pub counts: IoCounts,
    /// What people want to know of it.
    pub figures: LatencyFigures,
}

impl SizedLatency {
    fn new(above_bytes: u64, up_to_bytes: Option<u64>, all: &Operations) -> Self {
        let (counts, figures) = (all.into(), (&all.took).into());
        SizedLatency { above_bytes, up_to_bytes, counts, figures }
    }

    /// Those of a size.
    pub fn of_class(class: SizeClass, all: &Operations) -> Self {
        let before = SizeClass::ALL.into_iter().filter(|other| *other < class);
        let above = before.filter_map(SizeClass::bytes_max).max();
        Self::new(above.unwrap_or(0), class.bytes_max(), all)
    }

    /// Those of any size.
    pub fn of_any(all: &Operations) -> Self {
        Self::new(0, None, all)
    }
}

/// How long operations of one kind took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct KindLatency {
    /// All of them.
    pub all: SizedLatency,
    /// By their size, the smallest first; sizes that never came are left out.
    pub classes: Vec<SizedLatency>,
}

/// How long operations of a volume or a drive took.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Latency {
    /// Its pool.
    pub pool: String,
    /// Its name in the pool.
    pub name: String,
    /// As in [`IoStat`].
    pub instance: String,
    /// Operations that are not answered yet.
    pub operations_in_flight: u64,
    /// Reads.
    pub reads: KindLatency,
    /// Writes.
    pub writes: KindLatency,
    /// Of a volume Dataset Management that deallocates, and Write Zeroes; of a drive discards.
    pub trims: KindLatency,
}

/// Of what somebody wants to know.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IoScope {
    /// Pools, volumes and drives; none: all pools.
    pub names: Vec<String>,
    /// Also of the drives of these pools.
    pub drives: bool,
}
