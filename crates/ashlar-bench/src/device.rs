//! One drive in memory: as a volume with nothing in between, and under a pool of level 0. What
//! other targets are measured with when they are measured with a memory device.

use std::rc::Rc;
use std::time::Duration;

use ashlar_block::ByteSize;
use ashlar_drive::{Drive, DriveSpec, OpenMode};
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use ashlar_target::nvme_tcp::Limits;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, VolumePlan, memory_drives};
use super::fill::fill;
use super::program::Program;
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::servers::{self, Server};
use super::targets::{self, Target, Verdict};
use super::{Figures, Settings, table};
use volume::DriveVolume;

mod volume;

/// Bytes of an operation, and operations outstanding on one connection.
const SHAPES: [(u32, u32); 4] = [(4 << 10, 1), (4 << 10, 32), (4 << 10, 128), (128 << 10, 32)];
/// Much more than the processor's caches have.
const DRIVE: ByteSize = ByteSize(512 << 20);
/// The pool's volume: half of its drive, so that nothing is collected.
const POOL_VOLUME: ByteSize = ByteSize(256 << 20);

/// Every load.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each load.
    pub loads: Vec<Compared>,
}

/// A load on all servers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// The server that only moves the same bytes.
    pub echo: Summary,
    /// The drive as a volume.
    pub device: Summary,
    /// A volume, uncompressed, of a pool of level 0 on such a drive.
    pub pool: Summary,
    /// The device's operations per processor second beside the echo's.
    pub device_rate: Option<Ratio>,
    /// The pool's operations per processor second beside the device's.
    pub pool_rate: Option<Ratio>,
}

struct Servers {
    echo: Server,
    device: Server,
    pool: Server,
    /// Ends with the servers.
    _daemon: Daemon,
}

/// Measures a drive in memory, and a pool on one.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let servers = Servers::start(&settings.program)?;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        measure_all(&servers, &settings).await
    })?
}

impl Servers {
    fn start(program: &Program) -> anyhow::Result<Self> {
        let daemon = Daemon::start(program, &["--reactors".to_owned(), "1".to_owned()])?;
        let drives = memory_drives(DRIVE.0).into_iter().take(1).collect();
        daemon.create_pool(PoolPlan { name: "device", level: "0", drives, chunk_bytes: None })?;
        let plan =
            VolumePlan { pool: "device", name: "v0", size: POOL_VOLUME, compression: "none" };
        Ok(Servers {
            echo: servers::start_echo(Duration::ZERO)?,
            device: start_device()?,
            pool: daemon.create_volume_of(plan)?,
            _daemon: daemon,
        })
    }
}

/// Starts a target with a drive in memory as its volume.
///
/// # Errors
/// Why it cannot serve.
pub fn start_device() -> anyhow::Result<Server> {
    servers::start_plain("device", Duration::ZERO, Limits::default(), DRIVE.0, || {
        let spec = DriveSpec::Memory { size: DRIVE, touched: true, model: None };
        Ok(DriveVolume(Rc::new(Drive::open(&spec, OpenMode::CreateIfMissing)?)))
    })
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let of = |direction| SHAPES.map(|(bytes, depth)| Load::new(direction, bytes, 1, depth));
    let all = of(Direction::Read).into_iter().chain(of(Direction::Write));
    all.map(|load| settings.timed(load)).filter(|load| settings.wants(load)).collect()
}

async fn measure_all(servers: &Servers, settings: &Settings) -> anyhow::Result<Report> {
    let wanted = loads(settings);
    let progress = Progress::new("device", wanted.len() + 1);
    progress.begin("filling");
    fill(&servers.device, Content::Incompressible).await?;
    fill(&servers.pool, Content::Incompressible).await?;
    let mut loads = Vec::new();
    for load in wanted {
        progress.begin(&table::load_name(&load));
        let volumes = [&servers.device, &servers.pool].map(|server| Subject::volume(server, load));
        let subjects = [Subject::echo(&servers.echo, load), volumes[0], volumes[1]];
        let measured = rounds::measure(&subjects, settings.rounds).await?;
        let [echo, device, pool] = [&measured[0], &measured[1], &measured[2]];
        loads.push(Compared {
            echo: echo.summary(),
            device: device.summary(),
            pool: pool.summary(),
            device_rate: device.rate_ratio(echo),
            pool_rate: pool.rate_ratio(device),
        });
    }
    Ok(Report { loads })
}

impl Figures for Report {
    fn table(&self) -> String {
        let header = ["SERVER", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "OPS/CPU-S", "RATE"];
        let mut table = table::new(&header);
        for compared in &self.loads {
            let rows = [
                ("echo", &compared.echo, String::new()),
                ("drive in memory", &compared.device, table::ratio(compared.device_rate)),
                ("pool of level 0", &compared.pool, table::ratio(compared.pool_rate)),
            ];
            let mut name = table::load_name(&compared.echo.load);
            for (server, summary, ratio) in rows {
                let rate = format!("{:.0}", summary.operations_per_cpu_second);
                table::add(&mut table, &std::mem::take(&mut name), server, summary, &[rate, ratio]);
            }
        }
        format!("{table}\n\n{EXPLANATION}")
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |compared: &Compared| {
            let name = table::load_name(&compared.echo.load);
            let polling = targets::polling_memory(&compared.echo.load)?;
            let beside = |summary: &Summary| summary.operations_per_cpu_second / polling;
            Some([
                Verdict::new(Target::POLLING_MEMORY, &name, beside(&compared.device)),
                Verdict::new(Target::POLLING_POOL, &name, beside(&compared.pool)),
            ])
        };
        self.loads.iter().filter_map(of).flatten().collect()
    }
}

const EXPLANATION: &str = "\
drive in memory: a volume that is one drive in memory, without a pool, on a thread of this process. pool of level 0:\n\
an uncompressed volume of a pool of one such drive, in a daemon of its own. OPS/CPU-S: operations per processor\n\
second. RATE: that beside the row above it.";
