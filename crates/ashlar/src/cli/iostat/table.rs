//! Reports for people, within the width of a terminal. Columns stay where they are from one report
//! to the next.

use ashlar_block::latency::Operations;

use super::report::{KINDS, Line, Report, Thing};
use crate::cli::figures::{bytes, count, time_or_dash};

/// Lines from one header to the next.
const LINES_PER_HEADER: usize = 24;
/// Columns of a name, where latencies are in short and in full.
const NAME_WIDTH: usize = 15;
const NAME_WIDTH_IN_FULL: usize = 19;
/// How far a name is indented that stands below its pool.
const INDENT: &str = "  ";

/// Reports, one below the other.
pub struct Page {
    is_in_full: bool,
    /// Lines since the last header. `None`: there was none.
    lines: Option<usize>,
}

impl Page {
    /// `is_in_full`: with latencies in full.
    pub fn new(is_in_full: bool) -> Self {
        Page { is_in_full, lines: None }
    }

    /// The next report, with a header where one is due. `None`: it is of nothing.
    pub fn text(&mut self, report: &Report) -> Option<String> {
        let lines: Vec<String> =
            report.lines.iter().flat_map(|it| self.lines_of(report, it)).collect();
        if lines.is_empty() {
            return None;
        }
        let is_due = self.lines.is_none_or(|shown| shown + lines.len() > LINES_PER_HEADER);
        let has_gap = self.lines.is_some() && (is_due || lines.len() > 1);
        let shown = if is_due { 0 } else { self.lines.unwrap_or(0) };
        self.lines = Some(shown + lines.len());
        let gap = has_gap.then(String::new);
        let header = if is_due { self.header() } else { Vec::new() };
        Some(gap.into_iter().chain(header).chain(lines).collect::<Vec<_>>().join("\n"))
    }

    fn header(&self) -> Vec<String> {
        if self.is_in_full { vec![header_in_full()] } else { header_in_short().to_vec() }
    }

    fn lines_of(&self, report: &Report, line: &Line) -> Vec<String> {
        if self.is_in_full { in_full(report, line) } else { vec![in_short(report, line)] }
    }
}

fn header_in_short() -> [String; 2] {
    let above = ["operations/s", "bytes/s", "read time", "write time"];
    let above: String = above.iter().map(|title| format!("{title:>12}")).collect();
    let titles = ["read", "write", "read", "write", "p50", "p99", "p50", "p99", "mean"];
    let titles: String = titles.iter().map(|title| format!(" {title:>5}")).collect();
    let blank = " ".repeat(NAME_WIDTH);
    [
        format!("{blank}{above}{:>11}", "queue"),
        format!("{blank}{titles} {:>4} {:>5}", "now", "ratio"),
    ]
}

fn header_in_full() -> String {
    let titles = ["op/s", "mean", "p50", "p90", "p99", "p99.9", "99.99", "max"];
    let titles: String = titles.iter().map(|title| format!(" {title:>5}")).collect();
    format!("{:NAME_WIDTH_IN_FULL$} {:5}{titles}", "", "")
}

/// The name of a line, as wide as its column.
fn name(line: &Line, width: usize) -> String {
    let name = match (line.thing, line.is_below_pool) {
        (Thing::Pool, _) => line.name.clone(),
        (_, true) => format!("{INDENT}{}", line.name),
        (_, false) => format!("{}/{}", line.pool, line.name),
    };
    if name.chars().count() <= width {
        return format!("{name:width$}");
    }
    name.chars().take(width - 1).chain(['…']).collect()
}

fn in_short(report: &Report, line: &Line) -> String {
    let seconds = report.interval_seconds;
    let [reads, writes, _] = &line.kinds;
    let quantile = |kind: &Operations, part| time_or_dash(kind.took.quantile(part));
    let figures = [
        count(reads.took.count() as f64 / seconds),
        count(writes.took.count() as f64 / seconds),
        bytes(reads.bytes as f64 / seconds),
        bytes(writes.bytes as f64 / seconds),
        quantile(reads, 0.5),
        quantile(reads, 0.99),
        quantile(writes, 0.5),
        quantile(writes, 0.99),
        count(report.mean_queue(line)),
    ];
    let figures: String = figures.iter().map(|figure| format!(" {figure:>5}")).collect();
    let ratio =
        line.compression_ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    let in_flight = count(line.operations_in_flight as f64);
    let in_flight = in_flight.trim_end_matches(".0");
    format!("{}{figures} {in_flight:>4} {ratio:>5}", name(line, NAME_WIDTH))
}

/// A line for each kind: reads and writes, and trims if there were any.
fn in_full(report: &Report, line: &Line) -> Vec<String> {
    let is_shown = |at: usize| at < 2 || line.kinds[at].took.count() > 0;
    let kinds = KINDS.iter().zip(&line.kinds).enumerate().filter(|(at, _)| is_shown(*at));
    let text = |(at, (kind, all)): (usize, (&&str, &Operations))| {
        let blank = " ".repeat(NAME_WIDTH_IN_FULL);
        let name = if at == 0 { name(line, NAME_WIDTH_IN_FULL) } else { blank };
        let took = &all.took;
        let quantiles = [0.5, 0.9, 0.99, 0.999, 0.9999].map(|part| took.quantile(part));
        let times = [took.mean()].into_iter().chain(quantiles).chain([took.max()]);
        let times: String = times.map(|it| format!(" {:>5}", time_or_dash(it))).collect();
        let rate = count(took.count() as f64 / report.interval_seconds);
        format!("{name} {kind:5} {rate:>5}{times}")
    };
    kinds.map(text).collect()
}

#[cfg(test)]
mod tests;
