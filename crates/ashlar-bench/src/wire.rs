//! The wire alone: a volume that keeps nothing beside a server that only moves the same bytes, both
//! on a thread of this process, sleeping and spinning, with digests and without.

use std::time::Duration;

use ashlar_load::initiator::Digests;
use ashlar_load::load::{Direction, Load};
use ashlar_load::ratio::Ratio;
use ashlar_target::nvme_tcp::Limits;
use serde::Serialize;

use super::progress::Progress;
use super::rounds::{self, Protocol, Subject, Summary};
use super::servers::{self, Server};
use super::targets::{self, Target, Verdict};
use super::{Figures, Settings, table};

/// Connections, and operations outstanding on each, of 4 KiB.
const SMALL_SHAPES: [(u16, u32); 6] = [(1, 1), (1, 32), (1, 128), (4, 1), (4, 32), (4, 128)];
/// The same of 128 KiB.
const LARGE_SHAPES: [(u16, u32); 2] = [(1, 32), (4, 8)];
const SMALL_BYTES: u32 = 4 << 10;
const LARGE_BYTES: u32 = 128 << 10;
/// How long spinning servers look for work before they sleep.
const SPIN: Duration = Duration::from_micros(50);
/// Operations outstanding where digests are measured.
const DIGESTS_DEPTH: u32 = 32;

/// The wire's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Every load on a volume that keeps nothing, beside the echo server.
    pub loads: Vec<Compared>,
    /// One operation at a time, on servers that spin before they sleep.
    pub spinning: Vec<Compared>,
    /// With header and data digests, beside the same volume without: reads of a drive in memory,
    /// writes of a volume that keeps nothing.
    pub digests: Vec<Compared>,
}

/// A load on two servers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// The control.
    pub control: Summary,
    /// What is compared with it.
    pub subject: Summary,
    /// The subject's operations per processor second beside the control's.
    pub rate: Option<Ratio>,
    /// The subject's median latency beside the control's.
    pub p50: Option<Ratio>,
}

/// The servers of this section.
struct Servers {
    echo: Server,
    null: Server,
    spinning_echo: Server,
    spinning_null: Server,
    /// What has digests to compute: that of the null volume's zeros is known by their length.
    device: Server,
}

/// Measures the wire.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let servers = Servers {
        echo: servers::start_echo(Duration::ZERO)?,
        null: servers::start_null(Duration::ZERO, Limits::default())?,
        spinning_echo: servers::start_echo(SPIN)?,
        spinning_null: servers::start_null(SPIN, Limits::default())?,
        device: super::device::start_device()?,
    };
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        measure_all(&servers, &settings).await
    })?
}

fn loads(settings: &Settings) -> Vec<Load> {
    let shapes = SMALL_SHAPES.map(|shape| (SMALL_BYTES, shape)).into_iter();
    let shapes = shapes.chain(LARGE_SHAPES.map(|shape| (LARGE_BYTES, shape)));
    let of = |direction| {
        let load =
            move |(bytes, (connections, depth))| Load::new(direction, bytes, connections, depth);
        shapes.clone().map(move |shape| settings.timed(load(shape)))
    };
    of(Direction::Read).chain(of(Direction::Write)).filter(|load| settings.wants(load)).collect()
}

fn loads_one_by_one(settings: &Settings) -> Vec<Load> {
    let loads = [Direction::Read, Direction::Write]
        .map(|direction| settings.timed(Load::new(direction, SMALL_BYTES, 1, 1)));
    loads.into_iter().filter(|load| settings.wants(load)).collect()
}

fn loads_with_digests(settings: &Settings) -> Vec<Load> {
    let loads = [
        (Direction::Read, SMALL_BYTES),
        (Direction::Write, SMALL_BYTES),
        (Direction::Read, LARGE_BYTES),
        (Direction::Write, LARGE_BYTES),
    ]
    .map(|(direction, bytes)| settings.timed(Load::new(direction, bytes, 1, DIGESTS_DEPTH)));
    loads.into_iter().filter(|load| settings.wants(load)).collect()
}

/// The loads that are wanted, of all of its tables.
pub fn all_loads(settings: &Settings) -> Vec<Load> {
    [loads(settings), loads_one_by_one(settings), loads_with_digests(settings)].concat()
}

async fn measure_all(servers: &Servers, settings: &Settings) -> anyhow::Result<Report> {
    let (loads, spinning, digests) =
        (loads(settings), loads_one_by_one(settings), loads_with_digests(settings));
    let mut report = Report { loads: Vec::new(), spinning: Vec::new(), digests: Vec::new() };
    let progress = Progress::new("wire", loads.len() + spinning.len() + digests.len());
    for load in loads {
        let pair = [Subject::echo(&servers.echo, load), Subject::volume(&servers.null, load)];
        report.loads.push(compare(pair, settings, &progress).await?);
    }
    for load in spinning {
        let pair = [
            Subject::echo(&servers.spinning_echo, load),
            Subject::volume(&servers.spinning_null, load),
        ];
        report.spinning.push(compare(pair, settings, &progress).await?);
    }
    for load in digests {
        let server =
            if load.direction == Direction::Read { &servers.device } else { &servers.null };
        let without = Subject::volume(server, load);
        let both = Digests { header: true, data: true };
        let pair = [without, Subject { protocol: Protocol::Nvme(both), ..without }];
        report.digests.push(compare(pair, settings, &progress).await?);
    }
    Ok(report)
}

async fn compare(
    [control, subject]: [Subject<'_>; 2],
    settings: &Settings,
    progress: &Progress,
) -> anyhow::Result<Compared> {
    progress.begin(&table::load_name(&control.load));
    let measured = rounds::measure(&[control, subject], settings.rounds).await?;
    let (control, subject) = (&measured[0], &measured[1]);
    Ok(Compared {
        control: control.summary(),
        subject: subject.summary(),
        rate: subject.rate_ratio(control),
        p50: subject.p50_ratio(control),
    })
}

impl Compared {
    /// Beside what a polling target is known to do, if it is for this load.
    fn beside_polling(&self) -> Option<Verdict> {
        let polling = targets::polling_null(&self.control.load)?;
        let ratio = self.subject.operations_per_cpu_second / polling;
        Some(Verdict::new(Target::POLLING_NULL, table::load_name(&self.control.load), ratio))
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::new(&["SERVER", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "RATE", "P50"]);
        add_rows(&mut table, &self.loads, ["echo", "null"]);
        add_rows(&mut table, &self.spinning, ["echo, spinning", "null, spinning"]);
        add_rows(&mut table, &self.digests, ["without", "digests"]);
        format!(
            "{table}\n\n\
             null: a volume that keeps nothing. CPU: the server's processor time for an operation. RATE: operations\n\
             per processor second beside the row above it; P50 behind it: the latency beside that row's. Both are\n\
             medians of ratios round by round, with what another run may show (one in twenty is beyond). Spinning:\n\
             for up to {} µs before a sleep. Digests: of headers and data.",
            SPIN.as_micros()
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let name = |compared: &Compared| table::load_name(&compared.control.load);
        let mut verdicts = Vec::new();
        for compared in &self.loads {
            verdicts.push(Verdict::of_ratio(Target::ECHO_RATE, name(compared), compared.rate));
        }
        let alone = self.loads.iter().filter(|compared| compared.control.load.depth == 1);
        verdicts.extend(
            alone.map(|compared| {
                Verdict::of_ratio(Target::ECHO_LATENCY, name(compared), compared.p50)
            }),
        );
        for compared in &self.spinning {
            verdicts.push(Verdict::of_ratio(
                Target::SPINNING_LATENCY,
                name(compared),
                compared.p50,
            ));
        }
        for compared in &self.digests {
            verdicts.push(Verdict::of_ratio(Target::DIGESTS, name(compared), compared.rate));
        }
        verdicts.extend(self.loads.iter().filter_map(Compared::beside_polling));
        verdicts
    }
}

fn add_rows(table: &mut comfy_table::Table, all: &[Compared], [control, subject]: [&str; 2]) {
    for compared in all {
        let name = table::load_name(&compared.control.load);
        table::add(table, &name, control, &compared.control, &[String::new(), String::new()]);
        let ratios = [table::ratio(compared.rate), table::ratio(compared.p50)];
        table::add(table, "", subject, &compared.subject, &ratios);
    }
}
