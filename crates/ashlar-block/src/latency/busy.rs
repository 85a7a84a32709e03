//! For how long a thing was busy.

use std::cell::Cell;
use std::time::Duration;

use crate::Nanos;

/// For how long at least one of something was under way. Stays on its thread, and is told the time
/// by who has it anyway.
#[derive(Default, Debug)]
pub struct BusyTime {
    under_way: Cell<u64>,
    busy: Cell<Duration>,
    /// Until when `busy` has been counted.
    counted_until: Cell<Nanos>,
}

impl BusyTime {
    /// How many are under way.
    pub fn under_way(&self) -> u64 {
        self.under_way.get()
    }

    /// One has begun.
    pub fn begin(&self, now: Nanos) {
        self.until(now);
        self.under_way.set(self.under_way.get() + 1);
    }

    /// One has ended.
    pub fn end(&self, now: Nanos) {
        self.until(now);
        self.leave();
    }

    /// One is under way no more, and nobody knows since when. If it was the last one, what came
    /// after the time that was told last is not counted.
    pub fn leave(&self) {
        self.under_way.set(self.under_way.get() - 1);
    }

    /// For how long there was one until now.
    pub fn until(&self, now: Nanos) -> Duration {
        let since = self.counted_until.get();
        if self.under_way.get() > 0 {
            self.busy.set(self.busy.get() + now.since(since));
        }
        self.counted_until.set(now.max(since));
        self.busy.get()
    }
}

#[cfg(test)]
mod tests;
