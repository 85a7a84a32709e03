//! For how long a command counts that is in the store.
//!
//! One that takes its time, because it waits for room or for a drive that hangs, is to keep nobody
//! from what can be done meanwhile. So commands count for the epoch in which they begin and for the
//! next one. An epoch is long enough that nearly all commands end while they count: where they do
//! not, the store has whatever comes, and nobody takes turns. So it is as long as the slowest
//! volume needs that wants much: a fast one beside it says nothing of it.

use std::time::Duration;

use ashlar_block::Nanos;

/// How long an epoch is at least, and at most.
const EPOCH_MIN: Duration = Duration::from_millis(50);
const EPOCH_MAX: Duration = Duration::from_secs(1);
/// An epoch is too short if more than this part of what ends counts no longer, and too long if no
/// more than this part has begun before the epoch in which it ends, so many times in a row: what
/// ends does so in bursts, and between them little does.
const FEW_DIVISOR: u64 = 8;
const CALM_EPOCHS: u32 = 8;

/// Bytes of commands in the store: of those that began in this epoch, and in the one before.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted([u64; 2]);

impl Counted {
    pub(super) fn sum(self) -> u64 {
        self.0[0] + self.0[1]
    }

    pub(super) fn begin(&mut self, cost: u64) {
        self.0[0] += cost;
    }

    /// An epoch has ended: what began before it counts no longer.
    pub(super) fn age(&mut self) {
        self.0 = [0, self.0[0]];
    }

    /// A command ends that began `ago` epochs before.
    pub(super) fn end(&mut self, cost: u64, ago: u64) {
        if let Some(counted) = usize::try_from(ago).ok().and_then(|ago| self.0.get_mut(ago)) {
            *counted -= cost;
        }
    }
}

/// What has ended of a volume in an epoch, in bytes, by when the store had it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Ended {
    all: u64,
    /// In an epoch before this one.
    before: u64,
    /// So long before that it counted no longer.
    uncounted: u64,
}

impl Ended {
    /// A command ends that the store has had since `ago` epochs before.
    pub(super) fn add(&mut self, cost: u64, ago: u64) {
        self.all += cost;
        self.before += if ago > 0 { cost } else { 0 };
        self.uncounted += if ago > 1 { cost } else { 0 };
    }

    fn has_much(self, part: u64) -> bool {
        part > self.all / FEW_DIVISOR
    }
}

/// The epochs of a pool.
pub(super) struct Epochs {
    number: u64,
    began: Nanos,
    length: Duration,
    /// Epochs in a row that were too long.
    calm: u32,
}

impl Default for Epochs {
    fn default() -> Self {
        Epochs { number: 0, began: Nanos(0), length: EPOCH_MIN, calm: 0 }
    }
}

impl Epochs {
    /// That of commands that begin now.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is time for the next one.
    pub(super) fn is_over(&self, now: Nanos) -> bool {
        now.since(self.began) >= self.length
    }

    /// Begins the next one. `ended` is what has ended of each volume that wants much.
    pub(super) fn next(&mut self, now: Nanos, ended: &[Ended]) {
        (self.number, self.began) = (self.number + 1, now);
        if ended.iter().any(|it| it.has_much(it.uncounted)) {
            (self.length, self.calm) = ((self.length * 2).min(EPOCH_MAX), 0);
        } else if ended.iter().any(|it| it.has_much(it.before)) {
            self.calm = 0;
        } else if ended.is_empty() || ended.iter().any(|it| it.all > 0) {
            self.calm += 1;
        }
        if self.calm >= CALM_EPOCHS {
            (self.length, self.calm) = ((self.length / 2).max(EPOCH_MIN), 0);
        }
    }
}

#[cfg(test)]
mod tests;
