//! What would come of it if drives were taken.

use ashlar_block::{counted, printable};
use ashlar_control::types::{DriveInfo, DrivePlan, PoolPlan};

use super::drives::plain_place;
use super::grid::{Kind, prose, table};
use super::{or_dash, size};

const NOTHING_CHANGED: &str = "This was a dry run: nothing has changed.";

/// A pool that could be made.
pub fn pool_plan(plan: &PoolPlan) -> String {
    let PoolPlan { name, level, drives, .. } = plan;
    let drives_counted = counted(drives.len(), "drive");
    let (limit, raw) = (size(plan.limit_bytes), size(plan.raw_bytes));
    let chunk = size(plan.chunk_bytes);
    let would = format!(
        "pool '{name}' would be made: level {level} over {drives_counted}, {limit} may be stored \
         ({raw} raw), in chunks of {chunk}"
    );
    let notes = plan.notes.iter().map(|note| format!("note: {}", printable(note)));
    let lines = [taken(drives), prose(&would)].into_iter().chain(notes);
    lines.chain([NOTHING_CHANGED.to_owned()]).collect::<Vec<_>>().join("\n")
}

/// A drive that a pool could take.
pub fn drive_plan(plan: &DrivePlan) -> String {
    let DrivePlan { pool, drive, .. } = plan;
    let (place, raw) = (plain_place(&drive.spec), size(plan.raw_bytes));
    let instead = plan.replaces.as_deref().map(|old| format!(" instead of {old}"));
    let would = format!(
        "pool '{pool}' would take {place}{}, with room for {raw}, redundancy included",
        instead.unwrap_or_default()
    );
    [taken(std::slice::from_ref(drive)), prose(&would), NOTHING_CHANGED.to_owned()].join("\n")
}

fn taken(drives: &[DriveInfo]) -> String {
    let columns = [
        ("where", Kind::Place),
        ("size", Kind::Figure),
        ("holds", Kind::Words),
        ("model", Kind::Words),
    ];
    let row = |drive: &DriveInfo| {
        vec![
            plain_place(&drive.spec).into(),
            size(drive.size_bytes).into(),
            printable(&drive.content).into(),
            or_dash(drive.model.as_deref()).into(),
        ]
    };
    table(&columns, drives.iter().map(row).collect())
}

#[cfg(test)]
mod tests;
