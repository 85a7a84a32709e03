//! A pool that loses more drives than its level survives, in the middle of everything, or has no
//! room any more: it halts, nobody waits for ever, and when it is closed, its drives are free.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, DriveId, Lba, Nanos, Spawn, XorShift, within};
use ashlar_raid::Level;
use ashlar_store::{AddError, Compression, FoundDrive, Options, RejoinError, Settings};
use bytes::Bytes;

use crate::drive::SimDrive;
use crate::good::make_pool;
use crate::platter::SharedPlatter;
use crate::start::{Pool, superblock};
use crate::world::{Ended, SimWorld, WallClock};

const DRIVES: usize = 4;
const DRIVE_BYTES: u64 = 8 << 20;
const CHUNK_BYTES: u32 = 64 << 10;
const VOLUME_BLOCKS: u64 = 512;
/// Blocks of a volume that is more than fits.
const FILL_BLOCKS: u64 = 1 << 20;
/// How long a write waits for space.
const SPACE_WAIT: Duration = Duration::from_millis(100);
/// By when everybody has been answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// Tasks of each sort that go on until the pool refuses.
const TASKS: u64 = 4;

/// Hosts write and trim, volumes are made and deleted, while the pool loses two of its drives.
fn halt_under_load(seed: u64) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let platters: Vec<SharedPlatter> =
        (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
    let main = lose_two(world.clone(), platters, XorShift::new(seed));
    assert!(matches!(world.run(main, || false), Ended::Done));
    world.stop();
}

async fn make(world: &SimWorld, platters: &[SharedPlatter]) -> Pool {
    let options = Options { space_wait: SPACE_WAIT, ..Options::default() };
    make_pool(world, platters, Level::RAID5, CHUNK_BYTES, options).await.expect("good drives")
}

async fn lose_two(world: SimWorld, platters: Vec<SharedPlatter>, mut rng: XorShift) {
    let pool = make(&world, &platters).await;
    // So that what is lost first is not restored before the second is.
    let settings = Settings { recon_prio: 1, ..pool.settings() };
    pool.set_settings(settings).await.expect("good drives");
    let at_work = Rc::new(Cell::new(0));
    for task in 0..2 * TASKS {
        at_work.set(at_work.get() + 1);
        let (pool, world, at_work) = (pool.clone(), world.clone(), at_work.clone());
        world.clone().spawn(async move {
            if task < TASKS {
                write_and_trim(&world, &pool).await
            } else {
                make_and_delete(&pool).await
            }
            at_work.set(at_work.get() - 1);
        });
    }
    // One soon after the other: while little lives, a rebuild takes no longer than that.
    for (platter, within_micros) in platters.iter().zip([50_000, 500]) {
        world.sleep(Duration::from_micros(1 + rng.below(within_micros))).await;
        platter.0.borrow_mut().gone = true;
    }
    let since = world.now();
    while at_work.get() > 0 {
        world.sleep(Duration::from_millis(1)).await;
        let left = at_work.get();
        assert!(world.now().since(since) < PATIENCE, "{left} tasks have had no answer");
    }
    assert!(pool.halted().is_some(), "two drives are lost, and level 5 survives one");
    pool.close().await.expect_err("nothing can be made durable any more");
    let_go(&world, pool, &platters).await;
}

/// Once it has been closed, nothing of the pool keeps its drives.
async fn let_go(world: &SimWorld, pool: Pool, platters: &[SharedPlatter]) {
    drop(pool);
    world.sleep(Duration::from_millis(1)).await;
    let held = platters.iter().filter(|platter| Rc::strong_count(&platter.0) > 1).count();
    assert_eq!(held, 0, "drives that somebody still has open");
}

/// Fills a pool with small writes, of which the journal is full as well, and closes it: in order,
/// or while the file system under a drive is full.
fn close_full(seed: u64, sparse: bool) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let main = fill_and_close(world.clone(), sparse);
    assert!(matches!(world.run(main, || false), Ended::Done));
    world.stop();
}

async fn fill_and_close(world: SimWorld, sparse: bool) {
    let platters: Vec<SharedPlatter> =
        (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
    let pool = make(&world, &platters).await;
    let id = pool
        .create_volume(FILL_BLOCKS, Compression::None, Bytes::new())
        .await
        .expect("good drives");
    let block = || Bytes::from_static(&[0xa5; BLOCK_BYTES]);
    let mut lba = Lba(0);
    while pool.write(id, lba, block()).await.is_ok() {
        lba = lba.plus(1);
    }
    let until = if sparse { Nanos(u64::MAX) } else { Nanos(0) };
    platters[0].0.borrow_mut().no_space_until = until;
    let closing = Rc::new(Cell::new(None));
    let (own, answer) = (pool.clone(), closing.clone());
    world.spawn(async move { answer.set(Some(own.close().await)) });
    world.sleep(PATIENCE).await;
    let closed = closing.take().expect("it ends in time");
    match closed {
        Ok(()) => assert!(!sparse, "nothing could be written"),
        Err(error) => assert!(sparse && error.cause == Cause::CapacityExceeded, "{error}"),
    }
    let_go(&world, pool, &platters).await;
}

/// Closes a pool of which two drives hang for ever, while a host waits for a write: it cannot do
/// without both.
fn close_hung(seed: u64) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let own = world.clone();
    let main = async move {
        let platters: Vec<SharedPlatter> =
            (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
        let pool = make(&own, &platters).await;
        for platter in &platters[..2] {
            platter.0.borrow_mut().hung_until = Nanos(u64::MAX);
        }
        let (writer, host) = (pool.clone(), own.clone());
        own.spawn(async move { write_and_trim(&host, &writer).await });
        pool.close().await
    };
    let closed = Rc::new(Cell::new(None));
    let answer = closed.clone();
    let (limit, clock) = (PATIENCE, world.clone());
    let main = async move { answer.set(within(&clock, limit, main).await) };
    assert!(matches!(world.run(main, || false), Ended::Done));
    let error = closed
        .take()
        .expect("it ends in time")
        .expect_err("nothing can be made durable")
        .to_string();
    assert!(error.contains("has not answered for") && error.contains("replays"), "{error}");
    world.stop();
}

/// A drive comes back, and the pool halts before a root can say so.
fn halt_while_one_comes_back(seed: u64) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let own = world.clone();
    let main = async move {
        let platters: Vec<SharedPlatter> =
            (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
        let pool = make(&own, &platters).await;
        pool.fail_drive(DriveId(1), false).await.expect("one may be lost");
        // What a rebuild writes would halt the pool first.
        while pool.status().is_degraded() {
            own.sleep(Duration::from_millis(10)).await;
        }
        pool.forget_lost(DriveId(1)).await.expect("it is lost");
        for lost in [0, 2] {
            platters[lost].0.borrow_mut().gone = true;
        }
        let device = SimDrive::new(&own, &platters[1]);
        let superblock = superblock(&device).await.expect("it is there");
        let back = pool.return_drive(DriveId(1), FoundDrive { superblock, device }).await;
        let is_unsettled = matches!(back, Err(RejoinError::Add(AddError::Unsettled { .. })));
        assert!(is_unsettled, "{back:?}");
        pool.forget_all_lost();
        own.sleep(Duration::from_millis(1)).await;
        let held: Vec<bool> =
            platters.iter().map(|platter| Rc::strong_count(&platter.0) > 1).collect();
        assert_eq!(held, [false, false, false, true], "what is lost can be opened again");
    };
    assert!(matches!(world.run(main, || false), Ended::Done));
    world.stop();
}

/// Until the pool refuses.
async fn write_and_trim(world: &SimWorld, pool: &Pool) {
    let Ok(id) = pool.create_volume(VOLUME_BLOCKS, Compression::None, Bytes::new()).await else {
        return;
    };
    loop {
        let lba = Lba(world.below(VOLUME_BLOCKS - 8));
        let data = Bytes::from_static(&[0xa5; 8 * BLOCK_BYTES]);
        let done = if world.once_in(3) {
            pool.zero(id, lba, 8).await
        } else {
            pool.write(id, lba, data).await
        };
        if done.is_err() {
            return;
        }
    }
}

/// Until the pool refuses.
async fn make_and_delete(pool: &Pool) {
    while let Ok(id) = pool.create_volume(VOLUME_BLOCKS, Compression::None, Bytes::new()).await {
        if pool.delete_volume(id).await.is_err() {
            return;
        }
    }
}

#[test]
fn a_pool_that_halts_answers_everybody_and_can_be_closed() {
    // Whoever had asked for a checkpoint while another one was failing was never answered.
    (0..200).for_each(halt_under_load);
}

#[test]
fn a_full_pool_is_closed_and_lets_go_of_its_drives() {
    (0..10).for_each(|seed| close_full(seed, false));
}

#[test]
fn a_pool_under_which_a_file_system_is_full_is_closed_and_lets_go_of_its_drives() {
    (0..10).for_each(|seed| close_full(seed, true));
}

/// It waited for them, and with it the end of the daemon.
#[test]
fn a_pool_that_cannot_do_without_drives_that_hang_is_closed_in_bounded_time() {
    (0..10).for_each(close_hung);
}

/// Nobody could open it again: the pool that had halted kept it, and knew of none that was to be
/// let go of.
#[test]
fn a_drive_that_was_coming_back_when_the_pool_halted_can_be_opened_again() {
    (0..10).for_each(halt_while_one_comes_back);
}
