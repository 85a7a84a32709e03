//! One reactor beside two: what another thread brings, and what it costs that a pool lives on one
//! of them only.

use ashlar_block::ByteSize;
use ashlar_load::cpu::CpuClock;
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, memory_drives};
use super::fill::fill;
use super::program::Program;
use super::progress::Progress;
use super::rounds::{self, Rounds, Subject, Summary};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

const BYTES: u32 = 4 << 10;
/// Connections, and operations outstanding on each, where there is much to do.
const MANY: (u16, u32) = (4, 32);
const DRIVE_BYTES: u64 = 512 << 20;
const VOLUME: ByteSize = ByteSize(256 << 20);
/// A connection is at home if the other reactor does less than this part of what both do.
const AWAY_SHARE_MIN: f64 = 0.15;
/// Connections that are tried so that there are some on each of two reactors: the kernel spreads
/// them as it likes.
const CONNECTIONS_MAX: usize = 24;

/// One reactor and two.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Reads, and writes.
    pub directions: Vec<Compared>,
}

/// One direction on one reactor and on two.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// One operation at a time, on one reactor.
    pub one: Summary,
    /// The same on the pool's own reactor of two.
    pub home: Option<Summary>,
    /// The same on the other reactor.
    pub away: Option<Summary>,
    /// Many operations, on one reactor.
    pub one_busy: Summary,
    /// The same on two reactors.
    pub two_busy: Summary,
    /// Operations per second of two reactors beside one's.
    pub busy_rate: Option<Ratio>,
}

/// A daemon with a pool on memory.
struct Rig {
    daemon: Daemon,
    server: Server,
}

/// Measures a pool on memory.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let (one, two) = (Rig::start(&settings.program, 1)?, Rig::start(&settings.program, 2)?);
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let mut report = Report { directions: Vec::new() };
        fill(&one.server, Content::Incompressible).await?;
        fill(&two.server, Content::Incompressible).await?;
        let progress = Progress::new("reactors", 2);
        for direction in [Direction::Read, Direction::Write] {
            progress.begin(&table::load_name(&Load::new(direction, BYTES, 1, 1)));
            report.directions.push(compare(&one, &two, direction, &settings).await?);
        }
        Ok(report)
    })?
}

impl Rig {
    fn start(program: &Program, reactors: usize) -> anyhow::Result<Self> {
        let daemon = Daemon::start(program, &["--reactors".to_owned(), reactors.to_string()])?;
        let drives = memory_drives(DRIVE_BYTES);
        daemon.create_pool(PoolPlan { name: "bench", level: "5", drives, chunk_bytes: None })?;
        let server = daemon.create_volume("bench", "v0", VOLUME)?;
        Ok(Rig { daemon, server })
    }
}

async fn compare(
    one: &Rig,
    two: &Rig,
    direction: Direction,
    settings: &Settings,
) -> anyhow::Result<Compared> {
    let single = settings.timed(Load::new(direction, BYTES, 1, 1));
    let busy = settings.timed(Load::new(direction, BYTES, MANY.0, MANY.1));
    let Singles { alone, home, away } = measure_singles(one, two, single, settings.rounds).await?;
    let pair = [Subject::volume(&one.server, busy), Subject::volume(&two.server, busy)];
    let many = rounds::measure(&pair, settings.rounds).await?;
    Ok(Compared {
        one: alone.summary(),
        home: home.some_summary(),
        away: away.some_summary(),
        one_busy: many[0].summary(),
        two_busy: many[1].summary(),
        busy_rate: many[1].iops_ratio(&many[0]),
    })
}

/// One operation at a time.
#[derive(Default)]
struct Singles {
    /// On one reactor.
    alone: Rounds,
    /// On the pool's own of two.
    home: Rounds,
    /// On the other.
    away: Rounds,
}

/// Loads one reactor and, with connection after connection, two, until enough of those were on
/// either of the two.
async fn measure_singles(one: &Rig, two: &Rig, load: Load, rounds: u32) -> anyhow::Result<Singles> {
    let clocks = two.daemon.reactor_clocks()?;
    let mut singles = Singles::default();
    for _ in 0..CONNECTIONS_MAX {
        singles.alone.extend(rounds::measure(&[Subject::volume(&one.server, load)], 1).await?);
        let before = spent(&clocks)?;
        let round = rounds::measure(&[Subject::volume(&two.server, load)], 1).await?;
        let spent: Vec<f64> =
            spent(&clocks)?.iter().zip(&before).map(|(after, before)| after - before).collect();
        let kind = if is_away(&spent) { &mut singles.away } else { &mut singles.home };
        kind.extend(round);
        if singles.home.count().min(singles.away.count()) >= rounds as usize {
            break;
        }
    }
    Ok(singles)
}

fn spent(clocks: &[CpuClock]) -> std::io::Result<Vec<f64>> {
    clocks.iter().map(|clock| clock.spent().map(|spent| spent.as_secs_f64())).collect()
}

/// Whether more than one reactor had work, by the processor time of each.
fn is_away(spent: &[f64]) -> bool {
    let total: f64 = spent.iter().sum();
    let busiest = spent.iter().copied().fold(0.0, f64::max);
    total - busiest >= AWAY_SHARE_MIN * total
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::new(&["REACTORS", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "RATE"]);
        let mut hops = Vec::new();
        for compared in &self.directions {
            let none = [String::new()];
            table::add(
                &mut table,
                &table::load_name(&compared.one.load),
                "one",
                &compared.one,
                &none,
            );
            for (name, summary) in [("two, same", compared.home), ("two, other", compared.away)] {
                summary.iter().for_each(|summary| table::add(&mut table, "", name, summary, &none));
            }
            table::add(
                &mut table,
                &table::load_name(&compared.one_busy.load),
                "one",
                &compared.one_busy,
                &none,
            );
            table::add(
                &mut table,
                "",
                "two",
                &compared.two_busy,
                &[table::ratio(compared.busy_rate)],
            );
            hops.extend(compared.hop());
        }
        format!(
            "{table}\n\nA pool lives on one reactor. Same: connections that this reactor serves; other: connections of the\n\
             other one, whose operations go from thread to thread and back.\n{}",
            hops.join("\n")
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |compared: &Compared| {
            let alone = table::load_name(&compared.one.load);
            let busy = table::load_name(&compared.one_busy.load);
            let (latency, processor) = compared.hop_us().unzip();
            [
                Verdict::of_ratio(Target::TWO_REACTORS, busy, compared.busy_rate),
                Verdict::new(Target::HOP_LATENCY, &alone, latency),
                Verdict::new(Target::HOP_PROCESSOR, &alone, processor),
            ]
        };
        self.directions.iter().flat_map(of).collect()
    }
}

impl Compared {
    /// What the way to another reactor and back costs: latency, and processor time.
    fn hop_us(&self) -> Option<(f64, f64)> {
        let (home, away) = self.home.zip(self.away)?;
        Some((away.p50_us - home.p50_us, away.cpu_us_per_operation - home.cpu_us_per_operation))
    }

    /// The same in words.
    fn hop(&self) -> Option<String> {
        let (latency, processor) = self.hop_us()?;
        let name = table::load_name(&self.one.load);
        Some(format!(
            "The hop, {name}: {latency:.1} µs of latency, {processor:.1} µs of processor time."
        ))
    }
}

#[cfg(test)]
mod tests;
