//! `cargo run -p sim -- --seeds N [--seed S]`: the whole store on bad drives, as often as wanted.

mod amplification;
mod check;
mod content;
mod coverage;
mod cycles;
mod drive;
mod drives;
mod fault;
mod full;
mod good;
mod hosts;
mod known;
mod ledger;
mod membership;
mod model;
mod order;
mod outcome;
mod plan;
mod platter;
mod proof;
mod scenario;
mod scrubs;
mod service;
mod start;
mod volumes;
mod world;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use amplification::{Measured, Pattern};
use ashlar_block::XorShift;
use clap::Parser;
use coverage::Coverage;
use mimalloc::MiMalloc;
use outcome::Outcome;
use plan::Plan;

/// A tenth of the simulation's time would otherwise go into the C library's allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Runs the whole store on simulated, faulty drives with power cuts, and checks every block against
/// a model.
///
/// A failing seed prints the command that replays it exactly.
#[derive(Parser)]
#[command(after_help = "Examples:\n  sim --seeds 1000\n  sim --states 20000\n  sim --seed 42 -v")]
struct Arguments {
    /// How many seeds to run, from --first on.
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// Run as many seeds as make this many crash states, instead of --seeds.
    #[arg(long)]
    states: Option<u64>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Run only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Only pools whose power is cut, none that is filled: a fifth of the time goes to those.
    #[arg(long)]
    crashes: bool,
    /// Tell in how many seeds two circumstances of a write have met, of which the fewest: what is
    /// hardly drawn.
    #[arg(long)]
    coverage: bool,
    /// Fill pools of three sizes on good drives until they refuse, trim and fill them again
    /// instead, so many times.
    #[arg(long)]
    cycles: Option<u64>,
    /// Measure write amplification instead, on good drives.
    #[arg(long)]
    amplification: bool,
    /// Segments of the pool whose write amplification is measured; a pool of real drives has
    /// thousands.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(350..=100_000))]
    segments: u64,
    /// KiB of its chunks; those of a pool of real drives have 1 to 16 MiB.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(64..=65_536))]
    chunk_kib: u32,
    /// Measure only this part of the pool's space alive, in percent.
    #[arg(long)]
    live: Option<u64>,
    /// Threads; by default one for each processor.
    #[arg(long)]
    threads: Option<usize>,
    /// Tell what happens; twice: all of it.
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Arguments {
    /// What makes a seed's plan.
    fn plan(&self) -> MakePlan {
        if self.crashes { Plan::faults } else { Plan::of }
    }
}

type MakePlan = fn(&mut XorShift) -> Plan;

/// Crash states of a run that has to have met everything.
const LONG_RUN_STATES: u64 = 20_000;
/// The same, also what is seldom met.
const VERY_LONG_RUN_STATES: u64 = 200_000;

/// Crash states after which a line says how far it is.
const STATES_PER_LINE: u64 = 5000;

#[derive(Default)]
struct Totals {
    seeds: u64,
    outcome: Outcome,
    coverage: Coverage,
    failures: Vec<(u64, String)>,
}

impl Totals {
    fn add(&mut self, seed: u64, result: Result<(Outcome, Coverage), String>) {
        self.seeds += 1;
        match result {
            Ok((outcome, coverage)) => {
                self.outcome += outcome;
                self.coverage.add_seed(&coverage);
            }
            Err(error) => self.failures.push((seed, error)),
        }
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let level = match arguments.verbose {
        0 => tracing::Level::ERROR,
        1 => tracing::Level::DEBUG,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    if let Some(seed) = arguments.seed {
        return scenario::run(seed, arguments.plan())
            .map(|outcome| println!("{outcome:#?}"))
            .map_err(anyhow::Error::msg);
    }
    if let Some(count) = arguments.cycles {
        return cycles::in_all_sizes(count).map_err(anyhow::Error::msg);
    }
    if arguments.amplification {
        return report_amplification(&arguments);
    }
    simulate(&arguments)
}

/// Runs as many seeds as asked for.
///
/// # Errors
/// Seeds that failed, or what a long run has not met.
fn simulate(arguments: &Arguments) -> anyhow::Result<()> {
    name_seeds_of_panics();
    let started = Instant::now();
    let totals = run_all(arguments, started);
    report(&totals, started.elapsed(), arguments.crashes);
    anyhow::ensure!(totals.failures.is_empty(), "{} seeds failed", totals.failures.len());
    if arguments.coverage {
        report_coverage(&totals.coverage);
    }
    if totals.outcome.crash_states() >= LONG_RUN_STATES {
        let mut lacks = totals.outcome.lacks(arguments.crashes);
        let is_very_long = totals.outcome.crash_states() >= VERY_LONG_RUN_STATES;
        lacks.extend(totals.coverage.lacks(is_very_long));
        anyhow::ensure!(
            lacks.is_empty(),
            "the run has not met what it should: {}",
            lacks.join("; ")
        );
    }
    Ok(())
}

fn report_amplification(arguments: &Arguments) -> anyhow::Result<()> {
    println!("{:10}{:>8}{:>12}{:>12}", "pattern", "live", "blocks", "bytes");
    let loads = [
        (Pattern::Uniform, 70),
        (Pattern::Uniform, 80),
        (Pattern::Uniform, 83),
        (Pattern::HotCold, 70),
        (Pattern::HotCold, 80),
    ];
    for (pattern, live_percent) in loads {
        if arguments.live.is_some_and(|only| only != live_percent) {
            continue;
        }
        let (segments, chunk_bytes) = (arguments.segments, arguments.chunk_kib << 10);
        let pool = Measured { segments, chunk_bytes, live_percent };
        let measured = amplification::measure(pattern, pool).map_err(anyhow::Error::msg)?;
        let name = format!("{pattern:?}");
        println!("{name:10}{live_percent:>6} %{:>12.2}{:>12.2}", measured.blocks, measured.bytes);
    }
    Ok(())
}

fn run_all(arguments: &Arguments, started: Instant) -> Totals {
    let next = AtomicU64::new(arguments.first);
    let states = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let end = arguments.states.map_or(arguments.first + arguments.seeds, |_| u64::MAX);
    let enough = |states: u64| arguments.states.is_some_and(|wanted| states >= wanted);
    let threads = arguments
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let worker = || {
        let mut totals = Totals::default();
        while !enough(states.load(Ordering::Relaxed)) && !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let result = run_seed(seed, arguments.plan());
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            let more = result.as_ref().map_or(0, |(outcome, _)| outcome.crash_states());
            tell_progress(states.fetch_add(more, Ordering::Relaxed), more, started);
            totals.add(seed, result);
        }
        totals
    };
    let mut all = Totals::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            let totals = worker.join().expect("panics are caught");
            all.seeds += totals.seeds;
            all.outcome += totals.outcome;
            all.coverage.add(&totals.coverage);
            all.failures.extend(totals.failures);
        }
    });
    all
}

/// Says how far it is, from time to time.
fn tell_progress(before: u64, more: u64, started: Instant) {
    let states = before + more;
    if before / STATES_PER_LINE != states / STATES_PER_LINE {
        let per_second = states as f64 / started.elapsed().as_secs_f64();
        eprintln!("{states} crash states, {per_second:.0}/s");
    }
}

thread_local! {
    /// The seed that this thread runs.
    static SEED: Cell<u64> = const { Cell::new(0) };
}

/// Names the seed of each panic, also of one that ends the process: that of a panic's own clearing
/// up, and any in a release build.
fn name_seeds_of_panics() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        println!("seed {} panics", SEED.get());
        report(panic);
    }));
}

fn run_seed(seed: u64, plan: MakePlan) -> Result<(Outcome, Coverage), String> {
    SEED.set(seed);
    catch_unwind(AssertUnwindSafe(|| scenario::run_covering(seed, plan))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("seed {seed}: panic: {}", text.unwrap_or_default()))
    })
}

fn report(totals: &Totals, elapsed: Duration, crashes: bool) {
    let outcome = &totals.outcome;
    let states = outcome.crash_states();
    println!(
        "seeds {}  crash states {states}  ({} at work, {} in recovery, {} in creation)  {:.1} s, {:.0}/s",
        totals.seeds,
        outcome.work_cuts,
        outcome.recovery_cuts,
        outcome.creation_cuts,
        elapsed.as_secs_f64(),
        states as f64 / elapsed.as_secs_f64()
    );
    report_outcome(outcome);
    for (seed, error) in &totals.failures {
        let crashes = if crashes { "--crashes " } else { "" };
        println!(
            "FAILED {error}\n  replay: cargo run --profile testing -p sim -- {crashes}--seed {seed} --verbose"
        );
    }
}

fn report_outcome(outcome: &Outcome) {
    let during: Vec<String> =
        outcome.cuts_by_activity().map(|(activity, cuts)| format!("{activity:?} {cuts}")).collect();
    println!("cuts of full pools {}  cuts during: {}", outcome.cuts_of_full, during.join("  "));
    let faults: Vec<String> =
        outcome.faults.iter().map(|(fault, times)| format!("{fault:?} {times}")).collect();
    println!("faults: {}", faults.join("  "));
    println!(
        "clean stops {}  opens given up for a full file system or silent drives {}  a drive too many away: refused {}, opened {}",
        outcome.clean_stops,
        outcome.given_up_opens,
        outcome.overdrawn_refusals,
        outcome.overdrawn_opens
    );
    println!(
        "acknowledged {}  refused {}  full pools filled again {}  resized {}  replayed batches {}  torn {}  rewritten {}",
        outcome.acknowledged,
        outcome.refused,
        outcome.filled_again,
        outcome.resized,
        outcome.replayed,
        outcome.torn,
        outcome.rewritten
    );
    report_upkeep(outcome);
    report_corruption(outcome);
}

fn report_upkeep(outcome: &Outcome) {
    println!(
        "segments collected {}  compressed anew {}  dictionaries {}  sweeps {}, of them while hosts were quiet {}  columns kept {}  columns restored {}  moved {}  corrupt reads corrected {}  sectors repaired {}",
        outcome.collected,
        outcome.recompressed,
        outcome.dictionaries,
        outcome.sweeps,
        outcome.idle_sweeps,
        outcome.columns_kept,
        outcome.columns_restored,
        outcome.columns_moved,
        outcome.corrupt_reads_corrected,
        outcome.sectors_repaired
    );
    println!(
        "drives lost {}  for faults {}  for silence {}  healed {}  added {}  removed {}  returned {}",
        outcome.drives_lost,
        outcome.drives_faulty,
        outcome.drives_silent,
        outcome.drives_healed,
        outcome.drives_added,
        outcome.drives_removed,
        outcome.drives_returned
    );
}

/// Pairs that are told of.
const RARE_PAIRS: usize = 25;

fn report_coverage(coverage: &Coverage) {
    let pairs = coverage.pairs();
    let met = pairs.iter().filter(|(seeds, _)| *seeds > 0).count();
    println!("pairs of circumstances that writes have met: {met} of {}. The rarest:", pairs.len());
    println!("{:>7}  pair", "seeds");
    pairs.iter().take(RARE_PAIRS).for_each(|(seeds, pair)| println!("{seeds:>7}  {pair}"));
}

fn report_corruption(outcome: &Outcome) {
    let (corruption, unsought) = (outcome.corruption, outcome.corrupt_unsought);
    println!(
        "sectors corrupted {}  met by a read {}  repaired {}  overwritten {}  left where nothing lives {}  in pools that were not scrubbed {unsought}  pools scrubbed {}, with {} of them where something lived",
        corruption.corrupted,
        corruption.met,
        corruption.repaired,
        corruption.overwritten,
        corruption.left() - unsought,
        outcome.scrubbed,
        outcome.corrupt_alive
    );
}

#[cfg(test)]
mod cramped;
#[cfg(test)]
mod emptied;
#[cfg(test)]
mod halting;
#[cfg(test)]
mod held;
#[cfg(test)]
mod lopsided;
#[cfg(test)]
mod loss;
#[cfg(test)]
mod mixed;
#[cfg(test)]
mod overwritten;
#[cfg(test)]
mod rivals;
#[cfg(test)]
mod short;
#[cfg(test)]
mod small;
#[cfg(test)]
mod successor;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod versions;
