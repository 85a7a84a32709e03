//! What it costs that latencies are counted at all times: the counting alone, beside the processor
//! time of operations of a pool's volume, which count.

use std::hint::black_box;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::latency::{Meter, OpKind, UnderWay};
use ashlar_block::{BLOCK_BYTES, ByteSize, Nanos, XorShift};
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::median;
use ashlar_reactor::now;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, memory_drives};
use super::fill::fill;
use super::parts::{nanos_each, thread_time};
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

/// Operations outstanding, and answers that are sent at once.
const DEPTH: usize = 32;
/// How often so many are counted, and how often that is measured.
const BATCHES: usize = 20_000;
const ROUNDS: usize = 11;
/// What is counted for an operation at most: it, and one of a drive. Drives look at the clock for
/// other reasons, too.
const COUNTED_PER_OPERATION: f64 = 2.0;
/// Times that operations take, in nanoseconds: what they differ by is more than a group.
const TOOK_NS_MIN: u64 = 20_000;
const TOOK_NS_SPREAD: u64 = 400_000;

/// What counting costs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Counting an operation, with its share of a look at the clock, in nanoseconds.
    pub counting_ns: f64,
    /// The loads that it is compared with.
    pub loads: Vec<Compared>,
}

/// A load on the volume of a pool.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// What it took, with all that is counted.
    pub summary: Summary,
    /// The part of it that counting takes, in percent.
    pub counting_percent: f64,
}

/// Measures it.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let settings = settings.clone();
    let counting_ns = counting_ns();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let loads = loads(&settings);
        let progress = Progress::new("counting", loads.len());
        let daemon = Daemon::start(&settings.program, &["--reactors".to_owned(), "1".to_owned()])?;
        let drives = memory_drives(settings.volume_bytes);
        daemon.create_pool(PoolPlan { name: "bench", level: "5", drives, chunk_bytes: None })?;
        let bytes = ByteSize(settings.volume_bytes / 2);
        let server = daemon.create_volume("bench", "counted", bytes)?;
        fill(&server, Content::Compressible).await?;
        let mut compared = Vec::new();
        for load in loads {
            progress.begin(&table::load_name(&load));
            let subjects = [Subject::volume(&server, load)];
            let measured = rounds::measure(&subjects, settings.rounds).await?;
            compared.push(Compared::new(measured[0].summary(), counting_ns));
        }
        Ok(Report { counting_ns, loads: compared })
    })?
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let load = |direction| {
        let load = Load::new(direction, BLOCK_BYTES as u32, 1, DEPTH as u32);
        settings.timed(Load { content: Content::Compressible, ..load })
    };
    let all = [Direction::Read, Direction::Write].map(load);
    all.into_iter().filter(|load| settings.wants(load)).collect()
}

/// Nanoseconds to count an operation: those that are answered together end by one look at the
/// clock.
fn counting_ns() -> f64 {
    let (meter, mut random) = (Rc::new(Meter::default()), XorShift::new(1));
    let began: Vec<u64> = (0..4096).map(|_| random.below(TOOK_NS_SPREAD)).collect();
    let round = |_| {
        let before = thread_time();
        count_batches(&meter, &began);
        nanos_each(thread_time().saturating_sub(before), BATCHES * DEPTH)
    };
    median(&(0..ROUNDS).map(round).collect::<Vec<f64>>())
}

fn count_batches(meter: &Rc<Meter>, began: &[u64]) {
    let mut answered: Vec<UnderWay> = Vec::with_capacity(DEPTH);
    let start = now();
    for batch in 0..BATCHES {
        for at in 0..DEPTH {
            let began = began[(batch * DEPTH + at) % began.len()];
            let began = Nanos(start.0 - TOOK_NS_MIN - began);
            let meter = black_box(meter);
            answered.push(meter.begin(OpKind::Read, BLOCK_BYTES as u64, began));
        }
        let at = now();
        answered.drain(..).for_each(|command| command.ended(at));
    }
}

impl Compared {
    fn new(summary: Summary, counting_ns: f64) -> Self {
        let operation = Duration::from_secs_f64(summary.cpu_us_per_operation / 1e6);
        let part = COUNTED_PER_OPERATION * counting_ns / (operation.as_secs_f64() * 1e9);
        Compared { summary, counting_percent: part * 100.0 }
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::new(&["SERVER", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "COUNTING"]);
        for compared in &self.loads {
            let name = table::load_name(&compared.summary.load);
            let part = format!("{:.2} %", compared.counting_percent);
            table::add(&mut table, &name, "level 5", &compared.summary, &[part]);
        }
        format!(
            "{table}\n\n\
             Counting what an operation took costs {:.1} ns. COUNTING: that twice, for the volume and for a drive, as\n\
             a part of the server's processor time for an operation.",
            self.counting_ns
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |compared: &Compared| {
            let name = table::load_name(&compared.summary.load);
            Verdict::new(Target::COUNTING, name, compared.counting_percent)
        };
        self.loads.iter().map(verdict).collect()
    }
}
