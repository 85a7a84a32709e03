//! A node in this process: what it allocates and copies can be counted here.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::{fs, thread};

use anyhow::Context;
use ashlar::{Config, ServeArguments};
use ashlar_block::ByteSize;
use ashlar_control::NodeApi;
use ashlar_control::types::{CreatePool, CreateVolume};
use ashlar_load::cpu::CpuClock;
use ashlar_load::initiator::Namespace;
use ashlar_load::load::{Direction, Load};

use super::daemon::memory_drives;
use super::fill::each;
use super::servers::Server;

const DRIVE_BYTES: u64 = 512 << 20;
const VOLUME: ByteSize = ByteSize(256 << 20);

/// Starts a node in this process, with a pool of level 5 on memory, and calls `count` with its
/// volume. The node ends with the process.
///
/// # Errors
/// It does not start, or what `count` says.
pub fn with_pool<T>(count: impl FnOnce(&Server) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let state = std::env::temp_dir().join(format!("ashlar-bench-{}-counted", std::process::id()));
    let counted = start_pool(state.clone()).and_then(|pool| count(&pool));
    let removed = fs::remove_dir_all(&state);
    removed.or_else(
        |error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) },
    )?;
    counted
}

fn start_pool(state: PathBuf) -> anyhow::Result<Server> {
    let arguments = ServeArguments {
        state,
        listen: vec!["127.0.0.1:0".to_owned()],
        discovery: vec!["none".to_owned()],
        reactors: Some(1),
        ..ServeArguments::default()
    };
    let config = Config::resolve(&arguments, None)?;
    let (started, begun) = channel();
    thread::Builder::new().name("node".to_owned()).spawn(move || {
        if let Err(error) = ashlar::on_runtime(serve_pool(config, started.clone())) {
            let _ = started.send(Err(error));
        }
    })?;
    begun.recv().context("the node ended while it started")?
}

async fn serve_pool(config: Config, started: Sender<anyhow::Result<Server>>) -> anyhow::Result<()> {
    let running = ashlar::assemble(&config).await?;
    let pool = CreatePool {
        name: "bench".to_owned(),
        level: "5".to_owned(),
        drives: memory_drives(DRIVE_BYTES),
        force: false,
        chunk_bytes: None,
        overcommit: true,
    };
    let volume = CreateVolume {
        pool: "bench".to_owned(),
        name: "v0".to_owned(),
        size_bytes: VOLUME.0,
        lba_bytes: 4096,
        compression: "lz4".to_owned(),
        allow: vec!["any".to_owned()],
    };
    running.node_api.create_pool(pool).await?;
    let volume = running.node_api.create_volume(volume).await?;
    let portals = running.node_api.portals();
    let _ = started.send(Ok(Server {
        address: portals.first().context("the node listens nowhere")?.address,
        subsystem_nqn: running.node_api.subsystem_nqn().to_owned(),
        nsid: volume.nsid,
        clock: CpuClock::Process(std::process::id()),
    }));
    std::future::pending().await
}

/// Does so many operations of `load`, one place after the other.
///
/// # Errors
/// The operation that failed.
pub async fn work(namespace: &Namespace, load: Load, operations: u32) -> anyhow::Result<()> {
    let data = load.content.bytes(load.bytes as usize);
    let blocks = load.bytes / namespace.lba_bytes();
    let places =
        namespace.blocks().min(VOLUME.0 / u64::from(namespace.lba_bytes())) / u64::from(blocks);
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
