//! What compression gives where the drives' media are the limit: writes that compress to a half and
//! to a quarter beside writes that do not, on modelled drives that are slow.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context;
use ashlar_block::{ByteSize, XorShift};
use ashlar_control::types::PoolCounters;
use ashlar_drive::{ModelName, Profile};
use ashlar_load::load::{Content, Direction, Load, Pattern};
use ashlar_load::ratio::Ratio;
use serde::Serialize;

use super::churn::Amplification;
use super::daemon::{DRIVES, Daemon, PoolPlan};
use super::fill::{FILL_BYTES, connect, fill, write_each};
use super::profile::ProfileFile;
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

/// The class of the drives.
const MODEL: &str = "csd-like";
/// Their bandwidth is so many times less, so that the media are the limit and not the processor.
const SLOWNESS: u64 = 500;
/// Some 900 segments, of which open ones are a small part.
const DRIVE_BYTES: u64 = 128 << 20;
const CHUNK_BYTES: u32 = 128 << 10;
const LEVEL: &str = "5";
/// What the volume takes of its pool if nothing compresses, in percent.
const LIVE_PERCENT: u64 = 50;
/// How often the volume is overwritten at random before random writes are measured: garbage is then
/// collected as fast as it comes.
const OVERWRITES: u64 = 2;
/// How many times its cache a drive has to take before anything is counted.
const CACHES: u64 = 4;
/// What is written, and the name of its pool.
const CONTENTS: [(Content, &str); 3] =
    [(Content::Incompressible, "1:1"), (Content::Half, "2:1"), (Content::Quarter, "4:1")];
/// Pattern, bytes and connections, with so many operations outstanding on each. Sequential ones
/// come first, while what they find lies as they write it.
const SHAPES: [(Pattern, u32, u16); 2] =
    [(Pattern::Sequential, 64 << 10, 1), (Pattern::Random, 4 << 10, 4)];
const DEPTH: u32 = 32;

/// Every load with every content.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The class of the modelled drives.
    pub model: &'static str,
    /// How many times less than the class the drives read and write.
    pub slowness: u64,
    /// What one of them takes, in bytes per second.
    pub drive_bytes_per_second: u64,
    /// What came of it.
    pub loads: Vec<Measured>,
}

/// A load with a content.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// What LZ4 makes of the content.
    pub compresses: &'static str,
    /// The volume.
    pub pool: Summary,
    /// Operations per second beside those of 1:1 in the same round.
    pub ratio: Option<Ratio>,
    /// What the pool wrote meanwhile for each of its hosts' bytes, garbage collection included.
    pub amplification: Amplification,
}

/// A pool whose volume holds one content.
struct Pool {
    content: Content,
    name: &'static str,
    volume: Server,
}

struct Rig {
    daemon: Daemon,
    pools: Vec<Pool>,
}

/// Measures sequential writes on filled volumes, then random ones on overwritten volumes.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let profile = slow_profile()?;
    let file = ProfileFile::new(&text_of(&profile))?;
    let rig = Rig::start(settings, &file)?;
    let drive_bytes_per_second = profile.write_mb_per_s * 1_000_000;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let progress = Progress::new("media", 2 * CONTENTS.len() + SHAPES.len());
        rig.fill(&progress).await?;
        let mut loads = Vec::new();
        for (pattern, bytes, connections) in SHAPES {
            if pattern == Pattern::Random {
                rig.overwrite(bytes, &progress).await?;
            }
            let load = Load::new(Direction::Write, bytes, connections, DEPTH);
            let warm_up = warm_up(&profile);
            let load = Load { pattern, warm_up, ..settings.timed(load) };
            progress.begin(&table::load_name(&load));
            loads.extend(rig.measure(load, settings.rounds).await?);
        }
        Ok(Report { model: MODEL, slowness: SLOWNESS, drive_bytes_per_second, loads })
    })?
}

/// The class, but that much slower. Latencies are those of the class.
fn slow_profile() -> anyhow::Result<Profile> {
    let class = ModelName::parse(MODEL).context("there is no such class")?.profile()?;
    Ok(Profile {
        read_mb_per_s: class.read_mb_per_s / SLOWNESS,
        write_mb_per_s: class.write_mb_per_s / SLOWNESS,
        write_cache_mib: (class.write_cache_mib / SLOWNESS).max(1),
        ..class
    })
}

/// As drives read it.
fn text_of(profile: &Profile) -> String {
    let Profile { rotational, parallel, read_us, write_us, flush_us, .. } = profile;
    let Profile { read_mb_per_s, write_mb_per_s, write_cache_mib, random_write_cost, .. } = profile;
    format!(
        "rotational = {rotational}\nparallel = {parallel}\nread-us = {read_us}\n\
         write-us = {write_us}\nflush-us = {flush_us}\nread-mb-per-s = {read_mb_per_s}\n\
         write-mb-per-s = {write_mb_per_s}\nwrite-cache-mib = {write_cache_mib}\n\
         random-write-cost = {random_write_cost:?}\n"
    )
}

/// Until the caches are full, so that hosts wait for the media.
fn warm_up(profile: &Profile) -> Duration {
    let cache_bytes = profile.write_cache_mib << 20;
    Duration::from_micros(CACHES * cache_bytes / profile.write_mb_per_s)
}

impl Rig {
    fn start(settings: &Settings, profile: &ProfileFile) -> anyhow::Result<Self> {
        let daemon = Daemon::start(&settings.program, &["--reactors", "1"].map(str::to_owned))?;
        let mut pools = Vec::new();
        for (number, (content, name)) in CONTENTS.into_iter().enumerate() {
            let volume = volume(&daemon, &pool_name(number), profile)?;
            pools.push(Pool { content, name, volume });
        }
        Ok(Rig { daemon, pools })
    }

    async fn fill(&self, progress: &Progress) -> anyhow::Result<()> {
        for pool in &self.pools {
            progress.begin(&format!("filling a volume with {}", pool.name));
            fill(&pool.volume, pool.content).await?;
        }
        Ok(())
    }

    /// Overwrites each volume, `bytes` at a time.
    async fn overwrite(&self, bytes: u32, progress: &Progress) -> anyhow::Result<()> {
        for pool in &self.pools {
            progress.begin(&format!("overwriting {} {OVERWRITES} times", pool.name));
            let (controller, namespace) = connect(&pool.volume).await?;
            let blocks_each = u64::from(bytes / namespace.lba_bytes());
            let places = namespace.blocks() / blocks_each;
            let random = Rc::new(RefCell::new(XorShift::new(1)));
            let place = move |_| random.borrow_mut().below(places) * blocks_each;
            write_each(&namespace, pool.content, bytes, OVERWRITES * places, place).await?;
            controller.disconnect().await;
        }
        Ok(())
    }

    /// One load on all pools in turns.
    async fn measure(&self, load: Load, rounds: u32) -> anyhow::Result<Vec<Measured>> {
        let subject = |pool: &Pool| Load { content: pool.content, ..load };
        let subjects: Vec<Subject<'_>> =
            self.pools.iter().map(|pool| Subject::volume(&pool.volume, subject(pool))).collect();
        let before = self.counters()?;
        let measured = rounds::measure(&subjects, rounds).await?;
        let after = self.counters()?;
        let of = |(nth, pool): (usize, &Pool)| Measured {
            compresses: pool.name,
            pool: measured[nth].summary(),
            ratio: measured[nth].iops_ratio(&measured[0]),
            amplification: Amplification::between(&before[nth], &after[nth]),
        };
        Ok(self.pools.iter().enumerate().map(of).collect())
    }

    fn counters(&self) -> anyhow::Result<Vec<PoolCounters>> {
        (0..self.pools.len()).map(|number| self.daemon.counters(&pool_name(number))).collect()
    }
}

fn pool_name(number: usize) -> String {
    format!("media-{number}")
}

/// A pool of that name with a volume that compresses.
fn volume(daemon: &Daemon, name: &str, profile: &ProfileFile) -> anyhow::Result<Server> {
    let drives = vec![profile.drive(DRIVE_BYTES); DRIVES];
    let plan = PoolPlan { name, level: LEVEL, drives, chunk_bytes: Some(CHUNK_BYTES) };
    let usable_bytes = daemon
        .create_pool(plan)?
        .of_space(|space| space.usable_bytes)
        .context("the pool is not open")?;
    let granule = u64::from(FILL_BYTES);
    daemon.create_volume(
        name,
        "v0",
        ByteSize(usable_bytes * LIVE_PERCENT / 100 / granule * granule),
    )
}

impl Report {
    /// What the media did, beside what they can.
    fn share(&self, measured: &Measured) -> f64 {
        let written = measured.pool.bytes_per_second * measured.amplification.bytes;
        written / (self.drive_bytes_per_second * DRIVES as u64) as f64
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let header = [
            "CONTENT",
            "IOPS",
            "MB/S",
            "P50 µS",
            "P99 µS",
            "CPU µS",
            "BESIDE 1:1",
            "BYTES",
            "MEDIA",
        ];
        let mut table = table::new(&header);
        for measured in &self.loads {
            let more = [
                table::ratio(measured.ratio),
                format!("{:.2}", measured.amplification.bytes),
                format!("{:.2}", self.share(measured)),
            ];
            let load = table::load_name(&measured.pool.load);
            table::add(&mut table, &load, measured.compresses, &measured.pool, &more);
        }
        format!(
            "{table}\n\nThe drives are a MODEL, {}, that reads and writes {} times less: {:.0} MB/s of writes for each of\n\
             {DRIVES}, so that their media are the limit. Level {LEVEL}, LZ4, a pool for each content, volumes of {LIVE_PERCENT} % of\n\
             their pool. Random writes come after {OVERWRITES} random overwrites of everything: garbage collection is part of\n\
             them. BYTES: to drives, parity and collection included, for each byte of hosts. MEDIA: part of the media's\n\
             bandwidth that these are, warm-up and pauses counted as the rest.",
            self.model,
            self.slowness,
            self.drive_bytes_per_second as f64 / 1e6,
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let quarter = self.loads.iter().filter(|measured| measured.compresses == "4:1");
        let of = |measured: &Measured| {
            let load = measured.pool.load;
            let target = match load.pattern {
                Pattern::Random => Target::MEDIA_RANDOM,
                Pattern::Sequential => Target::MEDIA_SEQUENTIAL,
            };
            Verdict::of_ratio(target, table::load_name(&load), measured.ratio)
        };
        quarter.map(of).collect()
    }
}

#[cfg(test)]
mod tests;
