//! Figures for people.

use ashlar_block::ByteSize;
use ashlar_load::load::{Direction, Load, Pattern};
use ashlar_load::ratio::Ratio;
use comfy_table::{CellAlignment, Table, presets};

use super::rounds::Summary;

/// A table whose first column is a load, and whose second one is what served it. The others are
/// numbers.
pub fn new(header: &[&str]) -> Table {
    with_texts(2, "LOAD", header)
}

/// A table whose first column is `first`. The others are numbers.
pub fn of(first: &str, header: &[&str]) -> Table {
    with_texts(1, first, header)
}

fn with_texts(texts: usize, first: &str, header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(std::iter::once(first).chain(header.iter().copied()));
    table
        .column_iter_mut()
        .skip(texts)
        .for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

/// Adds a server's medians under a load, and what else there is to say of them.
pub fn add(table: &mut Table, load: &str, server: &str, summary: &Summary, more: &[String]) {
    let whole = |number: f64| format!("{number:.0}");
    let mut row = vec![load.to_owned(), server.to_owned(), whole(summary.iops)];
    row.push(whole(summary.bytes_per_second / 1e6));
    row.extend([summary.p50_us, summary.p99_us].map(whole));
    row.push(format!("{:.2}", summary.cpu_us_per_operation));
    row.extend_from_slice(more);
    table.add_row(row);
}

/// A ratio and its spread.
pub fn ratio(ratio: Option<Ratio>) -> String {
    ratio.map_or("-".to_owned(), |Ratio { median, low, high }| {
        format!("{median:.2} ({low:.2}-{high:.2})")
    })
}

/// A load in words: `4KiB random write, 4 x 32`.
pub fn load_name(load: &Load) -> String {
    let direction = match load.direction {
        Direction::Read => "read",
        Direction::Write => "write",
    };
    let pattern = match load.pattern {
        Pattern::Random => "random",
        Pattern::Sequential => "sequential",
    };
    let rate = load.per_second.map_or(String::new(), |rate| format!(", {rate} a second"));
    format!(
        "{} {pattern} {direction}, {} x {}{rate}",
        ByteSize(load.bytes.into()),
        load.connections,
        load.depth
    )
}
