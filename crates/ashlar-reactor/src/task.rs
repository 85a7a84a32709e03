//! Tasks of one reactor and the queue of those ready to run. No atomics: one thread owns it all.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(crate) type LocalFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A task of one reactor; outlives it harmlessly (a stale key names nothing, or wakes a stranger
/// for nothing).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskKey {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl TaskKey {
    /// Bits of an index: 16 million tasks per reactor.
    pub(crate) const INDEX_BITS: u32 = 24;
    /// Bits of a generation. It wraps; the price is a needless poll, which every future must bear
    /// anyway.
    pub(crate) const GENERATION_BITS: u32 = 28;
}

enum State {
    Free,
    Idle(LocalFuture),
    /// Being polled: the future is on the poller's stack.
    Running,
    /// Aborted while it was being polled, by itself or by what it called.
    Aborted,
}

struct Slot {
    generation: u32,
    queued: bool,
    state: State,
}

#[derive(Default)]
struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Slots {
    fn slot(&mut self, key: TaskKey) -> Option<&mut Slot> {
        self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)
    }

    fn insert(&mut self, future: LocalFuture) -> TaskKey {
        let index = self.free.pop().unwrap_or_else(|| {
            assert!(self.slots.len() < 1 << TaskKey::INDEX_BITS, "too many tasks on one reactor");
            self.slots.push(Slot { generation: 0, queued: false, state: State::Free });
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.state = State::Idle(future);
        TaskKey { index, generation: slot.generation }
    }

    /// Frees the slot and gives back what was in it, to be dropped where nothing is borrowed.
    fn remove(&mut self, key: TaskKey) -> State {
        let Some(slot) = self.slot(key) else { return State::Free };
        slot.generation = (slot.generation + 1) & ((1 << TaskKey::GENERATION_BITS) - 1);
        slot.queued = false;
        let state = std::mem::replace(&mut slot.state, State::Free);
        self.free.push(key.index);
        state
    }
}

#[derive(Default)]
pub(crate) struct Tasks {
    slots: RefCell<Slots>,
    ready: RefCell<VecDeque<TaskKey>>,
    /// Tasks that let the others go first; see [`Self::resume_yielded`].
    yielded: RefCell<Vec<Waker>>,
}

impl Tasks {
    pub(crate) fn spawn(&self, future: LocalFuture) -> TaskKey {
        let key = self.slots.borrow_mut().insert(future);
        self.wake(key);
        key
    }

    /// Queues the task once, however often it is woken before it runs.
    pub(crate) fn wake(&self, key: TaskKey) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.slot(key).filter(|slot| !slot.queued) else { return };
        slot.queued = true;
        self.ready.borrow_mut().push_back(key);
    }

    pub(crate) fn yield_until_later(&self, waker: Waker) {
        self.yielded.borrow_mut().push(waker);
    }

    /// Makes the tasks ready that yielded. Returns whether there were any.
    pub(crate) fn resume_yielded(&self) -> bool {
        let mut yielded = self.yielded.take();
        let any = !yielded.is_empty();
        yielded.drain(..).for_each(Waker::wake);
        // Keeps the allocation, unless a waker of the caller's making yielded meanwhile.
        let mut place = self.yielded.borrow_mut();
        if place.is_empty() {
            *place = yielded;
        }
        any
    }

    /// Tasks that there are, and those of them that are ready to run.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let slots = self.slots.borrow();
        let ready = self.ready.borrow().len() + self.yielded.borrow().len();
        ((slots.slots.len() - slots.free.len()) as u64, ready as u64)
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.borrow().is_empty() || !self.yielded.borrow().is_empty()
    }

    pub(crate) fn next_ready(&self) -> Option<TaskKey> {
        self.ready.borrow_mut().pop_front()
    }

    /// Polls the task, unless it ended meanwhile. Returns whether it was polled.
    pub(crate) fn poll(&self, key: TaskKey, waker: &Waker) -> bool {
        let Some(mut future) = self.begin_poll(key) else { return false };
        let poll = future.as_mut().poll(&mut Context::from_waker(waker));
        // Whatever is dropped here may itself wake, spawn or abort: nothing is borrowed.
        drop(self.end_poll(key, future, poll));
        true
    }

    fn begin_poll(&self, key: TaskKey) -> Option<LocalFuture> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.slot(key)?;
        match std::mem::replace(&mut slot.state, State::Running) {
            State::Idle(future) => {
                slot.queued = false;
                Some(future)
            }
            other => {
                slot.state = other;
                None
            }
        }
    }

    fn end_poll(&self, key: TaskKey, future: LocalFuture, poll: Poll<()>) -> Option<LocalFuture> {
        let mut slots = self.slots.borrow_mut();
        let aborted = slots.slot(key).is_none_or(|slot| matches!(slot.state, State::Aborted));
        if aborted || poll.is_ready() {
            slots.remove(key);
            return Some(future);
        }
        if let Some(slot) = slots.slot(key) {
            slot.state = State::Idle(future);
        }
        None
    }

    /// Ends the task without running it again. Its future is dropped at once, or, if it is just
    /// being polled, when that poll returns.
    pub(crate) fn abort(&self, key: TaskKey) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slots.slot(key) else { return };
        if matches!(slot.state, State::Running) {
            slot.state = State::Aborted;
            return;
        }
        let removed = slots.remove(key);
        drop(slots);
        drop(removed);
    }

    /// Drops every task, including those that others spawn while they are dropped.
    pub(crate) fn clear(&self) {
        while let Some(state) = self.take_any() {
            drop(state);
        }
        self.ready.borrow_mut().clear();
        drop(self.yielded.take());
    }

    fn take_any(&self) -> Option<State> {
        let mut slots = self.slots.borrow_mut();
        let index = slots.slots.iter().position(|slot| !matches!(slot.state, State::Free))?;
        let generation = slots.slots[index].generation;
        Some(slots.remove(TaskKey { index: index as u32, generation }))
    }
}
