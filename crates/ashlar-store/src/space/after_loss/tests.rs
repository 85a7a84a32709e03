use ashlar_block::DeviceError;
use ashlar_raid::Level;

use super::*;
use crate::base::options::Options;
use crate::testing::{Drives, StillWorld, at_once};

fn after(pool: &Pool<StillWorld>) -> AfterLoss {
    pool.worst_loss().expect("drives take data").after
}

/// More than half of each of so many segments lives on the average.
fn store(pool: &Pool<StillWorld>, segments: usize) {
    let (drives, lsn) = (pool.allocation_targets(), pool.writer.lsns.next());
    pool.space.segments.borrow_mut().invent(segments, &drives, lsn);
}

/// One of four drives was lost, and all writes were refused: nothing had said so before.
#[test]
fn a_pool_says_how_much_room_one_more_loss_leaves() {
    let options = Options { over_provisioning_percent: 60, ..Options::default() };
    let pool = Drives::of_chunks(Level::RAID5, 4, 120).open_with(options);
    let limit_without = pool.limit_on(&pool.allocation_targets()[1..]);
    assert!(limit_without < pool.space().limit);
    store(&pool, 40);
    let live = pool.space().live;
    assert_eq!(after(&pool), AfterLoss::GoesOn { spare_bytes: limit_without - live });
    store(&pool, 40);
    let short_bytes = pool.space().live - limit_without;
    assert!(!pool.space().full);
    assert_eq!(after(&pool), AfterLoss::Short { short_bytes, is_restored: true });
    // It is as it was said.
    pool.array.give_up(DriveId(1), DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
    assert_eq!(pool.room(), pool.space().limit / 32, "for overwrites");
    assert_eq!(pool.space().live - pool.space().limit, short_bytes);
}

#[test]
fn what_has_too_few_drives_or_no_parity_left_for_a_loss_says_so() {
    let mirror = Drives::new(Level::RAID1, 2).open();
    assert_eq!(after(&mirror), AfterLoss::TooFewDrives { left: 1, needed: 2 });
    assert!(!mirror.worst_loss().expect("drives").is_short_of_room);
    let striped = Drives::new(Level::RAID0, 3).open();
    store(&striped, 3);
    assert_eq!(after(&striped), AfterLoss::LosesData);
    let degraded = Drives::new(Level::RAID5, 4).open();
    store(&degraded, 3);
    assert!(matches!(after(&degraded), AfterLoss::GoesOn { .. }));
    degraded.array.give_up(DriveId(1), DeviceError::Gone);
    at_once(degraded.ordered_checkpoint());
    assert_eq!(after(&degraded), AfterLoss::LosesData);
}

#[test]
fn the_loss_of_the_largest_drive_is_the_worst() {
    let drives = Drives::new(Level::RAID5, 3);
    let pool = drives.open();
    let large = crate::testing::TestDevice::new(32 << 20);
    let mut adding = std::pin::pin!(pool.add_drive(large, None));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while adding.as_mut().poll(&mut context).is_pending() {
        at_once(pool.ordered_checkpoint());
    }
    let worst = pool.worst_loss().expect("drives take data");
    let without = |drive: u16| {
        let left: Vec<DriveId> =
            pool.allocation_targets().into_iter().filter(|other| other.0 != drive).collect();
        pool.limit_on(&left)
    };
    let least = (0..4).map(without).min().expect("four drives");
    assert_eq!(without(worst.drive.0), least);
    assert_eq!(worst.after, AfterLoss::GoesOn { spare_bytes: least - pool.space().live });
}
