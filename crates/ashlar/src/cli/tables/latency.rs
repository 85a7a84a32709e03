//! How long operations of a volume or a drive took.

use std::time::Duration;

use ashlar_block::ByteSize;
use ashlar_control::types::{KindLatency, Latency, SizedLatency};

use super::grid::{Kind, Text, table};
use crate::cli::figures::{count, time_or_dash};

/// A line for each kind and size that there was.
pub fn latency(latency: &Latency) -> String {
    let kinds = [("read", &latency.reads), ("write", &latency.writes), ("trim", &latency.trims)];
    let rows: Vec<Vec<Text>> = kinds.iter().flat_map(|(name, kind)| rows(name, kind)).collect();
    let in_flight = format!(" in flight  {}", latency.operations_in_flight);
    if rows.is_empty() {
        return format!("{in_flight}\n no operation has ended yet");
    }
    let titles = ["mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];
    let columns: Vec<(&str, Kind)> = ["kind", "size", "count"]
        .into_iter()
        .chain(titles)
        .map(|title| (title, Kind::Figure))
        .collect();
    format!("{in_flight}\n\n{}", table(&columns, rows))
}

fn rows(name: &str, kind: &KindLatency) -> Vec<Vec<Text>> {
    if kind.all.counts.operations == 0 {
        return Vec::new();
    }
    let sized = kind.classes.iter().map(|sized| row("", size(sized), sized));
    std::iter::once(row(name, "any".to_owned(), &kind.all)).chain(sized).collect()
}

fn size(sized: &SizedLatency) -> String {
    match sized.up_to_bytes {
        Some(bytes) => format!("to {}", ByteSize(bytes)),
        None => "larger".to_owned(),
    }
}

fn row(name: &str, size: String, sized: &SizedLatency) -> Vec<Text> {
    let it = &sized.figures;
    let mean = it.mean_us.map(|us| Duration::from_secs_f64(us / 1e6));
    let times = [it.p50_us, it.p90_us, it.p99_us, it.p999_us, it.p9999_us, it.max_us];
    let times = times.map(|us| us.map(Duration::from_micros));
    let operations = count(sized.counts.operations as f64);
    let operations = operations.trim_end_matches(".0").to_owned();
    let figures = [mean].into_iter().chain(times).map(|time| Text::from(time_or_dash(time)));
    [Text::from(name), size.into(), operations.into()].into_iter().chain(figures).collect()
}

#[cfg(test)]
mod tests;
