//! Holding a latency: how much of the time a rebuild may have while hosts are to be answered within a given time.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ashlar_block::Nanos;

/// How long answers are counted before the rebuild's share is decided again.
const WINDOW: Duration = Duration::from_millis(500);

/// The share that a rebuild begins with, in percent: hosts are not to pay for what is found out about them.
const SHARE_FIRST: u8 = 20;

/// Added to the share after each window in which hosts were answered in time.
const SHARE_STEP: u8 = 5;

/// Buckets of each octave: what is read off is at most a quarter too high.
const BUCKETS_PER_OCTAVE: usize = 4;
const BUCKETS: usize = 64 * BUCKETS_PER_OCTAVE;

/// The answers to hosts of one window, and the share that the windows before have led to.
pub(crate) struct Holding {
    share: Cell<u8>,
    window_began: Cell<Nanos>,
    answers: RefCell<Answers>,
}

impl Default for Holding {
    fn default() -> Self {
        Holding {
            share: Cell::new(SHARE_FIRST),
            window_began: Cell::new(Nanos(0)),
            answers: RefCell::default(),
        }
    }
}

impl Holding {
    /// A host has waited so long for an answer.
    pub fn answered(&self, after: Duration) {
        self.answers.borrow_mut().count(after);
    }

    /// Part of the time that the rebuild may have now, in percent, if 99 of 100 answers are to come within `target`.
    pub fn share(&self, target: Duration, now: Nanos) -> u8 {
        if now.since(self.window_began.get()) >= WINDOW {
            self.window_began.set(now);
            let p99 = self.answers.take().p99();
            self.share.set(next_share(self.share.get(), p99, target));
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

/// Answers, counted by how long they took.
struct Answers {
    counts: Box<[u32; BUCKETS]>,
    total: u32,
}

impl Default for Answers {
    fn default() -> Self {
        Answers { counts: Box::new([0; BUCKETS]), total: 0 }
    }
}

impl Answers {
    fn count(&mut self, after: Duration) {
        self.counts[bucket(after.as_nanos() as u64)] += 1;
        self.total += 1;
    }

    /// Of 100 answers 99 took at most so long; of fewer, all of them.
    fn p99(&self) -> Option<Duration> {
        let rank = (u64::from(self.total) * 99).div_ceil(100);
        let mut seen = 0;
        let reached = |count: &u32| {
            seen += u64::from(*count);
            seen >= rank
        };
        let bucket = (self.total > 0).then(|| self.counts.iter().position(reached)).flatten()?;
        Some(Duration::from_nanos(bucket_end(bucket)))
    }
}

/// The two highest bits after the first say which part of its octave a number is in.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(BUCKETS_PER_OCTAVE as u64);
    let octave = nanos.ilog2() as usize;
    let part = (nanos >> (octave - 2)) as usize % BUCKETS_PER_OCTAVE;
    octave * BUCKETS_PER_OCTAVE + part
}

/// The largest number of a bucket.
fn bucket_end(bucket: usize) -> u64 {
    let (octave, part) = (bucket / BUCKETS_PER_OCTAVE, bucket % BUCKETS_PER_OCTAVE);
    let unit = 1u128 << octave.saturating_sub(2);
    u64::try_from(unit * (BUCKETS_PER_OCTAVE + part + 1) as u128 - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
