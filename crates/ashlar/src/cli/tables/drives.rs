//! Tables of drives, within the width of a terminal.

use ashlar_block::{counted, printable};
use ashlar_control::types::{DriveInfo, PoolDrive};
use comfy_table::Cell;

use super::{known, or_dash, sheet, size, states, table, trimmed};

/// Columns of a terminal.
const WIDTH: usize = 80;
/// Fewest columns for where a drive is.
const PLACE_WIDTH_MIN: usize = 16;
/// Blanks around a cell.
const PADDING: usize = 2;
const BY_ID: &str = "/dev/disk/by-id/";

/// Drives of pools, a line each.
pub fn drives(drives: &[PoolDrive]) -> String {
    if drives.is_empty() {
        return "no drives: ashlar pool create takes some".to_owned();
    }
    let pool = |drive: &PoolDrive| drive.pool.clone();
    rows(drives, &[("pool", &pool)])
}

/// The drives of one pool.
pub fn drives_of_pool(drives: &[PoolDrive]) -> String {
    rows(drives, &[])
}

/// A column and what stands in it.
type Column<'a> = (&'static str, &'a dyn Fn(&PoolDrive) -> String);

fn rows(drives: &[PoolDrive], more: &[Column<'_>]) -> String {
    let name = |drive: &PoolDrive| {
        if drive.spec.as_ref() == Some(&drive.name) { dash() } else { drive.name.clone() }
    };
    let kernel = |drive: &PoolDrive| drive.kernel_name.clone().unwrap_or_else(dash);
    let state = |drive: &PoolDrive| drive.states.join(", ");
    let bytes = |drive: &PoolDrive| known(drive.size_bytes, size);
    let before: Vec<Column<'_>> = [("drive", &name as _)]
        .into_iter()
        .chain(more.iter().copied())
        .chain([("device", &kernel as _)])
        .collect();
    let after: [Column<'_>; 2] = [("state", &state), ("size", &bytes)];
    let width = |(title, text): &Column<'_>| {
        let longest = drives.iter().map(|drive| text(drive).chars().count()).max().unwrap_or(0);
        longest.max(title.len()) + PADDING
    };
    let taken: usize = before.iter().chain(&after).map(width).sum();
    let room = WIDTH.saturating_sub(taken + PADDING).max(PLACE_WIDTH_MIN);
    let titles = before.iter().map(|(title, _)| *title).chain(["where", "state", "size"]);
    let mut table = table(&titles.collect::<Vec<_>>());
    for drive in drives {
        let place = drive.spec.as_deref().map_or_else(dash, |spec| shortened(spec, room));
        let cells = before.iter().map(|(_, text)| Cell::new(text(drive)));
        table.add_row(cells.chain([Cell::new(place), states(&drive.states), Cell::new(bytes(drive))]));
    }
    std::iter::once(trimmed(&table)).chain(drives.iter().filter_map(problem)).collect::<Vec<_>>().join("\n")
}

fn dash() -> String {
    "-".to_owned()
}

/// What there is to say of a drive below the table.
fn problem(drive: &PoolDrive) -> Option<String> {
    let some = |count: Option<u64>, what| {
        count.filter(|count| *count > 0).map(|count| counted(count as usize, what))
    };
    let refused = some(drive.read_errors, "read").map(|reads| format!("{reads} refused"));
    let wrong = some(drive.wrong_answers, "wrong answer");
    let said: Vec<String> = drive.problem.clone().into_iter().chain(refused).chain(wrong).collect();
    (!said.is_empty()).then(|| format!("{}/{}: {}", drive.pool, drive.name, printable(&said.join("; "))))
}

/// Where a drive is, in so many columns: without what all such names have in common, and then without the beginning.
fn shortened(spec: &str, width: usize) -> String {
    let plain = ashlar_volume::path_of(spec);
    let plain = plain.strip_prefix("file:").unwrap_or(plain);
    let plain = printable(plain.strip_prefix(BY_ID).unwrap_or(plain));
    let count = plain.chars().count();
    if count <= width {
        return plain;
    }
    std::iter::once('…').chain(plain.chars().skip(count - width + 1)).collect()
}

/// A drive of a pool with everything.
pub fn member(drive: &PoolDrive) -> String {
    let mut rows = vec![
        ("drive", format!("{}/{}", drive.pool, drive.name)),
        ("uuid", drive.uuid.clone()),
        ("where", or_dash(drive.spec.as_deref())),
        ("device", or_dash(drive.kernel_name.as_deref())),
        ("kind", or_dash(drive.kind.as_deref())),
        ("state", drive.states.join(", ")),
    ];
    rows.extend(drive.problem.as_deref().map(|problem| ("problem", printable(problem))));
    rows.extend([
        ("size", known(drive.size_bytes, size)),
        ("reads refused", known(drive.read_errors, |count| count.to_string())),
        ("wrong answers", known(drive.wrong_answers, |count| count.to_string())),
        ("model", or_dash(drive.model.as_deref())),
        ("serial", or_dash(drive.serial.as_deref())),
    ]);
    sheet(rows)
}

/// What a drive is and holds.
pub fn drive_info(drive: &DriveInfo) -> String {
    sheet(vec![
        ("drive", printable(&drive.spec)),
        ("kind", drive.kind.clone()),
        ("size", size(drive.size_bytes)),
        ("holds", printable(&drive.content)),
        ("model", or_dash(drive.model.as_deref())),
        ("serial", or_dash(drive.serial.as_deref())),
    ])
}

#[cfg(test)]
mod tests;
