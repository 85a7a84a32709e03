//! Holding a latency: how much of the time a rebuild may have while hosts are to be answered within a given time.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::Nanos;
use hdrhistogram::Histogram;

/// How long answers are counted before the rebuild's share is decided again.
const WINDOW: Duration = Duration::from_millis(500);

/// The share that a rebuild begins with, in percent: hosts are not to pay for what is found out about them.
const SHARE_FIRST: u8 = 20;

/// Added to the share after each window in which hosts were answered in time.
const SHARE_STEP: u8 = 5;

/// The longest answer that is told from longer ones, in microseconds, and how many digits of an answer count.
const ANSWER_US_MAX: u64 = 60_000_000;
const ANSWER_DIGITS: u8 = 2;

/// The answers to hosts of one window, and the share that the windows before have led to.
pub(crate) struct Holding {
    share: Cell<u8>,
    window_began: Cell<Nanos>,
    /// In microseconds.
    answers: RefCell<Histogram<u32>>,
}

impl Default for Holding {
    fn default() -> Self {
        let answers = Histogram::new_with_bounds(1, ANSWER_US_MAX, ANSWER_DIGITS);
        Holding {
            share: Cell::new(SHARE_FIRST),
            window_began: Cell::new(Nanos(0)),
            answers: RefCell::new(answers.expect("bounds that can be")),
        }
    }
}

impl Holding {
    /// A host has waited so long for an answer.
    pub fn answered(&self, after: Duration) {
        self.answers.borrow_mut().saturating_record(after.as_micros() as u64);
    }

    /// Part of the time that the rebuild may have now, in percent, if 99 of 100 answers are to come within `target`.
    pub fn share(&self, target: Duration, now: Nanos) -> u8 {
        if now.since(self.window_began.get()) >= WINDOW {
            self.window_began.set(now);
            let mut answers = self.answers.borrow_mut();
            self.share.set(next_share(self.share.get(), p99(&answers), target));
            answers.reset();
        }
        self.share.get()
    }
}

/// The share after a window: half of it if hosts waited for too long, more if they did not, or did nothing.
fn next_share(share: u8, p99: Option<Duration>, target: Duration) -> u8 {
    match p99 {
        Some(p99) if p99 > target => (share / 2).max(1),
        _ => share.saturating_add(SHARE_STEP).min(100),
    }
}

/// The time within which 99 of 100 answers came, or all of fewer; none if there were none.
fn p99(answers: &Histogram<u32>) -> Option<Duration> {
    (!answers.is_empty()).then(|| Duration::from_micros(answers.value_at_quantile(0.99)))
}

#[cfg(test)]
mod tests;
