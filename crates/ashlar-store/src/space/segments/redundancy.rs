//! What a root records of the redundancy of its segments.

use std::collections::{BTreeMap, BTreeSet};

use ashlar_block::DriveId;
use ashlar_format::location::SegmentId;

use super::Segments;
use super::summary::UsedBy;

/// How safe the segments of a root are.
#[derive(Debug)]
pub struct Redundancy {
    /// Columns of parity that are used up, in the segment of which most are: by columns that it
    /// lacks, and by those that lie on absent drives.
    pub parity_used: usize,
    /// The same of those that lie on a drive, for each drive on which any lies.
    on: BTreeMap<DriveId, usize>,
    /// Drives that columns are on their way to.
    targets: BTreeSet<DriveId>,
    /// Some have fewer parity columns than the level's.
    pub has_thin: bool,
}

impl Redundancy {
    /// Whether any segment lies on the drive, or a column is on its way to it.
    pub fn uses(&self, drive: DriveId) -> bool {
        self.on.contains_key(&drive) || self.targets.contains(&drive)
    }

    /// Columns of parity that are used up, in the segment on the drive of which most are.
    pub fn parity_used_on(&self, drive: DriveId) -> usize {
        self.on.get(&drive).copied().unwrap_or(0)
    }
}

impl Segments {
    /// Whether something could not be read without the drive, besides those that are absent.
    pub fn loses_data_without(&self, drive: DriveId) -> bool {
        let on_it = self.summary.on_drives().find(|(on, ..)| *on == drive);
        on_it.is_some_and(|(_, _, used)| most(used) >= self.stripe.parity)
    }

    /// Counts so many segments anew, if other drives are `away` than were. Whether there are more:
    /// all are looked at when a drive is lost or comes back, and hosts wait for the end of a turn.
    pub fn recount_redundancy(&mut self, away: &BTreeSet<DriveId>, segments: usize) -> bool {
        let rest = self.entries.iter_from(self.summary.recount_from());
        self.summary.set_away(away, rest, segments)
    }

    /// How safe the segments are if `away` are the drives that are absent, but for those that are
    /// `freed`.
    pub fn redundancy(
        &mut self,
        away: &BTreeSet<DriveId>,
        freed: &BTreeSet<SegmentId>,
    ) -> Redundancy {
        while self.recount_redundancy(away, usize::MAX) {}
        let mut parity_used = self.summary.parity_used().clone();
        let mut thin = self.summary.thin();
        let mut on: BTreeMap<DriveId, (u32, UsedBy)> = self
            .summary
            .on_drives()
            .map(|(drive, columns, used)| (drive, (columns, used.clone())))
            .collect();
        for (id, segment) in freed.iter().filter_map(|id| Some((*id, self.entries.get(*id)?))) {
            let used = self.summary.parity_used_of(id, segment);
            thin -= u64::from(segment.geometry.parity() < self.stripe.parity);
            take_one(&mut parity_used, used);
            for column in &segment.geometry.columns {
                let (columns, used_on) = on.get_mut(&column.drive).expect("it is counted");
                *columns -= 1;
                take_one(used_on, used);
            }
        }
        let used = on.into_iter().filter(|(_, (columns, _))| *columns > 0);
        Redundancy {
            parity_used: most(&parity_used),
            targets: self.moving.values().flatten().map(|place| place.chunk.drive).collect(),
            has_thin: thin > 0,
            on: used.map(|(drive, (_, used))| (drive, most(&used))).collect(),
        }
    }
}

fn take_one(by: &mut UsedBy, used: usize) {
    if let Some(count) = by.get_mut(&used) {
        *count -= 1;
    }
}

fn most(by: &UsedBy) -> usize {
    by.iter().filter(|(_, count)| **count > 0).map(|(used, _)| *used).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
