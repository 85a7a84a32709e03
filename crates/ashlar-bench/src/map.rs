//! A map of 100 TiB: what memory a daemon takes that has 128 MiB for it, how long it starts, and
//! how fast it reads.
//!
//! Nobody writes 100 TiB for a measurement: the index of the map is written, and the pages that it
//! names are not. So the half of each GiB is read of which the index says that there is nothing:
//! that takes a leaf, which mostly is not in memory.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::Context;
use ashlar_block::{AlignedBuf, ByteSize, Device, SECTOR_BYTES, XorShift};
use ashlar_drive::{Drive, DriveWorld, OpenMode};
use ashlar_load::initiator::Namespace;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{FoundDrive, OpenPolicy, Options, Store};
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan};
use super::directory::Directory;
use super::fill::{connect, each};
use super::program::Program;
use super::progress::Progress;
use super::servers::Server;
use super::targets::{Target, Verdict};

const POOL: &str = "map";
const VOLUME: ByteSize = ByteSize(100 << 40);
const DRIVE: ByteSize = ByteSize(16 << 30);
/// What a machine of 512 MiB has for it.
const MAP_MEMORY: ByteSize = ByteSize(128 << 20);
const GIB_BYTES: u64 = 1 << 30;
/// GiB of which the index is written between two checkpoints.
const GIBS_AT_A_TIME: u32 = 256;
const READS: u64 = 50_000;
const READ_DEPTH: u64 = 32;

/// What a map of 100 TiB costs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OfMap {
    volume_bytes: u64,
    memory_bytes: u64,
    /// What the index takes on the drives, with the pool's other maps.
    index_bytes: u64,
    start_seconds: f64,
    /// What the daemon says that the map takes, after reads.
    map_bytes: u64,
    /// Of the daemon, with all else; after the start, and at most.
    resident_bytes: u64,
    resident_most_bytes: u64,
    reads_per_second: f64,
    pages_per_read: f64,
}

/// Measures it, in files that are memory, if the machine has such a file system.
///
/// # Errors
/// What cannot be measured.
pub fn measure(program: &Program) -> anyhow::Result<OfMap> {
    let progress = Progress::new("scale", 3);
    let directory = Directory::new()?;
    let specs = directory.drives(DRIVE);
    let arguments =
        ["--reactors", "1", "--map-memory-bytes", &MAP_MEMORY.to_string()].map(str::to_owned);
    let mut daemon = Daemon::start(program, &arguments)?;
    let drives = specs.clone();
    daemon.create_pool(PoolPlan { name: POOL, level: "5", drives, chunk_bytes: None })?;
    let server = daemon.create_volume(POOL, "v0", VOLUME)?;
    daemon.kill()?;
    progress.begin(&format!("writing the index of a map of {VOLUME}"));
    let config = ashlar_reactor::Config::default();
    let index_bytes = ashlar_reactor::run(config, async move { write_index(&specs).await })??;
    progress.begin("a start");
    // It takes the pool back from this process, and then starts with one of its own.
    daemon.restart(&arguments)?;
    daemon.kill()?;
    let start = daemon.restart(&arguments)?;
    let resident_bytes = daemon.resident_bytes()?;
    progress.begin("reading at random");
    let server = daemon.server(server.nsid)?;
    let before = daemon.counters(POOL)?;
    let took = reads(server)?;
    let after = daemon.counters(POOL)?;
    let map_pages_read = (after.map_pages_read - before.map_pages_read) as f64;
    Ok(OfMap {
        volume_bytes: VOLUME.0,
        memory_bytes: MAP_MEMORY.0,
        index_bytes,
        start_seconds: start.as_secs_f64(),
        map_bytes: map_memory_bytes(&daemon)?,
        resident_bytes,
        resident_most_bytes: daemon.resident_most_bytes()?,
        reads_per_second: READS as f64 / took.as_secs_f64(),
        pages_per_read: map_pages_read / READS as f64,
    })
}

fn map_memory_bytes(daemon: &Daemon) -> anyhow::Result<u64> {
    let pool = daemon.pool(POOL)?;
    pool.of_space(|space| space.map_memory_bytes).context("the pool is not open")
}

/// Opens the pool in this process, and writes an index of all of its volume. Returns what lives in
/// the pool then.
async fn write_index(specs: &[String]) -> anyhow::Result<u64> {
    let mut found = Vec::new();
    for spec in specs {
        let device = Drive::open(&spec.parse()?, OpenMode::Existing)?;
        let sector = AlignedBuf::zeroed(SECTOR_BYTES);
        let (read, sector) = device.read(Superblock::FIRST_OFFSET, sector).await;
        read?;
        found.push(FoundDrive { superblock: Superblock::decode(&sector)?, device });
    }
    let world = DriveWorld;
    let (store, _) = Store::open(&world, found, Options::default(), OpenPolicy::Whole).await?;
    let volume = *store.volumes().keys().next().context("the daemon has made a volume")?;
    let gibs = (VOLUME.0 / GIB_BYTES) as u32;
    for first in (0..gibs).step_by(GIBS_AT_A_TIME as usize) {
        store.invent_map(volume, first..gibs.min(first + GIBS_AT_A_TIME)).await?;
    }
    let live = store.status().space.live;
    store.close().await?;
    Ok(live)
}

/// Reads as a host would, and returns how long it took.
fn reads(server: Server) -> anyhow::Result<Duration> {
    let config = ashlar_reactor::Config::default();
    ashlar_reactor::run(config, async move {
        let (controller, namespace) = connect(&server).await?;
        let took = read_at_random(&namespace).await?;
        controller.disconnect().await;
        Ok(took)
    })?
}

async fn read_at_random(namespace: &Namespace) -> anyhow::Result<Duration> {
    let gib_blocks = GIB_BYTES / u64::from(namespace.lba_bytes());
    let gibs = VOLUME.0 / GIB_BYTES;
    let (namespace, random) = (namespace.clone(), RefCell::new(XorShift::new(1)));
    let read = async move |_| {
        let block = {
            let mut random = random.borrow_mut();
            random.below(gibs) * gib_blocks + gib_blocks / 2 + random.below(gib_blocks / 2)
        };
        namespace.read(block, 1).await.map(drop)
    };
    let since = Instant::now();
    each(READ_DEPTH, READS, read).await?;
    Ok(since.elapsed())
}

impl OfMap {
    /// In words.
    pub fn words(&self) -> String {
        let mib = |bytes: u64| bytes >> 20;
        format!(
            "A map of {} with {} of memory: {} MiB of index on the drives; the daemon starts in {:.1} s and takes {} MiB,\n\
             {} MiB at most, {} MiB of it for the map; {:.0} random reads a second, each with {:.2} reads of the map.",
            ByteSize(self.volume_bytes),
            ByteSize(self.memory_bytes),
            mib(self.index_bytes),
            self.start_seconds,
            mib(self.resident_bytes),
            mib(self.resident_most_bytes),
            mib(self.map_bytes),
            self.reads_per_second,
            self.pages_per_read,
        )
    }

    /// Whether it stays within its memory.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        vec![
            Verdict::new(Target::LARGE_MAP, "after 50,000 reads", mib(self.map_bytes)),
            Verdict::new(Target::LARGE_MAP_DAEMON, "at most", mib(self.resident_most_bytes)),
        ]
    }
}
