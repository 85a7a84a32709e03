//! How much slower hosts write when a pool comes near its end.
//!
//! From the level *throttle* on each per cent of the limit that lives makes writes slower, by the
//! same factor each, until they are refused at the level *stop*. So whoever watches latency sees
//! the end come, and a forecast has time to be right.
//!
//! Owns when the next batch of hosts may begin. Each batch is followed by a pause, by how long it
//! took: a slow drive and a fast one are slowed down alike.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::{Nanos, World};
use ashlar_format::catalog::Levels;

use crate::pool::Pool;

/// Just before they are refused writes take so many times as long, where the levels leave room for
/// it.
const SLOWEST: f64 = 32.0;
/// One per cent makes writes at most so many times slower.
const STEP_MAX: f64 = 2.0;
/// No pause is longer.
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Nor are the pauses together that what waits has before it: hosts give a command up after 30
/// seconds.
const PAUSES_MAX: Duration = Duration::from_secs(8);

/// How many times as long writes are to take while `used` per cent of what may live do.
pub(crate) fn slowdown(levels: Levels, used: f64) -> f64 {
    let steps = f64::from(levels.stop.saturating_sub(levels.throttle));
    if steps == 0.0 {
        return 1.0;
    }
    let step = SLOWEST.powf(1.0 / steps).min(STEP_MAX);
    step.powf((used - f64::from(levels.throttle)).clamp(0.0, steps))
}

/// Bytes of `limit` that may live.
pub(crate) fn stop_at(levels: Levels, limit: u64) -> u64 {
    (u128::from(limit) * u128::from(levels.stop) / 100) as u64
}

/// Bytes of `limit` of which less is left, before new data is refused, when the pool warns.
pub(crate) fn little(levels: Levels, limit: u64) -> u64 {
    (u128::from(limit) * u128::from(levels.stop.saturating_sub(levels.warn)) / 100) as u64
}

/// When the next batch of hosts may begin.
#[derive(Default)]
pub(crate) struct Throttle {
    next_at: Cell<Nanos>,
}

impl Throttle {
    /// A batch of hosts took so long, where writes are to take so many times as long as that, and
    /// so many batches wait.
    pub fn batch_ended(&self, took: Duration, slowdown: f64, waiting: usize, now: Nanos) {
        if slowdown > 1.0 {
            let pause_max =
                PAUSE_MAX.min(PAUSES_MAX / u32::try_from(waiting + 1).unwrap_or(u32::MAX));
            let pause = took.mul_f64(slowdown - 1.0).min(pause_max);
            let next = Nanos(now.0 + pause.as_nanos() as u64);
            self.next_at.set(self.next_at.get().max(next));
        }
    }

    /// How long the next batch of hosts has to wait, where writes are to take so many times as long
    /// as they do.
    pub fn wait(&self, slowdown: f64, now: Nanos) -> Duration {
        if slowdown > 1.0 { self.next_at.get().since(now).min(PAUSE_MAX) } else { Duration::ZERO }
    }
}

impl<W: World> Pool<W> {
    /// How many times as long writes of hosts are to take. Where drives are gone and more lives
    /// than the others may hold, hosts that overwrite are no nearer to an end than before.
    pub fn slowdown(&self) -> f64 {
        if self.space.over_limit.is_over() {
            return 1.0;
        }
        let levels = self.catalog.borrow().settings.levels;
        let live = self.space.segments.borrow().live().bytes() as f64;
        let may_live = self.space.limit_bytes.get().max(1) as f64;
        slowdown(levels, f64::from(levels.stop) * live / may_live)
    }
}

#[cfg(test)]
mod tests;
