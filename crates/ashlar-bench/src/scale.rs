//! Pools of half a million segments and of a million: what a checkpoint writes, the longest turn of
//! the reactor, what it costs to ask how the pool is, memory, and a start after a crash.
//!
//! Nobody writes terabytes for a measurement: the segments are invented, and nothing is in them. So
//! they have numbers one behind the other, as those of a pool that was filled once, and drives are
//! in memory: a start reads the table as fast as the processor can. What hosts overwrite while it
//! is measured is written, and as many fragments are discarded from what was invented, at random.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use ashlar_block::{AlignedBuf, BLOCK_BYTES, ByteSize, Lba, VolumeId, XorShift};
use ashlar_load::ratio::Ratio;
use ashlar_reactor::sleep;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{Compression, Invented, NewPool, Options, Store, create};
use bytes::Bytes;
use futures_util::future::try_join_all;
use serde::Serialize;

use super::map::{self, OfMap};
use super::memory::resident_bytes_of_this_process;
use super::program::Program;
use super::progress::Progress;
use super::targets::{Target, Verdict};
use super::turns::{CountedDrive, TurnWorld, cpu_of_this_thread, open};
use super::{Figures, table};

/// The largest first: what memory it takes can be told only once, as the process keeps it.
const SIZES: [usize; 2] = [1_000_000, 500_000];
/// Twelve drives, and the smallest chunks that a pool has: most segments for its bytes.
const LARGE: Shape = Shape { drives: 12, level: "8+2", columns: 10, chunk_bytes: 1 << 20 };
/// One drive, whose chunks are as small as the format has them.
const SMALL: Shape = Shape { drives: 1, level: "0", columns: 1, chunk_bytes: 64 << 10 };
/// Segments of two pools that get the same load in turns.
const BESIDE: [usize; 2] = [2_000, 200_000];
/// Rounds of it, and what hosts write in each: bytes one behind the other, then blocks alone.
const ROUNDS: usize = 9;
const ROUND_WRITES: u64 = 48;
const ROUND_WRITE_BYTES: u64 = 1 << 20;
const ROUND_BLOCKS: usize = 3_000;
const INVENTED_AT_A_TIME: usize = 1_000;
/// Of a hundred chunks those that stay free, so that nothing is collected.
const FREE_PERCENT: u64 = 35;
/// Blocks of the volume that is written, and of each write that fills it.
const VOLUME_BLOCKS: u64 = 200_000;
const FILL_BLOCKS: u64 = 64;
/// Overwrites between two checkpoints, and how many at a time.
const OVERWRITES: u64 = 100_000;
/// Blocks that are written at random into a volume so large that hardly two are neighbours: more
/// than the map keeps in its buffers, so that it distributes them to runs meanwhile.
const SCATTERED: u64 = 1_600_000;
const WIDE_VOLUME_BLOCKS: u64 = 1 << 32;
/// Blocks that are overwritten until there is much to replay.
const WINDOW_BLOCKS: u64 = 60_000;
const AT_A_TIME: u64 = 64;
/// How often the pool is asked how it is.
const QUESTIONS: u32 = 200;
/// Memory that is touched before anything is measured: where the host of a virtual machine has not
/// backed it, the first touch of 2 MiB takes longer than any turn may.
const TOUCHED_BYTES: usize = 4 << 30;
/// How long nothing is done.
const IDLE: Duration = Duration::from_secs(5);
/// How long a pool may be at work after hosts have stopped, and how often that is looked at.
const REST_WAIT: Duration = Duration::from_secs(300);
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Part of the records that a start replays at most, in percent, that is there to be replayed.
const WINDOW_PERCENT: u64 = 95;

/// What pools of these sizes cost.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    sizes: Vec<OfSize>,
    beside: Beside,
    map: OfMap,
}

/// The same load on a pool of 200,000 segments and on one of 2,000, in turns.
#[derive(Clone, Copy, Debug, Serialize)]
struct Beside {
    /// Bytes that are written in a second one behind the other.
    rate: Option<Ratio>,
    /// The 99th percentile of a block that is written alone.
    p99: Option<Ratio>,
}

/// Drives of a pool.
#[derive(Clone, Copy)]
struct Shape {
    drives: u64,
    level: &'static str,
    columns: u64,
    chunk_bytes: u64,
}

/// What a pool of one size costs.
#[derive(Clone, Debug, Serialize)]
struct OfSize {
    segments: usize,
    /// Memory that the segments take, if it could be told.
    resident_bytes: Option<u64>,
    /// The first checkpoint after it was made: it writes the whole table.
    whole_table: Written,
    /// A checkpoint after one block was overwritten.
    one_block: Written,
    /// One after [`OVERWRITES`].
    overwrites: Written,
    /// The longest turn while those were written.
    writing_turn_us: f64,
    /// The longest while the map's buffers overflow, of the largest pool.
    scattering_turn_us: Option<f64>,
    /// To be asked how it is.
    status_us: f64,
    idle_cpu_percent: f64,
    /// Records that were there to be replayed after a crash.
    replayed_records: u64,
    start_seconds: f64,
    start_cpu_seconds: f64,
}

/// What a checkpoint takes.
#[derive(Clone, Copy, Debug, Serialize)]
struct Written {
    /// To all drives together.
    bytes: u64,
    /// Processor time of its longest turn.
    turn_us: f64,
    seconds: f64,
}

/// Measures pools of each size.
///
/// # Errors
/// What cannot be measured.
pub fn measure(program: &Program) -> anyhow::Result<Report> {
    drop(std::hint::black_box(vec![1_u8; TOUCHED_BYTES]));
    let mut sizes = Vec::new();
    for segments in SIZES {
        let config = ashlar_reactor::Config::default();
        let measured = ashlar_reactor::run(config, measure_size(segments))?;
        sizes.push(measured.with_context(|| format!("{segments} segments"))?);
    }
    let beside = ashlar_reactor::run(ashlar_reactor::Config::default(), measure_beside())??;
    Ok(Report { sizes, beside, map: map::measure(program)? })
}

/// A pool on counted drives.
struct Rig {
    world: TurnWorld,
    drives: Vec<CountedDrive>,
    store: Store<TurnWorld>,
    volume: VolumeId,
    version: u64,
}

async fn measure_size(segments: usize) -> anyhow::Result<OfSize> {
    let progress = Progress::new("scale", 6);
    progress.begin(&format!("{segments} segments"));
    let mut rig = Rig::new(LARGE, segments as u64).await?;
    let before = resident_bytes_of_this_process()?;
    let invented = rig.store.invent_segments(segments);
    let is_first = segments == SIZES[0];
    let grown_bytes = resident_bytes_of_this_process()?.saturating_sub(before);
    let whole_table = rig.checkpoint().await?;
    progress.begin("one block");
    rig.fill().await?;
    rig.checkpoint().await?;
    rig.overwrite(&invented, 1).await?;
    let one_block = rig.checkpoint().await?;
    progress.begin("overwrites");
    let writing_turn_us = rig.overwrite(&invented, OVERWRITES).await?;
    let overwrites = rig.checkpoint().await?;
    progress.begin("idle");
    let status_us = rig.ask()?;
    let idle_cpu_percent = idle().await?;
    progress.begin("scattered blocks");
    let scattering_turn_us = if is_first { Some(rig.scatter().await?) } else { None };
    progress.begin("start");
    let replayed_records = rig.fill_window().await?;
    let start = rig.crash_and_start().await?;
    Ok(OfSize {
        segments,
        resident_bytes: is_first.then_some(grown_bytes),
        whole_table,
        one_block,
        overwrites,
        writing_turn_us,
        scattering_turn_us,
        status_us,
        idle_cpu_percent,
        replayed_records,
        start_seconds: start.wall.as_secs_f64(),
        start_cpu_seconds: start.cpu.as_secs_f64(),
    })
}

async fn measure_beside() -> anyhow::Result<Beside> {
    let progress = Progress::new("scale", ROUNDS);
    let mut rigs = Vec::new();
    for segments in BESIDE {
        let mut rig = Rig::new(SMALL, segments as u64).await?;
        // So many leaves of the table change at a time in no pool with segments as small as these.
        for _ in 0..segments / INVENTED_AT_A_TIME {
            rig.store.invent_segments(INVENTED_AT_A_TIME);
            rig.checkpoint().await?;
        }
        rig.fill().await?;
        rigs.push(rig);
    }
    let (mut rates, mut p99s) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    for _ in 0..ROUNDS {
        progress.begin("2,000 and 200,000 segments");
        for (pool, rig) in rigs.iter_mut().enumerate() {
            rates[pool].push(rig.write_on().await?);
            p99s[pool].push(rig.write_alone().await?);
        }
    }
    let of = |[few, many]: &[Vec<f64>; 2]| Ratio::of_rounds(many, few);
    Ok(Beside { rate: of(&rates), p99: of(&p99s) })
}

async fn idle() -> anyhow::Result<f64> {
    let before = cpu_of_this_thread();
    sleep(IDLE).await;
    let spent = cpu_of_this_thread() - before;
    Ok(spent.as_secs_f64() / IDLE.as_secs_f64() * 100.0)
}

struct Start {
    wall: Duration,
    cpu: Duration,
}

impl Rig {
    async fn new(shape: Shape, segments: u64) -> anyhow::Result<Self> {
        let world = TurnWorld::default();
        let written = VOLUME_BLOCKS * BLOCK_BYTES as u64 * 4 / shape.chunk_bytes / shape.drives;
        let chunks =
            (segments * shape.columns / shape.drives + written) * 100 / (100 - FREE_PERCENT);
        let size = Superblock::CHUNKS_START + (chunks + 1) * shape.chunk_bytes;
        let drives: Vec<CountedDrive> =
            (0..shape.drives).map(|_| CountedDrive::new(&world, size)).collect();
        let new = NewPool {
            name: "scale".to_owned(),
            level: shape.level.parse().map_err(|error| anyhow!("{error}"))?,
            chunk_bytes: Some(shape.chunk_bytes as u32),
            segment_numbers: None,
        };
        create(&world, &new, drives.clone()).await?;
        let store = open(&world, &drives, Options::default()).await?;
        let volume = store.create_volume(VOLUME_BLOCKS, Compression::Lz4, Bytes::new()).await?;
        Ok(Rig { world, drives, store, volume, version: 0 })
    }

    /// A checkpoint, and what it takes.
    async fn checkpoint(&self) -> anyhow::Result<Written> {
        let written = || self.drives.iter().map(CountedDrive::written_bytes).sum::<u64>();
        // What is on its way of the one before is not this one's.
        sleep(Duration::from_millis(50)).await;
        self.world.turns().reset();
        let (before, since) = (written(), Instant::now());
        self.store.checkpoint().await?;
        let (bytes, turn_us) = (written() - before, self.world.turns().longest_us());
        Ok(Written { bytes, turn_us, seconds: since.elapsed().as_secs_f64() })
    }

    async fn fill(&mut self) -> anyhow::Result<()> {
        let pieces = VOLUME_BLOCKS / FILL_BLOCKS;
        self.write_each((0..pieces).map(|piece| piece * FILL_BLOCKS), FILL_BLOCKS).await
    }

    /// Overwrites blocks of the volume at random, and as many of what was invented. Returns the
    /// longest turn.
    async fn overwrite(&mut self, invented: &Invented, blocks: u64) -> anyhow::Result<f64> {
        self.world.turns().reset();
        let mut chance = XorShift::new(3 + self.version);
        let mut left = blocks;
        while left > 0 {
            let some = left.min(AT_A_TIME * 16);
            let at: Vec<u64> = (0..some).map(|_| chance.below(VOLUME_BLOCKS)).collect();
            self.write_each(at.into_iter(), 1).await?;
            self.store.discard_invented(invented, some);
            left -= some;
        }
        Ok(self.world.turns().longest_us())
    }

    /// Writes pieces of so many blocks, some at a time.
    async fn write_each(
        &mut self,
        at: impl Iterator<Item = u64>,
        blocks: u64,
    ) -> anyhow::Result<()> {
        let at: Vec<u64> = at.collect();
        for some in at.chunks(AT_A_TIME as usize) {
            self.write_to(self.volume, some, blocks).await?;
        }
        Ok(())
    }

    async fn write_to(&mut self, volume: VolumeId, at: &[u64], blocks: u64) -> anyhow::Result<()> {
        self.version += 1;
        let data = content(self.version, blocks);
        let write = |at: &u64| self.store.write(volume, Lba(*at), data.clone());
        try_join_all(at.iter().map(write)).await?;
        Ok(())
    }

    /// Writes blocks far from each other. Returns the longest turn.
    async fn scatter(&mut self) -> anyhow::Result<f64> {
        let wide =
            self.store.create_volume(WIDE_VOLUME_BLOCKS, Compression::Lz4, Bytes::new()).await?;
        let mut chance = XorShift::new(6);
        self.world.turns().reset();
        for _ in 0..SCATTERED / AT_A_TIME {
            let at: Vec<u64> = (0..AT_A_TIME).map(|_| chance.below(WIDE_VOLUME_BLOCKS)).collect();
            self.write_to(wide, &at, 1).await?;
        }
        self.rest().await?;
        Ok(self.world.turns().longest_us())
    }

    /// Returns once the pool has nothing more to do.
    async fn rest(&self) -> anyhow::Result<()> {
        let since = Instant::now();
        while since.elapsed() < REST_WAIT {
            let before = cpu_of_this_thread();
            sleep(LOOK_INTERVAL).await;
            if cpu_of_this_thread() - before < LOOK_INTERVAL / 10 {
                return Ok(());
            }
        }
        Err(anyhow!("the pool is still at work {} s after hosts have stopped", REST_WAIT.as_secs()))
    }

    /// Writes noise one behind the other. Returns bytes a second.
    async fn write_on(&mut self) -> anyhow::Result<f64> {
        let mut noise = AlignedBuf::zeroed(ROUND_WRITE_BYTES as usize);
        let mut chance = XorShift::new(5);
        noise.chunks_mut(8).for_each(|word| word.copy_from_slice(&chance.next_u64().to_le_bytes()));
        let (noise, blocks) = (noise.freeze(), ROUND_WRITE_BYTES / BLOCK_BYTES as u64);
        let since = Instant::now();
        for nth in 0..ROUND_WRITES {
            let at = (self.version + nth) * blocks % (VOLUME_BLOCKS - blocks);
            self.store.write(self.volume, Lba(at), noise.clone()).await?;
        }
        self.version += ROUND_WRITES;
        Ok((ROUND_WRITES * ROUND_WRITE_BYTES) as f64 / since.elapsed().as_secs_f64())
    }

    /// Writes blocks, each once the one before is. Returns the 99th percentile in seconds.
    async fn write_alone(&mut self) -> anyhow::Result<f64> {
        let mut chance = XorShift::new(self.version);
        let mut took = Vec::with_capacity(ROUND_BLOCKS);
        for _ in 0..ROUND_BLOCKS {
            self.version += 1;
            let (at, data) = (Lba(chance.below(VOLUME_BLOCKS)), content(self.version, 1));
            let since = Instant::now();
            self.store.write(self.volume, at, data).await?;
            took.push(since.elapsed());
        }
        took.sort_unstable();
        Ok(took[took.len() * 99 / 100].as_secs_f64())
    }

    fn ask(&self) -> anyhow::Result<f64> {
        let before = cpu_of_this_thread();
        for _ in 0..QUESTIONS {
            std::hint::black_box(self.store.status());
        }
        Ok((cpu_of_this_thread() - before).as_secs_f64() * 1e6 / f64::from(QUESTIONS))
    }

    /// Writes as many records as a start replays at most, or nearly. Returns how many of them there
    /// are to be replayed: checkpoints come for other reasons, too.
    async fn fill_window(&mut self) -> anyhow::Result<u64> {
        self.store.checkpoint().await?;
        let records = Options::default().replay_records_max * WINDOW_PERCENT / 100;
        let mut chance = XorShift::new(4);
        let mut written = 0;
        // Not so many different blocks that their updates alone are worth a checkpoint.
        let pieces = WINDOW_BLOCKS / FILL_BLOCKS;
        while written < records {
            let at: Vec<u64> = (0..AT_A_TIME).map(|_| chance.below(pieces) * FILL_BLOCKS).collect();
            self.write_each(at.into_iter(), FILL_BLOCKS).await?;
            written += AT_A_TIME * FILL_BLOCKS;
        }
        Ok(self.store.replay_records())
    }

    /// Leaves the pool as a crash does, and opens it again.
    async fn crash_and_start(self) -> anyhow::Result<Start> {
        let Rig { world, drives, store, .. } = self;
        store.crash();
        drop(store);
        sleep(Duration::from_millis(200)).await;
        let (since, before) = (Instant::now(), cpu_of_this_thread());
        let store = open(&world, &drives, Options::default()).await?;
        let start = Start { wall: since.elapsed(), cpu: cpu_of_this_thread() - before };
        store.crash();
        Ok(start)
    }
}

/// Blocks that compress well, each of them different.
fn content(version: u64, blocks: u64) -> Bytes {
    let mut data = AlignedBuf::zeroed(blocks as usize * BLOCK_BYTES);
    for (block, bytes) in data.chunks_mut(BLOCK_BYTES).enumerate() {
        bytes[..8].copy_from_slice(&version.to_le_bytes());
        bytes[8..16].copy_from_slice(&(block as u64).to_le_bytes());
    }
    data.freeze()
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::of("POOL", &["MEMORY", "CHECKPOINT", "WRITES", "LONGEST TURN µs", "TAKES ms"]);
        for of_size in &self.sizes {
            let rows = [
                ("the whole table", of_size.whole_table),
                ("one block", of_size.one_block),
                ("100,000 blocks", of_size.overwrites),
            ];
            for (index, (what, written)) in rows.into_iter().enumerate() {
                let memory = of_size
                    .resident_bytes
                    .map_or(String::new(), |bytes| ByteSize(bytes).to_string());
                let first = [format!("{} segments", of_size.segments), memory];
                let [pool, memory] =
                    if index == 0 { first } else { [String::new(), String::new()] };
                table.add_row([
                    pool,
                    memory,
                    what.to_owned(),
                    ByteSize(written.bytes).to_string(),
                    format!("{:.0}", written.turn_us),
                    format!("{:.1}", written.seconds * 1e3),
                ]);
            }
        }
        format!("{table}\n\n{}", self.map.words())
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let beside = "200,000 segments / 2,000";
        let of_beside = [
            Verdict::of_ratio(Target::RATE_BESIDE, beside, self.beside.rate),
            Verdict::of_ratio(Target::P99_BESIDE, beside, self.beside.p99),
        ];
        self.sizes
            .iter()
            .flat_map(OfSize::verdicts)
            .chain(of_beside)
            .chain(self.map.verdicts())
            .collect()
    }
}

impl OfSize {
    fn verdicts(&self) -> Vec<Verdict> {
        let of = |what: &str| format!("{} segments{what}", self.segments);
        let turn = if self.segments > 500_000 { Target::TURN_OF_A_MILLION } else { Target::TURN };
        let replayed = format!(", {} records replayed", self.replayed_records);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let verdicts = vec![
            Verdict::new(turn, of(", one block"), self.one_block.turn_us / 1e3),
            Verdict::new(turn, of(", 100,000 overwrites"), self.overwrites.turn_us / 1e3),
            Verdict::new(turn, of(", the whole table"), self.whole_table.turn_us / 1e3),
            Verdict::new(turn, of(", while hosts write"), self.writing_turn_us / 1e3),
            Verdict::new(Target::CHECKPOINT_OF_ONE, of(""), mib(self.one_block.bytes)),
            Verdict::new(Target::CHECKPOINT_OF_MANY, of(""), mib(self.overwrites.bytes)),
            Verdict::new(Target::STATUS, of(""), self.status_us),
            Verdict::new(Target::IDLE_OF_MANY, of(""), self.idle_cpu_percent),
            Verdict::new(Target::START_OF_MANY, of(&replayed), self.start_seconds),
        ];
        let scattering = self.scattering_turn_us.map(|turn_us| turn_us / 1e3);
        let scattering =
            scattering.map(|turn_ms| Verdict::new(turn, of(", while buffers overflow"), turn_ms));
        let memory = self.resident_bytes.map(|bytes| bytes as f64 / self.segments as f64);
        let memory = memory.map(|bytes| Verdict::new(Target::SEGMENT_MEMORY, of(""), bytes));
        verdicts.into_iter().chain(scattering).chain(memory).collect()
    }
}
