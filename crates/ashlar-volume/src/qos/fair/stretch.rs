//! How far the bound by which all have to wait (`backlog`) is stretched.
//!
//! Where commands take long whatever else there is, as on drives that turn or over a long line,
//! nobody takes anything from anybody, and volumes do more the more the pool has: to have half of
//! all wait would only cost. So once in a while the pool has twice as much, and keeps that if a
//! volume does much more for it and none does less. Where one does more at the cost of another, the
//! bound stays.

use std::time::Duration;

use ashlar_block::Nanos;

/// What is measured lasts so long, and until all that each has outstanding has ended so many times:
/// what ends does so in bursts. But it lasts no longer than is of use.
const WINDOW_MIN: Duration = Duration::from_millis(250);
const WINDOW_MAX: Duration = Duration::from_secs(3);
const TURNOVERS: u64 = 8;
/// What one must do for the pool to keep twice as much, and what each, in hundredths of before.
const MORE_PERCENT: u64 = 150;
const NO_LESS_PERCENT: u64 = 90;
/// A trial takes no more than this part of the time, and comes no more often.
const TRIALS_DIVISOR: u32 = 20;
const AGAIN: Duration = Duration::from_secs(10);
/// The most that a bound is stretched.
const TIMES_MAX: u64 = 64;

/// What a volume that wants much has done until now, and what it has outstanding, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Done {
    pub(super) volume: u64,
    pub(super) bytes: u64,
    pub(super) outstanding: u64,
}

/// What a volume does in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rate {
    volume: u64,
    bytes: u64,
}

/// What is being found out.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Phase {
    /// Nothing: nobody waits for the bound.
    Idle,
    /// What came before does not count.
    Settling,
    /// What each does as it is.
    Usual,
    /// What each does with twice as much, beside these.
    Trial(Vec<Rate>),
    /// Nothing, until then.
    Resting(Nanos),
}

/// One pool's.
pub(super) struct Stretch {
    times: u64,
    phase: Phase,
    began: Nanos,
    /// What each had done when the phase began, in the order of their numbers.
    done: Vec<Done>,
}

impl Default for Stretch {
    fn default() -> Self {
        Stretch { times: 1, phase: Phase::Idle, began: Nanos(0), done: Vec::new() }
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

    /// Takes the time, where the pool has all that the bound allows, and commands wait for more or
    /// would without the stretch. `done` is of the volumes that want much, in the order of their
    /// numbers. Whether the bound is stretched more from now on.
    pub(super) fn look(&mut self, is_binding: bool, done: &[Done], now: Nanos) -> bool {
        let before = self.times;
        if is_binding {
            self.go_on(done, now);
        } else {
            self.enter(Phase::Idle, done, now);
        }
        self.times > before
    }

    fn go_on(&mut self, done: &[Done], now: Nanos) {
        match &self.phase {
            Phase::Idle => self.enter(Phase::Settling, done, now),
            Phase::Resting(until) if now >= *until => {
                // What has cost much before may cost little by now.
                self.times = (self.times / 2).max(1);
                self.enter(Phase::Settling, done, now);
            }
            Phase::Resting(_) => {}
            _ if !self.is_over(done, now) => {}
            Phase::Settling => self.enter(Phase::Usual, done, now),
            Phase::Usual => self.enter(Phase::Trial(self.rates(done, now)), done, now),
            Phase::Trial(before) => {
                let rates = self.rates(done, now);
                self.judge(is_worth(before, &rates), rates, done, now);
            }
        }
    }

    fn judge(&mut self, is_worth: bool, rates: Vec<Rate>, done: &[Done], now: Nanos) {
        if is_worth && self.times < TIMES_MAX {
            self.times *= 2;
            self.enter(Phase::Trial(rates), done, now);
        } else {
            let rest = (now.since(self.began) * TRIALS_DIVISOR).max(AGAIN);
            self.enter(Phase::Resting(Nanos(now.0 + rest.as_nanos() as u64)), done, now);
        }
    }

    /// What each that was there from the beginning has done since, beside what it has outstanding.
    fn since(&self, done: &[Done]) -> impl Iterator<Item = (Done, u64)> {
        done.iter().filter_map(|now| {
            let at = self.done.binary_search_by_key(&now.volume, |it| it.volume).ok()?;
            Some((*now, now.bytes - self.done[at].bytes))
        })
    }

    fn is_over(&self, done: &[Done], now: Nanos) -> bool {
        let elapsed = now.since(self.began);
        let has_turned_over =
            || self.since(done).all(|(volume, bytes)| bytes >= TURNOVERS * volume.outstanding);
        elapsed >= WINDOW_MIN && (elapsed >= WINDOW_MAX || has_turned_over())
    }

    fn rates(&self, done: &[Done], now: Nanos) -> Vec<Rate> {
        let nanos = now.since(self.began).as_nanos().max(1);
        let rate = |bytes: u64| (u128::from(bytes) * 1_000_000_000 / nanos) as u64;
        self.since(done).map(|(it, bytes)| Rate { volume: it.volume, bytes: rate(bytes) }).collect()
    }

    fn enter(&mut self, phase: Phase, done: &[Done], now: Nanos) {
        (self.phase, self.began) = (phase, now);
        self.done.clear();
        self.done.extend_from_slice(done);
    }
}

/// Whether one does much more than before, and nobody less.
fn is_worth(before: &[Rate], now: &[Rate]) -> bool {
    let pairs: Vec<(u64, u64)> = now
        .iter()
        .filter_map(|now| {
            let at = before.binary_search_by_key(&now.volume, |it| it.volume).ok()?;
            Some((before[at].bytes, now.bytes))
        })
        .collect();
    let does = |percent| move |&(before, now): &(u64, u64)| now * 100 >= before * percent;
    let has_done = pairs.iter().filter(|(before, _)| *before > 0);
    has_done.copied().any(|pair| does(MORE_PERCENT)(&pair))
        && pairs.iter().all(does(NO_LESS_PERCENT))
}

#[cfg(test)]
mod tests;
