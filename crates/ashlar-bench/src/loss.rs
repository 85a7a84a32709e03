//! What hosts notice of the loss of a drive: one verified load at a steady rate, on modelled
//! drives, while all drives are there, while one is lost, while what lived on it is restored on the
//! others, after that, and while another one is restored that is held to a latency. And how long
//! restoring takes, by what lives and by how large the drives are.

mod plot;
mod steady;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ashlar_block::ByteSize;
use ashlar_load::load::Content;
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, RECON_PRIO_LEAST, VolumePlan};
use super::fill::{FILL_BYTES, fill};
use super::program::Program;
use super::progress::Progress;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, interrupt, table};
use steady::{Moment, SteadyLoad};

const POOL: &str = "tank";
const DRIVES: usize = 8;
const LEVEL: &str = "6";
const MODEL: &str = "nvme-gen4";
const DRIVE_BYTES: u64 = 512 << 20;
const CHUNK_BYTES: u32 = 1 << 20;
/// What lives beside the volume that is under load.
const LIVE_BYTES: u64 = 768 << 20;
/// Part of the time that the rebuild has while its hosts are watched, in percent.
const RECON_PRIO: u8 = 10;
/// What the second rebuild is held to instead: 99 of 100 answers to hosts within so many
/// microseconds.
const RECON_P99_US: u64 = 2000;
/// Each state lasts so many times as long as a load is usually measured: its 99.9th percentile is
/// not to hang on whether the machine stalled once or twice in it.
const LONGER: u32 = 40;
/// The longest that a rebuild is waited for: one that cannot hold its latency has a hundredth of
/// the time.
const REBUILD_WAIT: Duration = Duration::from_secs(900);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// Between the first writes of the load and the first look at it.
const SETTLING: Duration = Duration::from_secs(3);
/// What lives and how large drives are: as much, twice as much, and as much on larger drives.
const REBUILDS: [(u64, u64); 3] =
    [(384 << 20, 256 << 20), (768 << 20, 256 << 20), (384 << 20, 512 << 20)];

/// How a pool stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All drives are there.
    Normal,
    /// One is lost, and hardly anything is restored yet.
    Degraded,
    /// What lived on it is being restored.
    Rebuilding,
    /// All is safe again, on the other drives.
    Restored,
    /// What lived on a second one is being restored, as fast as a latency of hosts allows.
    Held,
}

impl State {
    const ALL: [State; 5] =
        [State::Normal, State::Degraded, State::Rebuilding, State::Restored, State::Held];

    fn name(self) -> &'static str {
        match self {
            State::Normal => "normal",
            State::Degraded => "degraded",
            State::Rebuilding => "rebuilding",
            State::Restored => "restored",
            State::Held => "held",
        }
    }
}

/// What the load was like in one state.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InState {
    /// The state.
    pub state: State,
    /// How long it was watched.
    pub seconds: f64,
    /// Operations per second.
    pub iops: f64,
    /// Half are faster.
    pub p50_us: f64,
    /// 99 % are faster.
    pub p99_us: f64,
    /// 99.9 % are faster.
    pub p999_us: f64,
    /// The median of the same figure of four seconds each.
    pub p999_median_us: f64,
}

/// A rebuild without load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Rebuilt {
    /// Bytes of hosts that live.
    pub live_bytes: u64,
    /// Bytes of each drive.
    pub drive_bytes: u64,
    /// From the loss until all is safe again.
    pub seconds: f64,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The class of drives that was modelled.
    pub model: &'static str,
    /// The pool's level.
    pub level: &'static str,
    /// Its drives.
    pub drives: usize,
    /// Operations that the load begins in a second.
    pub per_second: u32,
    /// Part of the time that the rebuild had under load.
    pub recon_prio_percent: u8,
    /// What the second rebuild was held to under load.
    pub recon_p99_us: u64,
    /// All states.
    pub states: Vec<InState>,
    /// From the loss until all is safe again, under load.
    pub rebuild_seconds: f64,
    /// The same of the second loss.
    pub held_seconds: f64,
    /// Blocks that were read and were as they had been written.
    pub blocks_checked: u64,
    /// Rebuilds without load.
    pub rebuilds: Vec<Rebuilt>,
    /// The load, moment by moment.
    pub moments: Vec<Moment>,
}

/// Loses drives.
///
/// # Errors
/// What cannot be measured, and any wrong data.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let progress = Progress::new("loss", State::ALL.len() + 1 + REBUILDS.len());
    progress.begin("writing what is to live");
    let daemon = start_daemon(&settings.program, LIVE_BYTES, DRIVE_BYTES)?;
    let server = daemon.create_volume(POOL, "watched", ByteSize(steady::VOLUME_BYTES))?;
    let load = SteadyLoad::start(server)?;
    let duration = settings.round * settings.rounds * LONGER;
    let (rebuild_seconds, held_seconds) = watch(&daemon, &load, &progress, duration)?;
    let watched = load.end()?;
    drop(daemon);
    let mut rebuilds = Vec::new();
    for (live_bytes, drive_bytes) in REBUILDS {
        progress.begin(&format!(
            "{} live on drives of {}",
            ByteSize(live_bytes),
            ByteSize(drive_bytes)
        ));
        let daemon = start_daemon(&settings.program, live_bytes, drive_bytes)?;
        rebuilds.push(Rebuilt { live_bytes, drive_bytes, seconds: lose_and_restore(&daemon)? });
    }
    Ok(Report {
        model: MODEL,
        level: LEVEL,
        drives: DRIVES,
        per_second: steady::PER_SECOND,
        recon_prio_percent: RECON_PRIO,
        recon_p99_us: RECON_P99_US,
        states: State::ALL.iter().filter_map(|state| watched.in_state(*state)).collect(),
        rebuild_seconds,
        held_seconds,
        blocks_checked: watched.blocks_checked,
        rebuilds,
        moments: watched.moments,
    })
}

/// Leads the pool through all states under the load. Returns how long the two rebuilds took.
fn watch(
    daemon: &Daemon,
    load: &SteadyLoad,
    progress: &Progress,
    duration: Duration,
) -> anyhow::Result<(f64, f64)> {
    let enter = |state: State| {
        progress.begin(state.name());
        load.enter(state);
    };
    while !load.is_steady() {
        wait(LOOK_INTERVAL)?;
    }
    // What was written last is still being made durable, striped and merged.
    wait(SETTLING)?;
    enter(State::Normal);
    wait(duration)?;
    daemon.set_recon_prio(POOL, RECON_PRIO_LEAST)?;
    daemon.lose_a_drive(POOL)?;
    enter(State::Degraded);
    wait(duration)?;
    daemon.set_recon_prio(POOL, RECON_PRIO)?;
    enter(State::Rebuilding);
    let by_share = await_restored(daemon, Instant::now())?;
    enter(State::Restored);
    wait(duration)?;
    daemon.set_recon_p99(POOL, RECON_P99_US)?;
    enter(State::Held);
    let held = lose_and_restore(daemon)?;
    Ok((by_share, held))
}

/// A pool in which so much lives.
fn start_daemon(program: &Program, live_bytes: u64, drive_bytes: u64) -> anyhow::Result<Daemon> {
    let daemon = Daemon::start(program, &["--reactors", "1"].map(str::to_owned))?;
    let drives = vec![format!("mem:{drive_bytes},touched=on,model={MODEL}"); DRIVES];
    daemon.create_pool(PoolPlan {
        name: POOL,
        level: LEVEL,
        drives,
        chunk_bytes: Some(CHUNK_BYTES),
    })?;
    let size = ByteSize(live_bytes / u64::from(FILL_BYTES) * u64::from(FILL_BYTES));
    let server = daemon.create_volume_of(VolumePlan {
        pool: POOL,
        name: "live",
        size,
        compression: "none",
    })?;
    let config = ashlar_reactor::Config::default();
    ashlar_reactor::run(config, async move { fill(&server, Content::Incompressible).await })??;
    Ok(daemon)
}

fn lose_and_restore(daemon: &Daemon) -> anyhow::Result<f64> {
    let began = Instant::now();
    daemon.lose_a_drive(POOL)?;
    await_restored(daemon, began)
}

/// Waits until what was lost is restored, for so many seconds since `began`.
fn await_restored(daemon: &Daemon, began: Instant) -> anyhow::Result<f64> {
    loop {
        let pool = daemon.pool(POOL)?;
        if pool.rebuild().is_none() && !pool.states.iter().any(|state| state == "degraded") {
            return Ok(began.elapsed().as_secs_f64());
        }
        ensure!(began.elapsed() < REBUILD_WAIT, "the rebuild does not end: {:?}", pool.rebuild());
        wait(LOOK_INTERVAL)?;
    }
}

fn wait(duration: Duration) -> anyhow::Result<()> {
    std::thread::sleep(duration);
    interrupt::check()
}

impl Report {
    /// The load, moment by moment, as a picture.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn draw(&self, file: &Path) -> anyhow::Result<()> {
        plot::draw(self, file)
    }

    fn in_state(&self, state: State) -> Option<&InState> {
        self.states.iter().find(|in_state| in_state.state == state)
    }

    /// A figure of a state beside that of the normal one.
    fn beside_normal(&self, state: State, figure: fn(&InState) -> f64) -> Option<f64> {
        Some(figure(self.in_state(state)?) / figure(self.in_state(State::Normal)?))
    }

    /// The 99th percentile while a rebuild was held to one, beside that, or beside the normal one
    /// where that is more anyway.
    fn p99_held(&self) -> Option<f64> {
        let least = self.in_state(State::Normal)?.p99_us.max(self.recon_p99_us as f64);
        Some(self.in_state(State::Held)?.p99_us / least)
    }

    /// How the rebuild went that was held to a latency.
    fn held(&self) -> String {
        let p99 = self.in_state(State::Held).map_or(f64::NAN, |held| held.p99_us);
        format!(
            "Held to recon-p99 {target} µs a second rebuild took {seconds:.1} s, and 99 % of answers came within {p99:.0} µs.",
            target = self.recon_p99_us,
            seconds = self.held_seconds,
        )
    }

    fn states_table(&self) -> comfy_table::Table {
        let mut table = table::of(
            "STATE",
            &["SECONDS", "IOPS", "P50 µS", "P99 µS", "P99.9 µS", "OF 4 S, MEDIAN", "TO NORMAL"],
        );
        for state in &self.states {
            let whole = |number: f64| format!("{number:.0}");
            let to_normal = self.beside_normal(state.state, |state| state.p999_median_us);
            table.add_row([
                state.state.name().to_owned(),
                format!("{:.1}", state.seconds),
                whole(state.iops),
                whole(state.p50_us),
                whole(state.p99_us),
                whole(state.p999_us),
                whole(state.p999_median_us),
                to_normal.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            ]);
        }
        table
    }

    /// Seconds of one rebuild beside those of another.
    fn beside(&self, one: usize, other: usize) -> f64 {
        self.rebuilds[one].seconds / self.rebuilds[other].seconds
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let table = self.states_table();
        let rebuilt = |rebuilt: &Rebuilt| {
            let (live, drive) = (ByteSize(rebuilt.live_bytes), ByteSize(rebuilt.drive_bytes));
            format!("{live} live on drives of {drive}: {:.2} s", rebuilt.seconds)
        };
        let rebuilds: Vec<String> = self.rebuilds.iter().map(rebuilt).collect();
        format!(
            "{table}\n\nModelled drives ({model}): level {level} on {drives}, one of which is lost. {rate} verified operations of 4 KiB a\n\
             second, of which {reads} % read; {checked} blocks were read, and all were right. Rebuilding with recon-prio {prio}\n\
             took {seconds:.1} s. {held}\n\
             Rebuilds without load: {rebuilds}.",
            model = self.model,
            level = self.level,
            drives = self.drives,
            rate = self.per_second,
            reads = steady::READ_PERCENT,
            checked = self.blocks_checked,
            prio = self.recon_prio_percent,
            seconds = self.rebuild_seconds,
            held = self.held(),
            rebuilds = rebuilds.join("; "),
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        for state in [State::Degraded, State::Rebuilding, State::Restored] {
            let name = state.name();
            let p999 = self.beside_normal(state, |state| state.p999_median_us);
            verdicts.extend(p999.map(|ratio| Verdict::new(Target::LOSS_P999, name, ratio)));
            let iops = self.beside_normal(state, |state| state.iops);
            verdicts.extend(iops.map(|ratio| Verdict::new(Target::LOSS_IOPS, name, ratio)));
        }
        let held = State::Held.name();
        verdicts.extend(self.p99_held().map(|ratio| Verdict::new(Target::LOSS_HELD, held, ratio)));
        verdicts.push(Verdict::new(
            Target::REBUILD_BY_LIVE,
            "twice as much lives",
            self.beside(1, 0),
        ));
        verdicts.push(Verdict::new(
            Target::REBUILD_BY_SIZE,
            "drives twice as large",
            self.beside(2, 0),
        ));
        verdicts
    }
}
