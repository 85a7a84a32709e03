//! One limit: how much of it is spent, and when the next command may begin.
//!
//! The generic cell rate algorithm (ITU-T I.371, virtual scheduling): all that is kept is the time
//! at which what has been admitted would be spent at exactly the rate. A command may begin once
//! that is no further ahead than the burst, whatever its size: so a large one is never kept waiting
//! by small ones, and what it takes above the burst those behind it wait for. In any window of time
//! there begins at most what the rate allows in the window and the burst, and one command more.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ashlar_block::Nanos;

/// Parts of a nanosecond that are reckoned with: a 4 KiB command at 10 GB/s takes 410 ns, of which
/// whole nanoseconds would lose a four-hundredth.
const TICKS_PER_NANO: u64 = 16;
const TICKS_PER_SECOND: u128 = 1_000_000_000 * TICKS_PER_NANO as u128;

/// A limit, shared by threads.
#[derive(Default, Debug)]
pub(super) struct Rate {
    /// Units per second. 0: there is no limit.
    per_second: AtomicU64,
    burst_ticks: AtomicU64,
    /// When what has been admitted would be spent.
    spent_at: AtomicU64,
}

fn ticks(at: Nanos) -> u64 {
    at.0.saturating_mul(TICKS_PER_NANO)
}

/// What so many units take at the rate, in ticks. Rounded up: a limit is never exceeded.
fn cost(units: u64, per_second: u64) -> u64 {
    let ticks = (u128::from(units) * TICKS_PER_SECOND).div_ceil(per_second.into());
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

impl Rate {
    /// Changes it. What was saved up before is all that may come at once after it, as far as the
    /// new burst goes, and without a limit nothing is saved up: a change gives nobody a burst. Nor
    /// does anybody wait at the new rate for what was taken at an old one.
    pub(super) fn set(&self, limit: Option<NonZeroU64>, burst: Duration, now: Nanos) {
        let burst_nanos = u64::try_from(burst.as_nanos()).unwrap_or(u64::MAX);
        let burst_ticks = burst_nanos.saturating_mul(TICKS_PER_NANO);
        let burst_before = match self.per_second.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.burst_ticks.load(Ordering::Relaxed),
        };
        let from = ticks(now);
        let spend = |spent_at: u64| {
            let saved = burst_before.saturating_sub(spent_at.saturating_sub(from));
            Some(from.saturating_add(burst_ticks.saturating_sub(saved)))
        };
        let _ = self.spent_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        self.burst_ticks.store(burst_ticks, Ordering::Relaxed);
        self.per_second.store(limit.map_or(0, NonZeroU64::get), Ordering::Relaxed);
    }

    /// Takes so many units if their command may begin now: whether it has. No two that ask at once
    /// both find the one place that is left.
    pub(super) fn try_take(&self, units: u64, now: Nanos) -> bool {
        let per_second = self.per_second.load(Ordering::Relaxed);
        if per_second == 0 || units == 0 {
            return true;
        }
        let (cost, from) = (cost(units, per_second), ticks(now));
        let spend = |spent_at: u64| {
            let may_begin = self.begins(spent_at) <= now;
            may_begin.then(|| spent_at.max(from).saturating_add(cost))
        };
        self.spent_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).is_ok()
    }

    fn begins(&self, spent_at: u64) -> Nanos {
        let begins = spent_at.saturating_sub(self.burst_ticks.load(Ordering::Relaxed));
        Nanos(begins.div_ceil(TICKS_PER_NANO))
    }

    /// Takes so many units, and says when their command may begin: now or later.
    pub(super) fn take(&self, units: u64, now: Nanos) -> Nanos {
        let per_second = self.per_second.load(Ordering::Relaxed);
        if per_second == 0 || units == 0 {
            return now;
        }
        let (cost, from) = (cost(units, per_second), ticks(now));
        let spend = |spent_at: u64| Some(spent_at.max(from).saturating_add(cost));
        let update = self.spent_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        let (Ok(before) | Err(before)) = update;
        self.begins(before).max(now)
    }

    /// Gives units back that were taken for a command which does not begin.
    pub(super) fn give_back(&self, units: u64) {
        let per_second = self.per_second.load(Ordering::Relaxed);
        if per_second == 0 {
            return;
        }
        let cost = cost(units, per_second);
        let less = |spent_at: u64| Some(spent_at.saturating_sub(cost));
        let _ = self.spent_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests;
