//! Volumes of a pool on memory beside the echo server and the parts that storing cannot do without.

use std::time::Duration;

use ashlar_block::ByteSize;
use ashlar_load::load::{Content, Direction, Load, Pattern};
use ashlar_load::ratio::Ratio;
use serde::Serialize;

use super::daemon::{DRIVES, Daemon, PoolPlan, memory_drives};
use super::fill::fill;
use super::parts::{MeasuredDrive, Parts, Stripe};
use super::progress::Progress;
use super::rounds::{self, Rounds, Subject, Summary};
use super::servers::{self, Server};
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

/// Connections, and operations outstanding on each, of 4 KiB at random.
const SMALL_SHAPES: [(u16, u32); 3] = [(1, 1), (1, 32), (4, 32)];
const SMALL_BYTES: u32 = 4 << 10;
/// The same of 128 KiB, one behind the other.
const LARGE_SHAPE: (u16, u32) = (1, 32);
const LARGE_BYTES: u32 = 128 << 10;
const CONTENTS: [Content; 2] = [Content::Incompressible, Content::Compressible];

/// The levels that are measured.
const LEVELS: [(&str, Stripe); 2] =
    [("5", Stripe { data: DRIVES - 1, parity: 1 }), ("6", Stripe { data: DRIVES - 2, parity: 2 })];

/// A pool's figures.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each level with each content.
    pub parts: Vec<LevelParts>,
    /// Each load.
    pub loads: Vec<Compared>,
}

/// What cannot be avoided.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LevelParts {
    /// Of the pool.
    pub level: &'static str,
    /// Of the blocks.
    pub content: Content,
    /// What they take.
    pub parts: Parts,
}

/// A load on a pool's volume.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Compared {
    /// Of the pool.
    pub level: &'static str,
    /// The server that only moves the same bytes.
    pub echo: Summary,
    /// The pool's volume.
    pub volume: Summary,
    /// Processor time of an operation beside the echo server's.
    pub over_echo: Option<Ratio>,
    /// The same beside the echo server's and the unavoidable parts'.
    pub over_parts: Option<Ratio>,
}

/// A pool of one level and its volumes, one for each of [`CONTENTS`].
struct Rig {
    level: &'static str,
    stripe: Stripe,
    volumes: Vec<(Content, Server)>,
    /// Ends with the rig.
    _daemon: Daemon,
}

/// Measures pools of level 5 and 6.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let echo = servers::start_echo(Duration::ZERO)?;
    let settings = settings.clone();
    ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
        let mut drive = MeasuredDrive::new()?;
        let mut report = Report { parts: Vec::new(), loads: Vec::new() };
        for (level, stripe) in LEVELS {
            let rig = Rig::new(level, stripe, &settings).await?;
            rig.measure(&echo, &mut drive, &settings, &mut report).await?;
        }
        Ok(report)
    })?
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let kinds = |direction| {
        let small = SMALL_SHAPES
            .map(|(connections, depth)| Load::new(direction, SMALL_BYTES, connections, depth))
            .into_iter();
        let (connections, depth) = LARGE_SHAPE;
        let large = Load::new(direction, LARGE_BYTES, connections, depth);
        small.chain([Load { pattern: Pattern::Sequential, ..large }])
    };
    let all = kinds(Direction::Read).chain(kinds(Direction::Write));
    all.map(|load| settings.timed(load)).filter(|load| settings.wants(load)).collect()
}

impl Rig {
    async fn new(level: &'static str, stripe: Stripe, settings: &Settings) -> anyhow::Result<Self> {
        let daemon = Daemon::start(&settings.program, &["--reactors".to_owned(), "1".to_owned()])?;
        let drives = memory_drives(settings.volume_bytes);
        daemon.create_pool(PoolPlan { name: "bench", level, drives, chunk_bytes: None })?;
        let mut volumes = Vec::new();
        for content in CONTENTS {
            let name = format!("{content:?}").to_lowercase();
            let server =
                daemon.create_volume("bench", &name, ByteSize(settings.volume_bytes / 2))?;
            fill(&server, content).await?;
            volumes.push((content, server));
        }
        Ok(Rig { level, stripe, volumes, _daemon: daemon })
    }

    async fn measure(
        &self,
        echo: &Server,
        drive: &mut MeasuredDrive,
        settings: &Settings,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let loads = loads(settings);
        let progress = Progress::new(&format!("level {}", self.level), loads.len());
        let mut all_parts = vec![Vec::new(); self.volumes.len()];
        for load in loads {
            progress.begin(&table::load_name(&load));
            let volumes = self.volumes.iter();
            let volumes = volumes.map(|(content, server)| {
                Subject::volume(server, Load { content: *content, ..load })
            });
            let subjects: Vec<_> =
                std::iter::once(Subject::echo(echo, load)).chain(volumes).collect();
            let (measured, parts) = self.in_turn(&subjects, drive, settings.rounds).await?;
            let (echo, volumes) = measured.split_first().expect("the echo is the first subject");
            for (volume, parts) in volumes.iter().zip(&parts) {
                let floors: Vec<Duration> = parts.iter().map(|parts| parts.of(&load)).collect();
                report.loads.push(Compared {
                    level: self.level,
                    echo: echo.summary(),
                    volume: volume.summary(),
                    over_echo: volume.cost_ratio(echo),
                    over_parts: volume.cost_ratio_with(echo, &floors),
                });
            }
            all_parts.iter_mut().zip(parts).for_each(|(all, more)| all.extend(more));
        }
        let of_content = |((content, _), parts): (&(Content, Server), Vec<Parts>)| {
            let parts = (!parts.is_empty()).then(|| Parts::medians(&parts))?;
            Some(LevelParts { level: self.level, content: *content, parts })
        };
        report.parts.extend(self.volumes.iter().zip(all_parts).filter_map(of_content));
        Ok(())
    }

    /// Rounds of the subjects, and in each of them the parts for each volume: what disturbs the
    /// machine disturbs both.
    async fn in_turn(
        &self,
        subjects: &[Subject<'_>],
        drive: &mut MeasuredDrive,
        rounds: u32,
    ) -> anyhow::Result<(Vec<Rounds>, Vec<Vec<Parts>>)> {
        let mut measured = vec![Rounds::default(); subjects.len()];
        let mut parts = vec![Vec::new(); self.volumes.len()];
        for _ in 0..rounds {
            let round = rounds::measure(subjects, 1).await?;
            measured.iter_mut().zip(round).for_each(|(all, more)| all.extend([more]));
            let drive_parts = drive.measure().await?;
            for ((content, _), parts) in self.volumes.iter().zip(&mut parts) {
                parts.push(Parts::measure(*content, self.stripe, drive_parts));
            }
        }
        Ok((measured, parts))
    }
}

impl Figures for Report {
    fn table(&self) -> String {
        let header = [
            "SERVER",
            "IOPS",
            "MB/S",
            "P50 µS",
            "P99 µS",
            "CPU µS",
            "OPS/CPU-S",
            "/ECHO",
            "/PARTS",
        ];
        let mut table = table::new(&header);
        for pair in self.loads.chunks(CONTENTS.len()) {
            let name = table::load_name(&pair[0].echo.load);
            add_row(&mut table, &name, "echo", &pair[0].echo, [None, None]);
            for compared in pair {
                let server = format!(
                    "level {}, {}",
                    compared.level,
                    content_name(compared.volume.load.content)
                );
                add_row(
                    &mut table,
                    "",
                    &server,
                    &compared.volume,
                    [compared.over_echo, compared.over_parts],
                );
            }
        }
        format!("{table}\n\n{EXPLANATION}\n\n{}", self.parts_table())
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let name = |compared: &Compared| {
            let load = compared.volume.load;
            format!(
                "{}, level {}, {}",
                table::load_name(&load),
                compared.level,
                content_name(load.content)
            )
        };
        let cost =
            |compared| Verdict::of_ratio(Target::STORE_COST, name(compared), compared.over_parts);
        let is_busy_write = |compared: &&Compared| {
            let load = compared.volume.load;
            load.content == Content::Compressible
                && (load.direction, load.bytes) == (Direction::Write, SMALL_BYTES)
                && load.operations_outstanding() > 1
        };
        let rate = |compared: &Compared| {
            Verdict::new(
                Target::STORE_WRITES,
                name(compared),
                compared.volume.operations_per_cpu_second,
            )
        };
        self.loads
            .iter()
            .map(cost)
            .chain(self.loads.iter().filter(is_busy_write).map(rate))
            .collect()
    }
}

impl Report {
    fn parts_table(&self) -> comfy_table::Table {
        let header = [
            "BLOCKS",
            "STORED",
            "ENCODE",
            "PARITY",
            "DRIVE WRITE",
            "DECODE",
            "DRIVE READ",
            "IN 32KiB",
        ];
        let mut table = table::new(&header);
        table.set_header(std::iter::once("PARTS, ns").chain(header));
        for LevelParts { level, content, parts } in &self.parts {
            let numbers = [
                parts.encode_ns,
                parts.parity_ns,
                parts.drive_write_ns,
                parts.decode_ns,
                parts.drive_read_ns,
                parts.drive_sequential_read_ns,
            ];
            let mut row = vec![format!("level {level}"), content_name(*content).to_owned()];
            row.push(format!("{:.0} %", parts.stored_fraction * 100.0));
            row.extend(numbers.map(|number| format!("{number:.0}")));
            table.add_row(row);
        }
        table
    }
}

const EXPLANATION: &str = "\
level: a volume of a pool of five drives in memory. random: blocks that do not compress. 2:1: blocks that do.\n\
CPU: the server's processor time for an operation, all of its threads. /ECHO: beside the echo server's, which only\n\
moves the same bytes. /PARTS: beside the echo server's and that of what cannot be avoided, each part measured alone\n\
in every round, on the same data, for a block of 4 KiB: compressing and checksum (ENCODE), parity, writing columns to\n\
drives in memory with parity's share, checksum and decompressing (DECODE), reading alone or with neighbours.";

fn content_name(content: Content) -> &'static str {
    match content {
        Content::Incompressible => "random",
        Content::Compressible => "2:1",
        Content::Half => "half",
        Content::Quarter => "a quarter",
        Content::Sparse => "sparse",
    }
}

fn add_row(
    table: &mut comfy_table::Table,
    load: &str,
    server: &str,
    summary: &Summary,
    ratios: [Option<Ratio>; 2],
) {
    let rate = format!("{:.0}", summary.operations_per_cpu_second);
    let more = [rate, table::ratio(ratios[0]), table::ratio(ratios[1])];
    table::add(table, load, server, summary, &more);
}
