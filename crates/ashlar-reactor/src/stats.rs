//! What a reactor has done, counted.

use std::cell::Cell;

/// Counters since the reactor's start, and what it holds now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Times round the loop.
    pub turns: u64,
    /// `io_uring_enter` system calls.
    pub enters: u64,
    /// Operations given to the kernel.
    pub submissions: u64,
    /// Completions taken from it.
    pub completions: u64,
    /// Tasks polled.
    pub polls: u64,
    /// Times it slept in the kernel.
    pub sleeps: u64,
    /// Times that spinning found work, which saved a sleep.
    pub spin_hits: u64,
    /// Tasks that have not ended, whoever asks included.
    pub tasks: u64,
    /// Those that could go on and wait for their turn.
    pub ready_tasks: u64,
    /// Operations that the kernel has not ended.
    pub operations_in_flight: u64,
    /// Shared receive buffers that connections, or those who keep what came on them, hold now.
    pub recv_held: u64,
    /// Received chunks copied out of shared buffers, because their connection held its share
    /// already.
    pub recv_copies: u64,
    /// Times that a connection's receiving paused, because nobody took what had come.
    pub recv_pauses: u64,
    /// Times that the shared receive buffers ran out for a moment (ENOBUFS).
    pub recv_exhausted: u64,
}

/// One thread's counter.
#[derive(Default)]
pub(crate) struct Counter(Cell<u64>);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.set(self.0.get() + count);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) turns: Counter,
    pub(crate) polls: Counter,
    pub(crate) sleeps: Counter,
    pub(crate) spin_hits: Counter,
    pub(crate) recv_copies: Counter,
    pub(crate) recv_pauses: Counter,
    pub(crate) recv_exhausted: Counter,
}

/// What the ring itself counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct RingCounts {
    pub(crate) enters: u64,
    pub(crate) submissions: u64,
    pub(crate) completions: u64,
}

impl Counters {
    pub(crate) fn snapshot(&self, ring: RingCounts) -> Stats {
        Stats {
            turns: self.turns.get(),
            enters: ring.enters,
            submissions: ring.submissions,
            completions: ring.completions,
            polls: self.polls.get(),
            sleeps: self.sleeps.get(),
            spin_hits: self.spin_hits.get(),
            tasks: 0,
            ready_tasks: 0,
            operations_in_flight: 0,
            recv_held: 0,
            recv_copies: self.recv_copies.get(),
            recv_pauses: self.recv_pauses.get(),
            recv_exhausted: self.recv_exhausted.get(),
        }
    }
}
