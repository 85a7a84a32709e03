//! Lines that wait to be written: bounded, and never waited for by whoever adds one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of all lines that wait. With ordinary lines these are some thousand.
pub const QUEUE_BYTES_MAX: usize = 256 << 10;
/// Bytes of one line, which is cut behind them.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// Lines that are added in any case, panics above all.
const URGENT_LINES_MAX: usize = 16;
/// Ends a line that was cut.
const CUT: &[u8] = b" ... (cut)\n";

/// The lines that are not written yet.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    /// There is something to write.
    filled: Condvar,
    /// Something was written, or given up.
    written: Condvar,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Entry>,
    bytes: usize,
    /// Lines that were dropped since the last one of `lines` was added.
    dropped: u64,
    /// Whether the writer is at a line that it has taken.
    is_writing: bool,
}

impl State {
    fn is_all_written(&self) -> bool {
        !self.is_writing && self.lines.is_empty() && self.dropped == 0
    }
}

/// A line, and how many were dropped before it.
#[derive(PartialEq, Eq, Debug)]
pub struct Entry {
    /// Lines dropped between the one before it and this one.
    pub dropped_before: u64,
    /// The line with its end; empty if nothing follows what was dropped.
    pub line: Box<[u8]>,
}

impl Queue {
    /// Adds a line, or drops and counts it where there is no room.
    pub fn push(&self, line: &[u8]) {
        let mut state = self.state();
        if state.bytes + line.len().min(LINE_BYTES_MAX) > QUEUE_BYTES_MAX {
            state.dropped += 1;
            return;
        }
        self.add(&mut state, line);
    }

    /// Adds a line even where there is no room. There are few of them.
    pub fn push_in_any_case(&self, line: &[u8]) {
        let mut state = self.state();
        if state.bytes > QUEUE_BYTES_MAX + URGENT_LINES_MAX * LINE_BYTES_MAX {
            state.dropped += 1;
            return;
        }
        self.add(&mut state, line);
    }

    fn add(&self, state: &mut State, line: &[u8]) {
        let line: Box<[u8]> = if line.len() <= LINE_BYTES_MAX {
            line.into()
        } else {
            [&line[..LINE_BYTES_MAX - CUT.len()], CUT].concat().into()
        };
        state.bytes += line.len();
        let dropped_before = std::mem::take(&mut state.dropped);
        state.lines.push_back(Entry { dropped_before, line });
        self.filled.notify_one();
    }

    /// Takes the next line to write, when there is one. What was taken before counts as written.
    pub fn next(&self) -> Entry {
        let mut state = self.state();
        state.is_writing = false;
        self.written.notify_all();
        loop {
            if let Some(entry) = state.lines.pop_front() {
                state.bytes -= entry.line.len();
                state.is_writing = true;
                return entry;
            }
            if state.dropped > 0 {
                state.is_writing = true;
                let dropped_before = std::mem::take(&mut state.dropped);
                return Entry { dropped_before, line: Box::default() };
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until all that was added is written, or given up; at most for `wait`. Returns whether
    /// it is.
    pub fn wait_until_written(&self, wait: Duration) -> bool {
        let start = Instant::now();
        let mut state = self.state();
        while !state.is_all_written() {
            let left = wait.saturating_sub(start.elapsed());
            if left.is_zero() {
                return false;
            }
            let waited = self.written.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// A thread that panicked while it held the lock has left whole lines.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
