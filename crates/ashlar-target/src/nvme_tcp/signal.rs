//! Things that happen once: a connection must end, a command's data are complete, a host's old work
//! is done.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::OnceLock;
use std::task::{Poll, Waker};

use ashlar_block::{Notify, wait_for};
use ashlar_reactor::wake_at_once;

/// A value that is set once by any thread and awaited by tasks of any threads.
pub(super) struct Once<T> {
    value: OnceLock<T>,
    is_set: Notify,
}

impl<T: Copy> Once<T> {
    pub(super) const fn new() -> Self {
        Once { value: OnceLock::new(), is_set: Notify::const_new() }
    }

    /// Sets the value; a second one changes nothing.
    pub(super) fn set(&self, value: T) {
        if self.value.set(value).is_ok() {
            self.is_set.notify_waiters();
        }
    }

    pub(super) fn get(&self) -> Option<T> {
        self.value.get().copied()
    }

    /// The value, once there is one.
    pub(super) fn wait(&self) -> impl Future<Output = T> {
        wait_for(&self.is_set, || self.get())
    }
}

/// A value that one task leaves for another of the same thread.
pub(super) struct Letter<T> {
    state: Rc<RefCell<LetterState<T>>>,
}

struct LetterState<T> {
    value: Option<T>,
    waiting: Option<Waker>,
}

impl<T> Clone for Letter<T> {
    fn clone(&self) -> Self {
        Letter { state: self.state.clone() }
    }
}

impl<T> Letter<T> {
    pub(super) fn new() -> Self {
        Letter { state: Rc::new(RefCell::new(LetterState { value: None, waiting: None })) }
    }

    /// Leaves the value. The first one counts.
    pub(super) fn leave(&self, value: T) {
        if let Some(waker) = self.put(value) {
            waker.wake();
        }
    }

    /// As [`Letter::leave`], and the task that waits for it goes on with it before this returns.
    pub(super) fn hand_over(&self, value: T) {
        if let Some(waker) = self.put(value) {
            wake_at_once(waker);
        }
    }

    fn put(&self, value: T) -> Option<Waker> {
        let mut state = self.state.borrow_mut();
        if state.value.is_none() {
            state.value = Some(value);
        }
        state.waiting.take()
    }

    /// The value, once it is there.
    pub(super) fn take(&self) -> impl Future<Output = T> + use<T> {
        let state = self.state.clone();
        poll_fn(move |cx| {
            let mut state = state.borrow_mut();
            let Some(value) = state.value.take() else {
                state.waiting = Some(cx.waker().clone());
                return Poll::Pending;
            };
            Poll::Ready(value)
        })
    }
}

#[cfg(test)]
mod tests;
