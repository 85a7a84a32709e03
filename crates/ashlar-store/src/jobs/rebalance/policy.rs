//! Which column goes where so that drives are equally full: pure functions of how full they are.

use ashlar_block::DriveId;
use ashlar_raid::Geometry;

use crate::space::segments::{Load, Loads};

/// Drives are equally full that differ by less than this part of what they hold.
const EVEN_WITHIN: f64 = 0.01;

/// With so many chunks more, the part of a drive that would be taken.
fn part_with(load: Load, more: f64) -> f64 {
    (f64::from(load.used) + more) / f64::from(load.total)
}

/// A column that goes to another drive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ColumnMove {
    /// Which column.
    pub column: usize,
    /// Where to.
    pub to: DriveId,
    /// By how much the two drives differ, as parts of what they hold.
    pub gain: f64,
}

/// The column of a segment that is most worth moving, if any is: the one on its fullest drive, to
/// the emptiest that it does not lie on. Afterwards the one is no emptier than the other, so that
/// no column goes back and forth.
pub(crate) fn best_move(geometry: &Geometry, loads: &Loads) -> Option<ColumnMove> {
    let by_part =
        |one: &Load, other: &Load| part_with(*one, 0.0).total_cmp(&part_with(*other, 0.0));
    let own = geometry.columns.iter().enumerate();
    let own = own.filter_map(|(column, chunk)| Some((column, *loads.get(&chunk.drive)?)));
    let (column, fullest) = own.max_by(|(_, one), (_, other)| by_part(one, other))?;
    let is_beside = |drive: &DriveId| geometry.columns.iter().all(|chunk| chunk.drive != *drive);
    let beside = loads.iter().filter(|(drive, load)| load.used < load.total && is_beside(drive));
    let (to, emptiest) = beside.min_by(|(_, one), (_, other)| by_part(one, other))?;
    let gain = part_with(fullest, 0.0) - part_with(*emptiest, 0.0);
    let is_worth_it = gain > EVEN_WITHIN && part_with(fullest, -1.0) >= part_with(*emptiest, 1.0);
    is_worth_it.then_some(ColumnMove { column, to: *to, gain })
}

/// Whether drives are equally full, nearly: no column is worth moving.
pub(crate) fn are_even(loads: &Loads) -> bool {
    let parts = loads.values().map(|load| part_with(*load, 0.0));
    let (least, most) =
        parts.fold((1.0f64, 0.0f64), |(least, most), part| (least.min(part), most.max(part)));
    most - least <= EVEN_WITHIN
}

/// Chunks that are beyond what drives would hold if all were equally full. 0 if they are already.
pub(crate) fn chunks_beyond(loads: &Loads) -> u64 {
    if are_even(loads) {
        return 0;
    }
    let (used, total) = loads.values().fold((0.0, 0.0), |(used, total), load| {
        (used + f64::from(load.used), total + f64::from(load.total))
    });
    let beyond =
        |load: &Load| (f64::from(load.used) - f64::from(load.total) * used / total).floor();
    loads.values().map(beyond).filter(|beyond| *beyond > 0.0).sum::<f64>() as u64
}

#[cfg(test)]
mod tests;
