//! What becomes of sectors that a drive was told nobody needs.

use std::ops::Range;

use ashlar_block::{SECTOR_BYTES, XorShift};

use super::{Platter, Sector, ZEROS, sectors};
use crate::world::SimWorld;

/// What is found where a drive was told that nothing is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forgotten {
    /// What was there.
    Kept,
    Zeros,
    /// Bytes of anything.
    Noise(u64),
}

impl Forgotten {
    /// One of them.
    pub fn any(world: &SimWorld) -> Self {
        match world.below(3) {
            0 => Forgotten::Kept,
            1 => Forgotten::Zeros,
            _ => Forgotten::Noise(world.below(u64::MAX)),
        }
    }
}

impl Platter {
    /// Nobody needs these bytes: what is there from now on is any of that.
    pub fn forget(&mut self, bytes: &Range<u64>, what: Forgotten) {
        let len = (bytes.end - bytes.start) as usize;
        self.settle_place(bytes.start, len);
        for index in sectors(bytes.start, len) {
            // What was never written is zeros, whatever is done: a drive of the simulation takes
            // memory for what was.
            if self.sectors[index].is_none() && !self.lost.contains_key(&index) {
                continue;
            }
            let sector = match what {
                Forgotten::Kept => continue,
                Forgotten::Zeros => ZEROS,
                Forgotten::Noise(seed) => noise(seed ^ index as u64),
            };
            self.put_part(index * SECTOR_BYTES, &sector, true);
        }
    }

    /// The power is cut, or the drive refuses, while it forgets: each of its sectors is one or the
    /// other.
    pub fn forget_part(&mut self, world: &SimWorld, bytes: &Range<u64>) {
        let what = Forgotten::any(world);
        let sectors = (bytes.end - bytes.start) / SECTOR_BYTES as u64;
        let (from, to) = (world.below(sectors + 1), world.below(sectors + 1));
        let (from, to) = (from.min(to), from.max(to));
        let at = |sector: u64| bytes.start + sector * SECTOR_BYTES as u64;
        self.forget(&(at(from)..at(to)), what);
    }
}

/// A sector of anything.
fn noise(seed: u64) -> Sector {
    let mut rng = XorShift::new(seed);
    let mut sector = ZEROS;
    sector.chunks_mut(8).for_each(|bytes| bytes.copy_from_slice(&rng.next_u64().to_le_bytes()));
    sector
}
