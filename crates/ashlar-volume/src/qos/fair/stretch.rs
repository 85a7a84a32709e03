//! How far the bound by which all have to wait (`backlog`) is stretched.
//!
//! Where commands take long whatever else there is, as on drives that turn or over a long line, the
//! pool does more the more it has, and nobody takes anything from anybody: to have half of all wait
//! would only cost. So once in a while the pool has twice as much, and keeps that if it does much
//! more for it.

use std::time::Duration;

use ashlar_block::Nanos;

/// What is measured lasts so long, and until all that is in the store has ended so many times: what
/// ends does so in bursts. But it lasts no longer than is of use.
const WINDOW_MIN: Duration = Duration::from_millis(250);
const WINDOW_MAX: Duration = Duration::from_secs(5);
const TURNOVERS: u64 = 16;
/// What the pool must do more to have twice as much, in hundredths.
const WORTH_PERCENT: u64 = 125;
/// A trial takes no more than this part of the time, and comes no more often.
const TRIALS_DIVISOR: u32 = 20;
const AGAIN: Duration = Duration::from_secs(10);
/// The most that a bound is stretched.
const TIMES_MAX: u64 = 64;

/// What is being found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing: nobody waits for the bound.
    Idle,
    /// What came before does not count.
    Settling,
    /// What the pool does as it is.
    Usual,
    /// What it does with twice as much, beside so much in a second.
    Trial(u64),
    /// Nothing, until then.
    Resting(Nanos),
}

/// One pool's.
pub(super) struct Stretch {
    times: u64,
    phase: Phase,
    began: Nanos,
    ended: u64,
    peak: u64,
}

impl Default for Stretch {
    fn default() -> Self {
        Stretch { times: 1, phase: Phase::Idle, began: Nanos(0), ended: 0, peak: 0 }
    }
}

impl Stretch {
    /// The bound `bytes`, stretched.
    pub(super) fn of(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(self.times)
    }

    /// The bound `bytes` while twice as much is tried.
    pub(super) fn twice(&self, bytes: u64) -> u64 {
        self.of(bytes).saturating_mul(2)
    }

    /// Whether a bound is larger by it.
    pub(super) fn is_stretched(&self) -> bool {
        self.times > 1
    }

    /// Whether the pool has twice as much, to see what for.
    pub(super) fn is_trial(&self) -> bool {
        matches!(self.phase, Phase::Trial(_))
    }

    /// A command of that cost has ended, of `in_store` that there were.
    pub(super) fn ended(&mut self, cost: u64, in_store: u64) {
        self.ended += cost;
        self.peak = self.peak.max(in_store);
    }

    /// Takes the time, where the pool has all that the bound allows, and commands wait for more or
    /// would without the stretch. Whether the bound is stretched more from now on.
    pub(super) fn look(&mut self, is_binding: bool, now: Nanos) -> bool {
        let before = self.times;
        if is_binding {
            self.go_on(now);
        } else {
            self.enter(Phase::Idle, now);
        }
        self.times > before
    }

    fn go_on(&mut self, now: Nanos) {
        let elapsed = now.since(self.began);
        match self.phase {
            Phase::Idle => self.enter(Phase::Settling, now),
            Phase::Resting(until) if now >= until => {
                // What has cost much before may cost little by now.
                self.times = (self.times / 2).max(1);
                self.enter(Phase::Settling, now);
            }
            Phase::Resting(_) => {}
            _ if elapsed < WINDOW_MIN || !self.has_turned_over() && elapsed < WINDOW_MAX => {}
            Phase::Settling => self.enter(Phase::Usual, now),
            Phase::Usual => self.enter(Phase::Trial(self.rate(elapsed)), now),
            Phase::Trial(before) => self.judge(before, elapsed, now),
        }
    }

    fn judge(&mut self, before: u64, elapsed: Duration, now: Nanos) {
        let rate = self.rate(elapsed);
        if rate * 100 >= before * WORTH_PERCENT && self.times < TIMES_MAX {
            self.times *= 2;
            self.enter(Phase::Trial(rate), now);
        } else {
            let rest = (elapsed * TRIALS_DIVISOR).max(AGAIN);
            self.enter(Phase::Resting(Nanos(now.0 + rest.as_nanos() as u64)), now);
        }
    }

    fn has_turned_over(&self) -> bool {
        self.ended >= TURNOVERS * self.peak
    }

    fn rate(&self, elapsed: Duration) -> u64 {
        (u128::from(self.ended) * 1_000_000_000 / elapsed.as_nanos().max(1)) as u64
    }

    fn enter(&mut self, phase: Phase, now: Nanos) {
        (self.phase, self.began, self.ended, self.peak) = (phase, now, 0, 0);
    }
}

#[cfg(test)]
mod tests;
