use ashlar_block::DeviceError;
use ashlar_raid::Level;

use super::*;
use crate::format::table::RowExtent;
use crate::segments::Segment;
use crate::testing::{Drives, StillWorld, at_once, write_block};

/// Batches in the segment in question.
const BATCHES: u64 = 8;

/// Does what is to be done about lost drives, in at most so many steps.
fn rebuild(pool: &Pool<StillWorld>, steps_max: usize) {
    for _ in 0..steps_max {
        let (floor, homes) = (pool.log.floor(), pool.homes());
        pool.rebuild_at_once();
        let next = pool.next_rebuild(&pool.segments.borrow(), floor, &homes);
        let Some(task) = next else { return };
        at_once(pool.rebuild_step(task)).expect("good drives");
    }
    panic!("it does not come to an end");
}

/// Behind a hole as long as a step it began at the same row for ever.
#[test]
fn a_segment_with_a_long_hole_is_restored() {
    let pool = Drives::new(Level::RAID1, 3).open();
    (0..BATCHES).for_each(|nth| write_block(&pool, nth));
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    let of_data = |(id, segment): (SegmentId, &Segment)| (segment.rows > 8).then_some((id, segment.rows));
    let (id, rows) = pool.segments.borrow().iter().find_map(of_data).expect("they are in one");
    let rows_each = rows / BATCHES as u32;
    let lost = pool.segments.borrow().get(id).expect("it is there").geometry.columns[0].drive;
    let ends = [0, rows - rows_each].map(|row| RowExtent { row, rows: rows_each });
    pool.segments.borrow_mut().get_mut(id).expect("it is there").accepted = ends.to_vec();
    pool.array.give_up(lost, DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("one may be lost");
    rebuild(&pool, 50);
    assert!(pool.unreleased().is_empty(), "all that lived there has been restored");
    assert!(pool.segments.borrow().get(id).is_none_or(|segment| segment.geometry.columns[0].drive != lost));
}
