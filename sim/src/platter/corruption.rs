//! Corrupt sectors: what each should hold, and what it holds.
//!
//! A sector is corrupt while it holds something else than a drive would hold that does each write
//! where it is told to, and changes no bit. Pieces of a write that tear, or that a cut leaves of
//! what was not flushed, are no corruption: they are the same on both drives. A write that was not
//! done corrupts nothing before a flush promises it: until then the power may undo it.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};

use ashlar_block::SECTOR_BYTES;
use bytes::Bytes;

use super::{Sector, sectors};

/// What became of sectors that drives corrupted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CorruptionCounts {
    /// Sectors that became corrupt.
    pub corrupted: u64,
    /// Those of them that a read gave, once or more often.
    pub met: u64,
    /// Those that a write of what should have been there repaired.
    pub repaired: u64,
    /// Those that something else has come over.
    pub overwritten: u64,
}

impl CorruptionCounts {
    /// Sectors that are corrupt still.
    pub fn left(&self) -> u64 {
        self.corrupted - self.repaired - self.overwritten
    }
}

impl AddAssign for CorruptionCounts {
    fn add_assign(&mut self, other: CorruptionCounts) {
        self.corrupted += other.corrupted;
        self.met += other.met;
        self.repaired += other.repaired;
        self.overwritten += other.overwritten;
    }
}

struct CorruptSector {
    intended: Box<Sector>,
    is_met: bool,
}

/// The corrupt sectors of a drive.
#[derive(Default)]
pub struct Corruption {
    by_sector: BTreeMap<usize, CorruptSector>,
    /// Writes that were not done where they should have been, and that no flush has promised yet;
    /// by their numbers.
    unpromised: BTreeMap<u64, (u64, Bytes)>,
    counts: CorruptionCounts,
}

impl Corruption {
    pub fn counts(&self) -> CorruptionCounts {
        self.counts
    }

    /// Corrupt sectors of the range.
    pub fn within(&self, sectors: Range<usize>) -> impl Iterator<Item = usize> {
        self.by_sector.range(sectors).map(|(sector, _)| *sector)
    }

    /// A part of a sector was written as was meant; the whole is `held` now.
    pub fn wrote(&mut self, sector: usize, within: usize, bytes: &[u8], held: &Sector) {
        let Some(corrupt) = self.by_sector.get_mut(&sector) else { return };
        let part = &mut corrupt.intended[within..within + bytes.len()];
        let was_intended = part == bytes;
        part.copy_from_slice(bytes);
        if *corrupt.intended == *held {
            self.end(sector, was_intended);
        }
    }

    /// A sector is `held` now, and `before` it was not, which nobody meant.
    pub fn spoiled(&mut self, sector: usize, before: &Sector, held: &Sector) {
        match self.by_sector.get(&sector) {
            Some(corrupt) if *corrupt.intended == *held => self.end(sector, false),
            None if before != held => self.begin(sector, before),
            _ => {}
        }
    }

    /// A sector should be `intended`, and is `held` still.
    pub fn left_out(&mut self, sector: usize, intended: &Sector, held: &Sector) {
        if self.by_sector.get(&sector).is_some_and(|corrupt| *corrupt.intended == *intended) {
            return;
        }
        if self.by_sector.contains_key(&sector) {
            self.end(sector, false);
        }
        if intended != held {
            self.begin(sector, intended);
        }
    }

    /// A write was lost or torn, and would have made the sector `written`. If it is `held` all the
    /// same, because it was corrupt, then nothing is wrong with it: what was meant before has no
    /// claim to the place any more.
    pub fn held_all_the_same(&mut self, sector: usize, written: &Sector, held: &Sector) {
        if self.by_sector.contains_key(&sector) && written == held {
            self.end(sector, false);
        }
    }

    fn begin(&mut self, sector: usize, intended: &Sector) {
        self.counts.corrupted += 1;
        self.by_sector
            .insert(sector, CorruptSector { intended: Box::new(*intended), is_met: false });
    }

    fn end(&mut self, sector: usize, is_repaired: bool) {
        self.by_sector.remove(&sector);
        self.counts.repaired += u64::from(is_repaired);
        self.counts.overwritten += u64::from(!is_repaired);
    }

    /// A read gives the sector.
    pub fn meet(&mut self, sector: usize) {
        let Some(corrupt) = self.by_sector.get_mut(&sector) else { return };
        self.counts.met += u64::from(!corrupt.is_met);
        corrupt.is_met = true;
    }

    // --- before a flush --------------------------------------------------------------------------

    /// A write that a flush would have promised was not done.
    pub fn promise_later(&mut self, number: u64, offset: u64, data: Bytes) {
        self.unpromised.insert(number, (offset, data));
    }

    /// Of the writes that were not done, those that a flush promises which is for all before this
    /// number.
    pub fn promised(&mut self, before: u64) -> BTreeMap<u64, (u64, Bytes)> {
        let later = self.unpromised.split_off(&before);
        std::mem::replace(&mut self.unpromised, later)
    }

    /// Of the writes that were not done, those that touch these sectors.
    pub fn promised_of(&mut self, range: &Range<usize>) -> BTreeMap<u64, (u64, Bytes)> {
        let touches = |(offset, data): &(u64, Bytes)| {
            let written = sectors(*offset, data.len());
            written.start < range.end && range.start < written.end
        };
        let (of_range, others) =
            std::mem::take(&mut self.unpromised).into_iter().partition(|(_, write)| touches(write));
        self.unpromised = others;
        of_range
    }

    /// Nothing will promise what has not been promised: those writes.
    pub fn promise_nothing(&mut self) -> impl Iterator<Item = (u64, Bytes)> {
        std::mem::take(&mut self.unpromised).into_values()
    }
}

/// Where a sector begins in a write at `offset`.
pub fn part_of(data: &[u8], nth: usize) -> &Sector {
    data[nth * SECTOR_BYTES..][..SECTOR_BYTES].try_into().expect("whole sectors")
}
