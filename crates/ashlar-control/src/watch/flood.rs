//! How many events of one kind there may be: a flood of them does not push all others out of the
//! log.

use std::time::{Duration, Instant};

/// Events in one interval.
const EVENTS_MAX: u32 = 64;
const INTERVAL: Duration = Duration::from_secs(10);

/// Counts events of one kind.
#[derive(Default)]
pub struct Flood {
    begun: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Flood {
    /// Whether one more may be told now. Otherwise it is counted.
    pub fn admits(&mut self, now: Instant) -> bool {
        if self.is_over(now) {
            self.begun = Some(now);
            self.told = 0;
        }
        let admits = self.told < EVENTS_MAX;
        if admits {
            self.told += 1;
        } else {
            self.untold += 1;
        }
        admits
    }

    /// How many were counted and not told, once their interval is over.
    pub fn take_untold(&mut self, now: Instant) -> u64 {
        if self.is_over(now) { std::mem::take(&mut self.untold) } else { 0 }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.begun.is_none_or(|begun| now.duration_since(begun) >= INTERVAL)
    }
}

#[cfg(test)]
mod tests;
