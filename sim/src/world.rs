//! A world in one thread: tasks in an order that the seed decides, time that passes only when all
//! wait.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ashlar_block::{Clock, Nanos, Notify, Rng, Spawn, World, XorShift, wait_for};

use crate::drive::SimDrive;

type TaskId = u64;

/// Tasks that have been woken, by any waker of this world.
#[derive(Default)]
struct Woken(Mutex<Vec<TaskId>>);

struct TaskWaker {
    id: TaskId,
    woken: Arc<Woken>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.woken.0.lock().expect("one thread").push(self.id);
    }
}

/// A machine, of those that reach the same drives. The first one is everybody else: hosts,
/// operators, the drives themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Machine(pub u8);

struct Task {
    machine: Machine,
    future: Pin<Box<dyn Future<Output = ()>>>,
    waker: Waker,
}

#[derive(Default)]
struct Tasks {
    next: TaskId,
    waiting: BTreeMap<TaskId, Task>,
    ready: Vec<TaskId>,
}

/// What the clock on the wall shows, which people set and time servers correct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WallClock {
    /// The time that has passed.
    Right,
    /// Ten years more or less each time that somebody looks.
    Jumps,
}

/// What the clock on the wall shows at the start of a simulation, in seconds since 1970.
const WALL_START_SECONDS: u64 = 1_700_000_000;
/// How far it jumps.
const TEN_YEARS_SECONDS: u64 = 10 * 365 * 86_400;

struct Inner {
    now: Cell<u64>,
    wall: WallClock,
    wall_readings: Cell<u64>,
    rng: RefCell<XorShift>,
    tasks: RefCell<Tasks>,
    woken: Arc<Woken>,
    /// By time, then by order of coming.
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    timer_count: Cell<u64>,
    operations: Cell<u64>,
    /// Operations at which the power is cut.
    cut_at: Cell<u64>,
    /// None of their tasks runs.
    frozen: RefCell<BTreeSet<Machine>>,
    /// A machine that freezes when it has read or written there so often more.
    freezes_at: Cell<Option<(Machine, u64, u64)>>,
}

/// The simulated world, as one machine sees it. Clones are the same one.
#[derive(Clone)]
pub struct SimWorld(Rc<Inner>, Machine);

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The main task is done.
    Done,
    /// The power was cut.
    Cut,
}

/// Polls at one moment, at most: more means that tasks wake each other for ever.
const STEPS_AT_ONCE_MAX: u64 = 1_000_000;
/// Polls of one run, at most: more means that it waits for ever for what never comes.
const STEPS_MAX: u64 = 1_000_000_000;

impl SimWorld {
    /// The world of a seed, with its clock at `start`.
    pub fn new(seed: u64, start: Nanos, wall: WallClock) -> Self {
        let inner = Inner {
            now: Cell::new(start.0),
            wall,
            wall_readings: Cell::new(0),
            rng: RefCell::new(XorShift::new(seed)),
            tasks: RefCell::default(),
            woken: Arc::default(),
            timers: RefCell::default(),
            timer_count: Cell::new(0),
            operations: Cell::new(0),
            cut_at: Cell::new(u64::MAX),
            frozen: RefCell::default(),
            freezes_at: Cell::default(),
        };
        SimWorld(Rc::new(inner), Machine::default())
    }

    /// The same world, as that machine sees it: tasks that it spawns are the machine's.
    pub fn seen_from(&self, machine: Machine) -> Self {
        SimWorld(self.0.clone(), machine)
    }

    /// The machine that this is seen from.
    pub fn machine(&self) -> Machine {
        self.1
    }

    /// From now on no task of `machine` runs: it is stopped and let go on, or suspended with all
    /// that it has in memory.
    pub fn freeze(&self, machine: Machine) {
        self.0.frozen.borrow_mut().insert(machine);
        self.0.freezes_at.set(None);
    }

    /// Lets it go on, and none freezes by itself any more.
    #[cfg(test)]
    pub fn thaw(&self, machine: Machine) {
        self.0.frozen.borrow_mut().remove(&machine);
        self.0.freezes_at.set(None);
    }

    /// The machine freezes with the `nth` thing that it does at `offset` from now on: when it is to
    /// learn what it has read there, or before what it writes has come to the drive.
    pub fn freeze_at(&self, machine: Machine, offset: u64, nth: u64) {
        self.0.freezes_at.set(Some((machine, offset, nth)));
    }

    /// This machine reads or writes there.
    pub fn note_use(&self, offset: u64) {
        match self.0.freezes_at.get() {
            Some((machine, at, 1)) if (machine, at) == (self.1, offset) => self.freeze(machine),
            Some((machine, at, left)) if (machine, at) == (self.1, offset) => {
                self.freeze_at(machine, offset, left - 1);
            }
            _ => {}
        }
    }

    /// What `work` comes to, as a task of that machine: it goes on whatever becomes of this one.
    pub async fn on<T: 'static>(
        &self,
        machine: Machine,
        work: impl Future<Output = T> + 'static,
    ) -> T {
        let (done, waiting) = (Rc::new(RefCell::new(None)), Rc::new(Notify::new()));
        let (result, rung) = (done.clone(), waiting.clone());
        self.seen_from(machine).spawn(async move {
            *result.borrow_mut() = Some(work.await);
            rung.notify_waiters();
        });
        wait_for(&waiting, || done.borrow_mut().take()).await
    }

    /// A drive has done an operation, or refused it.
    pub fn count_operation(&self) {
        self.0.operations.set(self.0.operations.get() + 1);
    }

    /// Lets the power be cut when drives have done that many operations more, unless it is cut
    /// before.
    pub fn cut_after(&self, operations: u64) {
        let at = self.0.operations.get().saturating_add(operations);
        self.0.cut_at.set(self.0.cut_at.get().min(at));
    }

    /// A number below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        self.0.rng.borrow_mut().below(bound)
    }

    /// True once in `times`.
    pub fn once_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// Runs `main` and what it spawns, until it is done, or `stop` says so, or the power is cut.
    /// After that nothing runs any more.
    pub fn run(&self, main: impl Future<Output = ()> + 'static, stop: impl Fn() -> bool) -> Ended {
        let done = Rc::new(Cell::new(false));
        let flag = done.clone();
        self.spawn(async move {
            main.await;
            flag.set(true);
        });
        let mut at = (self.0.now.get(), 0);
        for step in 0..STEPS_MAX {
            if at.0 != self.0.now.get() {
                at = (self.0.now.get(), step);
            }
            assert!(step - at.1 < STEPS_AT_ONCE_MAX, "tasks wake each other for ever");
            if done.get() {
                return Ended::Done;
            }
            if stop() || self.0.operations.get() >= self.0.cut_at.get() {
                return Ended::Cut;
            }
            self.step();
        }
        panic!("the simulation does not come to an end");
    }

    /// Forgets all tasks: what a power cut does to them.
    pub fn stop(&self) {
        // Tasks may spawn and wake while they are dropped.
        while let Some((_, task)) = { self.0.tasks.borrow_mut().waiting.pop_first() } {
            drop(task);
        }
        self.0.timers.borrow_mut().clear();
    }

    fn step(&self) {
        let woken = std::mem::take(&mut *self.0.woken.0.lock().expect("one thread"));
        self.0.tasks.borrow_mut().ready.extend(woken);
        let Some(id) = self.choose() else { return self.advance() };
        let Some(mut task) = ({ self.0.tasks.borrow_mut().waiting.remove(&id) }) else { return };
        let polled = task.future.as_mut().poll(&mut Context::from_waker(&task.waker));
        if polled.is_pending() {
            self.0.tasks.borrow_mut().waiting.insert(id, task);
        }
    }

    /// A task that can run, which is taken from those.
    fn choose(&self) -> Option<TaskId> {
        let mut tasks = self.0.tasks.borrow_mut();
        let machines = self.0.frozen.borrow();
        let mut frozen = Vec::new();
        if !machines.is_empty() {
            let is_frozen = |id: &TaskId| {
                tasks.waiting.get(id).is_some_and(|task| machines.contains(&task.machine))
            };
            let ready;
            (frozen, ready) = tasks.ready.iter().partition(|id| is_frozen(id));
            tasks.ready = ready;
        }
        let ready = tasks.ready.len() as u64;
        let chosen = (ready > 0).then(|| tasks.ready.swap_remove(self.below(ready) as usize));
        tasks.ready.extend(frozen);
        chosen
    }

    /// All tasks wait: time goes on to the next timer.
    fn advance(&self) {
        let ((at, _), waker) =
            self.0.timers.borrow_mut().pop_first().expect("deadlock: every task waits for another");
        self.0.now.set(at.max(self.0.now.get()));
        waker.wake();
    }
}

impl Clock for SimWorld {
    fn now(&self) -> Nanos {
        Nanos(self.0.now.get())
    }

    fn unix_seconds(&self) -> u64 {
        let right = WALL_START_SECONDS + self.0.now.get() / 1_000_000_000;
        let reading = self.0.wall_readings.get();
        self.0.wall_readings.set(reading + 1);
        match (self.0.wall, reading % 3) {
            (WallClock::Right, _) | (WallClock::Jumps, 0) => right,
            (WallClock::Jumps, 1) => right + TEN_YEARS_SECONDS,
            (WallClock::Jumps, _) => right - TEN_YEARS_SECONDS,
        }
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        let world = self.clone();
        let at = self.0.now.get() + duration.as_nanos() as u64;
        let mut set = false;
        std::future::poll_fn(move |cx| {
            if set && world.0.now.get() >= at {
                return Poll::Ready(());
            }
            if !set {
                let order = world.0.timer_count.get();
                world.0.timer_count.set(order + 1);
                world.0.timers.borrow_mut().insert((at, order), cx.waker().clone());
                set = true;
            }
            Poll::Pending
        })
    }
}

impl Rng for SimWorld {
    fn random_u64(&self) -> u64 {
        self.0.rng.borrow_mut().next_u64()
    }
}

impl Spawn for SimWorld {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.tasks.borrow_mut();
        let id = tasks.next;
        tasks.next += 1;
        let waker = Waker::from(Arc::new(TaskWaker { id, woken: self.0.woken.clone() }));
        tasks.waiting.insert(id, Task { machine: self.1, future: Box::pin(task), waker });
        tasks.ready.push(id);
    }

    fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        let mut yielded = false;
        std::future::poll_fn(move |cx| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
    }
}

impl World for SimWorld {
    type Device = SimDrive;
}
