use ashlar_format::root::MemberState;
use ashlar_format::table::{SegmentKind, SegmentState, TableEntry};
use ashlar_raid::Level;

use super::*;
use crate::space::segments::Segment;
use crate::testing::{Drives, StillWorld, at_once, write_block};

/// A pool with so many segments that hold nothing, and a few that hold something.
fn pool_of(segments: usize) -> (Drives, std::rc::Rc<Pool<StillWorld>>) {
    let drives = Drives::of_chunks(Level::RAID5, 4, segments as u64 * 3 / 2 + 100);
    let pool = drives.open();
    // As few at a time as would be sealed and freed.
    for _ in 0..segments / 500 {
        let (targets, lsn) = (pool.allocation_targets(), pool.writer.lsns.next());
        pool.space.segments.borrow_mut().invent(500, &targets, lsn);
        at_once(pool.checkpoint(false)).expect("good drives");
    }
    (0..8).for_each(|lba| write_block(&pool, lba));
    (0..2).for_each(|_| at_once(pool.checkpoint(false)).expect("good drives"));
    (drives, pool)
}

/// What the table says of all segments.
fn entries(pool: &Pool<StillWorld>) -> Vec<TableEntry> {
    pool.space.segments.borrow().iter().map(|(id, segment)| segment.table_entry(id)).collect()
}

/// With half a million segments each checkpoint wrote 61 MB to each drive.
#[test]
fn what_a_checkpoint_writes_hangs_on_what_has_changed_and_not_on_the_size_of_the_pool() {
    let written = |segments: usize| {
        let (drives, pool) = pool_of(segments);
        write_block(&pool, 3);
        let before = drives.written_bytes();
        at_once(pool.checkpoint(false)).expect("good drives");
        drives.written_bytes() - before
    };
    let (small, large) = (written(1_000), written(12_000));
    assert!(large < small + small / 2, "{small} bytes of 1,000 segments, {large} of 12,000");
}

#[test]
fn a_pool_whose_table_is_in_pages_is_opened_as_it_was() {
    let (drives, pool) = pool_of(3_000);
    assert!(pool.checkpoint.table.borrow_mut().tree(Tree::Entries).height() > 0, "there are nodes");
    let before = entries(&pool);
    drop(pool);
    let again = drives.open();
    let is_invented = |entry: &&TableEntry| entry.state == SegmentState::Sealed && entry.rows == 16;
    let invented = |all: &[TableEntry]| all.iter().filter(is_invented).cloned().collect::<Vec<_>>();
    assert!(invented(&before).len() >= 3_000);
    assert_eq!(invented(&entries(&again)), invented(&before));
    assert!(again.space.segments.borrow().summary_is_right());
    assert_eq!(at_once(again.audit()).expect("good drives").wrong, Vec::<String>::new());
}

/// The pages of the table are collected like any others: the next checkpoint writes them elsewhere.
#[test]
fn a_segment_of_pages_of_the_table_is_emptied_by_the_next_checkpoint() {
    let (_drives, pool) = pool_of(3_000);
    let of_table = |(_, segment): &(SegmentId, &Segment)| {
        segment.kind == SegmentKind::Table
            && segment.state == SegmentState::Sealed
            && !segment.is_empty()
    };
    let found = pool.space.segments.borrow().iter().find(of_table).map(|(id, _)| id);
    let victim = found.expect("some are full");
    pool.touch_table_in(victim);
    at_once(pool.checkpoint(false)).expect("good drives");
    assert!(pool.space.segments.borrow().get(victim).is_none_or(Segment::is_empty));
    assert_eq!(at_once(pool.audit()).expect("good drives").wrong, Vec::<String>::new());
}

/// Seed 98100645: it was released at once. See
/// `a_drive_that_a_root_is_the_first_to_miss_could_have_gone_on_with_others`.
#[test]
fn a_drive_that_held_nothing_is_released_once_a_root_has_called_it_absent() {
    let pool = Drives::new(Level::RAID5, 4).open();
    let lost = DriveId(3);
    pool.array.give_up(lost, ashlar_block::DeviceError::Gone);
    let state = || {
        pool.checkpoint.roots.newest().members.iter().find(|it| it.drive == lost).map(|it| it.state)
    };
    at_once(pool.checkpoint(false)).expect("one may be lost");
    assert_eq!(state(), Some(MemberState::Absent));
    (0..2).for_each(|_| at_once(pool.checkpoint(false)).expect("one may be lost"));
    assert_eq!(state(), Some(MemberState::Released));
}

/// It lacks pages of the map that the root names. If it counted as a member after a crash, the loss
/// of another drive would take a part of the map.
#[test]
fn a_drive_that_fails_while_a_checkpoint_is_written_is_absent_in_its_root() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = drives.open();
    write_block(&pool, 0);
    let lost = DriveId(3);
    let tables = Superblock::table_offset(0)..Superblock::table_offset(1) + TABLE_AREA_BYTES;
    drives.devices[usize::from(lost.0)].refuse_writes(tables);
    at_once(pool.checkpoint(false)).expect("one may be lost");
    assert!(pool.array.working(lost).is_none(), "it has refused the first table");
    let root = pool.checkpoint.roots.newest();
    let member = root.members.iter().find(|member| member.drive == lost).expect("it is a member");
    assert_eq!(member.state, MemberState::Absent);
}
