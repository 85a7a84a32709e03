//! How often the bytes of a block are copied between socket and drive.

use std::time::Duration;

use ashlar_block::copies;
use ashlar_load::load::{Content, Direction, Load, Pattern};
use ashlar_target::nvme_tcp::Limits;
use serde::Serialize;

use super::fill::{connect, fill};
use super::inside::{self, work};
use super::progress::Progress;
use super::servers::{self, Server};
use super::targets::{Target, Verdict};
use super::{Figures, Settings, table};

/// Bytes of an operation, and operations outstanding on one connection.
const SHAPES: [(u32, u32); 3] = [(4 << 10, 1), (4 << 10, 32), (128 << 10, 32)];
/// Operations that are not counted, and that are.
const WARM_UP_OPERATIONS: u32 = 256;
const OPERATIONS: u32 = 4096;

/// Copies of every load.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each load on each volume.
    pub loads: Vec<Copied>,
}

/// Copies of a block, in blocks: half of one that was copied is 0.5.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Copied {
    /// The load.
    pub load: Load,
    /// In front of a volume that keeps nothing.
    pub null: f64,
    /// All the way to the drives of a pool of level 5, or from them.
    pub pool: f64,
    /// The same with blocks that compress 2:1.
    pub pool_compressible: f64,
}

/// Counts the copies of all threads but the load's.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let settings = settings.clone();
    let null = servers::start_null(Duration::ZERO, Limits::default())?;
    copies::begin();
    inside::with_pool(|pool| {
        let pool = pool.clone();
        ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
            count_all(&null, &pool, &settings).await
        })?
    })
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let of = |direction| {
        SHAPES.map(|(bytes, depth)| Load {
            pattern: Pattern::Sequential,
            ..Load::new(direction, bytes, 1, depth)
        })
    };
    let all = of(Direction::Read).into_iter().chain(of(Direction::Write));
    all.filter(|load| settings.wants(load)).collect()
}

async fn count_all(null: &Server, pool: &Server, settings: &Settings) -> anyhow::Result<Report> {
    let wanted = loads(settings);
    let progress = Progress::new("copies", 2 * wanted.len());
    let mut counted = [Vec::new(), Vec::new(), Vec::new()];
    for (content, counts) in [Content::Incompressible, Content::Compressible].into_iter().zip(1..) {
        fill(pool, content).await?;
        for load in &wanted {
            progress.begin(&table::load_name(load));
            let load = Load { content, ..*load };
            counted[counts].push(count(pool, load).await?);
            if content == Content::Incompressible {
                counted[0].push(count(null, load).await?);
            }
        }
    }
    let [null, pool, compressible] = counted;
    let counts = null.into_iter().zip(pool).zip(compressible);
    let loads = wanted.into_iter().zip(counts).map(|(load, ((null, pool), pool_compressible))| {
        Copied { load, null, pool, pool_compressible }
    });
    Ok(Report { loads: loads.collect() })
}

/// Copies of a byte by the server.
async fn count(server: &Server, load: Load) -> anyhow::Result<f64> {
    let (controller, namespace) = connect(server).await?;
    work(&namespace, load, WARM_UP_OPERATIONS).await?;
    let before = copied_by_servers();
    work(&namespace, load, OPERATIONS).await?;
    let copied = copied_by_servers() - before;
    controller.disconnect().await;
    Ok(copied as f64 / (f64::from(OPERATIONS) * f64::from(load.bytes)))
}

/// The load runs on this thread, everything else on others.
fn copied_by_servers() -> u64 {
    copies::of_all_threads() - copies::of_this_thread()
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::of("LOAD", &["NULL", "LEVEL 5", "LEVEL 5, 2:1"]);
        for Copied { load, null, pool, pool_compressible } in &self.loads {
            let copies = [null, pool, pool_compressible].map(|copies| format!("{copies:.2}"));
            table.add_row(std::iter::once(table::load_name(load)).chain(copies));
        }
        format!(
            "{table}\n\nCopies of a block between the buffer that the kernel filled and the one that a drive takes, and back: bytes\n\
             copied for each byte of the operation. Compressing, decompressing and parity are not copies."
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |copied: &Copied| {
            let name = table::load_name(&copied.load);
            let target = match copied.load.direction {
                Direction::Read => Target::COPIES_READ,
                Direction::Write => Target::COPIES_WRITTEN,
            };
            [
                ("null", copied.null),
                ("level 5", copied.pool),
                ("level 5, 2:1", copied.pool_compressible),
            ]
            .map(|(volume, copies)| {
                // As shown: a few bytes are of commands that are none of the load's.
                Verdict::new(target, format!("{name}, {volume}"), (copies * 100.0).round() / 100.0)
            })
        };
        self.loads.iter().flat_map(of).collect()
    }
}
