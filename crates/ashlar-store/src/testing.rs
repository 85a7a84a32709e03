//! A pool on drives in memory that runs no task: for tests that do one step after the other.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ashlar_block::{
    AlignedBuf, BLOCK_BYTES, Clock, Device, Lba, Nanos, Rng, SECTOR_BYTES, Spawn, World, XorShift,
};
use ashlar_format::compression::Compression;
use ashlar_format::header::{PageKind, RecordKind};
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::location::Location;
use ashlar_format::superblock::Superblock;
use ashlar_raid::Level;
use bytes::Bytes;

use crate::base::counters::{StepCounters, Steps};
use crate::base::options::Options;
use crate::members::create::{NewPool, create};
use crate::members::{FoundDrive, OpenPolicy};
use crate::pool::Pool;
use crate::recovery;
use crate::space::segments::Claim;
use crate::writer::append::{Appended, StreamId};
use crate::writer::batch::Item;
use crate::writer::compress::compress_blocks;
use crate::writer::pages::NewPage;
pub use device::TestDevice;

mod device;

/// Chunks of each drive.
const CHUNKS: u64 = 64;
const CHUNK_BYTES: u32 = 64 << 10;

/// A world in which nothing waits, and time stands still, unless a test wants looks at it to take
/// time.
#[derive(Clone)]
pub struct StillWorld {
    random: Rc<RefCell<XorShift>>,
    now: Rc<Cell<Nanos>>,
    a_look_takes: Rc<Cell<Duration>>,
}

impl StillWorld {
    fn new() -> Self {
        StillWorld {
            random: Rc::new(RefCell::new(XorShift::new(1))),
            now: Rc::default(),
            a_look_takes: Rc::default(),
        }
    }

    /// From now on each look at the clock finds it so much later than the one before.
    fn let_a_look_take(&self, time: Duration) {
        self.a_look_takes.set(time);
    }
}

impl Clock for StillWorld {
    fn now(&self) -> Nanos {
        self.now.set(Nanos(self.now.get().0 + self.a_look_takes.get().as_nanos() as u64));
        self.now.get()
    }

    fn unix_seconds(&self) -> u64 {
        0
    }

    fn sleep(&self, _: Duration) -> impl Future<Output = ()> + 'static {
        ready(())
    }
}

impl Rng for StillWorld {
    fn random_u64(&self) -> u64 {
        self.random.borrow_mut().next_u64()
    }
}

impl Spawn for StillWorld {
    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        at_once(task);
    }

    fn yield_now(&self) -> impl Future<Output = ()> + 'static {
        ready(())
    }
}

impl World for StillWorld {
    type Device = TestDevice;
}

/// How long a look at the clock of [`ticking`] takes.
pub const LOOK: Duration = Duration::from_micros(1);

/// A step that was done once and waited for nothing: one look follows another.
pub const DONE_ONCE: StepCounters = StepCounters { operations: 1, latency: LOOK, busy: LOOK };

/// A pool that finds it later at each look at the clock.
pub fn ticking(level: Level, drives: usize) -> Rc<Pool<StillWorld>> {
    let drives = Drives::new(level, drives);
    let pool = drives.open();
    drives.world.let_a_look_take(LOOK);
    pool
}

/// What the steps of a pool took.
pub fn steps(pool: &Pool<StillWorld>) -> Steps {
    pool.status().counters.steps
}

/// The result of work that has nothing to wait for.
pub fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("it waits for something"),
    }
}

/// Writes one incompressible block in a batch of its own, to a volume that there is not.
pub fn write_block(pool: &Pool<StillWorld>, lba: u64) {
    finish_write(pool, append_block(pool, lba));
}

/// Writes blocks that compress to an eighth, in one batch.
pub fn write_small_blocks(pool: &Pool<StillWorld>, lbas: Range<u64>) {
    let items = lbas.map(|lba| block_item(pool, lba, BLOCK_BYTES / 8)).collect();
    finish_write(pool, append(pool, items));
}

/// Writes these items in one batch.
pub fn append_items(pool: &Pool<StillWorld>, items: Vec<Item>) {
    finish_write(pool, append(pool, items));
}

/// The same as [`write_block`], before anything of it is on a drive.
pub fn append_block(pool: &Pool<StillWorld>, lba: u64) -> Appended {
    append(pool, vec![block_item(pool, lba, BLOCK_BYTES)])
}

/// A block with so many bytes that do not compress.
pub fn block_item(pool: &Pool<StillWorld>, lba: u64, noise_bytes: usize) -> Item {
    let mut block = vec![0; BLOCK_BYTES];
    pool.world.fill_random(&mut block[..noise_bytes]);
    let fragment =
        compress_blocks(&Bytes::from(block), Compression::Lz4).next().expect("one block");
    Item { kind: RecordKind::Write, key: key(lba), fragment }
}

fn append(pool: &Pool<StillWorld>, mut items: Vec<Item>) -> Appended {
    let take = |_, taken: &mut Vec<Item>| taken.append(&mut items);
    at_once(pool.try_append(StreamId::Cold, Claim::Host, take)).expect("there is room")
}

fn finish_write(pool: &Pool<StillWorld>, mut appended: Appended) {
    at_once(pool.write_durably(&mut appended)).expect("good drives");
    for (item, pointer) in appended.items.iter().zip(&*appended.pointers) {
        pool.publish_item(item, *pointer);
    }
    pool.writer.lsns.published(appended.lsn);
}

/// Where such a block is.
pub fn location(pool: &Pool<StillWorld>, lba: u64) -> Location {
    at_once(pool.lookup(&key(lba), |value| value.expect("it was written").location))
        .expect("good drives")
}

fn key(lba: u64) -> Key {
    Key { family: Family(1), lba: Lba(lba), layer: Layer(0) }
}

/// Drives that are a pool.
pub struct Drives {
    pub world: StillWorld,
    pub devices: Vec<TestDevice>,
}

impl Drives {
    /// An empty pool.
    pub fn new(level: Level, count: usize) -> Self {
        Self::of_chunks(level, count, CHUNKS + 10)
    }

    /// An empty pool on drives with so many chunks each.
    pub fn of_chunks(level: Level, count: usize, chunks: u64) -> Self {
        let world = StillWorld::new();
        let drive_bytes = (1 << 20) + (chunks + 1) * u64::from(CHUNK_BYTES);
        let devices: Vec<TestDevice> = (0..count).map(|_| TestDevice::new(drive_bytes)).collect();
        let name = "test".to_owned();
        let new = NewPool { name, level, chunk_bytes: Some(CHUNK_BYTES), segment_numbers: None };
        at_once(create(&world, &new, devices.clone())).expect("good drives");
        Drives { world, devices }
    }

    /// The drives with their superblocks.
    pub fn found(&self) -> Vec<FoundDrive<TestDevice>> {
        let found = |device: &TestDevice| {
            let read = device.read(Superblock::FIRST_OFFSET, AlignedBuf::zeroed(SECTOR_BYTES));
            let (_, sector) = at_once(read);
            FoundDrive {
                superblock: Superblock::decode(&sector).expect("it was made"),
                device: device.clone(),
            }
        };
        self.devices.iter().map(found).collect()
    }

    /// Bytes that were written to all of them so far.
    pub fn written_bytes(&self) -> u64 {
        self.devices.iter().map(TestDevice::written_bytes).sum()
    }

    /// The pool, opened. Whoever drops it without closing it has crashed it.
    pub fn open(&self) -> Rc<Pool<StillWorld>> {
        self.open_with(Options::default())
    }

    /// The pool, opened with these options.
    pub fn open_with(&self, options: Options) -> Rc<Pool<StillWorld>> {
        let opened = recovery::open(&self.world, self.found(), options, OpenPolicy::Most);
        at_once(opened).expect("good drives").0
    }
}

thread_local! {
    static WALKED_OVER: Cell<usize> = const { Cell::new(0) };
}

/// A walk over segments has come to one more.
pub fn note_walk() {
    WALKED_OVER.set(WALKED_OVER.get() + 1);
}

/// Segments that walks come to while `work` runs on this thread.
pub fn walked_over(work: impl FnOnce()) -> usize {
    let before = WALKED_OVER.get();
    work();
    WALKED_OVER.get() - before
}

/// A page of nobody's.
pub fn page(bytes: Vec<u8>) -> NewPage {
    NewPage::listed(PageKind::Map, bytes)
}
