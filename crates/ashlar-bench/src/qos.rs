//! How well limits are held, whether volumes that want more than there is get it by their weights,
//! and what a noisy neighbour takes from a volume inside its share.

use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use ashlar_block::ByteSize;
use ashlar_control::types::SetLimits;
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use ashlar_load::wire_bench::{self, Figures as Measured};
use serde::Serialize;

use super::daemon::{Daemon, PoolPlan, VolumePlan, memory_drives};
use super::fill::fill;
use super::progress::Progress;
use super::rounds::options;
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, interrupt, table};

const POOL: &str = "tank";
const VOLUME_BYTES: u64 = 256 << 20;
/// How long a limit is looked at, and each look.
const SECONDS: u32 = 10;
/// What was saved up is spent by then.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long it is looked what a volume does without limits, and the part of it that it is then
/// limited to: so a limit is noticed on any machine.
const FREE: Duration = Duration::from_secs(2);
const PART: f64 = 0.25;

/// Operations of the quiet volume in a second, and of one that is used now and then.
const QUIET_PER_SECOND: u32 = 200;
const RARE_PER_SECOND: u32 = 20;

/// The weights of two volumes that want more than there is, and of one that reads beside them.
const WEIGHTS: [u16; 2] = [100, 300];
const BYSTANDER_WEIGHT: u16 = 1;
/// What the two volumes compress with, and for how long they go before it counts what they do: by
/// then the pool knows how much it has to have at a time.
const SLOW: &str = "zstd:9";
const WEIGHED_FIRST: Duration = Duration::from_secs(5);
/// Reactors, where the connections of a volume come to some that its pool does not live on.
const REACTORS: usize = 2;
/// How long it is measured in each round, alone and beside the noisy one.
const ROUND: Duration = Duration::from_secs(5);
/// How long the noisy one goes before the quiet one begins.
const NOISE_FIRST: Duration = Duration::from_secs(1);
const ROUNDS: u32 = 6;

/// How nice the noisy host's thread is. It has the same processors here, where another machine
/// would have its own: so it lets the daemon and the quiet host go first.
const NICE_MOST: i32 = 19;

/// How a limit was held.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// Which.
    pub limit: String,
    /// Units per second that it allows.
    pub per_second: f64,
    /// Units per second over all of the time, beside the limit, as the host sees it.
    pub over_all: f64,
    /// The same of the second that was furthest from it, as the daemon has counted.
    pub worst_second: f64,
}

/// Volumes that want more than there is.
#[derive(Clone, Debug, Serialize)]
pub struct Weighed {
    /// What they do.
    pub load: String,
    /// What the second has moved beside the first; for that their weights say
    /// [`Weighed::expected`].
    pub ratio: f64,
    /// The one weight beside the other.
    pub expected: f64,
}

/// The quiet volume in all rounds, and one of another daemon that has no neighbour: what the noise
/// takes from that one, it takes by the processors and not by the appliance.
#[derive(Clone, Debug, Serialize)]
pub struct Neighbour {
    /// What the noisy one did.
    pub noise: String,
    /// Operations of the quiet one in a second.
    pub quiet_per_second: u32,
    /// What the noisy volume has moved, in bytes per second.
    pub noise_bytes_per_second: f64,
    /// The 99th percentile of the quiet one alone, the median over all rounds.
    pub alone_p99_us: f64,
    /// The same of the other daemon's, while the noisy one goes on.
    pub elsewhere_p99_us: f64,
    /// The same beside the noisy one, at the same time.
    pub beside_p99_us: f64,
    /// Beside the noisy one over elsewhere.
    pub p99: Option<Ratio>,
}

/// Everything.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Limits.
    pub held: Vec<Held>,
    /// Weights, where all is done by one reactor, and where connections come to several.
    pub weighed: Vec<Weighed>,
    /// Neighbours: one that is held to a limit, and one that is not.
    pub neighbours: Vec<Neighbour>,
}

/// Limits volumes, and has one disturb another.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let progress = Progress::new("qos", 7);
    let weighed = [1, REACTORS].map(|reactors| {
        progress.begin(&format!("weights, {reactors} reactors"));
        weigh(&start_daemon(settings, reactors)?, reactors)
    });
    let weighed = weighed.into_iter().collect::<anyhow::Result<_>>()?;
    let daemon = start_daemon(settings, 1)?;
    let [limited, quiet, noisy] = ["limited", "quiet", "noisy"]
        .map(|name| volume(&daemon, name, "lz4", Content::Incompressible));
    let (limited, quiet, noisy) = (limited?, quiet?, noisy?);
    let mut held = Vec::new();
    for load in [load(Direction::Read, 4 << 10), load(Direction::Write, 64 << 10)] {
        progress.begin(&table::load_name(&load));
        daemon.limit(POOL, "limited", no_limits())?;
        let free = end(start(&limited, Load { duration: FREE, ..load }))?;
        let (limits, per_second) = limits_of(&free);
        daemon.limit(POOL, "limited", limits)?;
        held.push(hold(&daemon, &limited, load, per_second)?);
    }
    let other = start_daemon(settings, 1)?;
    let elsewhere = volume(&other, "quiet", "lz4", Content::Incompressible)?;
    let volumes = Volumes { quiet, noisy, elsewhere };
    let neighbours = neighbours(&daemon, &progress, &volumes)?;
    Ok(Report { held, weighed, neighbours })
}

/// A quiet volume and its neighbour, and a quiet one of another daemon.
struct Volumes {
    quiet: Server,
    noisy: Server,
    elsewhere: Server,
}

fn start_daemon(settings: &Settings, reactors: usize) -> anyhow::Result<Daemon> {
    let options = ["--reactors".to_owned(), reactors.to_string()];
    let daemon = Daemon::start(&settings.program, &options)?;
    let drives = memory_drives(1 << 30);
    daemon.create_pool(PoolPlan { name: POOL, level: "5", drives, chunk_bytes: None })?;
    Ok(daemon)
}

/// A volume that was written to.
fn volume(
    daemon: &Daemon,
    name: &str,
    compression: &str,
    content: Content,
) -> anyhow::Result<Server> {
    let size = ByteSize(VOLUME_BYTES);
    let server = daemon.create_volume_of(VolumePlan { pool: POOL, name, size, compression })?;
    let filled = server.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        fill(&filled, content).await
    })??;
    Ok(server)
}

/// One that is held to a limit, and one that is not, beside a volume that is used all the time and
/// one that is used now and then.
fn neighbours(
    daemon: &Daemon,
    progress: &Progress,
    volumes: &Volumes,
) -> anyhow::Result<Vec<Neighbour>> {
    let mut neighbours = Vec::new();
    let free =
        end(start(&volumes.noisy, Load { warm_up: NOISE_FIRST, duration: FREE, ..noisy_load() }))?;
    let (limit, _) = limits_of(&free);
    let all = [
        ("held to a quarter", limit, QUIET_PER_SECOND),
        ("without limits", no_limits(), QUIET_PER_SECOND),
        ("without limits, rare reads", no_limits(), RARE_PER_SECOND),
    ];
    for (noise, limits, per_second) in all {
        progress.begin(&format!("a neighbour {noise}"));
        daemon.limit(POOL, "noisy", limits)?;
        neighbours.push(disturb(volumes, noise, per_second)?);
    }
    Ok(neighbours)
}

/// Has two volumes want more than there is, beside one of the least weight that reads one block
/// after the other. They compress so hard that it is the pool that takes its time, and not the
/// hosts, which have the same processors here.
fn weigh(daemon: &Daemon, reactors: usize) -> anyhow::Result<Weighed> {
    let [one, other] = ["one", "other"].map(|name| volume(daemon, name, SLOW, Content::Half));
    let (one, other) = (one?, other?);
    let bystander = volume(daemon, "bystander", "lz4", Content::Incompressible)?;
    let all = [("one", WEIGHTS[0]), ("other", WEIGHTS[1]), ("bystander", BYSTANDER_WEIGHT)];
    all.iter().try_for_each(|(volume, weight)| daemon.weigh(POOL, volume, *weight))?;
    let (warm_up, duration) = (WEIGHED_FIRST, 2 * ROUND);
    let load = Load { content: Content::Half, warm_up, duration, ..noisy_load() };
    let reads = Load { warm_up, duration, ..Load::new(Direction::Read, 4 << 10, 1, 1) };
    let [one, other, reader] =
        [start(&one, load), start(&other, load), start(&bystander, reads)].map(end);
    reader?;
    Ok(Weighed {
        load: format!("{}, {SLOW}, {reactors} reactors", table::load_name(&load)),
        ratio: other?.bytes_per_second / one?.bytes_per_second,
        expected: f64::from(WEIGHTS[1]) / f64::from(WEIGHTS[0]),
    })
}

fn no_limits() -> SetLimits {
    let none = Some(0);
    SetLimits { iops_max: none, write_bytes_per_second_max: none, ..SetLimits::default() }
}

fn load(direction: Direction, bytes: u32) -> Load {
    let duration = Duration::from_secs(SECONDS.into());
    Load { warm_up: WARM_UP, duration, ..Load::new(direction, bytes, 2, 16) }
}

/// Many large writes, all the time.
fn noisy_load() -> Load {
    let load = Load::new(Direction::Write, 64 << 10, 2, 32);
    Load { warm_up: NOISE_FIRST, duration: ROUND, ..load }
}

/// A part of what a volume does without limits, of reads in commands and of writes in bytes; and
/// the commands per second that it comes to.
fn limits_of(free: &Measured) -> (SetLimits, f64) {
    match free.load.direction {
        Direction::Read => {
            let iops = ((free.iops * PART) as u64).max(10);
            (SetLimits { iops_max: Some(iops), ..no_limits() }, iops as f64)
        }
        Direction::Write => {
            let bytes = ((free.bytes_per_second * PART) as u64).max(1 << 20);
            let limits = SetLimits { write_bytes_per_second_max: Some(bytes), ..no_limits() };
            (limits, bytes as f64 / f64::from(free.load.bytes))
        }
    }
}

/// A load that is run by a thread of its own.
fn start(server: &Server, load: Load) -> JoinHandle<anyhow::Result<Measured>> {
    run_by_thread(server, load, || Ok(()))
}

/// The same by a thread that lets all others go first. Only that thread does, on Linux.
fn start_nice(server: &Server, load: Load) -> JoinHandle<anyhow::Result<Measured>> {
    run_by_thread(server, load, || Ok(rustix::process::setpriority_process(None, NICE_MOST)?))
}

fn run_by_thread(
    server: &Server,
    load: Load,
    prepare: fn() -> anyhow::Result<()>,
) -> JoinHandle<anyhow::Result<Measured>> {
    let (options, nsid) = (options(server, 1), server.nsid);
    std::thread::spawn(move || {
        prepare()?;
        let config = ashlar_reactor::Config::default();
        let measured = ashlar_reactor::run(config, wire_bench::measure(options, nsid, load, None))?;
        measured.map_err(|error| anyhow!("{}: {error}", table::load_name(&load)))
    })
}

fn end(running: JoinHandle<anyhow::Result<Measured>>) -> anyhow::Result<Measured> {
    running.join().map_err(|_| anyhow!("the load has panicked"))?
}

fn hold(daemon: &Daemon, server: &Server, load: Load, per_second: f64) -> anyhow::Result<Held> {
    let running = start(server, load);
    std::thread::sleep(load.warm_up);
    let mut looks = vec![daemon.operations(POOL, "limited")?];
    for _ in 0..SECONDS {
        std::thread::sleep(Duration::from_secs(1));
        interrupt::check()?;
        looks.push(daemon.operations(POOL, "limited")?);
    }
    let measured = end(running)?;
    let each = looks.windows(2).map(|two| {
        let [(before, from), (after, to)] = [two[0], two[1]];
        (after - before) as f64 / (to - from) / per_second
    });
    // The last look may come after the end of the load.
    let each: Vec<f64> = each.take(SECONDS as usize - 1).collect();
    let worst = each.iter().copied().max_by(|one, other| off(*one).total_cmp(&off(*other)));
    Ok(Held {
        limit: table::load_name(&load),
        per_second,
        over_all: measured.iops / per_second,
        worst_second: worst.context("no second was looked at")?,
    })
}

/// How far a ratio is from one.
fn off(ratio: f64) -> f64 {
    (ratio - 1.0).abs()
}

fn disturb(volumes: &Volumes, noise: &str, per_second: u32) -> anyhow::Result<Neighbour> {
    let watched = Load {
        warm_up: Duration::from_millis(300),
        duration: ROUND,
        per_second: Some(per_second),
        ..Load::new(Direction::Read, 4 << 10, 1, 8)
    };
    let [mut alone, mut elsewhere, mut beside, mut moved] = [const { Vec::new() }; 4];
    // The first round does not count: in it the pool finds out how much it is to have at a time.
    for round in 0..=ROUNDS {
        interrupt::check()?;
        let before = end(start(&volumes.quiet, watched))?;
        let running = start_nice(&volumes.noisy, noisy_load());
        std::thread::sleep(NOISE_FIRST);
        let [other, during] =
            [&volumes.elsewhere, &volumes.quiet].map(|volume| start(volume, watched)).map(end);
        let noise = end(running)?;
        let (other, during) = (other?, during?);
        if round > 0 {
            alone.push(before.latency.p99_us);
            elsewhere.push(other.latency.p99_us);
            beside.push(during.latency.p99_us);
            moved.push(noise.bytes_per_second);
        }
    }
    ensure!(!alone.is_empty(), "no round was measured");
    let median = ashlar_load::ratio::median;
    Ok(Neighbour {
        noise: noise.to_owned(),
        quiet_per_second: per_second,
        noise_bytes_per_second: median(&moved),
        alone_p99_us: median(&alone),
        elsewhere_p99_us: median(&elsewhere),
        beside_p99_us: median(&beside),
        p99: Ratio::of_rounds(&beside, &elsewhere),
    })
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut held = table::of("LIMIT", &["PER SECOND", "OVER 10 S", "WORST SECOND"]);
        for it in &self.held {
            held.add_row([
                it.limit.clone(),
                format!("{:.0}", it.per_second),
                format!("{:.3}", it.over_all),
                format!("{:.3}", it.worst_second),
            ]);
        }
        let mut weighed = table::of("WEIGHTS", &["BY WEIGHT", "MEASURED"]);
        for it in &self.weighed {
            weighed.add_row([
                it.load.clone(),
                format!("1:{:.2}", it.expected),
                format!("1:{:.2}", it.ratio),
            ]);
        }
        let mut neighbours =
            table::of("NEIGHBOUR", &["READS/S", "MB/S", "ALONE µS", "ELSEWHERE", "BESIDE", "P99"]);
        for it in &self.neighbours {
            neighbours.add_row([
                it.noise.clone(),
                it.quiet_per_second.to_string(),
                format!("{:.0}", it.noise_bytes_per_second / 1e6),
                format!("{:.0}", it.alone_p99_us),
                format!("{:.0}", it.elsewhere_p99_us),
                format!("{:.0}", it.beside_p99_us),
                table::ratio(it.p99),
            ]);
        }
        format!(
            "{held}\n\nOperations beside the limit: of a host over 10 s, and of the second furthest from \
             it.\n\n{weighed}\n\n{neighbours}\n\nA quiet volume reads 4 KiB; the other writes 64 KiB, 64 \
             outstanding. ELSEWHERE is a quiet volume of a daemon without neighbours, \
             at the same time."
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let held = self.held.iter().flat_map(|it| {
            [
                Verdict::new(Target::QOS_OVER_ALL, it.limit.as_str(), off(it.over_all)),
                Verdict::new(Target::QOS_SECOND, it.limit.as_str(), off(it.worst_second)),
            ]
        });
        let weighed = self.weighed.iter().map(|it| {
            let distance = off(it.ratio / it.expected);
            Verdict::new(Target::QOS_WEIGHTS, it.load.as_str(), distance)
        });
        let neighbours = self
            .neighbours
            .iter()
            .map(|it| Verdict::of_ratio(Target::QOS_NEIGHBOUR, it.noise.clone(), it.p99));
        held.chain(weighed).chain(neighbours).collect()
    }
}
