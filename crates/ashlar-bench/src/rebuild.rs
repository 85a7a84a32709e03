//! How fast a rebuild is that may have all of the time, beside what bounds it: what the drives that
//! are left can read and write, or what the processor takes for the parity and the checksums of as
//! much.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ashlar_block::ByteSize;
use ashlar_format::codec::crc32c;
use ashlar_load::load::Content;
use ashlar_raid::{ColumnMask, parity};
use serde::Serialize;

use super::bandwidth::{RawRates, raw};
use super::daemon::{Daemon, PoolPlan, RECON_PRIO_LEAST, VolumePlan};
use super::fill::fill;
use super::program::Program;
use super::progress::Progress;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, interrupt, table};

const POOL: &str = "tank";
const LEVEL: &str = "8+2";
const DATA: usize = 8;
const PARITY: usize = 2;
const DRIVES: usize = 12;
const DRIVE_BYTES: u64 = 768 << 20;
/// As pools of drives of 64 GiB and more get: where drives seek, it decides how often.
const CHUNK_BYTES: u32 = 16 << 20;
const LIVE_BYTES: u64 = 3 << 30;
/// All of the time.
const RECON_PRIO: u8 = 100;
/// The classes of drives that are modelled.
const MODELS: [&str; 2] = ["nvme-gen4", "nlsas-hdd"];
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
const REBUILD_WAIT: Duration = Duration::from_secs(900);
/// Bytes of a column that the processor works on at a time.
const COLUMN_BYTES: usize = 1 << 20;
/// Pieces of a column that it works on in turn: all columns together are more than any cache holds,
/// as drives are.
const PIECES: usize = 48;
/// What a checksum is of.
const FRAGMENT_BYTES: usize = 4096;

/// One rebuild, without hosts.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rebuilt {
    /// The class of drives that was modelled.
    pub model: &'static str,
    /// Bytes of columns that were restored.
    pub restored_bytes: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds that the drives that are left take for what is read and written, all at once.
    pub drives_seconds: f64,
    /// Seconds that the processor takes for parity and checksums of as much.
    pub processor_seconds: f64,
}

impl Rebuilt {
    /// How fast it was beside what bounds it.
    fn of_bound(&self) -> f64 {
        self.drives_seconds.max(self.processor_seconds) / self.seconds
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The pool's level.
    pub level: &'static str,
    /// Its drives.
    pub drives: usize,
    /// A rebuild for each class of drives.
    pub rebuilds: Vec<Rebuilt>,
}

/// Loses a drive of a pool on each class of drives.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let progress = Progress::new("rebuild", MODELS.len() + 1);
    progress.begin("the processor alone");
    let byte_seconds = processor_seconds_per_byte(settings.round);
    let mut rebuilds = Vec::new();
    for model in MODELS {
        progress.begin(model);
        let spec = format!("mem:{DRIVE_BYTES},touched=on,model={model}");
        let (config, duration) =
            (ashlar_reactor::Config::default(), settings.round * settings.rounds);
        let alone = ashlar_reactor::run(config, raw(spec.clone(), DRIVE_BYTES, duration))??;
        let (restored_bytes, seconds) = rebuild(&settings.program, spec)?;
        let drives_seconds = drives_seconds(restored_bytes, alone);
        let processor_seconds = restored_bytes as f64 * byte_seconds;
        rebuilds.push(Rebuilt {
            model,
            restored_bytes,
            seconds,
            drives_seconds,
            processor_seconds,
        });
    }
    Ok(Report { level: LEVEL, drives: DRIVES, rebuilds })
}

/// A rebuild of what lives on one drive: bytes that it restores, and seconds.
fn rebuild(program: &Program, spec: String) -> anyhow::Result<(u64, f64)> {
    let daemon = Daemon::start(program, &["--reactors", "1"].map(str::to_owned))?;
    let drives = vec![spec; DRIVES];
    let chunk_bytes = Some(CHUNK_BYTES);
    daemon.create_pool(PoolPlan { name: POOL, level: LEVEL, drives, chunk_bytes })?;
    let size = ByteSize(LIVE_BYTES);
    let server = daemon.create_volume_of(VolumePlan {
        pool: POOL,
        name: "live",
        size,
        compression: "none",
    })?;
    let config = ashlar_reactor::Config::default();
    ashlar_reactor::run(config, async move { fill(&server, Content::Incompressible).await })??;
    // What is to be restored is known before it begins in earnest.
    daemon.set_recon_prio(POOL, RECON_PRIO_LEAST)?;
    daemon.lose_a_drive(POOL)?;
    let restored_bytes = loop {
        if let Some(rebuild) = daemon.pool(POOL)?.rebuild().filter(|rebuild| rebuild.left_bytes > 0)
        {
            break rebuild.left_bytes;
        }
        wait()?;
    };
    let began = Instant::now();
    daemon.set_recon_prio(POOL, RECON_PRIO)?;
    loop {
        let pool = daemon.pool(POOL)?;
        if pool.rebuild().is_none() && !pool.states.iter().any(|state| state == "degraded") {
            return Ok((restored_bytes, began.elapsed().as_secs_f64()));
        }
        ensure!(began.elapsed() < REBUILD_WAIT, "the rebuild does not end: {:?}", pool.rebuild());
        wait()?;
    }
}

fn wait() -> anyhow::Result<()> {
    std::thread::sleep(LOOK_INTERVAL);
    interrupt::check()
}

/// Each restored column is read from all others of its stripe, and written, by the drives that are
/// left, all of them at once.
fn drives_seconds(restored_bytes: u64, alone: RawRates) -> f64 {
    let (read, written) = ((DATA + PARITY - 1) as f64 / alone.reads, 1.0 / alone.writes);
    restored_bytes as f64 * (read + written) / (DRIVES - 1) as f64
}

/// Processor seconds for each byte of a restored column: it is made of as many others as a stripe
/// has data columns, all of which have checksums. Modelled drives keep what they hold in memory:
/// the same processor copies each column that is read from them, and the one that is written.
fn processor_seconds_per_byte(duration: Duration) -> f64 {
    let held = COLUMN_BYTES * PIECES;
    let mut drives: Vec<Vec<u8>> =
        (0..DATA + PARITY).map(|drive| vec![drive as u8 + 1; held]).collect();
    let mut read = vec![vec![0; COLUMN_BYTES]; DATA + PARITY];
    let sources: ColumnMask = (1..=DATA).collect();
    let mut restored = vec![0; COLUMN_BYTES];
    let (began, mut bytes) = (Instant::now(), 0);
    for piece in (0..PIECES).cycle().map(|piece| piece * COLUMN_BYTES..(piece + 1) * COLUMN_BYTES) {
        for (column, drive) in read.iter_mut().zip(&drives).skip(1) {
            column.copy_from_slice(&drive[piece.clone()]);
        }
        let columns: Vec<&[u8]> = read.iter().map(Vec::as_slice).collect();
        parity::reconstruct(DATA, sources, &columns, &[0], &mut [&mut restored]);
        let data = columns[1..DATA].iter().copied().chain([restored.as_slice()]);
        for fragment in data.flat_map(|column| column.chunks(FRAGMENT_BYTES)) {
            black_box(crc32c(fragment));
        }
        drives[0][piece].copy_from_slice(&restored);
        bytes += COLUMN_BYTES;
        if began.elapsed() >= duration {
            break;
        }
    }
    began.elapsed().as_secs_f64() / bytes as f64
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::of(
            "DRIVES",
            &["RESTORED", "SECONDS", "MB/S", "DRIVES' S", "PROCESSOR'S S", "OF THE BOUND"],
        );
        for rebuilt in &self.rebuilds {
            table.add_row([
                rebuilt.model.to_owned(),
                ByteSize(rebuilt.restored_bytes).to_string(),
                format!("{:.2}", rebuilt.seconds),
                format!("{:.0}", rebuilt.restored_bytes as f64 / rebuilt.seconds / 1e6),
                format!("{:.2}", rebuilt.drives_seconds),
                format!("{:.2}", rebuilt.processor_seconds),
                format!("{:.2}", rebuilt.of_bound()),
            ]);
        }
        format!(
            "{table}\n\nModelled drives: level {} on {}, one of which is lost; recon-prio {RECON_PRIO}, no hosts. Beside what the drives \
             that\nare left could do, all at once (reads of all other columns and writes of the restored ones), or the processor\n\
             alone (parity and checksums of as much, and the copies that drives in memory make of it), whichever takes\n\
             longer.",
            self.level, self.drives,
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let verdict = |rebuilt: &Rebuilt| {
            Verdict::new(Target::REBUILD_RATE, rebuilt.model, rebuilt.of_bound())
        };
        self.rebuilds.iter().map(verdict).collect()
    }
}
