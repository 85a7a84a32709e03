//! What a working connection loses to connections that say nothing.

use std::net::TcpStream;
use std::time::Duration;

use anyhow::Context;
use ashlar_load::load::{Direction, Load};
use ashlar_load::ratio::Ratio;
use ashlar_target::nvme_tcp::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;

use super::progress::Progress;
use super::rounds::{self, Rounds, Subject, Summary};
use super::servers::{self, Server};
use super::targets::{Target, Verdict};
use super::{Figures, Settings, memory, table};

/// Connections that say nothing.
const SILENT: usize = 2000;
/// Connections, and operations outstanding on each, of the host that works.
const SHAPES: [(u16, u32); 2] = [(1, 1), (1, 32)];
const BYTES: u32 = 4 << 10;

/// A working connection with and without silent ones.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Connections that say nothing.
    pub silent: usize,
    /// Memory that one of them takes in the server, before it has said who it is.
    pub bytes_each: u64,
    /// Each load.
    pub loads: Vec<Compared>,
}

/// One load with and without them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// Without.
    pub alone: Summary,
    /// With.
    pub among: Summary,
    /// The 99th percentile with them beside the one without.
    pub p99: Option<Ratio>,
}

/// Measures a volume that keeps nothing.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let files = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files })
        .context("raising the number of open files")?;
    let most = SILENT as u32 * 2;
    let limits = Limits { connections_max: most, connecting_max: most, ..Limits::default() };
    let server = servers::start_null(Duration::ZERO, limits)?;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let mut report = Report { silent: SILENT, bytes_each: 0, loads: Vec::new() };
        let progress = Progress::new("silent", SHAPES.len());
        for (connections, depth) in SHAPES {
            let load = settings.timed(Load::new(Direction::Read, BYTES, connections, depth));
            progress.begin(&table::load_name(&load));
            report.loads.push(measure_one(&server, load, &settings, &mut report.bytes_each).await?);
        }
        Ok(report)
    })?
}

async fn measure_one(
    server: &Server,
    load: Load,
    settings: &Settings,
    bytes_each: &mut u64,
) -> anyhow::Result<Compared> {
    let subject = [Subject::volume(server, load)];
    let (mut alone, mut among) = (Rounds::default(), Rounds::default());
    for _ in 0..settings.rounds {
        alone.extend(rounds::measure(&subject, 1).await?);
        let before = memory::resident_bytes_of_this_process()?;
        let silent = connect_silently(server)?;
        among.extend(rounds::measure(&subject, 1).await?);
        let taken = memory::resident_bytes_of_this_process()?.saturating_sub(before);
        *bytes_each = (taken / SILENT as u64).max(*bytes_each);
        drop(silent);
    }
    Ok(Compared { p99: among.p99_ratio(&alone), alone: alone.summary(), among: among.summary() })
}

fn connect_silently(server: &Server) -> anyhow::Result<Vec<TcpStream>> {
    let connect = |_| TcpStream::connect(server.address).context("connecting to say nothing");
    (0..SILENT).map(connect).collect()
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::new(&["CONNECTION", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "P99"]);
        for compared in &self.loads {
            let name = table::load_name(&compared.alone.load);
            table::add(&mut table, &name, "alone", &compared.alone, &[String::new()]);
            let among = format!("among {} silent", self.silent);
            table::add(&mut table, "", &among, &compared.among, &[table::ratio(compared.p99)]);
        }
        format!(
            "{table}\n\nA silent connection takes {} bytes of the server's memory.",
            self.bytes_each
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let p99 = |compared: &Compared| {
            Verdict::of_ratio(
                Target::SILENT_P99,
                table::load_name(&compared.alone.load),
                compared.p99,
            )
        };
        let memory = Verdict::new(
            Target::SILENT_MEMORY,
            format!("{} connections", self.silent),
            self.bytes_each as f64 / 1024.0,
        );
        self.loads.iter().map(p99).chain([memory]).collect()
    }
}
