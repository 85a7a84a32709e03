use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_format::location::SegmentId;
use ashlar_format::root::SLOT_COUNT;
use ashlar_format::table::SegmentState;
use ashlar_raid::Level;

use super::*;
use crate::jobs::rebuild::policy::RebuildTask;
use crate::jobs::scrub::ScrubState;
use crate::testing::{Drives, StillWorld, TestDevice, at_once, write_block};

const BLOCKS: u64 = 32;

/// A pool of mirrors, with segments on all of its drives.
fn filled() -> (Drives, Rc<Pool<StillWorld>>) {
    let drives = Drives::new(Level::RAID1, 4);
    let pool = drives.open();
    (0..BLOCKS).for_each(|lba| write_block(&pool, lba));
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    at_once(pool.checkpoint(false)).expect("good drives");
    (drives, pool)
}

/// What is on a drive now.
fn copy_of(device: &TestDevice) -> TestDevice {
    let copy = TestDevice::new(device.size_bytes());
    let all = AlignedBuf::zeroed(device.size_bytes() as usize);
    let (read, all) = at_once(device.read(0, all));
    read.expect("it is in memory");
    at_once(copy.write(0, all.freeze(), Durability::Stable)).expect("it is in memory");
    copy
}

fn columns_on(pool: &Pool<StillWorld>, drive: DriveId) -> BTreeSet<SegmentId> {
    let segments = pool.space.segments.borrow();
    segments
        .iter()
        .filter(|(_, segment)| segment.columns_on(&[drive]) > 0)
        .map(|(id, _)| id)
        .collect()
}

fn lose(pool: &Pool<StillWorld>, drive: DriveId) {
    pool.array.give_up(drive, DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
}

fn restore_while(pool: &Rc<Pool<StillWorld>>, wanted: impl Fn(RebuildTask) -> bool) {
    let next = || {
        pool.rebuild_at_once();
        pool.next_rebuild(
            &pool.space.segments.borrow(),
            pool.writer.lsns.floor(),
            &pool.allocation_targets(),
        )
    };
    while let Some(task) = next().filter(|task| wanted(*task)) {
        at_once(pool.rebuild_step(task)).expect("good drives");
    }
}

fn bring_back(
    pool: &Pool<StillWorld>,
    drives: &Drives,
    drive: DriveId,
    device: TestDevice,
) -> Result<Rejoined, RejoinError> {
    let mut found =
        drives.found().into_iter().find(|found| found.superblock.drive == drive).expect("a member");
    found.device = device;
    let mut work = pin!(pool.return_drive(drive, found));
    loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => return done,
            Poll::Pending => at_once(pool.ordered_checkpoint()),
        }
    }
}

#[test]
fn a_drive_that_comes_back_brings_all_that_was_complete_before_it_was_lost() {
    let (drives, pool) = filled();
    let away = DriveId(1);
    let is_sealed = |id: &SegmentId| {
        pool.space.segments.borrow().get(*id).expect("it is there").state == SegmentState::Sealed
    };
    let before: BTreeSet<SegmentId> =
        columns_on(&pool, away).into_iter().filter(is_sealed).collect();
    assert!(!before.is_empty());
    lose(&pool, away);
    let back = bring_back(&pool, &drives, away, drives.devices[1].clone()).expect("it is a member");
    assert_eq!((back.columns_kept, columns_on(&pool, back.drive)), (before.len() as u64, before));
}

#[test]
fn a_label_without_the_pools_secret_is_not_believed() {
    let (drives, pool) = filled();
    let away = DriveId(1);
    lose(&pool, away);
    let mut found =
        drives.found().into_iter().find(|found| found.superblock.drive == away).expect("a member");
    found.superblock.secret = ashlar_format::superblock::Secret([7; 32]);
    let refused = at_once(pool.return_drive(away, found));
    assert!(matches!(refused, Err(RejoinError::Another(_))), "{refused:?}");
}

/// A copy of drive 1 that does not have what was moved there after drive 0 was lost; and what the
/// drive had when it was made.
struct Moved {
    copy: TestDevice,
    before: BTreeSet<SegmentId>,
}

fn moved_to_drive_1(drives: &Drives, pool: &Rc<Pool<StillWorld>>) -> Moved {
    lose(pool, DriveId(0));
    let (copy, before) = (copy_of(&drives.devices[1]), columns_on(pool, DriveId(1)));
    restore_while(pool, |task| task != RebuildTask::Settle);
    let after: BTreeSet<SegmentId> =
        columns_on(pool, DriveId(1)).difference(&before).copied().collect();
    assert!(!after.is_empty(), "what the first one had is on the others");
    lose(pool, DriveId(1));
    Moved { copy, before }
}

/// It was taken for what had been moved to the drive after the copy was made, and the pool for
/// safer than it was until reads found that out one by one.
#[test]
fn a_copy_that_was_put_in_the_place_of_a_drive_brings_only_what_was_on_the_drive_when_it_was_made()
{
    let (drives, pool) = filled();
    let Moved { copy, before } = moved_to_drive_1(&drives, &pool);
    let back = bring_back(&pool, &drives, DriveId(1), copy).expect("it is a member");
    let kept = columns_on(&pool, back.drive);
    assert!(!kept.is_empty() && kept.is_subset(&before), "{kept:?}");
    assert!(pool.scrub_report().is_none());
    restore_while(&pool, |_| true);
    assert!(pool.unreleased().is_empty());
}

/// It was overwritten, though another drive might be lost before all is restored.
#[test]
fn an_older_copy_brings_what_it_has_and_is_looked_at_by_a_scrub() {
    let (drives, pool) = filled();
    let copy = copy_of(&drives.devices[1]);
    (0..3).for_each(|_| at_once(pool.checkpoint(false)).expect("good drives"));
    lose(&pool, DriveId(1));
    let back = bring_back(&pool, &drives, DriveId(1), copy).expect("it is a member");
    assert!(back.columns_kept > 0);
    assert_eq!(pool.scrub_report().map(|scrub| scrub.state), Some(ScrubState::Running));
}

/// What cannot be read was taken for nothing, and what the drive held was overwritten.
#[test]
fn a_drive_of_which_no_root_can_be_read_is_taken_once_nothing_of_it_is_needed() {
    let (drives, pool) = filled();
    let away = DriveId(1);
    lose(&pool, away);
    let device = drives.devices[1].clone();
    for slot in 0..SLOT_COUNT {
        let rotten = AlignedBuf::copy_of(&[0xa5; SECTOR_BYTES]).freeze();
        at_once(device.write(Superblock::root_offset(slot), rotten, Durability::Stable))
            .expect("in memory");
    }
    let back = bring_back(&pool, &drives, away, device.clone());
    assert!(matches!(back, Err(RejoinError::Unknown(drive)) if drive == away));
    restore_while(&pool, |_| true);
    let back = bring_back(&pool, &drives, away, device).expect("it is a member");
    assert_eq!(back.columns_kept, 0);
}

/// A root named a drive nowhere of which its table had columns still: these had gone to the number
/// under which the drive had come back, after the table had been formed and before the root was. A
/// crash then, and nobody restored what lay there.
#[test]
fn a_drive_comes_back_between_two_checkpoints_and_not_in_the_middle_of_one() {
    let (drives, pool) = filled();
    let away = DriveId(1);
    lose(&pool, away);
    let found =
        drives.found().into_iter().find(|found| found.superblock.drive == away).expect("a member");
    let held = columns_on(&pool, away);
    pool.space.segments.borrow_mut().note();
    let mut work = pin!(pool.return_drive(away, found));
    let mut poll = || work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    assert_eq!(columns_on(&pool, away), held, "a checkpoint is on its way");
    at_once(pool.checkpoint(false)).expect("one may be lost");
    assert!(poll().is_pending(), "it waits for the root that names it");
    assert!(columns_on(&pool, away).len() < held.len());
}
