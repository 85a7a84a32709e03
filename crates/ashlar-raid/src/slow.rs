//! Drives that answer much later than their peers: who they are, by comparing, and which reads
//! still go to them.
//!
//! A drive is compared with the others of its pool, never with a figure of its own: whoever has
//! only spinning drives has no slow one among them. Only reads count. A write is answered once all
//! its columns are written, whoever is slow: of a drive that is slow to write alone nobody knows.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::Nanos;
use hdrhistogram::Histogram;

/// How long answers are counted before drives are compared, at least.
pub(crate) const WINDOW: Duration = Duration::from_secs(5);

/// Windows in a row that make a drive slow, and well again: once is chance, or a drive that tidies
/// up.
const WINDOWS: u8 = 3;

/// A drive is slow in a window if half of its answers take so many times as long as with half of
/// its peers,
const TIMES_SLOWER: u32 = 5;
/// and so much longer: less than that is nothing to a host.
const SLOWER_BY_MIN: Duration = Duration::from_millis(1);

/// Answers that say something about a drive.
const ANSWERS_MIN: u64 = 8;

/// How long answers are kept that are too few to compare: by then the drive may be another one.
const KEPT_MAX: Duration = Duration::from_secs(30);

/// Of so many reads one is measured, once enough are for this window.
const MEASURED_ONCE_IN: u32 = 4;

/// Of so many reads of a slow drive one goes to it all the same: it may be well by now.
const PROBED_ONCE_IN: u32 = 16;

/// The longest answer that is told from longer ones, in microseconds.
const ANSWER_US_MAX: u64 = 60_000_000;

/// How fast a drive answers.
pub(crate) struct Speed {
    /// Since it was judged last, in microseconds.
    answers: RefCell<Histogram<u32>>,
    /// When the first of them came.
    first_answer: Cell<Option<Nanos>>,
    reads: Cell<u32>,
    /// Since when the oldest of those that are measured waits for its answer.
    waiting_since: Cell<Option<Nanos>>,
    /// Windows that spoke against it, less those that spoke for it.
    strikes: Cell<u8>,
    is_slow: Cell<bool>,
}

impl Default for Speed {
    fn default() -> Self {
        let answers = Histogram::new_with_bounds(1, ANSWER_US_MAX, 1).expect("bounds that can be");
        Speed {
            answers: RefCell::new(answers),
            first_answer: Cell::new(None),
            reads: Cell::new(0),
            waiting_since: Cell::new(None),
            strikes: Cell::new(0),
            is_slow: Cell::new(false),
        }
    }
}

impl Speed {
    pub fn is_slow(&self) -> bool {
        self.is_slow.get()
    }

    /// Whether the next read should go to others, if they can answer it.
    pub fn is_spared(&self) -> bool {
        self.is_slow.get() && !self.next_read().is_multiple_of(PROBED_ONCE_IN)
    }

    /// Whether the next read is to be measured: of a slow drive all that still go to it, and all
    /// where there are few.
    pub fn is_measured(&self) -> bool {
        let all = self.is_slow.get() || self.answers.borrow().len() < ANSWERS_MIN;
        all || self.next_read().is_multiple_of(MEASURED_ONCE_IN)
    }

    fn next_read(&self) -> u32 {
        self.reads.replace(self.reads.get().wrapping_add(1))
    }

    /// A read that is measured begins.
    pub fn ask(&self, now: Nanos) -> Question<'_> {
        self.waiting_since.set(self.waiting_since.get().or(Some(now)));
        Question { of: self, asked: now }
    }

    /// What half of its answers took at most; or how long it has owed one, if it gives none.
    pub fn median(&self, now: Nanos) -> Option<Duration> {
        let answers = self.answers.borrow();
        if answers.len() >= ANSWERS_MIN {
            return Some(Duration::from_micros(answers.value_at_quantile(0.5)));
        }
        self.waiting_since.get().map(|since| now.since(since)).filter(|owed| *owed >= WINDOW / 2)
    }

    /// The window has ended: was it slow in it? `None`: nobody knows yet, and it goes on, though
    /// not for ever.
    pub fn judge(&self, slow: Option<bool>, now: Nanos) {
        let are_old = self.first_answer.get().is_some_and(|first| now.since(first) >= KEPT_MAX);
        if slow.is_some() || are_old {
            self.answers.borrow_mut().reset();
            self.first_answer.set(None);
        }
        let strikes = match slow {
            Some(true) => (self.strikes.get() + 1).min(WINDOWS),
            Some(false) => self.strikes.get().saturating_sub(1),
            None => return,
        };
        self.strikes.set(strikes);
        if strikes == 0 || strikes == WINDOWS {
            self.is_slow.set(strikes == WINDOWS);
        }
    }
}

/// A read that is measured. It owes no answer any more once this is dropped: whoever wanted it may
/// have gone.
pub(crate) struct Question<'a> {
    of: &'a Speed,
    asked: Nanos,
}

impl Question<'_> {
    /// It has been answered.
    pub fn answered(self, now: Nanos) {
        self.of.first_answer.set(self.of.first_answer.get().or(Some(now)));
        self.of.answers.borrow_mut().saturating_record(now.since(self.asked).as_micros() as u64);
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.of.waiting_since.set(None);
    }
}

/// Which drives were slow in a window, by what half of their answers took. `None`: there was
/// nothing to compare.
pub(crate) fn slow_ones(medians: &[Option<Duration>]) -> Vec<Option<bool>> {
    let is_slow = |(index, median): (usize, &Option<Duration>)| {
        let others = medians.iter().enumerate().filter(|(other, _)| *other != index);
        let peers = middle(others.filter_map(|(_, median)| *median).collect())?;
        median.map(|own| own > peers * TIMES_SLOWER && own > peers + SLOWER_BY_MIN)
    };
    medians.iter().enumerate().map(is_slow).collect()
}

fn middle(mut of: Vec<Duration>) -> Option<Duration> {
    of.sort_unstable();
    of.get(of.len() / 2).copied()
}

#[cfg(test)]
mod tests;
