//! What hosts notice of garbage collection: the same load on a pool that has to collect for every
//! write, and on one that has room.

use anyhow::Context;
use ashlar_block::ByteSize;
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use serde::Serialize;

use super::amplification::start_daemon;
use super::churn::{Amplification, Churn, Churned, Pattern};
use super::daemon::{Daemon, PoolPlan, memory_drives};
use super::fill::fill;
use super::program::Program;
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

/// Some 1000 segments, as where amplification is measured.
const DRIVE_BYTES: u64 = 256 << 20;
const CHUNK_BYTES: u32 = 256 << 10;
/// What lives in the full pool, of what is left without parity, and what the other pool's volume
/// takes.
const LIVE_PERCENT: u64 = 80;
const CALM_PERCENT: u64 = 10;
const BYTES: u32 = 4 << 10;
/// Collection comes in bursts: rounds are so many times as long as usual, to have some in each.
const LONGER: u32 = 4;
/// The pool that collects.
const FULL: &str = "full";
/// Operations outstanding on one connection.
const DEPTHS: [u32; 2] = [1, 32];
/// Part of what the full pool sustains with the most of them that hosts ask of both pools as well.
/// As much as can be done is not what hosts ask for; and where collection takes a part of the time,
/// latencies of that are longer whatever is done, because operations wait for each other.
const STEADY_PERCENT: f64 = 50.0;

/// A pool that collects beside one that does not.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What lives in the full pool.
    pub live_percent: u64,
    /// How the full pool was overwritten before it was measured.
    pub before: Churned,
    /// Each load.
    pub loads: Vec<Compared>,
}

/// One load on both.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// The pool with room.
    pub calm: Summary,
    /// The pool that collects.
    pub collecting: Summary,
    /// The 99th percentile with collection beside the one without.
    pub p99: Option<Ratio>,
    /// What the full pool wrote meanwhile.
    pub amplification: Amplification,
}

struct Rig {
    daemon: Daemon,
    calm: Server,
    full: Server,
}

/// Measures uniform overwrites.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let rig = Rig::start(&settings.program)?;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let progress = Progress::new("collection", DEPTHS.len() + 3);
        progress.begin("filling two pools");
        fill(&rig.calm, Content::Incompressible).await?;
        fill(&rig.full, Content::Incompressible).await?;
        progress.begin("overwriting until collection is steady");
        let churn = Churn {
            daemon: &rig.daemon,
            pool: FULL,
            server: &rig.full,
            pattern: Pattern::Uniform,
            write_bytes: BYTES,
        };
        let before = churn.until_steady().await?;
        let mut loads = Vec::new();
        for depth in DEPTHS {
            let load = settings.timed(Load::new(Direction::Write, BYTES, 1, depth));
            let load = Load { duration: load.duration * LONGER, ..load };
            progress.begin(&table::load_name(&load));
            loads.push(compare(&rig, load, &settings).await?);
        }
        let most = &loads.last().expect("there are several").collecting;
        let per_second = Some((most.iops * STEADY_PERCENT / 100.0) as u32);
        let load = Load { per_second, ..most.load };
        progress.begin(&table::load_name(&load));
        loads.push(compare(&rig, load, &settings).await?);
        Ok(Report { live_percent: LIVE_PERCENT, before, loads })
    })?
}

impl Rig {
    fn start(program: &Program) -> anyhow::Result<Self> {
        let daemon = start_daemon(program)?;
        let calm = volume(&daemon, "calm", CALM_PERCENT)?;
        let full = volume(&daemon, FULL, LIVE_PERCENT)?;
        Ok(Rig { daemon, calm, full })
    }
}

/// A pool of that name, and a volume of so many percent of it.
fn volume(daemon: &Daemon, name: &str, percent: u64) -> anyhow::Result<Server> {
    let drives = memory_drives(DRIVE_BYTES);
    let pool = daemon.create_pool(PoolPlan {
        name,
        level: "5",
        drives,
        chunk_bytes: Some(CHUNK_BYTES),
    })?;
    let granule = u64::from(super::fill::FILL_BYTES);
    let bytes = pool.of_space(|space| space.usable_bytes).context("the pool is not open")?
        * percent
        / 100
        / granule
        * granule;
    daemon.create_volume(name, "v0", ByteSize(bytes))
}

async fn compare(rig: &Rig, load: Load, settings: &Settings) -> anyhow::Result<Compared> {
    let pair = [Subject::volume(&rig.calm, load), Subject::volume(&rig.full, load)];
    let before = rig.daemon.counters(FULL)?;
    let measured = rounds::measure(&pair, settings.rounds).await?;
    let amplification = Amplification::between(&before, &rig.daemon.counters(FULL)?);
    let (calm, full) = (&measured[0], &measured[1]);
    Ok(Compared {
        p99: full.p99_ratio(calm),
        calm: calm.summary(),
        collecting: full.summary(),
        amplification,
    })
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table =
            table::new(&["POOL", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "P99", "BLOCKS"]);
        let full = format!("{} % live", self.live_percent);
        for compared in &self.loads {
            let name = table::load_name(&compared.calm.load);
            table::add(
                &mut table,
                &name,
                "with room",
                &compared.calm,
                &[String::new(), String::new()],
            );
            let more =
                [table::ratio(compared.p99), format!("{:.2}", compared.amplification.blocks)];
            table::add(&mut table, "", &full, &compared.collecting, &more);
        }
        format!(
            "{table}\n\nUniform overwrites of blocks that do not compress. BLOCKS: written into stripes, moved ones included, for each\n\
             block of the host, meanwhile. Before: {}.",
            self.before.words()
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let p99 = |compared: &Compared| {
            Verdict::of_ratio(
                Target::COLLECTION_P99,
                table::load_name(&compared.calm.load),
                compared.p99,
            )
        };
        self.loads.iter().map(p99).collect()
    }
}
