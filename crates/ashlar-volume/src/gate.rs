//! What is under way in a volume: so that a delete, a shrink or a format waits for it, and a flush knows
//! what came before.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

use ashlar_block::{Cause, IoError};

/// Counts operations in and out. One thread's.
///
/// Operations are counted by **epoch**: a flush begins a new one and waits until the earlier ones are empty,
/// so that it never waits for what came after it.
#[derive(Default)]
pub(crate) struct Gate {
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Operations under way, oldest epoch first. Never empty once anything has entered.
    epochs: VecDeque<usize>,
    /// The number of the epoch in front.
    first_epoch: u64,
    /// Somebody has, or waits for, the volume alone.
    exclusive: bool,
    /// Why nothing enters any more.
    closed: Option<Cause>,
    waiting: Vec<Waker>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.epochs.iter().all(|count| *count == 0)
    }

    fn wait<T>(&mut self, cx: &Context<'_>) -> Poll<T> {
        self.waiting.push(cx.waker().clone());
        Poll::Pending
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }

    /// Enters the newest epoch.
    fn enter(&mut self) -> u64 {
        if self.epochs.is_empty() {
            self.epochs.push_back(0);
        }
        *self.epochs.back_mut().expect("just filled") += 1;
        self.first_epoch + self.epochs.len() as u64 - 1
    }

    fn leave(&mut self, epoch: u64) {
        self.epochs[(epoch - self.first_epoch) as usize] -= 1;
        while self.epochs.len() > 1 && self.epochs[0] == 0 {
            self.epochs.pop_front();
            self.first_epoch += 1;
        }
        if !self.waiting.is_empty() {
            self.wake();
        }
    }
}

/// An operation under way, until dropped.
pub(crate) struct Entry<'a> {
    gate: &'a Gate,
    epoch: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.gate.state.borrow_mut().leave(self.epoch);
    }
}

/// Nothing else is under way, until dropped.
pub(crate) struct Alone<'a>(&'a Gate);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.borrow_mut();
        state.exclusive = false;
        state.wake();
    }
}

impl Gate {
    /// Begins an operation, once nobody has the volume alone.
    ///
    /// # Errors
    /// Why the gate is closed.
    pub async fn enter(&self) -> Result<Entry<'_>, IoError> {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            match state.closed {
                Some(cause) => Poll::Ready(Err(cause.into())),
                None if state.exclusive => state.wait(cx),
                None => Poll::Ready(Ok(Entry { gate: self, epoch: state.enter() })),
            }
        })
        .await
    }

    /// Takes the volume alone: lets nothing in, and returns once everything is out. Also of a closed gate.
    pub async fn alone(&self) -> Alone<'_> {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if state.exclusive {
                return state.wait(cx);
            }
            state.exclusive = true;
            Poll::Ready(())
        })
        .await;
        let alone = Alone(self);
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if state.is_idle() { Poll::Ready(()) } else { state.wait(cx) }
        })
        .await;
        alone
    }

    /// Returns once everything that is under way now has ended.
    pub async fn settle(&self) {
        let Some(newest) = self.begin_epoch() else { return };
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if state.first_epoch > newest { Poll::Ready(()) } else { state.wait(cx) }
        })
        .await;
    }

    /// The epoch that holds the newest operation under way, which no later one enters; none if all is quiet.
    fn begin_epoch(&self) -> Option<u64> {
        let mut state = self.state.borrow_mut();
        if state.is_idle() {
            return None;
        }
        if state.epochs.back() != Some(&0) {
            state.epochs.push_back(0);
        }
        Some(state.first_epoch + state.epochs.len() as u64 - 2)
    }

    /// Lets nothing in from now on; what waits to enter is told `cause`. `None` opens it again.
    pub fn close(&self, cause: Option<Cause>) {
        let mut state = self.state.borrow_mut();
        state.closed = cause;
        state.wake();
    }
}

#[cfg(test)]
mod tests;
