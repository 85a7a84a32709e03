//! How often a server allocates for an operation, once it has what it needs. Only in a program that counts: see
//! `examples/count_allocations.rs`.

use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::Context;
use ashlar_bench::cpu::CpuClock;
use ashlar_bench::initiator::Namespace;
use ashlar_bench::load::{Content, Direction, Load};
use ashlar_block::ByteSize;
use ashlar_control::Appliance;
use ashlar_control::types::{CreatePool, CreateVolume};
use ashlar_reactor::allocations;
use ashlar_target::nvme_tcp::Limits;
use comfy_table::CellAlignment;
use serde::Serialize;

use super::daemon::memory_drives;
use super::fill::{connect, each, fill};
use super::progress::Progress;
use super::servers::{self, Server};
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};
use crate::args::ServeArguments;
use crate::serve::{self, Config};

const DRIVE_BYTES: u64 = 512 << 20;
const VOLUME: ByteSize = ByteSize(256 << 20);
/// Bytes of an operation, and operations outstanding on one connection.
const SHAPES: [(u32, u32); 3] = [(4 << 10, 1), (4 << 10, 32), (128 << 10, 32)];
/// Operations that are not counted, and that are.
const WARM_UP_OPERATIONS: u32 = 4096;
const OPERATIONS: u32 = 8192;

/// Allocations of every load.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each load on each server.
    pub loads: Vec<Counted>,
}

/// A load on a volume that keeps nothing and on a pool's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counted {
    /// The load.
    pub load: Load,
    /// Allocations of the volume that keeps nothing, for one operation.
    pub null: f64,
    /// Allocations of the pool's volume, for one operation.
    pub pool: f64,
}

/// Whether this program counts.
pub fn are_counted() -> bool {
    allocations::are_counted()
}

/// Counts the allocations of all threads but the load's.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let settings = settings.clone();
    let null = servers::start_null(Duration::ZERO, Limits::default())?;
    let state = std::env::temp_dir().join(format!("ashlar-bench-{}-counted", std::process::id()));
    let pool = start_pool(state.clone());
    let report = pool.and_then(|pool| {
        ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
            count_all(&null, &pool, &settings).await
        })?
    });
    let removed = fs::remove_dir_all(&state);
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })?;
    report
}

/// Starts a node in this process, with a pool on memory. It ends with the process.
fn start_pool(state: PathBuf) -> anyhow::Result<Server> {
    let arguments = ServeArguments {
        state,
        config: None,
        listen: vec!["127.0.0.1:0".to_owned()],
        discovery: Some("none".to_owned()),
        reactors: Some(1),
        spin_us: None,
        map_memory_bytes: None,
        member_wait_seconds: None,
    };
    let config = Config::resolve(&arguments, None)?;
    let (started, begun) = channel();
    thread::Builder::new().name("node".to_owned()).spawn(move || {
        if let Err(error) = serve::on_runtime(serve_pool(config, started.clone())) {
            let _ = started.send(Err(error));
        }
    })?;
    begun.recv().context("the node ended while it started")?
}

async fn serve_pool(config: Config, started: Sender<anyhow::Result<Server>>) -> anyhow::Result<()> {
    let running = serve::assemble(&config).await?;
    let pool = CreatePool {
        name: "bench".to_owned(),
        level: "5".to_owned(),
        drives: memory_drives(DRIVE_BYTES),
        force: false,
        chunk_bytes: None,
    };
    let volume = CreateVolume {
        pool: "bench".to_owned(),
        name: "v0".to_owned(),
        size_bytes: VOLUME.0,
        lba_bytes: 4096,
        compression: true,
        allow: vec!["any".to_owned()],
    };
    running.appliance.create_pool(pool).await?;
    let volume = running.appliance.create_volume(volume).await?;
    let portals = running.appliance.portals();
    let _ = started.send(Ok(Server {
        address: portals.first().context("the node listens nowhere")?.address,
        subsystem_nqn: running.appliance.subsystem_nqn().to_owned(),
        nsid: volume.nsid,
        clock: CpuClock::Process(std::process::id()),
    }));
    std::future::pending().await
}

fn loads(settings: &Settings) -> Vec<Load> {
    let shapes = |direction| SHAPES.map(|(bytes, depth)| Load::new(direction, bytes, 1, depth));
    let all = [Direction::Read, Direction::Write].into_iter().flat_map(shapes);
    all.filter(|load| settings.wants(load)).collect()
}

async fn count_all(null: &Server, pool: &Server, settings: &Settings) -> anyhow::Result<Report> {
    let wanted = loads(settings);
    let progress = Progress::new("allocations", wanted.len());
    fill(pool, Content::Incompressible).await?;
    let mut loads = Vec::new();
    for load in wanted {
        progress.begin(&table::load_name(&load));
        loads.push(Counted { load, null: count(null, load).await?, pool: count(pool, load).await? });
    }
    Ok(Report { loads })
}

/// Allocations of the server for one operation of `load`.
async fn count(server: &Server, load: Load) -> anyhow::Result<f64> {
    let (controller, namespace) = connect(server).await?;
    work(&namespace, load, WARM_UP_OPERATIONS).await?;
    let before = allocations_of_servers();
    work(&namespace, load, OPERATIONS).await?;
    let counted = allocations_of_servers() - before;
    controller.disconnect().await;
    Ok(counted as f64 / f64::from(OPERATIONS))
}

/// The load runs on this thread, everything else on others.
fn allocations_of_servers() -> u64 {
    allocations::of_all_threads() - allocations::of_this_thread()
}

async fn work(namespace: &Namespace, load: Load, operations: u32) -> anyhow::Result<()> {
    let data = load.content.bytes(load.bytes as usize);
    let blocks = load.bytes / namespace.lba_bytes();
    let places = namespace.blocks().min(VOLUME.0 / u64::from(namespace.lba_bytes())) / u64::from(blocks);
    let namespace = namespace.clone();
    let operation = async move |number: u64| {
        let lba = number % places * u64::from(blocks);
        match load.direction {
            Direction::Read => namespace.read(lba, blocks).await.map(drop),
            Direction::Write => namespace.write(lba, data.clone()).await,
        }
    };
    each(load.depth.into(), operations.into(), operation).await
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::new(&["NULL", "LEVEL 5"]);
        table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        for Counted { load, null, pool } in &self.loads {
            table.add_row([table::load_name(load), format!("{null:.2}"), format!("{pool:.2}")]);
        }
        format!("{table}\n\nAllocations for one operation, of all threads of the server, once it is warm.")
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |counted: &Counted| {
            let name = table::load_name(&counted.load);
            [("null", counted.null), ("level 5", counted.pool)].map(|(server, allocations)| {
                // As shown: half a hundredth of an allocation is upkeep's.
                let shown = (allocations * 100.0).round() / 100.0;
                Verdict::new(Target::ALLOCATIONS, format!("{name}, {server}"), shown)
            })
        };
        self.loads.iter().flat_map(of).collect()
    }
}
