//! The figures for people.

use ashlar_bench::wire_bench::{Direction, Figures, Load};
use ashlar_block::ByteSize;
use comfy_table::{CellAlignment, Table, presets};

use super::{Comparison, Report};

const HEADER: [&str; 10] =
    ["LOAD", "SERVER", "IOPS", "MB/S", "MEAN µS", "P50 µS", "P99 µS", "OPS/CPU-S", "COST", "/PARTS"];

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
         compress. /PARTS is its processor time beside the echo server's and that of what cannot be avoided, each\n\
         measured alone for 4 KiB: codec {:.0} ns, checksum {:.0} ns, parity {:.0} ns, copying {:.0} ns. All of it on this machine's {} processors, the load included.\n\n\
         Idle, with {} hosts and {} I/O queues connected: {:.2} % of a processor, {} of memory.",
        report.parts.codec_and_checksum_ns - report.parts.checksum_ns,
        report.parts.checksum_ns,
        report.parts.parity_ns,
        report.parts.drive_ns,
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
        row(&name, "echo", &comparison.echo, [Some(1.0), None]),
        row("", "null", &comparison.null, [comparison.null_cost, None]),
        row("", "level 5", &comparison.pool, [comparison.pool_cost, comparison.pool_over_parts]),
    ]
}

fn row(name: &str, server: &str, figures: &Figures, costs: [Option<f64>; 2]) -> Vec<String> {
    let whole = |number: f64| format!("{number:.0}");
    let latency = &figures.latency;
    let numbers =
        [figures.iops, figures.bytes_per_second / 1e6, latency.mean_us, latency.p50_us, latency.p99_us];
    let mut row = vec![name.to_owned(), server.to_owned()];
    row.extend(numbers.map(whole));
    row.push(figures.operations_per_cpu_second.map_or("-".to_owned(), whole));
    row.extend(costs.map(|cost| cost.map_or("-".to_owned(), |cost| format!("{cost:.2}"))));
    row
}
