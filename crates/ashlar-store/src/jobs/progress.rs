//! How far a job is that moves live data.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::time::Duration;

use ashlar_block::Nanos;

/// Why nothing is moved, though there is something to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// There is no room where it could go.
    NoRoom,
    /// It cannot be read from the drives that are left.
    Unreadable,
}

/// How far a rebuild or a rebalance is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Bytes of columns that have been written, also by earlier starts.
    pub bytes_done: u64,
    /// Bytes of columns that are to be.
    pub bytes_left: u64,
    /// When it will be done if it goes on as in the last half minute. None: it has only begun, or
    /// does not go on.
    pub remaining: Option<Duration>,
    /// Met since the last bytes were written.
    pub obstacle: Option<Obstacle>,
}

impl Progress {
    /// Part that is done, 0 to 1.
    pub fn part_done(&self) -> f64 {
        match self.bytes_left {
            0 => 1.0,
            left => self.bytes_done as f64 / (self.bytes_done + left) as f64,
        }
    }
}

/// Over how much of the last time the pace is measured: it changes with what a rebuild may have of
/// the time.
const PACE_WINDOW: Duration = Duration::from_secs(30);

/// The longest time that is told, in seconds: a hundred years.
const REMAINING_MAX: f64 = 3.2e9;

/// How far marks of it are from each other.
const MARK_INTERVAL: Duration = Duration::from_secs(1);

/// What has been done since it began.
#[derive(Default)]
pub(crate) struct Done {
    bytes: Cell<u64>,
    /// How much that was at some times of late. The first is as long ago as the pace is measured
    /// over, once it has gone on so long.
    marks: RefCell<VecDeque<(Nanos, u64)>>,
    obstacle: Cell<Option<Obstacle>>,
}

impl Done {
    /// Bytes have been written.
    pub fn add(&self, bytes: u64, now: Nanos) {
        self.bytes.set(self.bytes.get() + bytes);
        self.obstacle.set(None);
        let mut marks = self.marks.borrow_mut();
        if marks.back().is_none_or(|(last, _)| now.since(*last) >= MARK_INTERVAL) {
            marks.push_back((now, self.bytes.get()));
        }
        while marks.len() > 2 && now.since(marks[1].0) >= PACE_WINDOW {
            marks.pop_front();
        }
    }

    /// The first bytes are on their way.
    pub fn begins(&self, now: Nanos) {
        let mut marks = self.marks.borrow_mut();
        if marks.is_empty() {
            marks.push_back((now, self.bytes.get()));
        }
    }

    /// So much was done before the pool was opened.
    pub fn resume(&self, bytes: u64) {
        self.bytes.set(bytes);
    }

    /// Bytes that have been written.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// It does not go on by itself at once.
    pub fn meets(&self, obstacle: Obstacle) {
        self.obstacle.set(Some(obstacle));
    }

    /// Whether any have been, or are on their way, since the pool was opened.
    pub fn has_begun(&self) -> bool {
        !self.marks.borrow().is_empty()
    }

    /// It is over: the next one is counted anew.
    pub fn forget(&self) {
        self.bytes.set(0);
        self.marks.borrow_mut().clear();
        self.obstacle.set(None);
    }

    /// How far it is with so many bytes left.
    pub fn progress(&self, bytes_left: u64, now: Nanos) -> Progress {
        let obstacle = self.obstacle.get();
        let pace = self.bytes_per_second(now).filter(|_| obstacle.is_none());
        let remaining =
            pace.map(|pace| Duration::from_secs_f64((bytes_left as f64 / pace).min(REMAINING_MAX)));
        Progress { bytes_done: self.bytes.get(), bytes_left, remaining, obstacle }
    }

    /// How fast it goes, by what was done of late. Where so little is done that there are hardly
    /// marks, they may be older.
    fn bytes_per_second(&self, now: Nanos) -> Option<f64> {
        let marks = self.marks.borrow();
        let all_but_last = marks.iter().rev().skip(1);
        let (since, before) = all_but_last
            .clone()
            .find(|(at, _)| now.since(*at) >= PACE_WINDOW)
            .or(all_but_last.last())?;
        let (bytes, seconds) = (self.bytes.get() - before, now.since(*since).as_secs_f64());
        (bytes > 0).then_some(bytes as f64 / seconds)
    }
}

#[cfg(test)]
mod tests;
