use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::{Device, DeviceError};
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, StillWorld, TestDevice, at_once, write_block};

const KINDS: [MoveKind; 3] = [MoveKind::Rebuild, MoveKind::Evacuation, MoveKind::Rebalance];

/// Does the work, and the checkpoints that it asks for.
fn ordered<T>(pool: &Pool<StillWorld>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => return done,
            Poll::Pending => at_once(pool.ordered_checkpoint()),
        }
    }
}

/// A pool in which something lives on each drive.
fn filled(drives: &Drives) -> Rc<Pool<StillWorld>> {
    let pool = drives.open();
    (0..64).for_each(|lba| write_block(&pool, lba));
    pool.seal_all();
    pool
}

fn lose(pool: &Pool<StillWorld>, drive: u16) {
    pool.array.give_up(DriveId(drive), DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
}

/// Whether there was something to restore, or to take elsewhere.
fn restore_some(pool: &Rc<Pool<StillWorld>>) -> bool {
    pool.rebuild_at_once();
    let next = pool.next_rebuild(
        &pool.space.segments.borrow(),
        pool.writer.lsns.floor(),
        &pool.allocation_targets(),
    );
    next.map(|task| at_once(pool.rebuild_step(task)).expect("good drives")).is_some()
}

fn restore(pool: &Rc<Pool<StillWorld>>) {
    while restore_some(pool) {}
    assert!(pool.unreleased().is_empty(), "all is restored");
}

/// The one of that kind, with nothing of the other kinds but for `others`.
fn report(pool: &Pool<StillWorld>, kind: MoveKind, others: &[MoveKind]) -> MoveReport {
    let mut all = pool.status().moves;
    let kinds: Vec<MoveKind> = all.iter().map(|it| it.kind).collect();
    let expected: Vec<MoveKind> =
        KINDS.into_iter().filter(|it| *it == kind || others.contains(it)).collect();
    assert_eq!(kinds, expected);
    all.remove(kinds.iter().position(|it| *it == kind).expect("it is among them"))
}

#[test]
fn a_rebuild_that_has_ended_says_what_it_has_moved_and_for_which_drive() {
    let pool = filled(&Drives::new(Level::RAID5, 5));
    assert!(pool.status().moves.is_empty(), "nothing was moved yet");
    lose(&pool, 1);
    let begun = report(&pool, MoveKind::Rebuild, &[]);
    assert_eq!((&begun.state, begun.bytes_moved), (&MoveState::Running, 0));
    assert_eq!((begun.finished_at, begun.started_at.is_some()), (None, true));
    restore(&pool);
    let ended = report(&pool, MoveKind::Rebuild, &[]);
    assert_eq!((&ended.state, ended.part_done), (&MoveState::Done, 1.0));
    assert_eq!(ended.drives, BTreeSet::from([DriveId(1)]));
    assert!(ended.bytes_moved > 0 && ended.finished_at.is_some(), "{ended:?}");
}

/// The drive that is to go was lost once: what is counted of a rebuild is not counted for it.
#[test]
fn an_evacuation_that_has_ended_counts_what_it_has_moved_itself() {
    let pool = filled(&Drives::new(Level::RAID5, 6));
    lose(&pool, 1);
    restore(&pool);
    let rebuild = report(&pool, MoveKind::Rebuild, &[]);
    ordered(&pool, pool.remove_drive(DriveId(2))).expect("it may go");
    let begun = report(&pool, MoveKind::Evacuation, &[MoveKind::Rebuild]);
    assert_eq!((&begun.state, begun.bytes_moved), (&MoveState::Running, 0));
    restore(&pool);
    let ended = report(&pool, MoveKind::Evacuation, &[MoveKind::Rebuild]);
    assert_eq!((&ended.state, &ended.drives), (&MoveState::Done, &BTreeSet::from([DriveId(2)])));
    assert!(ended.bytes_moved > 0, "{ended:?}");
    assert_eq!(report(&pool, MoveKind::Rebuild, &[MoveKind::Evacuation]), rebuild, "it is over");
}

#[test]
fn an_evacuation_whose_drive_is_to_stay_after_all_was_stopped() {
    let pool = filled(&Drives::new(Level::RAID5, 6));
    ordered(&pool, pool.remove_drive(DriveId(2))).expect("it may go");
    let moved = |pool| report(pool, MoveKind::Evacuation, &[]);
    while moved(&pool).bytes_moved == 0 {
        assert!(restore_some(&pool), "there is something to move");
    }
    ordered(&pool, pool.keep_drive(DriveId(2))).expect("it stays");
    let ended = moved(&pool);
    assert_eq!(ended.state, MoveState::Stopped);
    assert!(ended.part_done > 0.0 && ended.part_done < 1.0, "{ended:?}");
    assert!(ended.bytes_moved > 0 && ended.finished_at.is_some(), "{ended:?}");
}

#[test]
fn an_evacuation_whose_drive_is_lost_has_failed_and_the_rebuild_goes_on() {
    let pool = filled(&Drives::new(Level::RAID5, 6));
    ordered(&pool, pool.remove_drive(DriveId(2))).expect("it may go");
    lose(&pool, 2);
    let failed = report(&pool, MoveKind::Evacuation, &[MoveKind::Rebuild]);
    let MoveState::Failed(why) = &failed.state else { panic!("{failed:?}") };
    assert!(why.starts_with("drive 2 was lost"), "{why}");
    let rebuild = report(&pool, MoveKind::Rebuild, &[MoveKind::Evacuation]);
    assert_eq!(rebuild.state, MoveState::Running);
}

#[test]
fn what_went_on_when_the_pool_was_closed_has_begun_before() {
    let mut drives = Drives::new(Level::RAID5, 5);
    let pool = filled(&drives);
    lose(&pool, 1);
    while report(&pool, MoveKind::Rebuild, &[]).bytes_moved == 0 {
        assert!(restore_some(&pool), "there is something to restore");
    }
    at_once(pool.checkpoint(false)).expect("one may be lost");
    let before = report(&pool, MoveKind::Rebuild, &[]);
    drives.devices.remove(1);
    let pool = drives.open();
    let resumed = report(&pool, MoveKind::Rebuild, &[]);
    assert_eq!((resumed.started_at, resumed.bytes_moved), (None, before.bytes_moved));
    restore(&pool);
    assert_eq!(report(&pool, MoveKind::Rebuild, &[]).state, MoveState::Done);
}

#[test]
fn a_rebalance_says_whether_it_was_stopped_or_is_done_and_the_next_one_is_told_instead() {
    let mut drives = Drives::new(Level::RAID6, 4);
    let pool = filled(&drives);
    let device = TestDevice::new(drives.devices[0].size_bytes());
    ordered(&pool, pool.add_drive(device.clone(), None)).expect("it fits");
    drives.devices.push(device);
    let state = |pool| report(pool, MoveKind::Rebalance, &[]).state;
    ordered(&pool, pool.start_rebalance()).expect("good drives");
    assert_eq!(state(&pool), MoveState::Running);
    ordered(&pool, pool.stop_rebalance()).expect("good drives");
    let stopped = report(&pool, MoveKind::Rebalance, &[]);
    assert_eq!((&stopped.state, stopped.bytes_moved), (&MoveState::Stopped, 0));
    assert!(stopped.part_done < 1.0 && stopped.finished_at.is_some(), "{stopped:?}");
    ordered(&pool, pool.stop_rebalance()).expect("none goes on");
    assert_eq!(report(&pool, MoveKind::Rebalance, &[]), stopped, "it has ended before");
    ordered(&pool, pool.start_rebalance()).expect("good drives");
    while state(&pool) == MoveState::Running {
        pool.rebalance_at_once();
        if at_once(pool.rebalance_step()).is_err() {
            at_once(pool.ordered_checkpoint());
        }
        pool.seal_all();
    }
    let done = report(&pool, MoveKind::Rebalance, &[]);
    assert_eq!((&done.state, done.part_done), (&MoveState::Done, 1.0));
    assert!(done.bytes_moved > 0 && done.drives.is_empty(), "{done:?}");
}
