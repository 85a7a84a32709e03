//! Operations at a rate: each has a moment at which it is to begin, whether those before have ended
//! or not.

use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_reactor::{now, sleep};

/// When one of several workers begins its operations.
pub(crate) struct Pace {
    /// Between two operations of this worker; none if each begins when the one before has ended.
    interval: Option<Duration>,
    due: Nanos,
}

impl Pace {
    /// Of `worker`, one of `workers` that begin so many operations in a second together, one after
    /// the other.
    pub(crate) fn new(per_second: Option<u32>, worker: u32, workers: u32) -> Self {
        let interval = per_second.map(|rate| Duration::from_secs(1) * workers / rate.max(1));
        let due = after(now(), interval.unwrap_or_default() * worker / workers);
        Pace { interval, due }
    }

    /// Waits until the next operation is to begin. Returns when that was to be, from where its
    /// latency counts: who comes too late because the one before took long has been kept waiting.
    pub(crate) async fn next(&mut self) -> Nanos {
        let Some(interval) = self.interval else { return now() };
        sleep(self.due.since(now())).await;
        let due = self.due;
        self.due = after(due, interval);
        due
    }
}

fn after(start: Nanos, duration: Duration) -> Nanos {
    Nanos(start.0 + duration.as_nanos() as u64)
}

#[cfg(test)]
mod tests;
