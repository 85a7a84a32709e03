//! Tables of drives.

use ashlar_block::{counted, printable};
use ashlar_control::types::{DriveInfo, PoolDrive};

use super::grid::{Kind, Text, prose, sheet, table};
use super::{dash, health, known, or_dash, size, states};

const BY_ID: &str = "/dev/disk/by-id/";

/// Drives of pools, a line each.
pub fn drives(drives: &[PoolDrive]) -> String {
    if drives.is_empty() {
        return "no drives: `ashlar pool create` takes some".to_owned();
    }
    rows(drives, true)
}

/// The drives of one pool.
pub fn drives_of_pool(drives: &[PoolDrive]) -> String {
    rows(drives, false)
}

fn rows(drives: &[PoolDrive], with_pool: bool) -> String {
    let pool_column = with_pool.then_some(("pool", Kind::Name));
    let columns: Vec<(&str, Kind)> = std::iter::once(("drive", Kind::Figure))
        .chain(pool_column)
        .chain([
            ("device", Kind::Name),
            ("where", Kind::Place),
            ("state", Kind::Words),
            ("size", Kind::Figure),
        ])
        .collect();
    let row = |drive: &PoolDrive| {
        // Of a pool that is not open nobody knows how its drives are called.
        let name =
            if drive.spec.as_ref() == Some(&drive.name) { dash() } else { drive.name.clone() };
        let place = drive.spec.as_deref().map_or_else(dash, plain_place);
        let pool = with_pool.then(|| Text::from(&drive.pool));
        let rest = [
            or_dash(drive.kernel_name.as_deref()).into(),
            place.into(),
            states(&[&drive.states[..], &health::words(drive)].concat()),
            known(drive.size_bytes, size).into(),
        ];
        std::iter::once(Text::from(name)).chain(pool).chain(rest).collect()
    };
    let table = table(&columns, drives.iter().map(row).collect());
    std::iter::once(table).chain(drives.iter().filter_map(problem)).collect::<Vec<_>>().join("\n")
}

/// What there is to say of a drive below the table.
fn problem(drive: &PoolDrive) -> Option<String> {
    let some = |count: Option<u64>, what| {
        count.filter(|count| *count > 0).map(|count| counted(count as usize, what))
    };
    let refused = some(drive.read_errors, "read").map(|reads| format!("{reads} refused"));
    let wrong = some(drive.wrong_answers, "wrong answer");
    let said: Vec<String> = drive
        .problem
        .clone()
        .into_iter()
        .chain(refused)
        .chain(wrong)
        .chain(unused(drive))
        .chain(drive.health.warnings.iter().map(|warning| warning.message.clone()))
        .collect();
    (!said.is_empty())
        .then(|| prose(&format!("{}/{}: {}", drive.pool, drive.name, printable(&said.join("; ")))))
}

/// Room of a drive that its pool does not use, and what takes it.
fn unused(drive: &PoolDrive) -> Option<String> {
    let bytes = drive.unused_bytes.filter(|bytes| *bytes > 0)?;
    Some(format!("{} more: `ashlar pool grow {}`", size(bytes), drive.pool))
}

/// Where a drive is, without what all such names have in common.
pub fn plain_place(spec: &str) -> String {
    let plain = ashlar_volume::path_of(spec);
    let plain = plain.strip_prefix("file:").unwrap_or(plain);
    printable(plain.strip_prefix(BY_ID).unwrap_or(plain))
}

/// A drive of a pool with everything but its health.
pub fn member(drive: &PoolDrive) -> String {
    sheet(of_member(drive))
}

/// The same with what it says of its health.
pub fn member_with_health(drive: &PoolDrive) -> String {
    sheet(of_member(drive).into_iter().chain(health::of_drive(&drive.health)).collect())
}

fn of_member(drive: &PoolDrive) -> Vec<(&'static str, String)> {
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
        ("unused", unused(drive).unwrap_or_else(|| known(drive.unused_bytes, size))),
        ("reads refused", known(drive.read_errors, |count| count.to_string())),
        ("wrong answers", known(drive.wrong_answers, |count| count.to_string())),
        ("model", or_dash(drive.model.as_deref())),
        ("serial", or_dash(drive.serial.as_deref())),
        ("slot", or_dash(drive.slot.as_deref())),
    ]);
    rows.extend(drive.health.warnings.iter().map(|it| ("warning", printable(&it.message))));
    rows
}

/// What a drive is and holds.
pub fn drive_info(drive: &DriveInfo) -> String {
    sheet(of_info(drive))
}

/// The same with what it says of its health.
pub fn drive_info_with_health(drive: &DriveInfo) -> String {
    sheet(of_info(drive).into_iter().chain(health::of_drive(&drive.health)).collect())
}

fn of_info(drive: &DriveInfo) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        ("drive", printable(&drive.spec)),
        ("kind", drive.kind.clone()),
        ("size", size(drive.size_bytes)),
        ("holds", printable(&drive.content)),
        ("model", or_dash(drive.model.as_deref())),
        ("serial", or_dash(drive.serial.as_deref())),
        ("slot", or_dash(drive.slot.as_deref())),
    ];
    rows.extend(drive.health.warnings.iter().map(|it| ("warning", printable(&it.message))));
    rows
}

#[cfg(test)]
mod tests;
