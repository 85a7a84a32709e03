use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, at_once, write_block};

/// The pool was read-only from one moment to the next.
#[test]
fn a_drive_without_which_nothing_can_be_written_is_given_up_only_by_force() {
    for (level, drives) in [(Level::RAID6, 4), (Level::RAID1, 2)] {
        let pool = Drives::new(level, drives).open();
        let spare = (drives - level.parity() - 1) as u16;
        for drive in (0..spare).map(DriveId) {
            pool.could_lose(drive).expect("enough are left");
            pool.array.give_up(drive, Failure::ByRequest);
        }
        let refused = at_once(pool.fail_drive(DriveId(spare), false));
        let is_refused = matches!(refused, Err(FailError::TooFew { left, needed, .. }) if left + 1 == needed);
        assert!(is_refused && pool.array.working(DriveId(spare)).is_some(), "{refused:?}");
    }
}

/// What was garbage had filled the other drives: there was no segment left for the checkpoint that says so, and the pool
/// halted. (`sim --crashes --seed 501800178`)
#[test]
fn a_drive_stays_as_long_as_garbage_fills_the_others() {
    let drives = Drives::new(Level::RAID1, 3);
    let pool = drives.open();
    let marks = pool.marks();
    for lba in 0.. {
        if pool.segments.borrow().usable_striped() < 12 {
            at_once(pool.checkpoint(false)).expect("good drives");
        }
        if pool.free_segments() <= marks.collect {
            break;
        }
        write_block(&pool, lba % 8);
    }
    let refused = at_once(pool.remove_drive(DriveId(2)));
    assert!(matches!(refused, Err(RemoveError::TooEarly { .. })), "{refused:?}");
    assert!(pool.leaving.borrow().is_empty());
}
