//! What a pool does in a while.

use std::time::Duration;

use ashlar_block::Nanos;

/// What ends does so in bursts. So what a pool does is known once all that it has at a time has
/// ended so many times; but no later than is of use.
const TURNOVERS: u64 = 16;
const LENGTH_MIN: Duration = Duration::from_millis(250);
const LENGTH_MAX: Duration = Duration::from_secs(5);

/// Since it began: what has ended, and the most that there was at a time, in bytes.
pub(super) struct Window {
    began: Nanos,
    ended: u64,
    peak: u64,
}

impl Window {
    /// One that begins now.
    pub(super) fn new(now: Nanos) -> Self {
        Window { began: now, ended: 0, peak: 0 }
    }

    /// A command of that cost has ended, of `in_store` that there were.
    pub(super) fn ended(&mut self, cost: u64, in_store: u64) {
        self.ended += cost;
        self.peak = self.peak.max(in_store);
    }

    /// The most that there was at a time.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// For how long it lasts.
    pub(super) fn elapsed(&self, now: Nanos) -> Duration {
        now.since(self.began)
    }

    /// Whether it lasts long enough to say anything.
    pub(super) fn is_long_enough(&self, now: Nanos) -> bool {
        self.elapsed(now) >= LENGTH_MIN
    }

    /// Whether it says what the pool does, also where what ends does so in bursts.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        let has_turned_over = self.ended > 0 && self.ended >= TURNOVERS * self.peak;
        self.is_long_enough(now) && (has_turned_over || self.elapsed(now) >= LENGTH_MAX)
    }

    /// What has ended in a second.
    pub(super) fn rate(&self, now: Nanos) -> u64 {
        let nanos = self.elapsed(now).as_nanos().max(1);
        (u128::from(self.ended) * 1_000_000_000 / nanos) as u64
    }
}

#[cfg(test)]
mod tests;
