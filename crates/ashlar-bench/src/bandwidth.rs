//! How much of its drives' bandwidth a pool gives to hosts, where the drives are the limit and not
//! the processor: on modelled drives that are slow.

use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{AlignedBuf, ByteSize, Device, Durability};
use ashlar_drive::{Drive, DriveSpec, OpenMode};
use ashlar_load::load::{Content, Direction, Load, Pattern};
use ashlar_load::ratio::Ratio;
use ashlar_reactor::{now, spawn_joined};
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, RECON_PRIO_LEAST, VolumePlan};
use super::fill::fill;
use super::profile::ProfileFile;
use super::program::Program;
use super::progress::Progress;
use super::rounds::{self, Subject};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

const POOL: &str = "tank";
/// Stripes over all drives: what parity takes of them is its share of a stripe.
const LEVEL: &str = "10+2";
const DRIVES: usize = 12;
const PARITY: usize = 2;
const DRIVE_BYTES: u64 = 512 << 20;
const VOLUME_BYTES: u64 = 1 << 30;
const BYTES: u32 = 128 << 10;
const CONNECTIONS: u16 = 4;
const DEPTH: u32 = 32;
/// A drive that is slow, so that a dozen of them are.
const PROFILE: &str = "rotational = false\nparallel = 64\nread-us = 70\nwrite-us = 20\nflush-us = 5\nread-mb-per-s = 30\n\
    write-mb-per-s = 25\nwrite-cache-mib = 1\nrandom-write-cost = 1.0\n";
/// Until what is outstanding has gone through once, and the drives' caches are full.
const WARM_UP: Duration = Duration::from_millis(300);
/// What is asked of the drive alone.
const RAW_BYTES: usize = 1 << 20;
const RAW_DEPTH: u64 = 4;

/// What came of it. Bytes per second.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Report {
    /// Drives of the pool.
    pub drives: usize,
    /// One of them, alone.
    pub drive_writes: f64,
    /// Likewise.
    pub drive_reads: f64,
    /// Hosts' sequential writes.
    pub writes: f64,
    /// Hosts' sequential reads.
    pub reads: f64,
    /// The same while a drive is lost.
    pub degraded_reads: f64,
    /// Those, beside reads while all drives were there.
    pub degraded: Option<Ratio>,
}

/// Measures one drive, a pool of such drives, and that pool without one of them.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let progress = Progress::new("bandwidth", 4);
    let profile = ProfileFile::new(PROFILE)?;
    let settings = settings.clone();
    progress.begin("one drive alone");
    let config = ashlar_reactor::Config::default;
    let spec = profile.drive(DRIVE_BYTES);
    let RawRates { writes: drive_writes, reads: drive_reads } =
        ashlar_reactor::run(config(), raw(spec, DRIVE_BYTES, settings.round * settings.rounds))??;
    progress.begin("filling a pool");
    let (daemon, server) = start(&settings.program, &profile)?;
    ashlar_reactor::run(config(), async move {
        fill(&server, Content::Incompressible).await?;
        let of = async |direction| {
            let load = Load::new(direction, BYTES, CONNECTIONS, DEPTH);
            let load = settings.timed(Load { pattern: Pattern::Sequential, ..load });
            let subject = Subject::volume(&server, Load { warm_up: WARM_UP, ..load });
            rounds::measure(&[subject], settings.rounds)
                .await
                .map(|mut measured| measured.remove(0))
        };
        progress.begin("sequential reads and writes");
        let reads = of(Direction::Read).await?;
        let writes = of(Direction::Write).await?;
        progress.begin("sequential reads without one drive");
        // What is read must come from the drives that are left.
        daemon.set_recon_prio(POOL, RECON_PRIO_LEAST)?;
        daemon.lose_a_drive(POOL)?;
        let degraded = of(Direction::Read).await?;
        Ok(Report {
            drives: DRIVES,
            drive_writes,
            drive_reads,
            writes: writes.summary().bytes_per_second,
            reads: reads.summary().bytes_per_second,
            degraded_reads: degraded.summary().bytes_per_second,
            degraded: degraded.iops_ratio(&reads),
        })
    })?
}

fn start(program: &Program, profile: &ProfileFile) -> anyhow::Result<(Daemon, Server)> {
    let daemon = Daemon::start(program, &["--reactors", "1"].map(str::to_owned))?;
    let drives = vec![profile.drive(DRIVE_BYTES); DRIVES];
    daemon.create_pool(PoolPlan { name: POOL, level: LEVEL, drives, chunk_bytes: None })?;
    let size = ByteSize(VOLUME_BYTES);
    let server = daemon.create_volume_of(VolumePlan {
        pool: POOL,
        name: "v0",
        size,
        compression: "none",
    })?;
    Ok((daemon, server))
}

/// What one drive does alone, in bytes per second.
#[derive(Clone, Copy, Debug)]
pub struct RawRates {
    /// Of writes.
    pub writes: f64,
    /// Of reads.
    pub reads: f64,
}

/// What one drive of that size does alone, one megabyte behind the other.
///
/// # Errors
/// It cannot be opened, read or written.
pub async fn raw(spec: String, drive_bytes: u64, duration: Duration) -> anyhow::Result<RawRates> {
    let spec: DriveSpec = spec.parse()?;
    let drive = Drive::open_aside(&spec, OpenMode::CreateIfMissing).await?;
    let data = AlignedBuf::zeroed(RAW_BYTES).freeze();
    let place = move |number: u64| number * RAW_BYTES as u64 % drive_bytes;
    let (writer, its_data) = (drive.clone(), data);
    let write =
        async move |number| writer.write(place(number), its_data.clone(), Durability::Stable).await;
    let writes = rate(duration, write).await?;
    let read = async move |number| drive.read(place(number), AlignedBuf::stale(RAW_BYTES)).await.0;
    let reads = rate(duration, read).await?;
    Ok(RawRates { writes, reads })
}

/// Bytes per second of an operation that is done over and over.
async fn rate<E: std::error::Error + Send + Sync + 'static>(
    duration: Duration,
    operation: impl AsyncFn(u64) -> Result<(), E> + 'static,
) -> anyhow::Result<f64> {
    let (operation, began) = (Rc::new(operation), now());
    let worker = |worker: u64| {
        let operation = operation.clone();
        spawn_joined(async move {
            let mut done = 0;
            while now().since(began) < duration {
                operation(worker + done * RAW_DEPTH).await?;
                done += 1;
            }
            Ok::<u64, E>(done)
        })
    };
    let workers: Vec<_> = (0..RAW_DEPTH).map(worker).collect();
    let mut done = 0;
    for worker in workers {
        done += worker.await?;
    }
    Ok((done * RAW_BYTES as u64) as f64 / now().since(began).as_secs_f64())
}

impl Report {
    /// Hosts' writes beside what the drives could take of them: of each row parity is not the
    /// hosts'.
    fn share_of_writes(&self) -> f64 {
        self.writes / (self.drive_writes * (self.drives - PARITY) as f64)
    }

    /// Hosts' reads beside what all drives could give.
    fn share_of_reads(&self) -> f64 {
        self.reads / (self.drive_reads * self.drives as f64)
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::of("128KiB SEQUENTIAL, 4 x 32", &["MB/S", "OF THE DRIVES'"]);
        let mut add = |name: &str, bytes: f64, share: String| {
            table.add_row([name.to_owned(), format!("{:.0}", bytes / 1e6), share]);
        };
        add("one drive alone, writes", self.drive_writes, String::new());
        add("one drive alone, reads", self.drive_reads, String::new());
        add("writes", self.writes, format!("{:.3}", self.share_of_writes()));
        add("reads", self.reads, format!("{:.3}", self.share_of_reads()));
        let degraded = format!("{} of the reads before", table::ratio(self.degraded));
        add("reads without one drive", self.degraded_reads, degraded);
        format!(
            "{table}\n\nModelled drives, slow enough to be the limit: level {LEVEL} on {}. Of writes: beside {} of {} drives' bandwidth.",
            self.drives,
            self.drives - PARITY,
            self.drives
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        vec![
            Verdict::new(Target::DRIVES_WRITES, "level 10+2, 128KiB", self.share_of_writes()),
            Verdict::of_ratio(Target::DRIVES_DEGRADED, "level 10+2, 128KiB", self.degraded),
        ]
    }
}
