//! What serving costs: the program `ashlar-bench`, but for its allocator. Every section measures
//! servers in turn with their controls, in short rounds, and gives ratios: what all of them need is
//! the machine's, and cancels out.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nobody reads: see ashlar::stdio"
)]

mod allocations;
mod amplification;
mod args;
mod bandwidth;
mod churn;
mod codec;
mod collection;
mod copies;
mod counting;
mod daemon;
mod device;
mod directory;
mod fill;
mod idle;
mod inside;
mod interrupt;
mod loss;
mod machine;
mod map;
mod media;
mod memory;
mod parity;
mod parts;
mod profile;
mod program;
mod progress;
mod qos;
mod reactors;
mod rebuild;
mod recovery;
mod rounds;
mod scale;
mod servers;
mod silent;
mod steady;
mod store;
mod table;
mod targets;
mod turns;
mod wire;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use ashlar::Output;
use ashlar::stdio::print_line;
use ashlar_block::ByteSize;
use ashlar_load::load::Load;
use clap::ValueEnum;
use serde::Serialize;

use args::{Arguments, Section};
use machine::Machine;
use program::Program;
use targets::Verdict;

/// How long nothing is counted, so that buffers are warm.
const WARM_UP: Duration = Duration::from_millis(60);
/// The smallest volume: every load has to find room in it.
const VOLUME_BYTES_MIN: u64 = 64 << 20;
const ROUNDS_MAX: u32 = 100;
const SECONDS_MAX: f64 = 86_400.0;

/// How everything is measured.
#[derive(Clone, Debug)]
struct Settings {
    /// Whose daemons are measured.
    pub program: Program,
    /// Rounds of each load on each server.
    pub rounds: u32,
    /// How long a round is counted.
    pub round: Duration,
    /// Bytes of one drive of a pool, and of its volumes together.
    pub volume_bytes: u64,
    /// Only loads whose names contain this are measured.
    pub load: String,
}

/// All figures of one run.
#[derive(Clone, Debug, Default, Serialize)]
struct Report {
    /// Of Ashlar.
    version: &'static str,
    machine: Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    parity: Option<parity::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<wire::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<device::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<store::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steady: Option<steady::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<copies::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counting: Option<counting::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<idle::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<silent::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reactors: Option<reactors::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<codec::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    collection: Option<collection::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amplification: Option<amplification::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<recovery::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<scale::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<bandwidth::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media: Option<media::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<loss::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rebuild: Option<rebuild::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qos: Option<qos::Report>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allocations: Option<allocations::Report>,
    /// Every figure that has a target.
    verdicts: Vec<Verdict>,
}

impl Section {
    /// Seconds that a load is measured on a server, and in how many rounds, if nobody says
    /// otherwise.
    fn usual_rounds(self) -> (f64, u32) {
        match self {
            // 99th percentiles: shorter rounds have too few operations beyond them, and fewer
            // differ too much.
            Section::Silent => (20.0, 20),
            // Checkpoints come once in a while: each round is to have some.
            Section::Bandwidth => (15.0, 5),
            // Garbage is to be collected in each, at the pace of slow drives.
            Section::Media => (25.0, 5),
            // Likewise.
            Section::Steady => (5.0, 5),
            _ => (1.0, 5),
        }
    }

    /// Whether it measures a daemon of a process of its own.
    fn needs_daemon(self) -> bool {
        use Section::{Allocations, Copies, Parity, Scale, Silent, Wire};
        !matches!(self, Parity | Wire | Copies | Silent | Scale | Allocations)
    }

    /// The loads of it that are wanted, if it is a table of loads.
    fn loads(self, settings: &Settings) -> Vec<Load> {
        match self {
            Section::Wire => wire::all_loads(settings),
            Section::Device => device::loads(settings),
            Section::Store => store::loads(settings),
            Section::Steady => steady::loads(settings),
            Section::Copies => copies::loads(settings),
            Section::Counting => counting::loads(settings),
            Section::Allocations => allocations::loads(settings),
            _ => Vec::new(),
        }
    }
}

impl Settings {
    fn of(arguments: &Arguments, program: &Program, section: Section) -> anyhow::Result<Self> {
        let (seconds, rounds) = section.usual_rounds();
        let (seconds, rounds) =
            (arguments.seconds.unwrap_or(seconds), arguments.rounds.unwrap_or(rounds));
        ensure!(
            seconds > 0.0 && seconds <= SECONDS_MAX,
            "--seconds is {seconds}: it must be more than 0, and at most {SECONDS_MAX}"
        );
        ensure!(
            (1..=ROUNDS_MAX).contains(&rounds),
            "--rounds is {rounds}: it must be 1 to {ROUNDS_MAX}"
        );
        ensure!(
            arguments.volume_size.0 >= VOLUME_BYTES_MIN,
            "a volume of {} is too small to be measured: choose {} or more",
            arguments.volume_size,
            ByteSize(VOLUME_BYTES_MIN)
        );
        Ok(Settings {
            program: program.clone(),
            rounds,
            round: Duration::from_secs_f64(seconds / f64::from(rounds)),
            volume_bytes: arguments.volume_size.0,
            load: arguments.load.clone().unwrap_or_default(),
        })
    }

    /// `load`, for one round.
    pub fn timed(&self, load: Load) -> Load {
        Load { warm_up: WARM_UP, duration: self.round, ..load }
    }

    /// Whether `load` is to be measured.
    pub fn wants(&self, load: &Load) -> bool {
        table::load_name(load).contains(&self.load)
    }
}

impl Report {
    fn new() -> anyhow::Result<Self> {
        let version = env!("CARGO_PKG_VERSION");
        Ok(Report { version, machine: Machine::here()?, ..Report::default() })
    }

    /// Measures one section. Returns its figures for people.
    fn measure(&mut self, section: Section, settings: &Settings) -> anyhow::Result<String> {
        let (table, verdicts) = match section {
            Section::Parity => self.parity.insert(parity::measure(settings)?).shown(),
            Section::Wire => self.wire.insert(wire::measure(settings)?).shown(),
            Section::Device => self.device.insert(device::measure(settings)?).shown(),
            Section::Store => self.store.insert(store::measure(settings)?).shown(),
            Section::Steady => self.steady.insert(steady::measure(settings)?).shown(),
            Section::Copies => self.copies.insert(copies::measure(settings)?).shown(),
            Section::Counting => self.counting.insert(counting::measure(settings)?).shown(),
            Section::Idle => self.idle.insert(idle::measure(&settings.program)?).shown(),
            Section::Silent => self.silent.insert(silent::measure(settings)?).shown(),
            Section::Reactors => self.reactors.insert(reactors::measure(settings)?).shown(),
            Section::Bandwidth => self.bandwidth.insert(bandwidth::measure(settings)?).shown(),
            Section::Media => self.media.insert(media::measure(settings)?).shown(),
            Section::Scale => self.scale.insert(scale::measure(&settings.program)?).shown(),
            Section::Loss => self.loss.insert(loss::measure(settings)?).shown(),
            Section::Rebuild => self.rebuild.insert(rebuild::measure(settings)?).shown(),
            Section::Qos => self.qos.insert(qos::measure(settings)?).shown(),
            Section::Recovery => {
                self.recovery.insert(recovery::measure(&settings.program)?).shown()
            }
            Section::Allocations => {
                self.allocations.insert(allocations::measure(settings)?).shown()
            }
            Section::Amplification => {
                self.amplification.insert(amplification::measure(&settings.program)?).shown()
            }
            Section::Codec => self.codec.insert(codec::measure(settings)?).shown(),
            Section::Collection => self.collection.insert(collection::measure(settings)?).shown(),
        };
        let table = format!("{table}\n\n{}", targets::each(&verdicts));
        self.verdicts.extend(verdicts);
        Ok(table)
    }
}

/// What a section has measured.
trait Figures {
    /// The figures for people.
    fn table(&self) -> String;
    /// Every figure that has a target, beside it.
    fn verdicts(&self) -> Vec<Verdict>;
    /// Both.
    fn shown(&self) -> (String, Vec<Verdict>) {
        (self.table(), self.verdicts())
    }
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    ashlar::program::run(run)
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let output = arguments.output;
    let sections = planned(&arguments)?;
    interrupt::listen()?;
    let mut report = Report::new()?;
    if output == Output::Table {
        print_line(format_args!("Ashlar {}, {}\n", report.version, report.machine))?;
    }
    for (section, settings) in &sections {
        let measured = report.measure(*section, settings);
        // What else failed then did so because of it.
        interrupt::check()?;
        let table = measured.with_context(|| format!("measuring {section:?}"))?;
        if output == Output::Table {
            print_line(format_args!("{table}\n"))?;
        }
    }
    if output == Output::Table && sections.len() > 1 {
        print_line(format_args!("{}\n", targets::summary(&report.verdicts)))?;
    }
    show(&report, arguments.json_file.as_deref(), output)?;
    // Last: a picture that cannot be written must not cost the figures.
    arguments.plot.iter().zip(&report.loss).try_for_each(|(file, loss)| loss.draw(file))
}

/// Every section that is to be measured, and how: what cannot be done is refused before the first
/// of them takes its time.
fn planned(arguments: &Arguments) -> anyhow::Result<Vec<(Section, Settings)>> {
    let sections = sections(&arguments.only)?;
    ensure!(
        arguments.plot.is_none() || sections.contains(&Section::Loss),
        "--plot draws the section loss, which is not to be measured: leave --plot out, or say --only loss, too"
    );
    let program = Program::find(arguments.ashlar.as_deref())?;
    let with_settings =
        |section: &Section| Ok((*section, Settings::of(arguments, &program, *section)?));
    let planned = sections.iter().map(with_settings).collect::<anyhow::Result<Vec<_>>>()?;
    arguments.load.iter().try_for_each(|load| check_load(load, &planned))?;
    if sections.iter().any(|section| section.needs_daemon()) {
        program.check()?;
    }
    Ok(planned)
}

/// Refuses a text that is in the name of no load of these sections.
fn check_load(text: &str, planned: &[(Section, Settings)]) -> anyhow::Result<()> {
    let all = |(section, settings): &(Section, Settings)| {
        section.loads(&Settings { load: String::new(), ..settings.clone() })
    };
    let names: BTreeSet<String> =
        planned.iter().flat_map(all).map(|load| table::load_name(&load)).collect();
    ensure!(
        !names.is_empty(),
        "--load is '{text}', and none of the sections to be measured is a table of loads: leave --load out"
    );
    ensure!(
        names.iter().any(|name| name.contains(text)),
        "--load is '{text}', and no load has that in its name. The loads of these sections: {}",
        Vec::from_iter(names).join("; ")
    );
    Ok(())
}

/// What is to be measured: everything that can be, if nothing is named.
fn sections(only: &[Section]) -> anyhow::Result<Vec<Section>> {
    let counts = allocations::are_counted();
    ensure!(
        counts || !only.contains(&Section::Allocations),
        "this program does not count allocations: cargo run --release -p ashlar-bench --example count_allocations \
         -- --only allocations does"
    );
    let all = || Section::value_variants().iter().copied();
    let can = |section: &Section| counts || *section != Section::Allocations;
    Ok(if only.is_empty() { all().filter(can).collect() } else { only.to_vec() })
}

fn show(report: &Report, file: Option<&Path>, output: Output) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    if output == Output::Json {
        print_line(&json)?;
    }
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, json + "\n")
        .with_context(|| format!("cannot write {}", file.display()))?;
    if output == Output::Table {
        print_line(format_args!("The same as JSON: {}", file.display()))?;
    }
    Ok(())
}
