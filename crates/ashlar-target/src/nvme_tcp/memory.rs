//! How much payload memory may be taken: a budget that hands out its bytes first come, first served.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A number of bytes that can be reserved. Clones share it.
#[derive(Clone)]
pub(super) struct Budget {
    state: Rc<RefCell<State>>,
}

struct State {
    free_bytes: u64,
    waiting: VecDeque<Waiting>,
    next_turn: u64,
}

struct Waiting {
    turn: u64,
    bytes: u64,
    waker: Waker,
}

impl State {
    /// Whether nobody with an earlier turn waits, and the bytes are there.
    fn try_take(&mut self, turn: u64, bytes: u64) -> bool {
        let first = self.waiting.front().is_none_or(|waiting| waiting.turn >= turn);
        let taken = first && self.free_bytes >= bytes;
        if taken {
            self.free_bytes -= bytes;
        }
        taken
    }

    fn wake_first(&self) {
        if let Some(first) = self.waiting.front().filter(|first| first.bytes <= self.free_bytes) {
            first.waker.wake_by_ref();
        }
    }

    fn leave(&mut self, turn: u64) {
        self.waiting.retain(|waiting| waiting.turn != turn);
        self.wake_first();
    }
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        let state = State { free_bytes: bytes, waiting: VecDeque::new(), next_turn: 0 };
        Budget { state: Rc::new(RefCell::new(state)) }
    }

    /// Reserves `bytes`, waiting for its turn. More than the budget ever has would wait for ever: callers
    /// bound what they ask for by [`super::Limits::check`].
    pub(super) fn reserve(&self, bytes: u64) -> Reserve {
        let mut state = self.state.borrow_mut();
        state.next_turn += 1;
        Reserve { budget: self.clone(), turn: state.next_turn, bytes, done: false }
    }

    /// Reserves `bytes` if they are there and nobody waits.
    pub(super) fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        let mut state = self.state.borrow_mut();
        let turn = state.next_turn + 1;
        let taken = state.try_take(turn, bytes);
        taken.then(|| Reservation { budget: self.clone(), bytes })
    }

    #[cfg(test)]
    fn free_bytes(&self) -> u64 {
        self.state.borrow().free_bytes
    }
}

/// Waits for a reservation.
pub(super) struct Reserve {
    budget: Budget,
    turn: u64,
    bytes: u64,
    done: bool,
}

impl Future for Reserve {
    type Output = Reservation;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Reservation> {
        let budget = self.budget.clone();
        let mut state = budget.state.borrow_mut();
        if state.try_take(self.turn, self.bytes) {
            self.done = true;
            state.leave(self.turn);
            return Poll::Ready(Reservation { budget: budget.clone(), bytes: self.bytes });
        }
        match state.waiting.iter_mut().find(|waiting| waiting.turn == self.turn) {
            Some(waiting) => waiting.waker = cx.waker().clone(),
            None => {
                let place = state.waiting.partition_point(|waiting| waiting.turn < self.turn);
                let waiting = Waiting { turn: self.turn, bytes: self.bytes, waker: cx.waker().clone() };
                state.waiting.insert(place, waiting);
            }
        }
        Poll::Pending
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        if !self.done {
            self.budget.state.borrow_mut().leave(self.turn);
        }
    }
}

/// Bytes that are its owner's until it is dropped.
pub(super) struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.budget.state.borrow_mut();
        state.free_bytes += self.bytes;
        state.wake_first();
    }
}

/// Payload memory of one connection: within the connection's budget and its reactor's.
#[derive(Clone)]
pub(super) struct PayloadMemory {
    pub(super) connection: Budget,
    pub(super) reactor: Budget,
}

/// Payload memory taken.
pub(super) struct Payload {
    _connection: Reservation,
    _reactor: Reservation,
}

impl PayloadMemory {
    /// Takes `bytes`. The connection's own budget comes first, so that a connection at its bound does not
    /// stand in the reactor's queue before others.
    pub(super) async fn take(&self, bytes: u64) -> Payload {
        let connection = self.connection.reserve(bytes).await;
        let reactor = self.reactor.reserve(bytes).await;
        Payload { _connection: connection, _reactor: reactor }
    }
}

#[cfg(test)]
mod tests;
