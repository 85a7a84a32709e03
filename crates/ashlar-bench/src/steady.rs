//! What an operation costs in the steady state: on volumes that were overwritten until garbage is
//! collected as fast as hosts make it. A fresh pool collects nothing, and shows none of that.

use std::cell::RefCell;
use std::rc::Rc;

use ashlar_block::{ByteSize, XorShift};
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::Ratio;
use serde::Serialize;

use super::daemon::{DRIVES, Daemon, PoolPlan, memory_drives};
use super::device::start_device;
use super::fill::{connect, fill, write_each};
use super::progress::Progress;
use super::rounds::{self, Subject, Summary};
use super::servers::Server;
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

const POOL: &str = "steady";
/// A level, and drives of its pool.
const LEVELS: [(&str, usize); 2] = [("0", 1), ("5", DRIVES)];
const CONTENTS: [Content; 2] = [Content::Incompressible, Content::Compressible];
/// Overwritten so often before anything is measured, in random order, by writes as large as those
/// of the loads that follow.
const OVERWRITES: u64 = 3;
/// Which way, bytes of an operation, and operations outstanding on one connection. Large ones come
/// first, while what they find lies as they write it; writes last: they leave the most to be
/// collected.
const SHAPES: [(Direction, u32, u32); 5] = [
    (Direction::Read, 128 << 10, 32),
    (Direction::Write, 128 << 10, 32),
    (Direction::Read, 4 << 10, 128),
    (Direction::Write, 4 << 10, 1),
    (Direction::Write, 4 << 10, 128),
];

/// Every load on every pool.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each.
    pub loads: Vec<Measured>,
}

/// A load on a pool in the steady state.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    /// The pool's level.
    pub level: &'static str,
    /// What its volume holds and gets.
    pub content: Content,
    /// The volume.
    pub pool: Summary,
    /// A drive in memory as a volume, without a pool, in the same rounds.
    pub device: Summary,
    /// Processor time of the pool's operations beside the device's.
    pub cost: Option<Ratio>,
}

/// A volume of half its pool's size.
struct Rig {
    level: &'static str,
    content: Content,
    volume: Server,
    _daemon: Daemon,
}

/// Measures every load on every pool.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let settings = settings.clone();
    ashlar_reactor::run(
        ashlar_reactor::Config::default(),
        async move { measure_all(&settings).await },
    )?
}

async fn measure_all(settings: &Settings) -> anyhow::Result<Report> {
    let (device, wanted) = (start_device()?, loads(settings));
    let by_size: Vec<&[Load]> = wanted.chunk_by(|load, next| load.bytes == next.bytes).collect();
    let steps = wanted.len() + by_size.len();
    let progress = Progress::new("steady", LEVELS.len() * CONTENTS.len() * steps);
    let mut loads = Vec::new();
    for (level, drives) in LEVELS {
        for content in CONTENTS {
            let rig = Rig::start(settings, level, drives, content)?;
            fill(&rig.volume, content).await?;
            for of_size in &by_size {
                progress.begin(&format!("level {level}: overwriting {OVERWRITES} times"));
                rig.overwrite(of_size[0].bytes).await?;
                for load in *of_size {
                    progress.begin(&format!("level {level}: {}", table::load_name(load)));
                    loads.push(rig.measure(&device, settings, *load).await?);
                }
            }
        }
    }
    Ok(Report { loads })
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let all = SHAPES.map(|(direction, bytes, depth)| Load::new(direction, bytes, 1, depth));
    all.into_iter().map(|load| settings.timed(load)).filter(|load| settings.wants(load)).collect()
}

impl Rig {
    fn start(
        settings: &Settings,
        level: &'static str,
        drives: usize,
        content: Content,
    ) -> anyhow::Result<Self> {
        let daemon = Daemon::start(&settings.program, &["--reactors", "1"].map(str::to_owned))?;
        // One column of a stripe is parity, where there are several drives.
        let drive_bytes = settings.volume_bytes / (drives as u64 - 1).max(1);
        let drives = memory_drives(drive_bytes).into_iter().take(drives).collect();
        daemon.create_pool(PoolPlan { name: POOL, level, drives, chunk_bytes: None })?;
        let volume = daemon.create_volume(POOL, "v0", ByteSize(settings.volume_bytes / 2))?;
        Ok(Rig { level, content, volume, _daemon: daemon })
    }

    /// Overwrites the volume, `bytes` at a time, until garbage is everywhere.
    async fn overwrite(&self, bytes: u32) -> anyhow::Result<()> {
        let (controller, namespace) = connect(&self.volume).await?;
        let blocks_each = u64::from(bytes / namespace.lba_bytes());
        let places = namespace.blocks() / blocks_each;
        let random = Rc::new(RefCell::new(XorShift::new(1)));
        let place = move |_| random.borrow_mut().below(places) * blocks_each;
        write_each(&namespace, self.content, bytes, OVERWRITES * places, place).await?;
        controller.disconnect().await;
        Ok(())
    }

    async fn measure(
        &self,
        device: &Server,
        settings: &Settings,
        load: Load,
    ) -> anyhow::Result<Measured> {
        let load = Load { content: self.content, ..load };
        let subjects = [device, &self.volume].map(|server| Subject::volume(server, load));
        let measured = rounds::measure(&subjects, settings.rounds).await?;
        let [device, pool] = [&measured[0], &measured[1]];
        Ok(Measured {
            level: self.level,
            content: self.content,
            pool: pool.summary(),
            device: device.summary(),
            cost: pool.cost_ratio(device),
        })
    }
}

impl Measured {
    fn name(&self) -> String {
        let content = match self.content {
            Content::Incompressible => "noise",
            Content::Compressible => "2:1",
            Content::Half => "half",
            Content::Quarter => "a quarter",
            Content::Sparse => "sparse",
        };
        format!("level {}, {content}", self.level)
    }

    /// What it has to be, where that is said: of noise on level 0.
    fn verdicts(&self) -> Vec<Verdict> {
        if self.level != "0" || self.content != Content::Incompressible {
            return Vec::new();
        }
        let Summary { load, cpu_us_per_operation: cost, p50_us, p99_us, p999_us, .. } = self.pool;
        let name = table::load_name(&load);
        let of = |target, figure: f64| Verdict::new(target, &name, figure);
        match (load.direction, load.bytes, load.depth) {
            (Direction::Read, 4096, _) => vec![of(Target::STEADY_READ, cost)],
            (Direction::Read, ..) => vec![of(Target::STEADY_LARGE_READ, cost)],
            (Direction::Write, 4096, 1) => vec![of(Target::STEADY_P999, p999_us / 1e3)],
            (Direction::Write, 4096, _) => vec![of(Target::STEADY_WRITE, cost)],
            (Direction::Write, ..) => {
                vec![
                    of(Target::STEADY_LARGE_WRITE, cost),
                    of(Target::STEADY_SPREAD, p99_us / p50_us),
                ]
            }
        }
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let header =
            ["POOL", "IOPS", "MB/S", "P50 µS", "P99 µS", "CPU µS", "P99.9 µS", "DEVICE", "RATIO"];
        let mut table = table::new(&header);
        for measured in &self.loads {
            let more = [
                format!("{:.0}", measured.pool.p999_us),
                format!("{:.2}", measured.device.cpu_us_per_operation),
                table::ratio(measured.cost),
            ];
            let load = table::load_name(&measured.pool.load);
            table::add(&mut table, &load, &measured.name(), &measured.pool, &more);
        }
        format!("{table}\n\n{EXPLANATION}")
    }

    fn verdicts(&self) -> Vec<Verdict> {
        self.loads.iter().flat_map(Measured::verdicts).collect()
    }
}

const EXPLANATION: &str = "\
Volumes of half their pool's size, filled and then overwritten three times in random order, by writes as large as\n\
the load's. CPU: processor time of the daemon for an operation, garbage collection and checkpoints included. DEVICE:\n\
the same of a drive in memory that is served without a pool. RATIO: the pool's beside that.";
