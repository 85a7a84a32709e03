//! How much memory what was read a moment ago deserves: as much more, as long as it is wanted
//! again.

use std::cell::Cell;

/// What is held at first, and while hardly anything is wanted again: 1 MiB. Fresh memory costs
/// time, too.
pub(super) const HELD_SECTORS_MIN: usize = 256;
/// The most that is held: 16 MiB. Of four streams with 4 MiB outstanding each, a batch of 1 MiB is
/// wanted again within that.
pub(super) const HELD_SECTORS_MAX: usize = 4096;
/// Samples that are known to have been read and are not held any more: those of as much as can be
/// held.
pub(super) const NOTED_SAMPLES_MAX: usize = HELD_SECTORS_MAX / SAMPLE_ONE_OF as usize;
/// One of so many sectors is looked at.
const SAMPLE_ONE_OF: u32 = 8;
/// Samples that are asked for between two decisions.
const WINDOW_SAMPLES: u32 = 128;
/// Of so many samples that are asked for one at least would be held if more were: then more are.
const MORE_ONE_OF: u32 = 8;
/// Of so many samples that are asked for one at least is to be asked for again: otherwise less are
/// held. Streams have two of five or four of fifteen (10+2 on twelve drives, 4+2 on eight); hosts
/// that read here and there have what is left to chance.
const LESS_ONE_OF: u32 = 5;

/// What a sector is to whoever asks for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody has read it of late.
    First,
    /// It is held.
    Held,
    /// It was held, and would be if more were.
    LetGo,
}

/// How many sectors are held, and what is known of their use.
pub(super) struct CacheSizing {
    held_max: Cell<usize>,
    /// Since the last decision: samples that were asked for, those of them that were held, and
    /// those that had been.
    asked: Cell<u32>,
    held: Cell<u32>,
    let_go: Cell<u32>,
}

impl Default for CacheSizing {
    fn default() -> Self {
        CacheSizing {
            held_max: Cell::new(HELD_SECTORS_MIN),
            asked: Cell::new(0),
            held: Cell::new(0),
            let_go: Cell::new(0),
        }
    }
}

impl CacheSizing {
    /// Sectors that may be held.
    pub fn held_max(&self) -> usize {
        self.held_max.get()
    }

    /// Whether it is looked at how often this sector of a chunk is asked for.
    pub fn is_sample(sector: u32) -> bool {
        sector.is_multiple_of(SAMPLE_ONE_OF)
    }

    /// A sector is asked for.
    pub fn asked(&self, sector: u32, asked: Asked) {
        if !Self::is_sample(sector) {
            return;
        }
        self.asked.update(|before| before + 1);
        self.held.update(|before| before + u32::from(asked == Asked::Held));
        self.let_go.update(|before| before + u32::from(asked == Asked::LetGo));
        if self.asked.get() == WINDOW_SAMPLES {
            self.decide(self.asked.take(), self.held.take(), self.let_go.take());
        }
    }

    fn decide(&self, asked: u32, held: u32, let_go: u32) {
        let held_max = if let_go * MORE_ONE_OF >= asked {
            self.held_max.get() * 2
        } else if (held + let_go) * LESS_ONE_OF < asked {
            self.held_max.get() / 2
        } else {
            return;
        };
        self.held_max.set(held_max.clamp(HELD_SECTORS_MIN, HELD_SECTORS_MAX));
    }
}

#[cfg(test)]
mod tests;
