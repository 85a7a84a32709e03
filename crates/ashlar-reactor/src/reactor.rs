//! One thread's executor: tasks, timers, the ring, and the turn that drives them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use ashlar_block::Nanos;
use io_uring::{opcode, squeue, types};

use crate::config::Config;
use crate::doorbell::Doorbell;
use crate::error::StartError;
use crate::inbox::{Inbox, Letter};
use crate::join::JoinHandle;
use crate::op::{OnDrop, Op};
use crate::ops::{self, Followup, OpKey, Ops, Owned, Sink};
use crate::pool::RecvPool;
use crate::ring::{Completion, IGNORED, Ring, Wait};
use crate::spin::Spin;
use crate::stats::{Counters, RingCounts, Stats};
use crate::task::{LocalFuture, TaskKey, Tasks};
use crate::timer::{Timers, now};
use crate::waker::{self, ReactorId};

/// How long the end of a reactor waits for the kernel to let go of its memory.
const DRAIN_MAX: Duration = Duration::from_secs(10);

thread_local! {
    static CURRENT: RefCell<Option<Rc<Reactor>>> = const { RefCell::new(None) };
}

pub(crate) struct Reactor {
    id: ReactorId,
    pub(crate) config: Config,
    pub(crate) tasks: Tasks,
    pub(crate) timers: Timers,
    pub(crate) pool: Rc<RecvPool>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) counters: Counters,
    ops: RefCell<Ops>,
    /// `None` once the reactor has ended; operations begun then are refused.
    ring: RefCell<Option<Ring>>,
    final_counts: Cell<RingCounts>,
    spin: RefCell<Spin>,
    doorbell: Rc<Doorbell>,
    completions: RefCell<Vec<Completion>>,
    letters: RefCell<VecDeque<Letter>>,
}

/// The reactor of this thread.
///
/// # Panics
/// When none runs here: a fault of the caller.
pub(crate) fn current() -> Rc<Reactor> {
    try_current().expect("this needs a reactor, and none runs on this thread")
}

fn try_current() -> Option<Rc<Reactor>> {
    CURRENT.try_with(|current| current.borrow().clone()).ok().flatten()
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

/// Runs `main` and all that it spawns on a reactor of this thread, until `main` ends. Tasks that have not
/// ended then are dropped; what was in flight is cancelled where the kernel still can, and awaited.
///
/// A panic in any task ends the run and goes on in the caller.
///
/// # Errors
/// [`StartError`], before anything has run.
pub fn run<F: Future + 'static>(config: Config, main: F) -> Result<F::Output, StartError> {
    let session = Session::start(config)?;
    let mut main = session.0.spawn_joined(main);
    loop {
        session.0.run_tasks();
        if let Some(output) = main.try_take() {
            return Ok(output);
        }
        session.0.look_at_ring();
    }
}

/// A reactor while it is this thread's.
struct Session(Rc<Reactor>);

impl Session {
    fn start(config: Config) -> Result<Self, StartError> {
        if let Some(fault) = config.fault() {
            return Err(StartError::Config(fault));
        }
        if try_current().is_some() {
            return Err(StartError::AlreadyRunning);
        }
        let reactor = Rc::new(Reactor::new(config)?);
        CURRENT.set(Some(reactor.clone()));
        Ok(Session(reactor))
    }
}

impl Drop for Session {
    /// In this order: no new work from outside; the tasks, whose futures abandon their operations; then the
    /// operations, because the kernel still writes into their memory; and the ring last.
    fn drop(&mut self) {
        drop(self.0.inbox.close());
        self.0.tasks.clear();
        self.0.timers.clear();
        self.0.drain();
        self.0.tasks.clear();
        waker::unregister(self.0.id);
        CURRENT.set(None);
    }
}

impl Reactor {
    fn new(config: Config) -> Result<Self, StartError> {
        let ring = Ring::new(config.ring_entries)?;
        let pool = RecvPool::new(config.recv_buffer_count, config.recv_buffer_bytes);
        pool.register(&ring)?;
        let doorbell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)
            .map_err(|errno| StartError::Os { what: "eventfd", source: errno.into() })?;
        let inbox = Arc::new(Inbox::new(doorbell));
        let id = waker::register(inbox.clone()).ok_or(StartError::TooMany { max: waker::REACTORS_MAX })?;
        Ok(Reactor {
            id,
            tasks: Tasks::default(),
            timers: Timers::default(),
            pool: Rc::new(pool),
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

    pub(crate) fn spawn_joined<F: Future + 'static>(self: &Rc<Self>, future: F) -> JoinHandle<F::Output> {
        JoinHandle::spawn(self, future)
    }

    pub(crate) fn stats(&self) -> Stats {
        let ring = self.ring.borrow();
        self.counters.snapshot(ring.as_ref().map_or(self.final_counts.get(), Ring::counts))
    }

    // The turn.

    /// Runs what is ready. Tasks that yielded go last, once; if they yield again, the ring comes first.
    fn run_tasks(&self) {
        self.counters.turns.add(1);
        self.read_letters();
        self.timers.fire(now());
        let mut budget = self.config.polls_per_turn_max;
        self.run_ready(&mut budget);
        if self.tasks.resume_yielded() {
            self.run_ready(&mut budget);
        }
    }

    fn run_ready(&self, budget: &mut usize) {
        while *budget > 0 {
            let Some(key) = self.tasks.next_ready() else { return };
            *budget -= 1;
            if self.tasks.poll(key, &waker::waker(self.id, key)) {
                self.counters.polls.add(1);
            }
        }
    }

    fn read_letters(&self) {
        if !self.inbox.gate().take_pending() {
            return;
        }
        let mut letters = self.letters.take();
        self.inbox.take(&mut letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Wake(key) => self.tasks.wake(key),
                Letter::Run(function) => function(),
            }
        }
        self.letters.replace(letters);
    }

    /// Submits what the tasks began and takes what has completed; waits only if there is nothing to run.
    fn look_at_ring(self: &Rc<Self>) {
        if self.tasks.has_ready() || self.inbox.gate().is_pending() {
            return self.enter_and_reap(Wait::No);
        }
        if !self.spin_for_work() {
            self.sleep_in_ring();
        }
    }

    /// Whether work came, and sleeping is not called for.
    fn spin_for_work(self: &Rc<Self>) -> bool {
        let limit = self.spin.borrow().duration();
        if limit.is_zero() {
            return false;
        }
        self.enter_and_reap(Wait::No);
        let end = Nanos(now().0 + limit.as_nanos() as u64);
        let found = self.tasks.has_ready() || self.look_until(end);
        let mut spin = self.spin.borrow_mut();
        if found {
            self.counters.spin_hits.add(1);
            spin.hit();
        } else {
            spin.missed();
        }
        found
    }

    fn look_until(self: &Rc<Self>, end: Nanos) -> bool {
        loop {
            if self.with_ring(Ring::has_completions).unwrap_or(false) {
                self.enter_and_reap(Wait::No);
                return true;
            }
            let time = now();
            let due = self.timers.next_deadline().is_some_and(|deadline| deadline <= time);
            if due || self.inbox.gate().is_pending() {
                return true;
            }
            if time >= end {
                return false;
            }
            std::hint::spin_loop();
        }
    }

    fn sleep_in_ring(self: &Rc<Self>) {
        Doorbell::arm(&self.doorbell, self);
        let began = now();
        let wait = match self.timers.next_deadline() {
            None => Wait::Forever,
            Some(deadline) if deadline <= began => Wait::No,
            Some(deadline) => Wait::AtMost(deadline.since(began)),
        };
        if wait == Wait::No || !self.inbox.gate().try_sleep() {
            return self.enter_and_reap(Wait::No);
        }
        self.counters.sleeps.add(1);
        self.enter_and_reap(wait);
        self.inbox.gate().wake_up();
        let mut spin = self.spin.borrow_mut();
        if spin.enabled() {
            spin.slept(now().since(began));
        }
    }

    fn enter_and_reap(self: &Rc<Self>, wait: Wait) {
        let mut completions = self.completions.take();
        self.with_ring(|ring| {
            ring.enter(wait);
            ring.reap(&mut completions);
        });
        for completion in completions.drain(..) {
            self.complete(completion);
        }
        self.completions.replace(completions);
    }

    fn complete(self: &Rc<Self>, completion: Completion) {
        if completion.user_data == IGNORED {
            return;
        }
        let followup = self.ops.borrow_mut().complete(&completion);
        match followup {
            Followup::Nothing => {}
            Followup::Wake(waker) => waker.wake(),
            Followup::Sink { sink, more } => sink.complete(self, completion.result, completion.flags, more),
            Followup::Discard { owned, result } => ops::discard(owned, result),
        }
    }

    fn with_ring<R>(&self, use_ring: impl FnOnce(&mut Ring) -> R) -> Option<R> {
        self.ring.borrow_mut().as_mut().map(use_ring)
    }

    // Operations.

    /// Begins an operation that somebody waits for.
    ///
    /// # Safety
    /// Every address in `entry` points into `owned`, or to memory that lives as long as the process; its
    /// descriptor is closed only through [`Self::close`].
    pub(crate) unsafe fn begin(self: &Rc<Self>, entry: squeue::Entry, owned: Owned, on_drop: OnDrop) -> Op {
        let key = match self.is_open() {
            true => self.ops.borrow_mut().insert(owned),
            false => self.ops.borrow_mut().insert_refused(owned),
        };
        // SAFETY: `Ops` keeps `owned` until the last completion; the rest is promised by the caller.
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

    /// Closes a descriptor after everything begun on it so far has been handed to the kernel: a close at
    /// once could let a queued operation hit the next file of that number.
    pub(crate) fn close(&self, descriptor: OwnedFd) {
        if self.is_open() {
            let descriptor = descriptor.into_raw_fd();
            self.push_ignored(opcode::Close::new(types::Fd(descriptor)).build());
        }
    }

    fn push_ignored(&self, entry: squeue::Entry) {
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

    // The end.

    /// Cancels what is in flight, waits until the kernel is done with it, and closes the ring.
    fn drain(self: &Rc<Self>) {
        let everything = types::CancelBuilder::any();
        self.push_ignored(opcode::AsyncCancel2::new(everything).build());
        let end = Nanos(now().0 + DRAIN_MAX.as_nanos() as u64);
        self.enter_and_reap(Wait::No);
        while self.ops.borrow().in_flight() > 0 && now() < end {
            self.enter_and_reap(Wait::AtMost(end.since(now())));
        }
        let ring = self.ring.take();
        self.final_counts.set(ring.as_ref().map(Ring::counts).unwrap_or_default());
        let stuck = self.ops.borrow().in_flight();
        if stuck > 0 {
            tracing::error!(
                operations = stuck,
                "the kernel did not end all operations in time; their memory is given up"
            );
            std::mem::forget(self.ops.take());
            std::mem::forget(self.pool.clone());
        }
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reactor({:?}, doorbell {})", self.id, self.inbox.doorbell().as_raw_fd())
    }
}
