//! For how long a command counts that is in the store.
//!
//! One that takes its time, because it waits for room or for a drive that hangs, is to keep nobody
//! from what can be done meanwhile. So commands count for the epoch in which they begin and for the
//! next one. An epoch is long enough that nearly all commands end while they count: where they do
//! not, the store has whatever comes, and nobody takes turns.

use std::time::Duration;

use ashlar_block::Nanos;

/// How long an epoch is at least, and at most.
pub(super) const EPOCH_MIN: Duration = Duration::from_millis(50);
const EPOCH_MAX: Duration = Duration::from_secs(1);
/// An epoch is too short if more than this part of what ends has begun before it counted, and too
/// long if no more than this part has begun before the epoch in which it ends.
const FEW_DIVISOR: u64 = 8;

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

/// What has ended in an epoch, in bytes, by when it began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Ended {
    all: u64,
    /// In an epoch before this one.
    before: u64,
    /// So long before that it counted no longer.
    uncounted: u64,
}

/// The epochs of a pool.
pub(super) struct Epochs {
    number: u64,
    began: Nanos,
    length: Duration,
    ended: Ended,
}

impl Default for Epochs {
    fn default() -> Self {
        Epochs { number: 0, began: Nanos(0), length: EPOCH_MIN, ended: Ended::default() }
    }
}

impl Epochs {
    /// That of commands that begin now.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Begins the next one, if it is time. Whether it was.
    pub(super) fn has_ended(&mut self, now: Nanos) -> bool {
        if now.since(self.began) < self.length {
            return false;
        }
        (self.number, self.began) = (self.number + 1, now);
        self.length = next_length(self.length, std::mem::take(&mut self.ended));
        true
    }

    /// A command ends that began in the epoch `begun`: how many epochs ago that was.
    pub(super) fn ends(&mut self, cost: u64, begun: u64) -> u64 {
        let ago = self.number - begun;
        self.ended.all += cost;
        self.ended.before += if ago > 0 { cost } else { 0 };
        self.ended.uncounted += if ago > 1 { cost } else { 0 };
        ago
    }
}

fn next_length(length: Duration, ended: Ended) -> Duration {
    let few = ended.all / FEW_DIVISOR;
    if ended.uncounted > few {
        (length * 2).min(EPOCH_MAX)
    } else if ended.before <= few {
        (length / 2).max(EPOCH_MIN)
    } else {
        length
    }
}

#[cfg(test)]
mod tests;
