//! A daemon with connected hosts that ask for nothing, and what is left once they have asked for
//! much.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, anyhow};
use ashlar_block::{ByteSize, XorShift};
use ashlar_load::initiator::{ConnectOptions, Controller, Namespace};
use ashlar_load::load::Content;
use ashlar_reactor::{sleep, spawn_joined};
use serde::Serialize;

use super::Figures;
use super::daemon::{Daemon, PoolPlan};
use super::directory::Directory;
use super::fill::each;
use super::program::Program;
use super::progress::Progress;
use super::rounds::options;
use super::servers::Server;
use super::targets::{Target, Verdict};

/// Hosts that are connected, each with some I/O queues.
const HOSTS: u8 = 8;
const IO_QUEUES: u16 = 4;
/// How long nothing is counted.
const SETTLE: Duration = Duration::from_millis(500);
/// How long is measured.
const DURATION: Duration = Duration::from_secs(5);
/// What the daemon has after a load, it has had time to give back.
const REST: Duration = Duration::from_secs(10);
/// Files that take space as they are written.
const DRIVE: ByteSize = ByteSize(4 << 30);
const VOLUME: ByteSize = ByteSize(1 << 30);
/// The load of each host: operations of each size, how many outstanding. Every other one is a
/// write.
const LOADS: [(u32, u64, u64); 2] = [(4 << 10, 20_000, 256), (256 << 10, 1_000, 64)];

/// What a daemon takes that has nothing to do.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Report {
    /// Hosts.
    pub hosts: u8,
    /// I/O queues of all of them, a connection each.
    pub io_queues: u32,
    /// How much of one processor it takes.
    pub cpu_percent: f64,
    /// Memory that it has, its map's included.
    pub resident_bytes: u64,
    /// The same some seconds after the hosts have loaded it, all of them at once.
    pub resident_after_load_bytes: u64,
    /// Of that, updates of the map and its pages at hand: they stay within `map_memory_bytes`.
    pub map_after_load_bytes: u64,
    /// The most that it has had.
    pub resident_most_bytes: u64,
}

/// Measures a daemon with nothing to do.
///
/// # Errors
/// What cannot be measured.
pub fn measure(program: &Program) -> anyhow::Result<Report> {
    let directory = Directory::new()?;
    let daemon = Daemon::start(program, &[])?;
    let plan =
        PoolPlan { name: "idle", level: "5", drives: directory.drives(DRIVE), chunk_bytes: None };
    daemon.create_pool(plan)?;
    let server = daemon.create_volume("idle", "v0", VOLUME)?;
    let measured =
        ashlar_reactor::run(ashlar_reactor::Config::default(), measure_all(daemon, server))?;
    drop(directory);
    measured
}

async fn measure_all(daemon: Daemon, server: Server) -> anyhow::Result<Report> {
    let progress = Progress::new("idle", 3);
    progress.begin("nothing to do");
    let hosts = connect_all(&server).await?;
    sleep(SETTLE).await;
    let before = server.clock.spent()?;
    sleep(DURATION).await;
    let spent = server.clock.spent()?.saturating_sub(before);
    let resident_bytes = daemon.resident_bytes()?;
    progress.begin("a load");
    load_all(&hosts, server.nsid).await?;
    progress.begin("nothing to do any more");
    sleep(REST).await;
    let report = Report {
        hosts: HOSTS,
        io_queues: u32::from(HOSTS) * u32::from(IO_QUEUES),
        cpu_percent: 100.0 * spent.as_secs_f64() / DURATION.as_secs_f64(),
        resident_bytes,
        resident_after_load_bytes: daemon.resident_bytes()?,
        map_after_load_bytes: daemon
            .pool("idle")?
            .of_space(|space| space.map_memory_bytes)
            .context("the pool is not open")?,
        resident_most_bytes: daemon.resident_most_bytes()?,
    };
    drop(hosts);
    Ok(report)
}

async fn connect_all(server: &Server) -> anyhow::Result<Vec<Controller>> {
    let mut hosts = Vec::new();
    for number in 0..HOSTS {
        let options = ConnectOptions { io_queues: IO_QUEUES, ..options(server, number) };
        hosts.push(
            Controller::connect(options).await.map_err(|error| anyhow!("connecting: {error}"))?,
        );
    }
    Ok(hosts)
}

/// Every host reads and writes, by all of its queues.
async fn load_all(hosts: &[Controller], nsid: u32) -> anyhow::Result<()> {
    let mut loads = Vec::new();
    for (host, seed) in hosts.iter().zip(1..) {
        let namespace = host.namespace(nsid).await.map_err(|error| anyhow!("{error}"))?;
        loads.push(spawn_joined(load(namespace, seed)));
    }
    for load in loads {
        let done: anyhow::Result<()> = load.await;
        done?;
    }
    Ok(())
}

async fn load(namespace: Namespace, seed: u64) -> anyhow::Result<()> {
    for (bytes, count, depth) in LOADS {
        let (namespace, data) = (namespace.clone(), Content::Compressible.bytes(bytes as usize));
        let random = RefCell::new(XorShift::new(seed));
        let blocks = bytes / namespace.lba_bytes();
        let operation = async move |number: u64| {
            let place = random.borrow_mut().below(namespace.blocks() / u64::from(blocks))
                * u64::from(blocks);
            match number % 2 {
                0 => namespace.write(place, data.clone()).await,
                _ => namespace.read(place, blocks).await.map(drop),
            }
        };
        each(depth, count, operation).await?;
    }
    Ok(())
}

impl Figures for Report {
    fn table(&self) -> String {
        let mib = |bytes: u64| ByteSize(bytes >> 20 << 20);
        format!(
            "Idle, with {} hosts and {} I/O queues connected: {:.2} % of a processor, {} of memory;\n\
             after a load {}, of which {} are updates and pages of the map, and {} at most.",
            self.hosts,
            self.io_queues,
            self.cpu_percent,
            mib(self.resident_bytes),
            mib(self.resident_after_load_bytes),
            mib(self.map_after_load_bytes),
            mib(self.resident_most_bytes),
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = format!("{} hosts, {} I/O queues", self.hosts, self.io_queues);
        let mib = self.resident_bytes as f64 / f64::from(1 << 20);
        vec![
            Verdict::new(Target::IDLE_PROCESSOR, &of, self.cpu_percent),
            Verdict::new(Target::IDLE_MEMORY, &of, mib),
        ]
    }
}
