use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::{Device, DeviceError};
use ashlar_raid::Level;

use super::*;
use crate::testing::{
    Drives, StillWorld, TestDevice, at_once, location, write_block, write_small_blocks,
};

/// Blocks that a pool begins with.
const BLOCKS: u64 = 160;
/// In each batch of those that compress.
const SMALL_BLOCKS: u64 = 20;

/// The result of work that waits for a checkpoint.
fn with_checkpoint<T>(pool: &Pool<StillWorld>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let mut poll = || work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    for _ in 0..3 {
        if let Poll::Ready(result) = poll() {
            return result;
        }
        at_once(pool.ordered_checkpoint());
    }
    panic!("it waits for something else");
}

/// A pool in which something lives.
fn filled(drives: &Drives) -> Rc<Pool<StillWorld>> {
    let pool = drives.open();
    for lba in 0..BLOCKS {
        write_block(&pool, lba);
        if lba % 8 == 7 {
            pool.seal_all();
            at_once(pool.checkpoint(false)).expect("good drives");
        }
    }
    pool
}

fn add_drives(drives: &mut Drives, pool: &Pool<StillWorld>, count: usize) {
    for _ in 0..count {
        let device = TestDevice::new(drives.devices[0].size_bytes());
        with_checkpoint(pool, pool.add_drive(device.clone(), None)).expect("it fits");
        drives.devices.push(device);
    }
}

fn next(pool: &Pool<StillWorld>) -> Option<RebalanceTask> {
    pool.rebalance_at_once();
    pool.rebalance_is_ready().then(|| pool.next_rebalance()).flatten()
}

/// Does what is to be done until that is none of the `wanted`. Returns how much that was, and what
/// comes next.
fn rebalance(
    pool: &Rc<Pool<StillWorld>>,
    wanted: impl Fn(&RebalanceTask) -> bool,
) -> (usize, Option<RebalanceTask>) {
    for steps in 0..10_000 {
        let next = next(pool);
        let Some(task) = next.filter(&wanted) else { return (steps, next) };
        if let Err(AppendError::WindowEmpty) = at_once(pool.perform_rebalance(task)) {
            at_once(pool.ordered_checkpoint());
        }
        pool.seal_all();
    }
    panic!("it does not come to an end");
}

fn live_widths(pool: &Pool<StillWorld>) -> BTreeSet<usize> {
    let segments = pool.space.segments.borrow();
    let live = segments
        .iter()
        .filter(|(_, segment)| segment.state == SegmentState::Sealed && !segment.is_empty());
    live.map(|(_, segment)| segment.geometry.columns.len()).collect()
}

fn chunks_beyond_even(pool: &Pool<StillWorld>) -> u64 {
    chunks_beyond(&pool.space.segments.borrow().loads(&pool.allocation_targets()))
}

#[test]
fn what_lives_comes_to_lie_in_stripes_as_wide_as_the_pool() {
    let mut drives = Drives::new(Level::RAID6, 4);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 3);
    assert_eq!(live_widths(&pool), BTreeSet::from([4]));
    assert_eq!(next(&pool), None, "nobody has asked for it");
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    assert!(pool.rebalance_progress().expect("it goes on").bytes_left > 0);
    rebalance(&pool, |_| true);
    assert_eq!(live_widths(&pool), BTreeSet::from([7]));
    assert_eq!(pool.rebalance_progress(), None);
    let audit = at_once(pool.audit()).expect("good drives");
    assert_eq!((audit.wrong, audit.live), (Vec::new(), audit.counted), "all that lived does");
}

#[test]
fn drives_of_mirrors_become_equally_full_and_nothing_is_written_anew() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let before = chunks_beyond_even(&pool);
    let is_move = |task: &RebalanceTask| !matches!(task, RebalanceTask::Widen(_));
    rebalance(&pool, is_move);
    assert_eq!((next(&pool), pool.rebalance_progress()), (None, None));
    let counters = pool.counters.get();
    assert!(
        counters.jobs.columns_moved > 4 && counters.jobs.segments_collected == 0,
        "{counters:?}"
    );
    assert!(chunks_beyond_even(&pool) * 4 < before, "{} of {before}", chunks_beyond_even(&pool));
}

#[test]
fn columns_go_where_there_is_room_while_there_is_none_for_segments() {
    let mut drives = Drives::new(Level::RAID5, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    assert!(matches!(next(&pool), Some(RebalanceTask::Widen(_))));
    let (segments, drives) = (pool.space.segments.borrow(), pool.allocation_targets());
    let slice = pool.jobs.rebalance.survey.slice(&segments, &drives);
    assert!(pool.next_to_move(&segments, &slice, pool.writer.lsns.floor(), &drives).is_some());
}

#[test]
fn a_rebalance_goes_on_after_a_crash() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let moved = Cell::new(0);
    let (steps, _) = rebalance(&pool, |task| {
        moved.set(moved.get() + usize::from(matches!(task, RebalanceTask::Move(..))));
        moved.get() < 3
    });
    assert!(steps > 0);
    drop(pool);
    let pool = drives.open();
    assert!(matches!(next(&pool), Some(RebalanceTask::Move(..))));
    rebalance(&pool, |_| true);
    assert_eq!(pool.rebalance_progress(), None);
}

#[test]
fn what_is_on_its_way_when_it_is_stopped_stays_where_it_was() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let Some(RebalanceTask::Move(id, ColumnMove { column, to, .. })) = next(&pool) else {
        panic!("a column goes to the new drive");
    };
    let mut lane = pool.begin_lane(id, &[column], &[to], Purpose::Spread).expect("there is room");
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::Part);
    with_checkpoint(&pool, pool.stop_rebalance()).expect("good drives");
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::GivenUp);
    pool.lane_ended(lane, Relocated::GivenUp);
    assert_eq!((pool.jobs.relocation.lanes(), pool.counters.get().jobs.columns_moved), (0, 0));
    assert!(!pool.space.segments.borrow().is_moving(id));
    assert_eq!(pool.rebalance_waits(), None);
}

#[test]
fn any_root_says_where_columns_are() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    rebalance(&pool, |_| pool.jobs.relocation.is_settled());
    assert!(!pool.jobs.relocation.is_settled(), "a column has gone");
    at_once(pool.checkpoint(false)).expect("good drives");
    assert!(pool.jobs.relocation.is_settled());
}

#[test]
fn who_waits_for_a_rebalance_is_told_what_it_lacks() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let obstacle = || pool.rebalance_progress().expect("it goes on").obstacle;
    assert_eq!(obstacle(), None);
    pool.postpone_rebalance();
    assert_eq!(obstacle(), Some(Obstacle::NoRoom));
    let task = next(&pool).expect("there is room");
    at_once(pool.perform_rebalance(task)).expect("good drives");
    assert_eq!(obstacle(), None);
}

#[test]
fn a_lost_drive_is_made_good_first() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    pool.array.give_up(DriveId(0), DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("one may be lost");
    assert_eq!(next(&pool), None);
    assert!(pool.rebalance_progress().is_some(), "it goes on after that");
}

/// A second drive was added while what lived was spread over the first, and what had been written
/// in between stayed narrow.
#[test]
fn who_asks_again_means_all_that_lives_by_then() {
    let mut drives = Drives::new(Level::RAID6, 4);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    (0..BLOCKS / 8).for_each(|lba| write_block(&pool, lba));
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    rebalance(&pool, |_| true);
    assert_eq!(live_widths(&pool), BTreeSet::from([6]));
}

/// It might find what another segment has written there, and the drive would be blamed.
#[test]
fn where_a_column_was_is_not_written_while_it_is_still_read() {
    let mut drives = Drives::new(Level::RAID1, 3);
    let pool = filled(&drives);
    add_drives(&mut drives, &pool, 1);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let Some(RebalanceTask::Move(id, _)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let reader = pool.space.segments.borrow().get(id).expect("it lives").geometry.clone();
    let is_free = |pool: &Pool<StillWorld>| {
        let mut segments = pool.space.segments.borrow_mut();
        let retired = segments.take_retired();
        let is_free = retired.is_empty();
        segments.release(retired);
        is_free
    };
    while pool.space.segments.borrow().get(id).expect("it lives").geometry == reader {
        at_once(pool.perform_rebalance(next(&pool).expect("there is more"))).expect("good drives");
    }
    at_once(pool.checkpoint(false)).expect("good drives");
    assert!(!is_free(&pool), "a root says where it is now, and somebody reads where it was");
    drop(reader);
    at_once(pool.checkpoint(false)).expect("good drives");
    assert!(is_free(&pool));
}

/// Whatever hosts overwrote elsewhere made another segment that of which least lives, and what had
/// been read of the first was read for nothing.
#[test]
fn a_segment_that_has_begun_to_be_widened_is_finished_before_another_of_which_less_lives_by_now() {
    let mut drives = Drives::new(Level::RAID5, 4);
    let pool = drives.open();
    for first in (0..4 * BLOCKS).step_by(SMALL_BLOCKS as usize) {
        write_small_blocks(&pool, first..first + SMALL_BLOCKS);
    }
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    add_drives(&mut drives, &pool, 2);
    with_checkpoint(&pool, pool.start_rebalance()).expect("good drives");
    let (_, widen) = rebalance(&pool, |task| !matches!(task, RebalanceTask::Widen(_)));
    let Some(task @ RebalanceTask::Widen(begun)) = widen else { panic!("{widen:?}") };
    at_once(pool.perform_rebalance(task)).expect("there is room");
    let is_elsewhere = |lba: &u64| location(&pool, *lba).segment() != begun;
    let elsewhere: Vec<u64> = (0..4 * BLOCKS).filter(is_elsewhere).collect();
    assert!(elsewhere.len() > BLOCKS as usize);
    elsewhere.into_iter().step_by(SMALL_BLOCKS as usize).for_each(|lba| write_block(&pool, lba));
    assert_eq!(next(&pool), Some(task));
}
