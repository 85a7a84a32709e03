//! Write amplification: what a pool on drives in memory writes for each block of its hosts, once
//! collection is steady.

use std::fs;

use anyhow::Context;
use ashlar_block::ByteSize;
use ashlar_load::load::Content;
use serde::Serialize;

use super::churn::{Churn, Churned, Pattern};
use super::daemon::{Daemon, PoolPlan, VolumePlan, memory_drives};
use super::fill::fill;
use super::program::Program;
use super::progress::Progress;
use super::targets::{Target, Verdict};
use super::{Figures, table};

/// Some 1000 segments: what is kept free, open, or waits for a checkpoint weighs the more the fewer
/// there are.
const DRIVE_BYTES: u64 = 256 << 20;
const CHUNK_BYTES: u32 = 256 << 10;
/// The least that the daemon takes.
const OVER_PROVISIONING_PERCENT: u64 = 15;
const WRITE_BYTES: u32 = 16 << 10;
const POOL: &str = "churned";

/// Pattern, how much of the space behind parity is hosts' data, and what that is to come to. 83 %,
/// and their records and maps, are the most that over-provisioning leaves room for.
const CASES: [(Pattern, u64, Target); 4] = [
    (Pattern::Uniform, 70, Target::UNIFORM_70),
    (Pattern::Uniform, 80, Target::UNIFORM_80),
    (Pattern::Uniform, 83, Target::UNIFORM_85),
    (Pattern::HotCold, 80, Target::HOT_COLD_80),
];

/// Every case.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Bytes of each drive, and of a chunk.
    pub drive_bytes: u64,
    /// Of a segment's part on one drive.
    pub chunk_bytes: u32,
    /// Each case.
    pub cases: Vec<Case>,
}

/// A pool that was overwritten.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Case {
    /// Which blocks.
    pub pattern: Pattern,
    /// How much of the space behind parity is hosts' data.
    pub live_percent: u64,
    /// What came of it.
    pub churned: Churned,
    #[serde(skip)]
    target: Target,
}

/// Starts a daemon with the least over-provisioning.
///
/// # Errors
/// It does not start.
pub fn start_daemon(program: &Program) -> anyhow::Result<Daemon> {
    let config = std::env::temp_dir().join(format!("ashlar-bench-{}.toml", std::process::id()));
    fs::write(&config, format!("over_provisioning_percent = {OVER_PROVISIONING_PERCENT}\n"))?;
    let arguments = ["--reactors", "1", "--config", &config.to_string_lossy()].map(str::to_owned);
    let started = Daemon::start(program, &arguments);
    fs::remove_file(&config)?;
    started
}

/// Overwrites pools of level 5 with 16 KiB writes of blocks that do not compress.
///
/// # Errors
/// What cannot be measured.
pub fn measure(program: &Program) -> anyhow::Result<Report> {
    let progress = Progress::new("amplification", CASES.len());
    let mut report =
        Report { drive_bytes: DRIVE_BYTES, chunk_bytes: CHUNK_BYTES, cases: Vec::new() };
    for (pattern, live_percent, target) in CASES {
        progress.begin(&case_name(pattern, live_percent));
        let churned = measure_one(program, pattern, live_percent)?;
        report.cases.push(Case { pattern, live_percent, churned, target });
    }
    Ok(report)
}

fn measure_one(program: &Program, pattern: Pattern, live_percent: u64) -> anyhow::Result<Churned> {
    let daemon = start_daemon(program)?;
    let drives = memory_drives(DRIVE_BYTES);
    let plan = PoolPlan { name: POOL, level: "5", drives, chunk_bytes: Some(CHUNK_BYTES) };
    let usable_bytes = daemon
        .create_pool(plan)?
        .of_space(|space| space.usable_bytes)
        .context("the pool is not open")?;
    let granule = u64::from(super::fill::FILL_BYTES);
    let size = ByteSize(usable_bytes * live_percent / 100 / granule * granule);
    let server = daemon.create_volume_of(VolumePlan {
        pool: POOL,
        name: "v0",
        size,
        compression: "none",
    })?;
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        fill(&server, Content::Incompressible).await?;
        let churn = Churn {
            daemon: &daemon,
            pool: POOL,
            server: &server,
            pattern,
            write_bytes: WRITE_BYTES,
        };
        churn.until_steady().await
    })?
}

fn case_name(pattern: Pattern, live_percent: u64) -> String {
    let pattern = match pattern {
        Pattern::Uniform => "uniform",
        Pattern::HotCold => "hot/cold 90/10",
    };
    format!("{pattern}, {live_percent} % live")
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::of("LOAD", &["BLOCKS", "BYTES", "PASSES", "STEADY"]);
        for Case { pattern, live_percent, churned, .. } in &self.cases {
            table.add_row([
                case_name(*pattern, *live_percent),
                format!("{:.2}", churned.amplification.blocks),
                format!("{:.2}", churned.amplification.bytes),
                churned.passes.to_string(),
                if churned.is_steady { "yes" } else { "NO" }.to_owned(),
            ]);
        }
        format!(
            "{table}\n\nA pool of level 5 on five drives of {}, chunks of {}, over-provisioning {OVER_PROVISIONING_PERCENT} %, writes of {}.\n\
             BLOCKS: written into stripes, moved ones included, for each block of hosts. BYTES: to drives, parity, headers,\n\
             journal and map included, for each byte of hosts. PASSES: how often as much as lives was overwritten; of the\n\
             last two, which are to agree. Live: hosts' data; with their records and maps, 83 % are the 85 % that fit.",
            ByteSize(self.drive_bytes),
            ByteSize(self.chunk_bytes.into()),
            ByteSize(WRITE_BYTES.into()),
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |case: &Case| {
            let of = format!("{} %, {} passes", case.live_percent, case.churned.passes);
            Verdict::new(case.target, of, case.churned.amplification.blocks)
        };
        self.cases.iter().map(of).collect()
    }
}
