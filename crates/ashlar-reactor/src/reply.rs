//! One value from one thread to another.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Waker};

use crate::inbox::ReactorGone;

enum State<T> {
    Waiting(Option<Waker>),
    Kept(T),
    /// Taken, or never to come.
    Over,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    settled: Condvar,
}

impl<T> Shared<T> {
    fn settle(&self, state: State<T>) {
        let before = {
            let mut place = self.state.lock().expect("no holder panics");
            std::mem::replace(&mut *place, state)
        };
        self.settled.notify_all();
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }
}

/// The duty to answer. Dropped unkept, it tells the other side so.
pub(crate) struct Promise<T>(Option<Arc<Shared<T>>>);

impl<T> Promise<T> {
    pub(crate) fn keep(mut self, value: T) {
        if let Some(shared) = self.0.take() {
            shared.settle(State::Kept(value));
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take() {
            shared.settle(State::Over);
        }
    }
}

/// The output of a [`Handle::call`](crate::Handle::call): a future for any executor, or a value to
/// wait for.
pub struct Reply<T>(Arc<Shared<T>>);

pub(crate) fn reply<T>() -> (Promise<T>, Reply<T>) {
    let shared =
        Arc::new(Shared { state: Mutex::new(State::Waiting(None)), settled: Condvar::new() });
    (Promise(Some(shared.clone())), Reply(shared))
}

impl<T> Reply<T> {
    /// Blocks the calling thread until the answer is there. Not for threads that run an executor.
    ///
    /// # Errors
    /// [`ReactorGone`] when the reactor ended before it answered.
    pub fn wait(self) -> Result<T, ReactorGone> {
        let state = self.0.state.lock().expect("no holder panics");
        let waiting = |state: &mut State<T>| matches!(state, State::Waiting(_));
        let mut state = self.0.settled.wait_while(state, waiting).expect("no holder panics");
        match std::mem::replace(&mut *state, State::Over) {
            State::Kept(value) => Ok(value),
            _ => Err(ReactorGone),
        }
    }
}

impl<T> Future for Reply<T> {
    type Output = Result<T, ReactorGone>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock().expect("no holder panics");
        match std::mem::replace(&mut *state, State::Over) {
            State::Kept(value) => Poll::Ready(Ok(value)),
            State::Over => Poll::Ready(Err(ReactorGone)),
            State::Waiting(_) => {
                *state = State::Waiting(Some(cx.waker().clone()));
                Poll::Pending
            }
        }
    }
}
