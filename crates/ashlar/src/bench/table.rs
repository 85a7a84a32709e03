//! The figures for people.

use ashlar_bench::wire_bench::{Direction, Figures, Load};
use ashlar_block::ByteSize;
use comfy_table::{CellAlignment, Table, presets};

use super::{Comparison, Report};

const HEADER: [&str; 9] =
    ["LOAD", "SERVER", "IOPS", "MB/S", "MEAN µS", "P50 µS", "P99 µS", "OPS/CPU-S", "COST"];

/// Everything.
pub fn report(report: &Report) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(HEADER);
    report.loads.iter().flat_map(rows).for_each(|row| {
        table.add_row(row);
    });
    table.column_iter_mut().skip(2).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    let idle = &report.idle;
    format!(
        "{table}\n\n\
         COST is processor time per operation beside the echo server, which only moves the same bytes. null: a\n\
         volume that keeps nothing. level 5: a volume of a pool of five drives in memory, data that do not\n\
         compress. All of it on this machine's {} processors, the load included.\n\n\
         Idle, with {} hosts and {} I/O queues connected: {:.2} % of a processor, {} of memory.",
        report.processors,
        idle.hosts,
        idle.io_queues,
        idle.cpu_percent,
        ByteSize(idle.resident_bytes >> 20 << 20),
    )
}

/// A load in words.
pub fn load_name(load: &Load) -> String {
    let direction = match load.direction {
        Direction::Read => "read",
        Direction::Write => "write",
    };
    let depth = load.depth * u32::from(load.connections);
    format!("{} {direction}, depth {depth}", ByteSize(load.bytes.into()))
}

fn rows(comparison: &Comparison) -> [Vec<String>; 3] {
    let name = load_name(&comparison.echo.load);
    [
        row(&name, "echo", &comparison.echo, Some(1.0)),
        row("", "null", &comparison.null, comparison.null_cost),
        row("", "level 5", &comparison.pool, comparison.pool_cost),
    ]
}

fn row(name: &str, server: &str, figures: &Figures, cost: Option<f64>) -> Vec<String> {
    let whole = |number: f64| format!("{number:.0}");
    let latency = &figures.latency;
    let numbers =
        [figures.iops, figures.bytes_per_second / 1e6, latency.mean_us, latency.p50_us, latency.p99_us];
    let mut row = vec![name.to_owned(), server.to_owned()];
    row.extend(numbers.map(whole));
    row.push(figures.operations_per_cpu_second.map_or("-".to_owned(), whole));
    row.push(cost.map_or("-".to_owned(), |cost| format!("{cost:.2}")));
    row
}
