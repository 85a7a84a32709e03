//! A map of 1 TiB: how long a killed daemon needs until it serves again, what memory the map takes,
//! and how often a read has to look at the drives for it.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Context, ensure};
use ashlar_block::{BLOCK_BYTES, ByteSize, XorShift};
use ashlar_control::types::PoolCounters;
use ashlar_load::initiator::Namespace;
use ashlar_load::load::Content;
use ashlar_store::format::page::PageEntry;
use serde::Serialize;

use super::Figures;
use super::daemon::{Daemon, PoolPlan};
use super::directory::Directory;
use super::fill::{FILL_BYTES, connect, each, write_each};
use super::program::Program;
use super::progress::Progress;
use super::targets::{Target, Verdict};

const VOLUME: ByteSize = ByteSize(1 << 40);
/// One block is written in each piece of this size, and all of one piece in [`FULL_EVERY`].
const RANGE_BLOCKS: u64 = 256;
const RANGES: u64 = VOLUME.0 / BLOCK_BYTES as u64 / RANGE_BLOCKS;
const FULL_EVERY: u64 = 64;
/// Files that take space as they are written; large enough for the longest replay that there is.
const DRIVE: ByteSize = ByteSize(64 << 30);
const POOL: &str = "bench";
/// Memory for the map where recovery is measured: the least default.
const MAP_MEMORY: ByteSize = ByteSize(256 << 20);
/// Memory for the map where reads are counted, of which half is for pages.
const SMALL_MAP_MEMORY: ByteSize = ByteSize(24 << 20);
/// What the map would take if all of it were in memory.
const MAP_BYTES: u64 = entries() * size_of::<PageEntry>() as u64;
// Otherwise the reads would say little: most of the map would be at hand.
const _: () = assert!(MAP_BYTES >= 4 * SMALL_MAP_MEMORY.0);
/// Checkpoints until the window is to be full.
const CHECKPOINTS_MAX: u64 = 16;
/// Part of what hosts write between two checkpoints, in percent, that is there to be replayed.
const WINDOW_PERCENT: u64 = 95;
/// Reads that are counted, and how many at a time.
const READS: u64 = 50_000;
const READ_DEPTH: u64 = 32;

/// What fills the window.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Overwrites {
    /// Bytes of a write.
    pub bytes: u32,
    /// Writes outstanding.
    pub outstanding: u64,
    /// Writes between two looks at how much there is to replay.
    #[serde(skip)]
    step: u64,
}

/// Large batches, which are striped; and a batch in the journal for each block: as many batches as
/// a window can have.
const OVERWRITES: [Overwrites; 2] = [
    Overwrites { bytes: FILL_BYTES, outstanding: 32, step: 256 },
    Overwrites { bytes: BLOCK_BYTES as u32, outstanding: 1, step: 256 },
];

/// What a map of 1 TiB costs.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Blocks that the map knows.
    pub entries: u64,
    /// Starts with a full window.
    pub recoveries: Vec<Recovery>,
    /// With nothing to replay.
    pub start: Start,
    /// Memory that the daemon has after a start, beside the same daemon with an empty map: indexes,
    /// filters, and updates that are not in pages yet.
    pub map_resident_bytes: u64,
    /// Of that, updates and pages at hand.
    pub map_buffered_bytes: u64,
    /// Memory for the map where reads were counted.
    pub small_map_memory_bytes: u64,
    /// How many times as much the map would take if all of it were in memory.
    pub map_to_memory: f64,
    /// Pages of the map read from drives for each block that was read at random.
    pub map_reads_per_read: f64,
}

/// A start with something to replay.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Recovery {
    /// What was written.
    pub overwrites: Overwrites,
    /// Bytes written to drives that were to be replayed.
    pub replayed_bytes: u64,
    /// Blocks of them.
    pub replayed_blocks: u64,
    /// The start.
    pub start: Start,
    /// Memory that the daemon has once it serves, beside the same daemon with an empty map.
    pub resident_bytes: u64,
    /// The most that it has had until then, beside the same.
    pub resident_most_bytes: u64,
}

/// A start of the daemon, until it serves.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Start {
    /// How long it took.
    pub seconds: f64,
    /// Its processor time: what it would have taken on a machine of its own, but for the drives.
    pub cpu_seconds: f64,
}

fn arguments(map_memory: ByteSize) -> Vec<String> {
    ["--reactors", "1", "--map-memory-bytes", &map_memory.to_string()].map(str::to_owned).to_vec()
}

/// Measures a pool in files that are memory, if the machine has such a file system.
///
/// # Errors
/// What cannot be measured.
pub fn measure(program: &Program) -> anyhow::Result<Report> {
    let directory = Directory::new()?;
    let daemon = Daemon::start(program, &arguments(MAP_MEMORY))?;
    let plan =
        PoolPlan { name: POOL, level: "5", drives: directory.drives(DRIVE), chunk_bytes: None };
    daemon.create_pool(plan)?;
    let server = daemon.create_volume(POOL, "v0", VOLUME)?;
    let measured = ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let progress = Progress::new("recovery", 4 + 2 * OVERWRITES.len());
        measure_all(daemon, server.nsid, &progress).await
    })?;
    drop(directory);
    measured
}

async fn measure_all(mut daemon: Daemon, nsid: u32, progress: &Progress) -> anyhow::Result<Report> {
    progress.begin("a start with an empty map");
    daemon.kill_and_restart(&arguments(MAP_MEMORY))?;
    let empty_bytes = daemon.resident_bytes()?;
    progress.begin("writing the map");
    let (controller, namespace) = connect(&daemon.server(nsid)?).await?;
    write_map(&namespace).await?;
    controller.disconnect().await;
    let mut recoveries = Vec::new();
    for overwrites in OVERWRITES {
        progress.begin(&format!("writing what is to be replayed: {}", overwrites.words()));
        let (controller, namespace) = connect(&daemon.server(nsid)?).await?;
        let window = fill_window(&daemon, &namespace, overwrites).await?;
        progress.begin(&format!("recovery: {}", overwrites.words()));
        recoveries.push(recover(&mut daemon, overwrites, window, empty_bytes)?);
        drop((controller, namespace));
    }
    progress.begin("a start with nothing to replay");
    let start = restart(&mut daemon)?;
    let full_bytes = daemon.resident_bytes()?;
    let map_buffered_bytes = daemon
        .pool(POOL)?
        .of_space(|space| space.map_memory_bytes)
        .context("the pool is not open")?;
    progress.begin("reading at random");
    daemon.kill_and_restart(&arguments(SMALL_MAP_MEMORY))?;
    Ok(Report {
        entries: entries(),
        recoveries,
        start,
        map_resident_bytes: full_bytes.saturating_sub(empty_bytes),
        map_buffered_bytes,
        small_map_memory_bytes: SMALL_MAP_MEMORY.0,
        map_to_memory: MAP_BYTES as f64 / SMALL_MAP_MEMORY.0 as f64,
        map_reads_per_read: count_map_reads(&daemon, nsid).await?,
    })
}

/// Kills the daemon and starts it again, with what was written since the last checkpoint to replay.
fn recover(
    daemon: &mut Daemon,
    overwrites: Overwrites,
    window: PoolCounters,
    empty_bytes: u64,
) -> anyhow::Result<Recovery> {
    let start = restart(daemon)?;
    Ok(Recovery {
        overwrites,
        replayed_bytes: window.drive_written_bytes,
        replayed_blocks: window.blocks_written,
        start,
        resident_bytes: daemon.resident_bytes()?.saturating_sub(empty_bytes),
        resident_most_bytes: daemon.resident_most_bytes()?.saturating_sub(empty_bytes),
    })
}

/// Kills the daemon and starts it again.
fn restart(daemon: &mut Daemon) -> anyhow::Result<Start> {
    let seconds = daemon.kill_and_restart(&arguments(MAP_MEMORY))?.as_secs_f64();
    Ok(Start { seconds, cpu_seconds: daemon.clock().spent()?.as_secs_f64() })
}

/// Blocks that the map knows: one for each range, and the others of those that are full.
const fn entries() -> u64 {
    RANGES + RANGES / FULL_EVERY * (RANGE_BLOCKS - 1)
}

/// The block that entry number `entry` is of.
fn block_of(entry: u64) -> u64 {
    if entry < RANGES {
        return entry * RANGE_BLOCKS;
    }
    let (full, block) =
        ((entry - RANGES) / (RANGE_BLOCKS - 1), (entry - RANGES) % (RANGE_BLOCKS - 1));
    full * FULL_EVERY * RANGE_BLOCKS + 1 + block
}

async fn write_map(namespace: &Namespace) -> anyhow::Result<()> {
    let block_bytes = BLOCK_BYTES as u32;
    write_each(namespace, Content::Sparse, block_bytes, RANGES, |range| range * RANGE_BLOCKS)
        .await?;
    let writes_per_range = RANGE_BLOCKS / u64::from(FILL_BYTES / block_bytes);
    let place = move |write: u64| {
        let (full, part) = (write / writes_per_range, write % writes_per_range);
        full * FULL_EVERY * RANGE_BLOCKS + part * u64::from(FILL_BYTES / block_bytes)
    };
    write_each(
        namespace,
        Content::Sparse,
        FILL_BYTES,
        RANGES / FULL_EVERY * writes_per_range,
        place,
    )
    .await
}

/// Overwrites at random what is full until there is nearly as much to replay as there can be: the
/// first checkpoint that ends after a whole window shows how much that is. Returns what has been
/// written since the last checkpoint.
async fn fill_window(
    daemon: &Daemon,
    namespace: &Namespace,
    overwrites: Overwrites,
) -> anyhow::Result<PoolCounters> {
    let random = Rc::new(RefCell::new(XorShift::new(1)));
    let mut window = None;
    let first = daemon.counters(POOL)?;
    let mut last = first;
    let mut is_whole = false;
    loop {
        overwrites.write_some(namespace, &random).await?;
        let now = daemon.counters(POOL)?;
        let checkpoints = now.checkpoints - first.checkpoints;
        ensure!(
            checkpoints <= CHECKPOINTS_MAX,
            "no window of {CHECKPOINTS_MAX} was as full as the one before it"
        );
        let written = now.drive_written_bytes - last.drive_written_bytes;
        if now.checkpoints != last.checkpoints {
            window = is_whole.then_some(written).or(window);
            is_whole = true;
            last = now;
        } else if window.is_some_and(|window| written * 100 >= window * WINDOW_PERCENT) {
            let blocks_written = now.blocks_written - last.blocks_written;
            return Ok(PoolCounters {
                drive_written_bytes: written,
                blocks_written,
                ..PoolCounters::default()
            });
        }
    }
}

impl Overwrites {
    async fn write_some(
        self,
        namespace: &Namespace,
        random: &Rc<RefCell<XorShift>>,
    ) -> anyhow::Result<()> {
        let blocks = u64::from(self.bytes) / BLOCK_BYTES as u64;
        let (namespace, random) = (namespace.clone(), random.clone());
        let place = move || {
            let mut random = random.borrow_mut();
            let (full, part) =
                (random.below(RANGES / FULL_EVERY), random.below(RANGE_BLOCKS / blocks));
            full * FULL_EVERY * RANGE_BLOCKS + part * blocks
        };
        let data = Content::Incompressible.bytes(self.bytes as usize);
        let write = async move |_| namespace.write(place(), data.clone()).await;
        each(self.outstanding, self.step, write).await
    }

    /// In words.
    fn words(self) -> String {
        format!("{} writes, {} outstanding", ByteSize(self.bytes.into()), self.outstanding)
    }
}

/// Pages of the map read for each block read at random, once that is steady.
async fn count_map_reads(daemon: &Daemon, nsid: u32) -> anyhow::Result<f64> {
    let (controller, namespace) = connect(&daemon.server(nsid)?).await?;
    read_at_random(&namespace, 1).await?;
    let before = daemon.counters(POOL)?;
    read_at_random(&namespace, 2).await?;
    let after = daemon.counters(POOL)?;
    controller.disconnect().await;
    let reads = after.blocks_read - before.blocks_read;
    Ok((after.map_pages_read - before.map_pages_read) as f64 / reads as f64)
}

async fn read_at_random(namespace: &Namespace, seed: u64) -> anyhow::Result<()> {
    let (namespace, random) = (namespace.clone(), RefCell::new(XorShift::new(seed)));
    let read = async move |_| {
        let block = block_of(random.borrow_mut().below(entries()));
        namespace.read(block, 1).await.map(drop)
    };
    each(READ_DEPTH, READS, read).await
}

impl Recovery {
    /// For people.
    fn words(&self) -> String {
        format!(
            "Recovery after kill -9, with {} MiB in {} blocks to replay ({}): {:.2} s, of which {:.2} s on a processor;\n\
             {} MiB of memory more than with an empty map, {} MiB more at most.\n",
            self.replayed_bytes >> 20,
            self.replayed_blocks,
            self.overwrites.words(),
            self.start.seconds,
            self.start.cpu_seconds,
            self.resident_bytes >> 20,
            self.resident_most_bytes >> 20,
        )
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let mib = |bytes: u64| bytes >> 20;
        format!(
            "A map of {VOLUME} with {} blocks in it: one of every MiB, and all of every {FULL_EVERY}th.\n{}\
             A start with nothing to replay: {:.2} s, of which {:.2} s on a processor.\n\
             Memory of the map after that: {} MiB, of which {} MiB are updates and pages at hand.\n\
             Random reads with {} of memory for a map that is {:.1} times as large: {:.2} reads of the map each.",
            self.entries,
            self.recoveries.iter().map(Recovery::words).collect::<String>(),
            self.start.seconds,
            self.start.cpu_seconds,
            mib(self.map_resident_bytes),
            mib(self.map_buffered_bytes),
            ByteSize(self.small_map_memory_bytes),
            self.map_to_memory,
            self.map_reads_per_read,
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let mib = self.map_resident_bytes.saturating_sub(self.map_buffered_bytes) as f64
            / f64::from(1 << 20);
        let recovery = |recovery: &Recovery| {
            Verdict::new(Target::RECOVERY, recovery.overwrites.words(), recovery.start.seconds)
        };
        let map = [
            Verdict::new(Target::MAP_MEMORY, "", mib),
            Verdict::new(
                Target::MAP_READS,
                format!("{:.1} times", self.map_to_memory),
                self.map_reads_per_read,
            ),
        ];
        self.recoveries.iter().map(recovery).chain(map).collect()
    }
}

#[cfg(test)]
mod tests;
