//! The share of the time that a rebuild may take while the answers to hosts keep to a given
//! latency.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::Nanos;
use hdrhistogram::Histogram;

/// How long answers are counted before the rebuild's share is decided again, at least and at most.
const WINDOW: Duration = Duration::from_millis(500);
const WINDOW_MAX: Duration = Duration::from_secs(5);

/// Answers that say that 99 of 100 came in time: of fewer none may be late, but that none was says
/// little.
const ANSWERS_MIN: u64 = 100;

/// The share that a rebuild begins with, in thousandths: hosts are not to pay for what is found out
/// about them.
const SHARE_FIRST: u16 = 50;

/// What it has in any case, or a latency that hosts never have would keep it from its end.
const SHARE_MIN: u16 = 10;
const SHARE_MAX: u16 = 1000;

/// The part of the share that is added to it after each window in which hosts were answered in
/// time. About as many answers come late as the share is large, and just enough do at some share:
/// going up from a half of that to a quarter more, again and again, the share is 0.9 of it on
/// average. Steps of the same size for all would overshoot a small one for most of the time.
const GROWTH_DIVISOR: u16 = 4;

/// The longest answer that is told from longer ones, in microseconds, and how many digits of an
/// answer count.
const ANSWER_US_MAX: u64 = 60_000_000;
const ANSWER_DIGITS: u8 = 2;

/// The answers to hosts of one window, and the share that the windows before have led to.
pub(crate) struct Holding {
    share: Cell<u16>,
    /// None before the first one.
    window_began: Cell<Option<Nanos>>,
    /// In microseconds.
    answers: RefCell<Histogram<u32>>,
}

impl Default for Holding {
    fn default() -> Self {
        let answers = Histogram::new_with_bounds(1, ANSWER_US_MAX, ANSWER_DIGITS);
        Holding {
            share: Cell::new(SHARE_FIRST),
            window_began: Cell::new(None),
            answers: RefCell::new(answers.expect("bounds that can be")),
        }
    }
}

impl Holding {
    /// A host has waited so long for an answer.
    pub fn answered(&self, after: Duration) {
        self.answers.borrow_mut().saturating_record(after.as_micros() as u64);
    }

    /// Part of the time that the rebuild may have now, in thousandths, if 99 of 100 answers are to
    /// come within `target`.
    pub fn share(&self, target: Duration, now: Nanos) -> u16 {
        let Some(began) = self.window_began.get() else {
            self.window_began.set(Some(now));
            return self.share.get();
        };
        let mut answers = self.answers.borrow_mut();
        let are_late = p99(&answers).is_some_and(|p99| p99 > target);
        if is_over(now.since(began), answers.len(), are_late) {
            self.window_began.set(Some(now));
            self.share.set(next_share(self.share.get(), are_late));
            answers.reset();
        }
        self.share.get()
    }

    /// Begins anew.
    pub fn forget(&self) {
        self.share.set(SHARE_FIRST);
        self.window_began.set(None);
        self.answers.borrow_mut().reset();
    }
}

/// Whether a window says enough. That hosts wait for too long is not to go on until it is certain.
fn is_over(elapsed: Duration, answers: u64, are_late: bool) -> bool {
    let is_told = are_late || answers == 0 || answers >= ANSWERS_MIN;
    elapsed >= WINDOW && is_told || elapsed >= WINDOW_MAX
}

/// The share after a window: half of it if hosts waited for too long, more if they did not, or did
/// nothing.
fn next_share(share: u16, are_late: bool) -> u16 {
    let next = if are_late { share / 2 } else { share + share / GROWTH_DIVISOR };
    next.clamp(SHARE_MIN, SHARE_MAX)
}

/// The time within which 99 of 100 answers came, or all of fewer; none if there were none.
fn p99(answers: &Histogram<u32>) -> Option<Duration> {
    (!answers.is_empty()).then(|| Duration::from_micros(answers.value_at_quantile(0.99)))
}

#[cfg(test)]
mod tests;
