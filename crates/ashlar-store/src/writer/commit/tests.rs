use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use ashlar_block::{BLOCK_BYTES, Clock, VolumeId};
use ashlar_format::catalog::{VolumeEntry, VolumeState};
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, Layer};
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::map::shard::HIDDEN_SINGLY_MAX;
use crate::testing::{DONE_ONCE, Drives, LOOK, StillWorld, at_once, block_item, steps, ticking};
use crate::writer::compress::compress_blocks;

const VOLUME: VolumeId = VolumeId(3);
const KEY: Key = Key { family: Family(3), lba: Lba(7), layer: Layer(0) };

fn add_volume(pool: &Pool<StillWorld>) {
    let volume = VolumeEntry {
        family: KEY.family,
        layer: KEY.layer,
        state: VolumeState::Live,
        blocks: 100,
        compression: Compression::Lz4,
        attributes: Bytes::new(),
    };
    pool.catalog.borrow_mut().volumes.insert(VOLUME, volume);
}

/// Submits a write whose host does not wait for it.
fn submit(pool: &Pool<StillWorld>) -> Appended {
    let data = Bytes::from_static(&[0xa5; BLOCK_BYTES]);
    let mut items = pool.writer.lists.items.list();
    let item = |fragment| Item { kind: RecordKind::Write, key: KEY, fragment };
    items.extend(compress_blocks(&data, Compression::Lz4).map(item));
    let answer = pin!(pool.commit(items, Nanos(0), None));
    let answer = answer.poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(answer, Poll::Pending));
    let (submitted, appended) = at_once(pool.append_next()).expect("it waits");
    pool.writer.commit.submitted.borrow_mut().push_back(submitted);
    pool.writer.commit.in_flight.set(1);
    appended
}

/// Deletes the volume, and its blocks; durable when it returns.
fn delete_and_purge(pool: &Pool<StillWorld>) {
    pool.catalog.borrow_mut().volumes.get_mut(&VOLUME).expect("it was added").state =
        VolumeState::Deleting;
    while pool.catalog.borrow().volumes.contains_key(&VOLUME) {
        at_once(pool.purge_step(VOLUME)).expect("nothing is to be written");
    }
    at_once(pool.checkpoint(false)).expect("good drives");
}

#[test]
fn a_write_that_outlasts_the_purge_of_its_volume_takes_no_space() {
    let drives = Drives::new(Level::RAID5, 3);
    let pool = drives.open();
    add_volume(&pool);
    let late = submit(&pool);
    delete_and_purge(&pool);
    let before = pool.space.segments.borrow().live();
    at_once(pool.finish_batch(late));
    assert!(pool.writer.commit.is_idle(), "it is published");
    assert_eq!(pool.space.segments.borrow().live(), before);
    assert_eq!(pool.space.ledger.usages(), BTreeMap::new());
    // After a crash its records are found again.
    drop(pool);
    assert_eq!(drives.open().space.ledger.usages(), BTreeMap::new());
}

#[test]
fn a_write_is_there_while_its_volume_is() {
    let pool = Drives::new(Level::RAID5, 3).open();
    add_volume(&pool);
    at_once(pool.finish_batch(submit(&pool)));
    assert_eq!(pool.space.ledger.usage(KEY.family).blocks, 1);
}

/// Hosts that went away and came back had more zeros wait than a checkpoint had room for.
#[test]
fn zeros_whose_host_has_gone_count_until_they_are_in_the_maps() {
    let pool = Drives::new(Level::RAID5, 3).open();
    let admitted = at_once(pool.admit_zeros(usize::MAX)).expect("nothing waits");
    let mut items = pool.writer.lists.items.list();
    items.push(Item { kind: RecordKind::ZeroRange { blocks: 5 }, key: KEY, fragment: None });
    let mut context = Context::from_waker(Waker::noop());
    let mut gone = Box::pin(pool.commit(items, Nanos(0), Some(admitted)));
    assert!(gone.as_mut().poll(&mut context).is_pending());
    drop(gone);
    let mut next = Box::pin(pool.admit_zeros(1));
    assert!(next.as_mut().poll(&mut context).is_pending());
    let (submitted, _) = at_once(pool.append_next()).expect("it waits");
    assert!(next.as_mut().poll(&mut context).is_pending());
    drop(submitted);
    assert!(next.as_mut().poll(&mut context).is_ready());
}

/// They were released only when nothing at all was on its way: under a steady load never.
#[test]
fn groups_held_for_zeros_whose_host_has_gone_are_released_with_these() {
    let pool = Drives::new(Level::RAID5, 3).open();
    add_volume(&pool);
    let _in_flight = submit(&pool);
    let mut gone = Box::pin(pool.zero_range(KEY, KEY.lba..KEY.lba.plus(2 * HIDDEN_SINGLY_MAX)));
    assert!(gone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(gone);
    let outlived = || {
        pool.release_outlived();
        pool.map.outlived_holds.borrow().len()
    };
    let (submitted, _) = at_once(pool.append_next()).expect("it waits");
    assert!(outlived() > 0);
    drop(submitted);
    assert_eq!(outlived(), 0);
    assert!(!pool.writer.commit.is_idle());
}

/// They waited for those that a halted pool would never finish; who wanted to export the pool or to
/// open it again waited for them.
#[test]
fn zeros_do_not_wait_for_others_once_the_pool_has_halted() {
    let pool = Drives::new(Level::RAID5, 3).open();
    add_volume(&pool);
    let admitted = at_once(pool.admit_zeros(usize::MAX)).expect("nothing waits");
    let mut items = pool.writer.lists.items.list();
    items.push(Item { kind: RecordKind::ZeroRange { blocks: 5 }, key: KEY, fragment: None });
    let mut context = Context::from_waker(Waker::noop());
    let mut on_its_way = Box::pin(pool.commit(items, Nanos(0), Some(admitted)));
    assert!(on_its_way.as_mut().poll(&mut context).is_pending());
    let (submitted, _) = at_once(pool.append_next()).expect("it waits");
    pool.writer.commit.submitted.borrow_mut().push_back(submitted);
    let mut waits = Box::pin(pool.admit_zeros(1));
    assert!(waits.as_mut().poll(&mut context).is_pending());
    pool.halt("a test");
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert!(at_once(on_its_way).is_err());
    assert!(pool.map.outlived_holds.borrow().is_empty());
}

/// Each batch had all look who waited, thousands of them.
#[test]
fn of_those_that_wait_for_room_in_the_queue_one_looks_at_a_time() {
    let queue = CommitQueue::default();
    queue.pending_bytes.set(100);
    let mut context = Context::from_waker(Waker::noop());
    let mut waiting = [(); 3].map(|()| Box::pin(queue.wait_uncrowded(100)));
    let mut gets_on = |nth: usize| waiting[nth].as_mut().poll(&mut context).is_ready();
    assert_eq!([0, 1, 2].map(&mut gets_on), [false; 3]);
    queue.done_with(1);
    assert_eq!([2, 1, 0].map(&mut gets_on), [false, false, true], "it was the first");
    assert_eq!([2, 1].map(&mut gets_on), [false, true], "who gets on tells the next");
    assert!(gets_on(2));
}

#[test]
fn a_batch_is_late_by_what_its_writes_have_waited_and_busy_while_it_is_on_its_way() {
    let pool = ticking(Level::RAID5, 3);
    let given = pool.world.now();
    let mut waiting = [0, 1].map(|lba| {
        let mut items = pool.writer.lists.items.list();
        items.push(block_item(&pool, lba, BLOCK_BYTES));
        Box::pin(pool.commit(items, given, None))
    });
    let mut context = Context::from_waker(Waker::noop());
    waiting.iter_mut().for_each(|write| assert!(write.as_mut().poll(&mut context).is_pending()));
    at_once(pool.submit());
    let all = steps(&pool);
    assert_eq!(all.batch.operations, 2);
    assert!(all.batch.busy >= 2 * LOOK, "{all:?}");
    assert!(all.batch.latency >= 2 * all.batch.busy, "both have waited for longer: {all:?}");
    assert_eq!(all.map, DONE_ONCE, "the batch was noted");
    assert_eq!(steps(&pool).batch, all.batch, "nothing is under way any more");
}
