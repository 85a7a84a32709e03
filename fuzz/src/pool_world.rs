//! A world for one pool: tasks on this thread, time that passes only when all of them wait, and
//! drives in memory.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::{Future, ready};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, Clock, Device, DeviceError, Durability, Nanos, Rng, SECTOR_BYTES, Spawn, World,
    XorShift,
};
use bytes::Bytes;

/// Longer than anything takes that a host waits for. A pool's heartbeats go on for ever, so a
/// deadlock shows by nothing else.
const WAIT_MAX: Duration = Duration::from_secs(3600);

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The world of one start of a pool. Clones are the same one.
#[derive(Clone)]
pub struct PoolWorld(Rc<Inner>);

struct Inner {
    tasks: RefCell<Vec<Option<Task>>>,
    woken: Arc<Woken>,
    timers: RefCell<BTreeMap<(u64, u64), Waker>>,
    timers_set: Cell<u64>,
    now: Cell<u64>,
    rng: RefCell<XorShift>,
}

/// Tasks to be polled, in the order in which they were woken. The main one is behind all others.
#[derive(Default)]
struct Woken(Mutex<VecDeque<usize>>);

struct TaskWaker(Arc<Woken>, usize);

/// Stands for the task that [`PoolWorld::run`] was given.
const MAIN: usize = usize::MAX;

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.0.0.lock().expect("one thread").push_back(self.1);
    }
}

impl PoolWorld {
    /// A world with nothing in it, at this time.
    pub fn new(seed: u64, now: Nanos) -> Self {
        PoolWorld(Rc::new(Inner {
            tasks: RefCell::default(),
            woken: Arc::default(),
            timers: RefCell::default(),
            timers_set: Cell::new(0),
            now: Cell::new(now.0),
            rng: RefCell::new(XorShift::new(seed)),
        }))
    }

    /// Runs `main` to its end, and the tasks beside it.
    ///
    /// # Panics
    /// If it waits for something that does not come.
    pub fn run<T>(&self, main: impl Future<Output = T>) -> T {
        let mut main = pin!(main);
        let until = self.0.now.get() + WAIT_MAX.as_nanos() as u64;
        let waker = self.waker(MAIN);
        waker.wake_by_ref();
        loop {
            let next = self.0.woken.0.lock().expect("one thread").pop_front();
            match next {
                Some(MAIN) => {
                    if let Poll::Ready(output) =
                        main.as_mut().poll(&mut Context::from_waker(&waker))
                    {
                        return output;
                    }
                }
                Some(task) => self.poll_task(task),
                None => self.advance(until),
            }
        }
    }

    /// Drops all tasks, as a crash does.
    pub fn stop(&self) {
        // Dropping a task may spawn or wake others.
        while let Some(task) = { self.0.tasks.borrow_mut().pop() } {
            drop(task);
        }
        self.0.timers.borrow_mut().clear();
    }

    fn waker(&self, task: usize) -> Waker {
        Waker::from(Arc::new(TaskWaker(self.0.woken.clone(), task)))
    }

    fn poll_task(&self, task: usize) {
        let taken = self.0.tasks.borrow_mut().get_mut(task).and_then(Option::take);
        let Some(mut future) = taken else { return };
        let waker = self.waker(task);
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.tasks.borrow_mut()[task] = Some(future);
        }
    }

    fn advance(&self, until: u64) {
        let next = self.0.timers.borrow_mut().pop_first();
        let ((at, _), waker) = next.expect("deadlock: every task waits for another");
        self.0.now.set(at.max(self.0.now.get()));
        assert!(self.0.now.get() <= until, "something is waited for that never comes");
        waker.wake();
    }
}

impl Clock for PoolWorld {
    fn now(&self) -> Nanos {
        Nanos(self.0.now.get())
    }

    fn unix_seconds(&self) -> u64 {
        1_800_000_000 + self.0.now.get() / 1_000_000_000
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        let (world, at) = (self.clone(), self.0.now.get() + duration.as_nanos() as u64);
        std::future::poll_fn(move |cx| {
            if world.0.now.get() >= at {
                return Poll::Ready(());
            }
            let nth = world.0.timers_set.get();
            world.0.timers_set.set(nth + 1);
            world.0.timers.borrow_mut().insert((at, nth), cx.waker().clone());
            Poll::Pending
        })
    }
}

impl Rng for PoolWorld {
    fn random_u64(&self) -> u64 {
        self.0.rng.borrow_mut().next_u64()
    }
}

impl Spawn for PoolWorld {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.tasks.borrow_mut();
        tasks.push(Some(Box::pin(task)));
        self.0.woken.0.lock().expect("one thread").push_back(tasks.len() - 1);
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

impl World for PoolWorld {
    type Device = PoolDrive;
}

/// A drive in memory that takes only what is written of it. Clones are the same drive.
#[derive(Clone)]
pub struct PoolDrive {
    sectors: Rc<RefCell<HashMap<u64, Box<[u8]>>>>,
    size_bytes: u64,
}

impl PoolDrive {
    /// A drive of zeros.
    pub fn new(size_bytes: u64) -> Self {
        PoolDrive { sectors: Rc::default(), size_bytes }
    }

    fn check(&self, offset: u64, bytes: usize) -> Result<u64, DeviceError> {
        let is_whole = (offset | bytes as u64).is_multiple_of(SECTOR_BYTES as u64);
        assert!(is_whole, "{bytes} bytes at {offset} are not whole sectors");
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.size_bytes);
        end.ok_or(DeviceError::OutOfRange { offset, bytes, size_bytes: self.size_bytes })?;
        Ok(offset / SECTOR_BYTES as u64)
    }

    fn read_now(&self, offset: u64, buf: &mut [u8]) -> Result<(), DeviceError> {
        let first = self.check(offset, buf.len())?;
        let sectors = self.sectors.borrow();
        for (nth, part) in (first..).zip(buf.chunks_mut(SECTOR_BYTES)) {
            match sectors.get(&nth) {
                Some(sector) => part.copy_from_slice(sector),
                None => part.fill(0),
            }
        }
        Ok(())
    }

    fn write_now(&self, offset: u64, data: &[u8]) -> Result<(), DeviceError> {
        let first = self.check(offset, data.len())?;
        let mut sectors = self.sectors.borrow_mut();
        for (nth, part) in (first..).zip(data.chunks(SECTOR_BYTES)) {
            sectors
                .entry(nth)
                .or_insert_with(|| vec![0; SECTOR_BYTES].into())
                .copy_from_slice(part);
        }
        Ok(())
    }
}

impl Device for PoolDrive {
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read(
        &self,
        offset: u64,
        mut buf: AlignedBuf,
    ) -> impl Future<Output = (Result<(), DeviceError>, AlignedBuf)> {
        let read = self.read_now(offset, &mut buf);
        ready((read, buf))
    }

    fn write(
        &self,
        offset: u64,
        data: Bytes,
        _: Durability,
    ) -> impl Future<Output = Result<(), DeviceError>> {
        ready(self.write_now(offset, &data))
    }

    fn flush(&self) -> impl Future<Output = Result<(), DeviceError>> {
        ready(Ok(()))
    }

    fn discard(&self, _: u64, _: u64) -> impl Future<Output = Result<(), DeviceError>> {
        ready(Ok(()))
    }
}
