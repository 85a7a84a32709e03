//! How often a server allocates for an operation, once it has what it needs. Only in a program that
//! counts: see `examples/count_allocations.rs`.

use std::time::Duration;

use ashlar_load::load::{Content, Direction, Load};
use ashlar_reactor::allocations;
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
const WARM_UP_OPERATIONS: u32 = 4096;
const OPERATIONS: u32 = 8192;

/// Allocations of every load.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Each load on each server.
    pub loads: Vec<Counted>,
}

/// A load on a volume that keeps nothing and on a pool's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counted {
    /// The load.
    pub load: Load,
    /// Allocations of the volume that keeps nothing, for one operation.
    pub null: f64,
    /// Allocations of the pool's volume, for one operation.
    pub pool: f64,
}

/// Whether this program counts.
pub fn are_counted() -> bool {
    allocations::are_counted()
}

/// Counts the allocations of all threads but the load's.
///
/// # Errors
/// What cannot be measured.
pub fn measure(settings: &Settings) -> anyhow::Result<Report> {
    let settings = settings.clone();
    let null = servers::start_null(Duration::ZERO, Limits::default())?;
    inside::with_pool(|pool| {
        let pool = pool.clone();
        ashlar_reactor::run(ashlar_reactor::Config::default(), async move {
            count_all(&null, &pool, &settings).await
        })?
    })
}

/// The loads that are wanted.
pub fn loads(settings: &Settings) -> Vec<Load> {
    let shapes = |direction| SHAPES.map(|(bytes, depth)| Load::new(direction, bytes, 1, depth));
    let all = [Direction::Read, Direction::Write].into_iter().flat_map(shapes);
    all.filter(|load| settings.wants(load)).collect()
}

async fn count_all(null: &Server, pool: &Server, settings: &Settings) -> anyhow::Result<Report> {
    let wanted = loads(settings);
    let progress = Progress::new("allocations", wanted.len());
    fill(pool, Content::Incompressible).await?;
    let mut loads = Vec::new();
    for load in wanted {
        progress.begin(&table::load_name(&load));
        loads.push(Counted {
            load,
            null: count(null, load).await?,
            pool: count(pool, load).await?,
        });
    }
    Ok(Report { loads })
}

/// Allocations of the server for one operation of `load`.
async fn count(server: &Server, load: Load) -> anyhow::Result<f64> {
    let (controller, namespace) = connect(server).await?;
    work(&namespace, load, WARM_UP_OPERATIONS).await?;
    let before = allocations_of_servers();
    work(&namespace, load, OPERATIONS).await?;
    let counted = allocations_of_servers() - before;
    controller.disconnect().await;
    Ok(counted as f64 / f64::from(OPERATIONS))
}

/// The load runs on this thread, everything else on others.
fn allocations_of_servers() -> u64 {
    allocations::of_all_threads() - allocations::of_this_thread()
}

impl Figures for Report {
    fn table(&self) -> String {
        let mut table = table::of("LOAD", &["NULL", "LEVEL 5"]);
        for Counted { load, null, pool } in &self.loads {
            table.add_row([table::load_name(load), format!("{null:.2}"), format!("{pool:.2}")]);
        }
        format!(
            "{table}\n\nAllocations for one operation, of all threads of the server, once it is warm."
        )
    }

    fn verdicts(&self) -> Vec<Verdict> {
        let of = |counted: &Counted| {
            let name = table::load_name(&counted.load);
            [("null", counted.null), ("level 5", counted.pool)].map(|(server, allocations)| {
                // As shown: half a hundredth of an allocation is upkeep's.
                let shown = (allocations * 100.0).round() / 100.0;
                Verdict::new(Target::ALLOCATIONS, format!("{name}, {server}"), shown)
            })
        };
        self.loads.iter().flat_map(of).collect()
    }
}
