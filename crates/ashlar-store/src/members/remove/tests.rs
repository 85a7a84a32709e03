use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, at_once, write_block};

/// What was garbage had filled the other drives: there was no segment left for the checkpoint that
/// says so, and the pool halted. (`sim --crashes --seed 501800178`)
#[test]
fn a_drive_stays_as_long_as_garbage_fills_the_others() {
    let drives = Drives::new(Level::RAID1, 3);
    let pool = drives.open();
    let marks = pool.marks();
    for lba in 0.. {
        if pool.space.segments.borrow().usable_striped() < 12 {
            at_once(pool.checkpoint(false)).expect("good drives");
        }
        if pool.free_segments() <= marks.reserve + 4 {
            break;
        }
        write_block(&pool, lba % 8);
    }
    let refused = at_once(pool.remove_drive(DriveId(2)));
    assert!(matches!(refused, Err(RemoveError::TooEarly { .. })), "{refused:?}");
    assert!(pool.membership.leaving.borrow().is_empty());
}
