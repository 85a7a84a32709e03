//! What each codec makes of the machine's own files in a pool, beside the codec alone; what is left
//! of them once they are cold; and what it costs to look at noise that does not compress.

mod corpora;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use ashlar_block::{BLOCK_BYTES, ByteSize, Lba, VolumeId};
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use ashlar_reactor::sleep;
use ashlar_store::codec::Stored;
use ashlar_store::format::location::SLOT_BYTES;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{Compression, NewPool, Options, Store, ZstdLevel, create};
use bytes::Bytes;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, VolumePlan, memory_drives};
use super::fill::fill;
use super::parts::thread_time;
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::targets::{Target, Verdict};
use super::turns::{CountedDrive, TurnWorld, open};
use super::{Figures, Settings, table};
use corpora::Corpus;

/// A pool in memory: level 5 of five drives, with small segments, so that hardly anything is left
/// in open ones.
const DRIVES: u64 = 5;
const CHUNK_BYTES: u64 = 64 << 10;
/// Bytes of one write.
const WRITE_BYTES: usize = 256 << 10;
/// Part of what may live that LZ4's form of all corpora takes, in percent: what is cold is
/// compressed anew from the half on, and then leaves more than that.
const LIVE_PERCENT: u64 = 80;
/// Of a pool's bytes what is left for that, in percent: parity, over-provisioning, records.
const NET_PERCENT: u64 = 55;
/// How long nothing is compressed anew until it is done, and how long that is waited for.
const QUIET: Duration = Duration::from_secs(2);
const COLD_MAX: Duration = Duration::from_secs(120);
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Operations outstanding where noise is written.
const DEPTH: u32 = 32;

/// What codecs make of data.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each corpus with each codec.
    pub compared: Vec<Compared>,
    /// Ratio of all corpora together that pools give by LZ4, and by `auto` once they are cold.
    pub lz4_ratio: f64,
    pub cold_ratio: f64,
    /// Corpora that could not be made, and why.
    pub missing: Vec<String>,
    /// Writes of noise to a volume of `auto`, beside one of `none`.
    pub noise: Vec<Noise>,
}

/// A corpus with a codec.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    pub corpus: &'static str,
    pub bytes: u64,
    pub compression: String,
    /// What a pool shows.
    pub ratio: f64,
    /// What the codec alone makes of the same blocks, byte by byte.
    pub alone_ratio: f64,
    /// Bytes per second of one thread: into the form in which they are stored, and back.
    pub in_bytes_per_second: f64,
    pub out_bytes_per_second: f64,
}

/// A load of noise.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Noise {
    pub none: Summary,
    pub auto: Summary,
    /// Processor time of an operation with `auto` over that with `none`.
    pub cpu: Option<Ratio>,
}

/// Measures it.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let (corpora, missing) = corpora::all();
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let progress = Progress::new("codec", corpora.len() + 2);
        let mut compared = Vec::new();
        for corpus in &corpora {
            progress.begin(corpus.name);
            for compression in codecs() {
                compared.push(compare(corpus, compression).await?);
            }
        }
        progress.begin("data that become cold");
        let of_lz4 = |it: &&Compared| it.compression == Compression::Lz4.to_string();
        let stored = compared.iter().filter(of_lz4).map(|it| it.bytes as f64 / it.ratio).sum();
        let raw: f64 = compared.iter().filter(of_lz4).map(|it| it.bytes as f64).sum();
        let cold_ratio = cold_ratio(&corpora, stored).await?;
        progress.begin("noise");
        let noise = noise(&settings).await?;
        Ok(Report { compared, lz4_ratio: raw / stored, cold_ratio, missing, noise })
    })?
}

fn codecs() -> Vec<Compression> {
    let levels = [1, 3, 9].into_iter().filter_map(ZstdLevel::new).map(Compression::Zstd);
    [Compression::Lz4].into_iter().chain(levels).collect()
}

async fn compare(corpus: &Corpus, compression: Compression) -> anyhow::Result<Compared> {
    let bytes = corpus.bytes.len() as u64;
    let pool = MemoryPool::new(bytes * 100 / NET_PERCENT * 2, Options::default()).await?;
    let volume = pool.volume(&corpus.bytes, compression).await?;
    let ratio = pool.ratio(&[volume]);
    let (in_bytes_per_second, out_bytes_per_second) = speeds(&corpus.bytes, compression);
    Ok(Compared {
        corpus: corpus.name,
        bytes,
        compression: compression.to_string(),
        ratio,
        alone_ratio: alone_ratio(&corpus.bytes, compression),
        in_bytes_per_second,
        out_bytes_per_second,
    })
}

/// By the codecs' libraries, of each block that is not zeros.
fn alone_ratio(data: &[u8], compression: Compression) -> f64 {
    let compressed = |block: &[u8]| match compression {
        Compression::Zstd(level) => {
            let mut out = Vec::with_capacity(zstd_safe::compress_bound(BLOCK_BYTES));
            let done = zstd_safe::compress(&mut out, block, level.get().into());
            done.map_or(BLOCK_BYTES, |bytes| bytes.min(BLOCK_BYTES))
        }
        _ => lz4_flex::block::compress(block).len().min(BLOCK_BYTES),
    };
    let blocks = || data.chunks(BLOCK_BYTES).filter(|block| block.iter().any(|byte| *byte != 0));
    let stored: usize = blocks().map(compressed).sum();
    (blocks().count() * BLOCK_BYTES) as f64 / stored.max(1) as f64
}

/// Bytes per second of this thread's processor time, in and out.
fn speeds(data: &Bytes, compression: Compression) -> (f64, f64) {
    let before = thread_time();
    let stored = Stored::of(data, compression);
    let (took, before) = (thread_time().saturating_sub(before), thread_time());
    let mut out = [0; BLOCK_BYTES];
    assert!(black_box(stored.read(&mut out)), "what was compressed has to be readable");
    let back = thread_time().saturating_sub(before);
    let speed = |took: Duration| data.len() as f64 / took.as_secs_f64().max(1e-9);
    (speed(took), speed(back))
}

/// The ratio of all corpora in volumes of `auto` whose blocks are cold at once, of which LZ4 makes
/// so many bytes.
async fn cold_ratio(corpora: &[Corpus], stored_bytes: f64) -> anyhow::Result<f64> {
    let options = Options { cold_after: Duration::ZERO, ..Options::default() };
    let wanted = stored_bytes * 100.0 / LIVE_PERCENT as f64;
    let bytes = (wanted * 100.0 / NET_PERCENT as f64) as u64;
    // What may live of so many bytes is known once there is such a pool.
    let tried = MemoryPool::new(bytes, options.clone()).await?.store.status().space.limit;
    let pool = MemoryPool::new((bytes as f64 * wanted / tried as f64) as u64, options).await?;
    let mut volumes = Vec::new();
    for corpus in corpora {
        volumes.push(pool.volume(&corpus.bytes, Compression::Auto).await?);
    }
    let recompressed = || pool.store.status().counters.jobs.fragments_recompressed;
    let (begun, mut seen, mut since) = (Instant::now(), 0, Instant::now());
    while since.elapsed() < QUIET {
        let now = recompressed();
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        anyhow::ensure!(begun.elapsed() < COLD_MAX, "it is not done after {COLD_MAX:?}");
        sleep(LOOK_INTERVAL).await;
    }
    Ok(pool.ratio(&volumes))
}

/// Writes of noise to both volumes in turns.
async fn noise(settings: &Settings) -> anyhow::Result<Vec<Noise>> {
    let daemon = Daemon::start(&settings.program, &["--reactors".to_owned(), "1".to_owned()])?;
    let drives = memory_drives(settings.volume_bytes);
    daemon.create_pool(PoolPlan { name: "bench", level: "5", drives, chunk_bytes: None })?;
    let size = ByteSize(settings.volume_bytes / 4);
    let volume = |compression| VolumePlan { pool: "bench", name: compression, size, compression };
    let none = daemon.create_volume_of(volume("none"))?;
    let auto = daemon.create_volume_of(volume("auto"))?;
    fill(&none, Content::Incompressible).await?;
    fill(&auto, Content::Incompressible).await?;
    let mut measured = Vec::new();
    for bytes in [4 << 10, 64 << 10] {
        let load = Load::new(Direction::Write, bytes, 1, DEPTH);
        let load = settings.timed(Load { content: Content::Incompressible, ..load });
        let pair = [Subject::volume(&none, load), Subject::volume(&auto, load)];
        let both = rounds::measure(&pair, settings.rounds).await?;
        let cpu = both[1].cost_ratio(&both[0]);
        measured.push(Noise { none: both[0].summary(), auto: both[1].summary(), cpu });
    }
    Ok(measured)
}

/// A pool on drives in memory, in this process.
struct MemoryPool {
    store: Store<TurnWorld>,
}

impl MemoryPool {
    /// Of drives with so many bytes together.
    async fn new(bytes: u64, options: Options) -> anyhow::Result<Self> {
        let world = TurnWorld::default();
        let chunks = (bytes / DRIVES).div_ceil(CHUNK_BYTES) + 64;
        let size = Superblock::CHUNKS_START + (chunks + 1) * CHUNK_BYTES;
        let drives: Vec<CountedDrive> =
            (0..DRIVES).map(|_| CountedDrive::new(&world, size)).collect();
        let new = NewPool {
            name: "codec".to_owned(),
            level: "5".parse().map_err(|error| anyhow!("{error}"))?,
            chunk_bytes: Some(CHUNK_BYTES as u32),
            segment_numbers: None,
        };
        create(&world, &new, drives.clone()).await?;
        let store = open(&world, &drives, options).await?;
        Ok(MemoryPool { store })
    }

    /// A volume that holds this.
    async fn volume(&self, data: &Bytes, compression: Compression) -> anyhow::Result<VolumeId> {
        let blocks = (data.len() / BLOCK_BYTES) as u64;
        let volume = self.store.create_volume(blocks, compression, Bytes::new()).await?;
        for at in (0..data.len()).step_by(WRITE_BYTES) {
            let part = data.slice(at..data.len().min(at + WRITE_BYTES));
            let written = self.store.write(volume, Lba((at / BLOCK_BYTES) as u64), part).await;
            written.context("the corpora do not fit")?;
        }
        self.store.checkpoint().await?;
        Ok(volume)
    }

    /// What the pool shows for these together.
    fn ratio(&self, volumes: &[VolumeId]) -> f64 {
        let usages = volumes.iter().map(|id| self.store.usage(*id));
        let (blocks, slots) =
            usages.fold((0, 0), |(blocks, slots), it| (blocks + it.blocks, slots + it.slots));
        (blocks * BLOCK_BYTES as u64) as f64 / (slots * SLOT_BYTES as u64).max(1) as f64
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let header = ["CODEC", "RATIO", "ALONE", "IN MB/S", "OUT MB/S"];
        let mut table = table::of("CORPUS", &header);
        for it in &self.compared {
            let megabytes = |speed: f64| format!("{:.0}", speed / 1e6);
            table.add_row([
                format!("{}, {}", it.corpus, ByteSize(it.bytes)),
                it.compression.clone(),
                format!("{:.2}", it.ratio),
                format!("{:.2}", it.alone_ratio),
                megabytes(it.in_bytes_per_second),
                megabytes(it.out_bytes_per_second),
            ]);
        }
        let missing = self.missing.iter().map(|why| format!("\nnot here: {why}"));
        let noise = self.noise.iter().map(|it| {
            let load = table::load_name(&it.none.load);
            let [none, auto] = [it.none, it.auto].map(|it| it.cpu_us_per_operation);
            format!(
                "\nnoise, {load}: {none:.2} µs of processor time with none, {auto:.2} with auto"
            )
        });
        format!(
            "{table}\n\nRATIO: as a pool shows it. ALONE: the codec's library, block by block, in bytes. IN and OUT: with\n\
             checksums, one thread. All corpora together: {:.2} by LZ4, {:.2} by auto once they are cold.{}{}",
            self.lz4_ratio,
            self.cold_ratio,
            missing.collect::<String>(),
            noise.collect::<String>()
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let beside_alone = self.compared.iter().map(|it| {
            let name = format!("{} {}", it.corpus, it.compression);
            Verdict::new(Target::CODEC_RATIO, name, it.ratio / it.alone_ratio)
        });
        let cold = self.cold_ratio / self.lz4_ratio;
        let cold = Verdict::new(Target::CODEC_COLD, "all corpora", cold);
        let noise = self.noise.iter().map(|it| {
            Verdict::of_ratio(Target::CODEC_NOISE, table::load_name(&it.none.load), it.cpu)
        });
        beside_alone.chain([cold]).chain(noise).collect()
    }
}
