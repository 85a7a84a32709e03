//! How much payload memory may be taken: a budget that hands out its bytes first come, first
//! served.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};

use ashlar_volume::HostNqn;

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

    /// Reserves `bytes`, waiting for its turn. More than the budget ever has would wait for ever:
    /// callers bound what they ask for by [`super::Limits::check`].
    pub(super) fn reserve(&self, bytes: u64) -> Reserve {
        let mut state = self.state.borrow_mut();
        state.next_turn += 1;
        Reserve { budget: self.clone(), turn: state.next_turn, bytes, done: false }
    }

    /// Reserves `bytes` if they are there and nobody waits.
    pub(super) fn try_reserve(&self, bytes: u64) -> Option<Reservation> {
        self.has(bytes).then(|| {
            self.take(bytes);
            Reservation { budget: self.clone(), bytes }
        })
    }

    /// Whether `bytes` are there and nobody waits.
    fn has(&self, bytes: u64) -> bool {
        let state = self.state.borrow();
        state.waiting.is_empty() && state.free_bytes >= bytes
    }

    /// Takes `bytes`, which are there.
    fn take(&self, bytes: u64) {
        self.state.borrow_mut().free_bytes -= bytes;
    }

    fn give_back(&self, bytes: u64) {
        let mut state = self.state.borrow_mut();
        state.free_bytes += bytes;
        state.wake_first();
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
                let waiting =
                    Waiting { turn: self.turn, bytes: self.bytes, waker: cx.waker().clone() };
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

impl Reservation {
    /// The bytes are somebody else's from now on, who gives them back.
    fn pass_on(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// The budgets of the hosts that are connected to one reactor: each host has one, over all its
/// connections.
pub(super) struct HostBudgets {
    bytes: u64,
    hosts: RefCell<BTreeMap<HostNqn, Weak<RefCell<State>>>>,
}

impl HostBudgets {
    /// Budgets of `bytes` each.
    pub(super) fn new(bytes: u64) -> Self {
        HostBudgets { bytes, hosts: RefCell::default() }
    }

    /// The budget of `host`, which lasts as long as one of its connections has it.
    pub(super) fn of(&self, host: &HostNqn) -> Budget {
        let mut hosts = self.hosts.borrow_mut();
        if let Some(state) = hosts.get(host).and_then(Weak::upgrade) {
            return Budget { state };
        }
        hosts.retain(|_, state| state.strong_count() > 0);
        let budget = Budget::new(self.bytes);
        hosts.insert(host.clone(), Rc::downgrade(&budget.state));
        budget
    }
}

/// Payload memory of one connection: within the budgets of the connection, of its host and of its
/// reactor.
pub(super) struct PayloadMemory {
    budgets: Rc<Budgets>,
}

struct Budgets {
    connection: Budget,
    /// Known once the connection has told whose it is.
    host: OnceCell<Budget>,
    reactor: Budget,
}

/// Payload memory taken.
pub(super) struct Payload {
    budgets: Rc<Budgets>,
    bytes: u64,
    /// It was taken before the connection told whose it is.
    has_no_host: bool,
}

impl PayloadMemory {
    /// Of a connection that may take `connection_bytes`, and that no host has claimed yet.
    pub(super) fn new(connection_bytes: u64, reactor: Budget) -> Self {
        let connection = Budget::new(connection_bytes);
        PayloadMemory { budgets: Rc::new(Budgets { connection, host: OnceCell::new(), reactor }) }
    }

    /// From now on what the connection takes is its host's too.
    pub(super) fn belongs_to(&self, host: Budget) {
        let _ = self.budgets.host.set(host);
    }

    /// Takes `bytes` if they are there, and nobody waits for any.
    #[inline]
    pub(super) fn try_take(&self, bytes: u64) -> Option<Payload> {
        let Budgets { connection, host, reactor } = &*self.budgets;
        let host = host.get();
        let has_all =
            connection.has(bytes) && host.is_none_or(|host| host.has(bytes)) && reactor.has(bytes);
        has_all.then(|| {
            [Some(connection), host, Some(reactor)]
                .into_iter()
                .flatten()
                .for_each(|budget| budget.take(bytes));
            Payload { budgets: self.budgets.clone(), bytes, has_no_host: host.is_none() }
        })
    }

    /// Takes `bytes`, waiting for its turn. The narrower budget comes first, so that a connection
    /// or a host at its bound does not stand in the reactor's queue before others.
    pub(super) async fn take(&self, bytes: u64) -> Payload {
        let connection = self.budgets.connection.reserve(bytes).await;
        let host = match self.budgets.host.get() {
            Some(host) => Some(host.reserve(bytes).await),
            None => None,
        };
        let reactor = self.budgets.reactor.reserve(bytes).await;
        let has_no_host = host.is_none();
        [Some(connection), host, Some(reactor)]
            .into_iter()
            .flatten()
            .for_each(Reservation::pass_on);
        Payload { budgets: self.budgets.clone(), bytes, has_no_host }
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        let Budgets { connection, host, reactor } = &*self.budgets;
        connection.give_back(self.bytes);
        if let Some(host) = host.get().filter(|_| !self.has_no_host) {
            host.give_back(self.bytes);
        }
        reactor.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests;
