use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::MemoryDevice;
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, StillWorld, at_once, write_block};

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
fn copy_of(device: &MemoryDevice) -> MemoryDevice {
    let copy = MemoryDevice::new(device.size_bytes());
    let all = AlignedBuf::zeroed(device.size_bytes() as usize);
    let (read, all) = at_once(device.read(0, all));
    read.expect("it is in memory");
    at_once(copy.write(0, all.freeze(), Durability::Stable)).expect("it is in memory");
    copy
}

fn columns_on(pool: &Pool<StillWorld>, drive: DriveId) -> BTreeSet<SegmentId> {
    let segments = pool.segments.borrow();
    segments.iter().filter(|(_, segment)| segment.columns_on(&[drive]) > 0).map(|(id, _)| id).collect()
}

fn lose(pool: &Pool<StillWorld>, drive: DriveId) {
    pool.array.give_up(drive, DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
}

fn restore(pool: &Pool<StillWorld>) {
    let next = || {
        pool.rebuild_at_once();
        pool.next_rebuild(&pool.segments.borrow(), pool.log.floor(), &pool.homes())
    };
    while let Some(task) = next() {
        at_once(pool.rebuild_step(task)).expect("good drives");
    }
}

fn bring_back(pool: &Pool<StillWorld>, drives: &Drives, drive: DriveId, device: MemoryDevice) -> Returned {
    let mut found =
        drives.found().into_iter().find(|found| found.superblock.drive == drive).expect("a member");
    found.device = device;
    let mut work = pin!(pool.return_drive(drive, found));
    loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => return done.expect("it is a member"),
            Poll::Pending => at_once(pool.ordered_checkpoint()),
        }
    }
}

#[test]
fn a_drive_that_comes_back_brings_all_that_was_complete_before_it_was_lost() {
    let (drives, pool) = filled();
    let away = DriveId(1);
    let is_sealed =
        |id: &SegmentId| pool.segments.borrow().get(*id).expect("it is there").state == SegmentState::Sealed;
    let before: BTreeSet<SegmentId> = columns_on(&pool, away).into_iter().filter(is_sealed).collect();
    assert!(!before.is_empty());
    lose(&pool, away);
    let back = bring_back(&pool, &drives, away, drives.devices[1].clone());
    assert_eq!((back.columns_kept, columns_on(&pool, back.drive)), (before.len() as u64, before));
}

/// It was taken for what had been moved to the drive after the copy was made, and the pool for safer than it was until reads found
/// that out one by one.
#[test]
fn a_copy_that_was_put_in_the_place_of_a_drive_brings_only_what_was_on_the_drive_when_it_was_made() {
    let (drives, pool) = filled();
    let (away, before) = (DriveId(1), columns_on(&pool, DriveId(1)));
    let copy = copy_of(&drives.devices[1]);
    lose(&pool, DriveId(0));
    restore(&pool);
    let moved: Vec<SegmentId> = columns_on(&pool, away).difference(&before).copied().collect();
    assert!(!moved.is_empty(), "what the first one had is on the others");
    lose(&pool, away);
    let back = bring_back(&pool, &drives, away, copy);
    let kept = columns_on(&pool, back.drive);
    assert!(!kept.is_empty() && kept.is_subset(&before), "{kept:?}");
    restore(&pool);
    assert!(pool.unreleased().is_empty());
}
