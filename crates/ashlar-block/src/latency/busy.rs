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

    /// One has begun, and is under way until that is ended or dropped.
    pub fn begin(&self, now: Nanos) -> Busy<'_> {
        self.enter(now);
        Busy(self)
    }

    /// One has begun: who says so says [`BusyTime::leave`] as well.
    pub(super) fn enter(&self, now: Nanos) {
        self.count_until(now);
        self.under_way.set(self.under_way.get() + 1);
    }

    /// One is under way no more, and nobody knows since when. If it was the last one, what came
    /// after the time that was told last is not counted.
    pub(super) fn leave(&self) {
        self.under_way.set(self.under_way.get() - 1);
    }

    /// Counts what has passed until now, if one is under way, and returns for how long there was
    /// one in all.
    pub fn count_until(&self, now: Nanos) -> Duration {
        let since = self.counted_until.get();
        if self.under_way.get() > 0 {
            self.busy.set(self.busy.get() + now.since(since));
        }
        self.counted_until.set(now.max(since));
        self.busy.get()
    }
}

/// One that is under way. If it is dropped before its end, with the future that it is in, it is
/// under way no more; if it was the last one, what came after the time that was told last is not
/// counted.
#[derive(Debug)]
#[must_use]
pub struct Busy<'a>(&'a BusyTime);

impl Busy<'_> {
    /// It has ended.
    pub fn end(self, now: Nanos) {
        self.0.count_until(now);
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests;
