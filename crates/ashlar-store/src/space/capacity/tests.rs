use ashlar_format::table::SegmentKind;
use ashlar_raid::Level;

use super::*;
use crate::base::options::Options;
use crate::space::segments::{Claim, Shape};
use crate::testing::{Drives, at_once};

const COLUMN_BYTES: u64 = 1 << 20;

#[test]
fn the_reserve_is_a_thirty_second_of_the_limit_and_never_more_than_could_live() {
    for total in [10, 60, 100, 200, 1000, 10_000, 1_000_000] {
        let stripes = Stripes::new(vec![total; 3], 3, 1);
        let (limit, most) = (limit(&stripes, COLUMN_BYTES, 23), most(&stripes, COLUMN_BYTES));
        let reserve = reserve(limit, most);
        assert!(limit + reserve <= most, "{total} segments");
        assert!(reserve <= limit / 32 && reserve <= 16 << 30, "{total} segments");
    }
    assert_eq!(reserve(320, 1000), 10);
    assert_eq!(reserve(320, 325), 5, "what could live");
    assert_eq!(reserve(320, 300), 0);
    assert_eq!(reserve(1 << 50, 1 << 51), 16 << 30);
}

#[test]
fn collection_begins_at_a_hundredth_and_earlier_in_a_pool_of_few_segments() {
    let begins = |total| marks(total).collect - marks(0).collect;
    assert_eq!([0, 31, 32, 320, 4096].map(begins), [0, 0, 1, 10, 128]);
    assert_eq!([6000, 12_800, 12_900, 1_000_000].map(begins), [128, 128, 129, 10_000]);
}

#[test]
fn a_tiny_pool_has_no_reserve_to_release() {
    let pool = Drives::new(Level::RAID5, 3).open();
    assert_eq!(pool.space().reserve, 0);
    let refused = at_once(pool.release_reserve()).unwrap_err();
    assert_eq!(refused.cause, Cause::CapacityExceeded);
    assert!(!pool.space().reserve_released);
}

#[test]
fn a_released_reserve_is_kept_again_once_so_much_is_free() {
    let options = Options { over_provisioning_percent: 80, ..Options::default() };
    let pool = Drives::new(Level::RAID5, 3).open_with(options);
    let before = pool.space();
    assert!(before.reserve > 0, "{before:?}");
    pool.catalog.borrow_mut().reserve_released = true;
    let released = pool.space();
    assert_eq!((released.limit, released.reserve), (before.limit + before.reserve, 0));
    at_once(pool.checkpoint(false)).expect("good drives");
    assert_eq!((pool.space().limit, pool.space().reserve_released), (before.limit, false));
}

/// A drive that was lost counted until the next start.
#[test]
fn raw_is_what_drives_hold_that_work() {
    let pool = Drives::new(Level::RAID1, 3).open();
    let raw = pool.space().raw;
    pool.array.give_up(DriveId(1), ashlar_block::DeviceError::Gone);
    assert_eq!(pool.space().raw, raw / 3 * 2);
}

/// Seed 492: hosts had overwritten all of it and none was refused. The pool had used up its window
/// and was collecting when it was asked, and said that it was full.
#[test]
fn a_pool_that_has_used_up_its_window_is_full_only_if_nothing_can_be_collected() {
    let pool = Drives::new(Level::RAID5, 3).open();
    let (drives, lsn) = (pool.allocation_targets(), pool.writer.lsns.begin(1));
    pool.published(lsn);
    let mut segments = pool.space.segments.borrow_mut();
    while segments.placeable(&drives) > 0 {
        segments.invent(1, &drives, lsn);
    }
    while segments.open(Shape::Striped, SegmentKind::Data, Claim::Host).is_some() {}
    while segments.open(Shape::Striped, SegmentKind::Moved, Claim::Upkeep).is_some() {}
    assert!(segments.is_cornered(&drives));
    drop(segments);
    let collecting = pool.space();
    assert!(!collecting.full && collecting.safe_to_write > 0, "{collecting:?}");
    pool.jobs.collecting.give_up();
    let stuck = pool.space();
    assert!(stuck.full && stuck.safe_to_write == 0, "{stuck:?}");
}
