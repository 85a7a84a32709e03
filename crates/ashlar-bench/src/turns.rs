//! A world that knows the longest turn of a task, and drives that know what was written to them.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, Clock, Device, DeviceError, Durability, MemoryDevice, Nanos, Rng, SECTOR_BYTES,
    Spawn, World,
};
use ashlar_drive::DriveWorld;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{FoundDrive, OpenPolicy, Options, Store};
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

/// Processor time of this thread so far: what others take of the processor is not in it.
pub fn cpu_of_this_thread() -> Duration {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// The longest turn of any task. What drives in memory take of it is not counted: no drive would.
#[derive(Default)]
pub struct Turns {
    longest: Cell<Duration>,
    /// What drives have taken so far.
    by_drives: Cell<Duration>,
}

impl Turns {
    /// Forgets what was.
    pub fn reset(&self) {
        self.longest.set(Duration::ZERO);
    }

    /// Processor time of the longest one since then, in microseconds.
    pub fn longest_us(&self) -> f64 {
        self.longest.get().as_secs_f64() * 1e6
    }

    /// What `work` returns, which is a drive's.
    async fn of_drive<T>(&self, work: impl Future<Output = T>) -> T {
        let before = cpu_of_this_thread();
        let done = work.await;
        self.by_drives.set(self.by_drives.get() + cpu_of_this_thread() - before);
        done
    }
}

/// The world of real time, whose tasks are measured.
#[derive(Clone, Default)]
pub struct TurnWorld {
    world: DriveWorld,
    turns: Rc<Turns>,
}

impl TurnWorld {
    /// What was measured.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }
}

impl World for TurnWorld {
    type Device = CountedDrive;
}

impl Clock for TurnWorld {
    fn now(&self) -> Nanos {
        self.world.now()
    }

    fn unix_seconds(&self) -> u64 {
        self.world.unix_seconds()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + 'static {
        self.world.sleep(duration)
    }
}

impl Rng for TurnWorld {
    fn random_u64(&self) -> u64 {
        self.world.random_u64()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        self.world.fill_random(bytes);
    }
}

impl Spawn for TurnWorld {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.world.spawn(Measured { task: Box::pin(task), turns: self.turns.clone() });
    }

    fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        self.world.yield_now()
    }
}

/// A task of which each turn is measured.
struct Measured<F> {
    task: Pin<Box<F>>,
    turns: Rc<Turns>,
}

impl<F: Future<Output = ()>> Future for Measured<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (before, by_drives) = (cpu_of_this_thread(), self.turns.by_drives.get());
        let polled = self.task.as_mut().poll(context);
        let by_drives = self.turns.by_drives.get() - by_drives;
        let turn = (cpu_of_this_thread() - before).saturating_sub(by_drives);
        self.turns.longest.set(self.turns.longest.get().max(turn));
        polled
    }
}

/// A drive in memory that counts what is written.
#[derive(Clone)]
pub struct CountedDrive {
    memory: MemoryDevice,
    written_bytes: Rc<Cell<u64>>,
    turns: Rc<Turns>,
}

impl CountedDrive {
    /// A drive of so many bytes, which takes memory as it is written.
    pub fn new(world: &TurnWorld, size_bytes: u64) -> Self {
        let (memory, written_bytes) = (MemoryDevice::new(size_bytes), Rc::default());
        CountedDrive { memory, written_bytes, turns: world.turns.clone() }
    }

    /// Bytes that were written so far.
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes.get()
    }
}

impl Device for CountedDrive {
    fn size_bytes(&self) -> u64 {
        self.memory.size_bytes()
    }

    async fn read(&self, offset: u64, buf: AlignedBuf) -> (Result<(), DeviceError>, AlignedBuf) {
        self.turns.of_drive(self.memory.read(offset, buf)).await
    }

    async fn write(
        &self,
        offset: u64,
        data: Bytes,
        durability: Durability,
    ) -> Result<(), DeviceError> {
        self.written_bytes.set(self.written_bytes.get() + data.len() as u64);
        self.turns.of_drive(self.memory.write(offset, data, durability)).await
    }

    async fn flush(&self) -> Result<(), DeviceError> {
        self.memory.flush().await
    }

    async fn discard(&self, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        self.memory.discard(offset, bytes).await
    }
}

/// Opens the pool that is on these drives.
///
/// # Errors
/// It is not whole.
pub async fn open(
    world: &TurnWorld,
    drives: &[CountedDrive],
    options: Options,
) -> anyhow::Result<Store<TurnWorld>> {
    let mut found = Vec::new();
    for device in drives {
        let (read, sector) =
            device.read(Superblock::FIRST_OFFSET, AlignedBuf::zeroed(SECTOR_BYTES)).await;
        read?;
        found.push(FoundDrive { superblock: Superblock::decode(&sector)?, device: device.clone() });
    }
    let (store, _) = Store::open(world, found, options, OpenPolicy::Whole).await?;
    Ok(store)
}
