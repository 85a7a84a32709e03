//! What hosts notice of garbage collection: the same load on a pool that has to collect for every write, and on one
//! that has room.

use std::fs;

use ashlar_bench::load::{Content, Direction, Load};
use ashlar_bench::ratio::Ratio;
use ashlar_block::ByteSize;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, memory_drives};
use super::fill::{connect, fill, write_each};
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

const DRIVE_BYTES: u64 = 512 << 20;
/// What lives in the full pool, of what is left without parity, and what the other pool's volume takes.
const LIVE_PERCENT: u64 = 80;
const CALM_PERCENT: u64 = 10;
/// The least that the daemon takes, so that there is room for [`LIVE_PERCENT`].
const OVER_PROVISIONING_PERCENT: u64 = 15;
const BYTES: u32 = 4 << 10;
/// Collection comes in bursts: rounds are so many times as long as usual, to have some in each.
const LONGER: u32 = 4;
/// How often each block is overwritten before anything is measured, in percent.
const OVERWRITE_PERCENT: u64 = 150;
/// Operations outstanding on one connection.
const DEPTHS: [u32; 2] = [1, 32];

/// A pool that collects beside one that does not.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What lives in the full pool.
    pub live_percent: u64,
    /// Blocks written in the full pool for each block that the host wrote while it was measured.
    pub blocks_amplification: f64,
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
    let rig = Rig::start()?;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let progress = Progress::new("collection", DEPTHS.len() + 2);
        progress.begin("filling two pools");
        fill(&rig.calm, Content::Incompressible).await?;
        fill(&rig.full, Content::Incompressible).await?;
        progress.begin("overwriting until collection is steady");
        overwrite(&rig.full).await?;
        let before = rig.daemon.pool("full")?.counters;
        let mut loads = Vec::new();
        for depth in DEPTHS {
            let load = settings.timed(Load::new(Direction::Write, BYTES, 1, depth));
            let load = Load { duration: load.duration * LONGER, ..load };
            progress.begin(&table::load_name(&load));
            loads.push(compare(&rig, load, &settings).await?);
        }
        let after = rig.daemon.pool("full")?.counters;
        let written = after.blocks_written - before.blocks_written;
        let moved = after.blocks_moved - before.blocks_moved;
        let blocks_amplification = (written + moved) as f64 / written as f64;
        Ok(Report { live_percent: LIVE_PERCENT, blocks_amplification, loads })
    })?
}

impl Rig {
    fn start() -> anyhow::Result<Self> {
        let config = std::env::temp_dir().join(format!("ashlar-bench-{}.toml", std::process::id()));
        fs::write(&config, format!("over_provisioning_percent = {OVER_PROVISIONING_PERCENT}\n"))?;
        let arguments = ["--reactors", "1", "--config", &config.to_string_lossy()].map(str::to_owned);
        let started = Daemon::start(&arguments);
        fs::remove_file(&config)?;
        let daemon = started?;
        let calm = volume(&daemon, "calm", CALM_PERCENT)?;
        let full = volume(&daemon, "full", LIVE_PERCENT)?;
        Ok(Rig { daemon, calm, full })
    }
}

/// A pool of that name, and a volume of so many percent of it.
fn volume(daemon: &Daemon, name: &str, percent: u64) -> anyhow::Result<Server> {
    let drives = memory_drives(DRIVE_BYTES);
    let pool = daemon.create_pool(PoolPlan { name, level: "5", drives, chunk_bytes: None })?;
    let granule = u64::from(super::fill::FILL_BYTES);
    let bytes = pool.usable_bytes * percent / 100 / granule * granule;
    daemon.create_volume(name, "v0", ByteSize(bytes))
}

/// Overwrites at random until every segment has its share of garbage.
async fn overwrite(server: &Server) -> anyhow::Result<()> {
    let (controller, namespace) = connect(server).await?;
    let blocks = namespace.blocks();
    // In no order that collection could profit from.
    let place = move |write: u64| write.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks;
    let count = blocks * OVERWRITE_PERCENT / 100;
    write_each(&namespace, Content::Incompressible, BYTES, count, place).await?;
    controller.disconnect().await;
    Ok(())
}

async fn compare(rig: &Rig, load: Load, settings: &Settings) -> anyhow::Result<Compared> {
    let pair = [Subject::volume(&rig.calm, load), Subject::volume(&rig.full, load)];
    let measured = rounds::measure(&pair, settings.rounds).await?;
    let (calm, full) = (&measured[0], &measured[1]);
    Ok(Compared { p99: full.p99_ratio(calm), calm: calm.summary(), collecting: full.summary() })
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::new(&["POOL", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "P99"]);
        let full = format!("{} % live", self.live_percent);
        for compared in &self.loads {
            let name = table::load_name(&compared.calm.load);
            table::add(&mut table, &name, "with room", &compared.calm, &[String::new()]);
            table::add(&mut table, "", &full, &compared.collecting, &[table::ratio(compared.p99)]);
        }
        format!(
            "{table}\n\nUniform overwrites of blocks that do not compress. The full pool wrote {:.2} blocks for each of the host's.",
            self.blocks_amplification
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let p99 = |compared: &Compared| {
            Verdict::of_ratio(Target::COLLECTION_P99, table::load_name(&compared.calm.load), compared.p99)
        };
        self.loads.iter().map(p99).collect()
    }
}
