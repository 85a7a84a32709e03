//! What one more loss of a drive would do: whether hosts' writes would go on, and whether what
//! lived on the drive has room on the others. Looks at drives, and at no segment.

use std::collections::BTreeMap;

use ashlar_block::{DriveId, World};

use crate::pool::Pool;

/// The pool is no longer short of room for a loss once so large a part of its limit is left.
const SPARE_PART: u64 = 32;

/// How it would be without one of the drives that work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterLoss {
    /// Writes would go on, and all that lived on it would be restored on others.
    GoesOn {
        /// What may be written before that is no longer so.
        spare_bytes: u64,
    },
    /// New data would be refused for lack of room. Overwrites would go on, if what lived on it is
    /// restored.
    Short {
        /// So much more lives than may without it.
        short_bytes: u64,
        /// What lived on it would have room on others.
        is_restored: bool,
    },
    /// Writes would be refused, because new data would lack the redundancy of the pool's level.
    TooFewDrives {
        /// That would be left.
        left: usize,
        /// That new data needs.
        needed: usize,
    },
    /// Data would be lost, or could not be read until the drive is back.
    LosesData,
}

impl AfterLoss {
    /// The higher, the worse.
    fn badness(self) -> (u8, u64) {
        match self {
            AfterLoss::GoesOn { spare_bytes } => (0, u64::MAX - spare_bytes),
            AfterLoss::Short { short_bytes, is_restored } => {
                (1 + u8::from(!is_restored), short_bytes)
            }
            AfterLoss::TooFewDrives { .. } => (3, 0),
            AfterLoss::LosesData => (4, 0),
        }
    }
}

/// The loss that would be worst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorstLoss {
    /// The drive.
    pub drive: DriveId,
    /// What would be without it.
    pub after: AfterLoss,
    /// Room is short for it, and not by turns with the contrary where it stays about the same.
    pub is_short_of_room: bool,
}

impl<W: World> Pool<W> {
    /// The loss of one more drive that would be worst; none if no drive takes data.
    pub fn worst_loss(&self) -> Option<WorstLoss> {
        let drives = self.allocation_targets();
        // Without one of two drives of a size there is as much room as without the other.
        let mut of_size = BTreeMap::new();
        let mut after = |drive: DriveId| {
            let size = self.space.segments.borrow().chunks_on(&[drive]);
            let after = *of_size.entry(size).or_insert_with(|| self.room_without(drive, &drives));
            let loses_data = self.space.segments.borrow().loses_data_without(drive);
            if loses_data { AfterLoss::LosesData } else { after }
        };
        // What lies on one that is leaving may be lost as well; room is none of its.
        let leaving = |drive: &DriveId| !drives.contains(drive);
        let is_loss = |drive: &DriveId| self.space.segments.borrow().loses_data_without(*drive);
        let lost = self.drives().into_iter().filter(leaving).filter(is_loss);
        let losses: Vec<(DriveId, AfterLoss)> =
            drives.iter().map(|drive| (*drive, after(*drive))).collect();
        let losses = losses.into_iter().chain(lost.map(|drive| (drive, AfterLoss::LosesData)));
        // The first of several that are as bad.
        let losses: Vec<(DriveId, AfterLoss)> = losses.collect();
        let (drive, after) = losses.into_iter().rev().max_by_key(|(_, after)| after.badness())?;
        let is_short_of_room = match after {
            AfterLoss::Short { .. } => true,
            AfterLoss::GoesOn { spare_bytes } => {
                self.space.short_for_loss.get()
                    && spare_bytes < self.space.limit_bytes.get() / SPARE_PART
            }
            AfterLoss::TooFewDrives { .. } | AfterLoss::LosesData => false,
        };
        self.space.short_for_loss.set(is_short_of_room);
        Some(WorstLoss { drive, after, is_short_of_room })
    }

    fn room_without(&self, drive: DriveId, drives: &[DriveId]) -> AfterLoss {
        let left: Vec<DriveId> = drives.iter().copied().filter(|other| *other != drive).collect();
        let needed = self.space.segments.borrow().stripe().parity + 1;
        if left.len() < needed {
            return AfterLoss::TooFewDrives { left: left.len(), needed };
        }
        let live =
            self.space.segments.borrow().live().bytes() + self.writer.commit.pending_bytes() as u64;
        let (limit, most) = self.limit_and_most_on(&left);
        match live.checked_sub(limit) {
            None | Some(0) => AfterLoss::GoesOn { spare_bytes: limit - live },
            Some(short_bytes) => AfterLoss::Short { short_bytes, is_restored: live <= most },
        }
    }
}

#[cfg(test)]
mod tests;
