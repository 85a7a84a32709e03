use ashlar_block::DeviceError;
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, at_once, page};

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
