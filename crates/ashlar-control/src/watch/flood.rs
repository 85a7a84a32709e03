//! How many events of one kind there may be: a flood of them does not push all others out of the
//! log.

use std::time::{Duration, Instant};

/// Counts events of one kind.
pub struct Flood {
    /// Events in one interval.
    most: u32,
    interval: Duration,
    begun: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Flood {
    /// So many in an interval are told.
    pub fn new(most: u32, interval: Duration) -> Self {
        Flood { most, interval, begun: None, told: 0, untold: 0 }
    }

    /// Whether one more may be told now. Otherwise it is counted.
    pub fn admits(&mut self, now: Instant) -> bool {
        if self.is_over(now) {
            self.begun = Some(now);
            self.told = 0;
        }
        let admits = self.told < self.most;
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
        self.begun.is_none_or(|begun| now.duration_since(begun) >= self.interval)
    }
}

#[cfg(test)]
mod tests;
