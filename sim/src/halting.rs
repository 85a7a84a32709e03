//! A pool that loses more drives than its level survives, in the middle of everything, or has no room any more: it halts, nobody
//! waits for ever, and when it is closed, its drives are free.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, Lba, Nanos, Spawn, XorShift};
use ashlar_raid::Level;
use ashlar_store::{Options, Settings};
use bytes::Bytes;

use crate::good::make_pool;
use crate::platter::SharedPlatter;
use crate::start::Pool;
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
    let platters: Vec<SharedPlatter> = (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
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

/// Fills a pool with small writes, of which the journal is full as well, and closes it: in order, or while the file system
/// under a drive is full.
fn close_full(seed: u64, sparse: bool) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let main = fill_and_close(world.clone(), sparse);
    assert!(matches!(world.run(main, || false), Ended::Done));
    world.stop();
}

async fn fill_and_close(world: SimWorld, sparse: bool) {
    let platters: Vec<SharedPlatter> = (0..DRIVES).map(|_| SharedPlatter::new(DRIVE_BYTES)).collect();
    let pool = make(&world, &platters).await;
    let id = pool.create_volume(FILL_BLOCKS, false, Bytes::new()).await.expect("good drives");
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

/// Until the pool refuses.
async fn write_and_trim(world: &SimWorld, pool: &Pool) {
    let Ok(id) = pool.create_volume(VOLUME_BLOCKS, false, Bytes::new()).await else { return };
    loop {
        let lba = Lba(world.below(VOLUME_BLOCKS - 8));
        let data = Bytes::from_static(&[0xa5; 8 * BLOCK_BYTES]);
        let done =
            if world.once_in(3) { pool.zero(id, lba, 8).await } else { pool.write(id, lba, data).await };
        if done.is_err() {
            return;
        }
    }
}

/// Until the pool refuses.
async fn make_and_delete(pool: &Pool) {
    while let Ok(id) = pool.create_volume(VOLUME_BLOCKS, false, Bytes::new()).await {
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
