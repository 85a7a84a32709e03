//! How much memory what was read a moment ago deserves: as much more, as long as it is wanted again.

use std::cell::Cell;

/// What is held at first, and while hardly anything is wanted again: 1 MiB. Fresh memory costs time, too.
pub(super) const HELD_SECTORS_MIN: usize = 256;
/// The most that is held: 16 MiB. Of four streams with 4 MiB outstanding each, a batch of 1 MiB is wanted again within that.
pub(super) const HELD_SECTORS_MAX: usize = 4096;
/// Samples that are known to have been read and are not held any more: those of as much as can be held.
pub(super) const NOTED_SAMPLES_MAX: usize = HELD_SECTORS_MAX / SAMPLE_ONE_OF as usize;
/// One of so many sectors is looked at.
const SAMPLE_ONE_OF: u32 = 8;
/// Samples that are asked for between two decisions.
const WINDOW_SAMPLES: u32 = 128;
/// Of so many samples that are asked for one at least is to be asked for again. Streams have two of five or four of fifteen (10+2 on
/// twelve drives, 4+2 on eight); hosts that read here and there have what is left to chance.
const WORTH_ONE_OF: u32 = 5;

/// How many sectors are held, and what is known of their use.
pub(super) struct Worth {
    held_max: Cell<usize>,
    /// Since the last decision: samples that were asked for, and those of them that had been a moment before.
    asked: Cell<u32>,
    again: Cell<u32>,
}

impl Default for Worth {
    fn default() -> Self {
        Worth { held_max: Cell::new(HELD_SECTORS_MIN), asked: Cell::new(0), again: Cell::new(0) }
    }
}

impl Worth {
    /// Sectors that may be held.
    pub fn held_max(&self) -> usize {
        self.held_max.get()
    }

    /// Whether it is looked at how often this sector of a chunk is asked for.
    pub fn is_sample(sector: u32) -> bool {
        sector.is_multiple_of(SAMPLE_ONE_OF)
    }

    /// A sector is asked for, again or for the first time.
    pub fn asked(&self, sector: u32, again: bool) {
        if !Self::is_sample(sector) {
            return;
        }
        self.asked.update(|asked| asked + 1);
        self.again.update(|before| before + u32::from(again));
        if self.asked.get() == WINDOW_SAMPLES {
            let pays = self.again.take() * WORTH_ONE_OF >= self.asked.take();
            let held_max = if pays { self.held_max.get() * 2 } else { self.held_max.get() / 2 };
            self.held_max.set(held_max.clamp(HELD_SECTORS_MIN, HELD_SECTORS_MAX));
        }
    }
}

#[cfg(test)]
mod tests;
