//! What serving costs: volumes that keep nothing and volumes of a pool, each beside a server that only moves
//! the same bytes. What all of them need is the machine's, and cancels out in the ratios.

mod daemon;
mod parts;
mod servers;
mod table;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use ashlar_bench::echo;
use ashlar_bench::initiator::{ConnectOptions, Controller, HostIdentity};
use ashlar_bench::wire_bench::{self, Direction, Figures, Load};
use ashlar_block::{AlignedBuf, ByteSize, XorShift};
use ashlar_reactor::{sleep, spawn_joined};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::args::{BenchArguments, Output};
use daemon::Daemon;
use parts::Parts;
use servers::Server;

/// How long nothing is counted, so that buffers are warm.
const WARM_UP: Duration = Duration::from_millis(300);
/// Connections, and operations outstanding on each: depths 1, 32 and 128.
const SHAPES: [(u16, u32); 3] = [(1, 1), (1, 32), (4, 32)];
/// Bytes of one operation.
const SIZES: [u32; 2] = [4 << 10, 128 << 10];
/// Hosts that are connected, each with some I/O queues, while the daemon has nothing to do.
const IDLE_HOSTS: u8 = 8;
const IDLE_IO_QUEUES: u16 = 4;
/// Bytes of one write, and writes outstanding, when the pool's volume is filled.
const FILL_BYTES: u32 = 128 << 10;
const FILL_DEPTH: u64 = 16;
/// The smallest volume: every load has to find room in it.
const VOLUME_BYTES_MIN: u64 = 64 << 20;

/// All figures of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Of Ashlar.
    pub version: &'static str,
    /// Processors that the servers and the load had between them.
    pub processors: usize,
    /// A daemon with nothing to do.
    pub idle: Idle,
    /// What storing a block cannot do without.
    pub parts: Parts,
    /// Each load.
    pub loads: Vec<Comparison>,
}

/// A daemon with connected hosts that ask for nothing.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Idle {
    /// Hosts.
    pub hosts: u8,
    /// I/O queues of all of them, a connection each.
    pub io_queues: u32,
    /// How much of one processor it takes.
    pub cpu_percent: f64,
    /// Memory that it has, without its drives, which are memory.
    pub resident_bytes: u64,
}

/// One load on each server. A cost is the processor time of an operation, as a multiple of the echo server's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Comparison {
    /// The server that only moves the same bytes.
    pub echo: Figures,
    /// A volume that keeps nothing.
    pub null: Figures,
    /// Cost of the volume that keeps nothing.
    pub null_cost: Option<f64>,
    /// A volume of a pool of level 5 on memory.
    pub pool: Figures,
    /// Cost of the pool's volume.
    pub pool_cost: Option<f64>,
    /// The processor time of the pool's volume as a multiple of the echo server's and the unavoidable parts'.
    pub pool_over_parts: Option<f64>,
}

/// `ashlar bench`.
pub fn run(arguments: &BenchArguments, output: Output) -> anyhow::Result<()> {
    let volume_bytes = arguments.volume_size.0 / u64::from(FILL_BYTES) * u64::from(FILL_BYTES);
    ensure!(arguments.seconds > 0, "each load has to run for at least one second");
    ensure!(
        volume_bytes >= VOLUME_BYTES_MIN,
        "a volume of {} is too small to be measured: choose {} or more",
        arguments.volume_size,
        ByteSize(VOLUME_BYTES_MIN)
    );
    let duration = Duration::from_secs(arguments.seconds);
    let parts = Parts::measure()?;
    let (echo, null) = (servers::start_echo()?, servers::start_null()?);
    let daemon = Daemon::start(volume_bytes)?;
    let report = ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let idle = measure_idle(&daemon, duration).await?;
        fill(&daemon.server).await?;
        let loads = measure_all([&echo, &null, &daemon.server], duration, parts).await?;
        let processors = std::thread::available_parallelism()?.get();
        anyhow::Ok(Report { version: env!("CARGO_PKG_VERSION"), processors, idle, parts, loads })
    })??;
    show(&report, arguments.json_file.as_deref(), output)
}

fn show(report: &Report, file: Option<&Path>, output: Output) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(report)?;
    match output {
        Output::Json => println!("{json}"),
        Output::Table => println!("{}", table::report(report)),
    }
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, json + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    if output == Output::Table {
        println!("\nThe same as JSON: {}", file.display());
    }
    Ok(())
}

fn loads(duration: Duration) -> impl Iterator<Item = Load> {
    let directions = [Direction::Read, Direction::Write].into_iter();
    let kinds = directions.flat_map(|direction| SIZES.map(|bytes| (direction, bytes)));
    kinds.flat_map(move |(direction, bytes)| {
        SHAPES.map(|(connections, depth)| Load {
            direction,
            bytes,
            connections,
            depth,
            warm_up: WARM_UP,
            duration,
        })
    })
}

async fn measure_all(
    [echo, null, pool]: [&Server; 3],
    duration: Duration,
    parts: Parts,
) -> anyhow::Result<Vec<Comparison>> {
    let loads: Vec<Load> = loads(duration).collect();
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} loads  {msg}")?;
    let bar = ProgressBar::new(loads.len() as u64).with_style(style);
    let mut comparisons = Vec::new();
    for load in loads {
        bar.set_message(table::load_name(&load));
        let echoed = echo::measure(echo.address, load, Some(&echo.clock)).await;
        let echoed = echoed.map_err(|error| anyhow!("the echo server: {error}"))?;
        comparisons.push(compare(echoed, measure(null, load).await?, measure(pool, load).await?, parts));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(comparisons)
}

fn compare(echo: Figures, null: Figures, pool: Figures, parts: Parts) -> Comparison {
    let cost = |figures: Figures| {
        Some(echo.operations_per_cpu_second? / figures.operations_per_cpu_second.filter(|rate| *rate > 0.0)?)
    };
    let seconds =
        |figures: Figures| Some(1.0 / figures.operations_per_cpu_second.filter(|rate| *rate > 0.0)?);
    let floor = seconds(echo).map(|wire| wire + parts.of(&echo.load).as_secs_f64());
    let pool_over_parts = seconds(pool).zip(floor).map(|(pool, floor)| pool / floor);
    Comparison { echo, null, null_cost: cost(null), pool, pool_cost: cost(pool), pool_over_parts }
}

async fn measure(server: &Server, load: Load) -> anyhow::Result<Figures> {
    let figures = wire_bench::measure(options(server, 0), server.nsid, load, Some(&server.clock)).await;
    figures.map_err(|error| anyhow!("{}: {error}", table::load_name(&load)))
}

/// How host `number` connects.
fn options(server: &Server, number: u8) -> ConnectOptions {
    let nqn = format!("nqn.2014-08.org.nvmexpress:uuid:00000000-0000-4000-8000-0000000000{number:02x}");
    let host = HostIdentity { nqn, id: [number.wrapping_add(1); 16] };
    let options = ConnectOptions::new(server.address, &server.subsystem_nqn, host);
    ConnectOptions { disable_sq_flow_control: true, ..options }
}

async fn connect(options: ConnectOptions) -> anyhow::Result<Controller> {
    Controller::connect(options).await.map_err(|error| anyhow!("connecting: {error}"))
}

async fn measure_idle(daemon: &Daemon, duration: Duration) -> anyhow::Result<Idle> {
    let mut hosts = Vec::new();
    for number in 0..IDLE_HOSTS {
        let options = options(&daemon.server, number);
        hosts.push(connect(ConnectOptions { io_queues: IDLE_IO_QUEUES, ..options }).await?);
    }
    sleep(WARM_UP).await;
    let before = daemon.server.clock.spent()?;
    sleep(duration).await;
    let spent = daemon.server.clock.spent()?.saturating_sub(before);
    let resident_bytes = daemon.resident_bytes()?;
    for host in hosts {
        host.disconnect().await;
    }
    Ok(Idle {
        hosts: IDLE_HOSTS,
        io_queues: u32::from(IDLE_HOSTS) * u32::from(IDLE_IO_QUEUES),
        cpu_percent: 100.0 * spent.as_secs_f64() / duration.as_secs_f64(),
        resident_bytes,
    })
}

/// Writes every block of the volume once, with bytes that do not compress: reads of holes would be nothing.
async fn fill(server: &Server) -> anyhow::Result<()> {
    let controller = connect(options(server, 0)).await?;
    let namespace = controller.namespace(server.nsid).await.map_err(|error| anyhow!("{error}"))?;
    let blocks_each = FILL_BYTES / namespace.lba_bytes();
    let writes = namespace.blocks() / u64::from(blocks_each);

    let writers: Vec<_> = (0..FILL_DEPTH)
        .map(|writer| {
            let namespace = namespace.clone();
            spawn_joined(async move {
                let data = random_data(writer);
                for write in (writer..writes).step_by(FILL_DEPTH as usize) {
                    namespace.write(write * u64::from(blocks_each), data.clone()).await?;
                }
                Ok(())
            })
        })
        .collect();
    for writer in writers {
        let written: Result<(), ashlar_bench::initiator::CommandError> = writer.await;
        written.map_err(|error| anyhow!("filling the volume: {error}"))?;
    }
    controller.disconnect().await;
    Ok(())
}

fn random_data(seed: u64) -> bytes::Bytes {
    let mut random = XorShift::new(seed + 1);
    let mut data = AlignedBuf::stale(FILL_BYTES as usize);
    for word in data.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    data.freeze()
}
