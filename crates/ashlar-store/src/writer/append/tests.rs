use ashlar_block::{DeviceError, Lba};
use ashlar_format::ids::{Family, Layer};
use ashlar_raid::Level;

use super::*;
use crate::base::counters::StepCounters;
use crate::space::segments::Segments;
use crate::testing::{
    DONE_ONCE, Drives, LOOK, at_once, location, page, steps, ticking, write_block,
};

/// Headers said of a page that lacked a column that it was durable, before a root named the drive's
/// absence. A start that found the drive there again then took the page for whole, and what it
/// lacked was never restored.
#[test]
fn a_page_without_one_of_its_columns_is_durable_with_the_root_that_says_so() {
    let pool = Drives::new(Level::RAID1, 2).open();
    let pages = || vec![page(vec![7; 4096])];
    at_once(pool.append_pages(Claim::Checkpoint, pages())).expect("both drives work");
    assert_eq!(pool.writer.lsns.complete_through().next(), pool.writer.lsns.next());
    pool.array.give_up(DriveId(1), DeviceError::Gone);
    let lacking = pool.writer.lsns.next();
    at_once(pool.append_pages(Claim::Checkpoint, pages())).expect("one drive works");
    assert!(pool.writer.lsns.complete_through() < lacking);
    at_once(pool.checkpoint(false)).expect("one may be lost");
    assert!(pool.writer.lsns.complete_through() >= lacking);
}

#[test]
fn parity_is_timed_by_the_batch_where_it_is_more_than_copies() {
    let (striped, mirror) = (ticking(Level::RAID5, 3), ticking(Level::RAID1, 2));
    write_block(&striped, 0);
    write_block(&mirror, 0);
    assert_eq!(steps(&striped).parity, DONE_ONCE);
    assert_eq!(steps(&mirror).parity, StepCounters::default());
}

#[test]
fn what_a_read_makes_of_parity_counts_like_the_making_of_parity() {
    let pool = ticking(Level::RAID5, 3);
    write_block(&pool, 0);
    let place = location(&pool, 0);
    let column = |segments: &Segments| {
        segments.get(place.segment()).expect("it was written").geometry.columns[place.column()]
    };
    let drive = column(&pool.space.segments.borrow()).drive;
    pool.array.give_up(drive, DeviceError::Gone);
    at_once(pool.read(Family(1), Layer(0), Lba(0), 1)).expect("parity has it");
    let StepCounters { operations, busy, .. } = steps(&pool).parity;
    assert_eq!((operations, busy), (2, 2 * LOOK));
}
