//! One thread's executor: tasks, timers, the ring, and the operations given to it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

use ashlar_block::Nanos;
use io_uring::{opcode, squeue, types};

use crate::config::Config;
use crate::doorbell::Doorbell;
use crate::error::StartError;
use crate::idle::Idle;
use crate::inbox::{Inbox, Letter};
use crate::join::JoinHandle;
use crate::lent::Buffers;
use crate::op::{OnDrop, Op};
use crate::ops::{self, OpKey, Ops, Owned, Sink};
use crate::pool::RecvPool;
use crate::ring::{Completion, IGNORED, Ring};
use crate::spin::Spin;
use crate::stats::{Counters, RingCounts, Stats};
use crate::task::{LocalFuture, TaskKey, Tasks};
use crate::timer::{self, Timers};
use crate::waker::{self, ReactorId};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Reactor>>> = const { RefCell::new(None) };
}

pub(crate) struct Reactor {
    pub(crate) id: ReactorId,
    pub(crate) config: Config,
    pub(crate) tasks: Tasks,
    /// When this turn began.
    pub(crate) turn_began: Cell<Nanos>,
    /// Polls that this turn has left.
    pub(crate) polls_left: Cell<usize>,
    pub(crate) timers: Timers,
    pub(crate) idle: Idle,
    pub(crate) pool: RecvPool,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) counters: Counters,
    pub(crate) ops: RefCell<Ops>,
    /// `None` once the reactor has ended; operations begun then are refused.
    pub(crate) ring: RefCell<Option<Ring>>,
    pub(crate) final_counts: Cell<RingCounts>,
    pub(crate) spin: RefCell<Spin>,
    pub(crate) doorbell: Rc<Doorbell>,
    pub(crate) completions: RefCell<Vec<Completion>>,
    pub(crate) letters: RefCell<VecDeque<Letter>>,
}

/// The reactor of this thread.
///
/// # Panics
/// When none runs here: a fault of the caller.
pub(crate) fn current() -> Rc<Reactor> {
    try_current().expect("this needs a reactor, and none runs on this thread")
}

pub(crate) fn try_current() -> Option<Rc<Reactor>> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
}

/// Makes `reactor` the one of this thread, or none.
pub(crate) fn set_current(reactor: Option<Rc<Reactor>>) {
    CURRENT.set(reactor);
}

/// Wakes a task of this thread's reactor; false if it is another's.
pub(crate) fn wake_here(id: ReactorId, key: TaskKey) -> bool {
    let wake = |current: &RefCell<Option<Rc<Reactor>>>| match &*current.borrow() {
        Some(reactor) if reactor.id == id => {
            reactor.tasks.wake(key);
            true
        }
        _ => false,
    };
    CURRENT.try_with(wake).unwrap_or(false)
}

/// When the turn of this thread's reactor began. `None`: none runs here.
pub(crate) fn turn_began() -> Option<Nanos> {
    CURRENT.with_borrow(|current| current.as_ref().map(|reactor| reactor.turn_began.get()))
}

/// Gives a receive buffer back to this thread's reactor; false if it is another's.
pub(crate) fn give_back_here(buffers: &Arc<Buffers>, buffer: u16) -> bool {
    let give_back = |current: &RefCell<Option<Rc<Reactor>>>| match &*current.borrow() {
        Some(reactor) if reactor.pool.owns(buffers) => {
            reactor.pool.give_back(buffer);
            true
        }
        _ => false,
    };
    CURRENT.try_with(give_back).unwrap_or(false)
}

impl Reactor {
    pub(crate) fn new(config: Config) -> Result<Self, StartError> {
        let ring = Ring::new(config.ring_entries)?;
        let doorbell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)
            .map_err(|errno| StartError::Os { what: "eventfd", source: errno.into() })?;
        let inbox = Arc::new(Inbox::new(doorbell));
        let pool = RecvPool::new(config.recv_buffer_count, config.recv_buffer_bytes, inbox.clone());
        pool.register(&ring)?;
        let id = waker::register(inbox.clone())
            .ok_or(StartError::TooMany { max: waker::REACTORS_MAX })?;
        Ok(Reactor {
            id,
            tasks: Tasks::default(),
            turn_began: Cell::new(timer::now()),
            polls_left: Cell::new(0),
            timers: Timers::default(),
            idle: Idle::default(),
            pool,
            inbox,
            counters: Counters::default(),
            ops: RefCell::default(),
            ring: RefCell::new(Some(ring)),
            final_counts: Cell::default(),
            spin: RefCell::new(Spin::new(config.spin)),
            doorbell: Rc::default(),
            completions: RefCell::default(),
            letters: RefCell::default(),
            config,
        })
    }

    pub(crate) fn spawn(&self, future: LocalFuture) -> TaskKey {
        self.tasks.spawn(future)
    }

    /// Polls the task of `waker`; false if it is not this reactor's, or cannot be polled now.
    pub(crate) fn poll_at_once(&self, waker: &Waker) -> bool {
        let task = waker::task_of(waker).filter(|(id, _)| *id == self.id);
        task.is_some_and(|(_, key)| self.polls_left.get() > 0 && self.poll_task(key, waker))
    }

    /// Polls a task within this turn, which has polls left. Returns whether there was one to poll.
    pub(crate) fn poll_task(&self, key: TaskKey, waker: &Waker) -> bool {
        // Before the poll, in which others may be polled at once.
        self.polls_left.update(|left| left - 1);
        let polled = self.tasks.poll(key, waker);
        self.counters.polls.add(polled.into());
        polled
    }

    pub(crate) fn spawn_joined<F: Future + 'static>(
        self: &Rc<Self>,
        future: F,
    ) -> JoinHandle<F::Output> {
        JoinHandle::spawn(self, future)
    }

    pub(crate) fn stats(&self) -> Stats {
        let ring = self.ring.borrow();
        let (available, count) = self.pool.available();
        let ring_counts = ring.as_ref().map_or(self.final_counts.get(), Ring::counts);
        let (tasks, ready_tasks) = self.tasks.counts();
        Stats {
            tasks,
            ready_tasks,
            operations_in_flight: self.ops.borrow().in_flight() as u64,
            recv_held: (count - available).into(),
            ..self.counters.snapshot(ring_counts)
        }
    }

    pub(crate) fn with_ring<R>(&self, use_ring: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        self.ring.borrow_mut().as_mut().map(use_ring)
    }

    /// Begins an operation that somebody waits for.
    ///
    /// # Safety
    /// Every address in `entry` points into `owned`, or to memory that lives as long as the
    /// process; its descriptor is closed only through [`Self::close`].
    pub(crate) unsafe fn begin(
        self: &Rc<Self>,
        entry: squeue::Entry,
        owned: Owned,
        on_drop: OnDrop,
    ) -> Op {
        let key = match self.is_open() {
            true => self.ops.borrow_mut().insert(owned),
            false => self.ops.borrow_mut().insert_refused(owned),
        };
        // SAFETY: `Ops` keeps `owned` until the last completion; the rest is promised by the
        // caller.
        self.with_ring(|ring| unsafe { ring.push(entry.user_data(key.user_data())) });
        Op::new(self.clone(), key, on_drop)
    }

    /// Begins an operation whose completions go to `sink`. `None` once the reactor has ended.
    ///
    /// # Safety
    /// As [`Self::begin`].
    pub(crate) unsafe fn begin_with_sink(
        &self,
        entry: squeue::Entry,
        owned: Owned,
        sink: Rc<dyn Sink>,
    ) -> Option<OpKey> {
        self.is_open().then(|| {
            let key = self.ops.borrow_mut().insert_with_sink(owned, sink);
            // SAFETY: as in `begin`.
            self.with_ring(|ring| unsafe { ring.push(entry.user_data(key.user_data())) });
            key
        })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.ring.borrow().is_some()
    }

    /// Asks the kernel to end an operation; its completion still comes.
    pub(crate) fn cancel(&self, key: OpKey) {
        self.push_ignored(opcode::AsyncCancel::new(key.user_data()).build());
    }

    /// Closes a descriptor after everything begun on it so far has been handed to the kernel: a
    /// close at once could let a queued operation hit the next file of that number.
    pub(crate) fn close(&self, descriptor: OwnedFd) {
        if self.is_open() {
            let descriptor = descriptor.into_raw_fd();
            self.push_ignored(opcode::Close::new(types::Fd(descriptor)).build());
        }
    }

    pub(crate) fn push_ignored(&self, entry: squeue::Entry) {
        let entry = entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(IGNORED);
        // SAFETY: neither a cancellation nor a close names memory.
        self.with_ring(|ring| unsafe { ring.push(entry) });
    }

    pub(crate) fn poll_op(&self, key: OpKey, waker: &Waker) -> Poll<(i32, Owned)> {
        self.ops.borrow_mut().poll(key, waker)
    }

    pub(crate) fn abandon(&self, key: OpKey, on_drop: OnDrop) {
        let left = self.ops.borrow_mut().abandon(key);
        match left {
            Some((owned, result)) => ops::discard(owned, result),
            None if on_drop == OnDrop::Cancel => self.cancel(key),
            None => {}
        }
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reactor({:?}, doorbell {})", self.id, self.inbox.doorbell().as_raw_fd())
    }
}
