use std::rc::Rc;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, DeviceError, Durability};
use ashlar_raid::Level;

use super::super::tests::header;
use super::*;
use crate::space::segments::Segment;
use crate::testing::{Drives, StillWorld, at_once, block_item, location, page, write_small_blocks};

/// In each batch.
const BATCH_BLOCKS: u64 = 60;
const BLOCKS: u64 = 8 * BATCH_BLOCKS;

/// A pool, and a segment of it in which something lives.
fn filled() -> (Rc<Pool<StillWorld>>, SegmentId) {
    let pool = Drives::new(Level::RAID5, 4).open();
    for first in (0..BLOCKS).step_by(BATCH_BLOCKS as usize) {
        write_small_blocks(&pool, first..first + BATCH_BLOCKS);
    }
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    let victim = location(&pool, 0).segment();
    (pool, victim)
}

/// The same after the first part, with how many blocks lived in it and what comes next.
fn begun() -> (Rc<Pool<StillWorld>>, SegmentId, u64, InParts) {
    let (pool, victim) = filled();
    let blocks = pool.space.segments.borrow().get(victim).expect("it is there").live.fragments;
    let parts = InParts::default();
    assert_eq!(part(&pool, &parts, victim), Part::More);
    (pool, victim, blocks, parts)
}

fn part(pool: &Pool<StillWorld>, parts: &InParts, victim: SegmentId) -> Part {
    at_once(pool.collect_in_parts(parts, victim, Rest::Stays)).expect("there is room")
}

/// What is done until all of it is.
fn rest(pool: &Pool<StillWorld>, parts: &InParts, victim: SegmentId) -> usize {
    let mut count = 1;
    while part(pool, parts, victim) == Part::More {
        count += 1;
    }
    count
}

/// Blocks that are in the segment.
fn inside(pool: &Pool<StillWorld>, victim: SegmentId) -> Vec<u64> {
    (0..BLOCKS).filter(|lba| location(pool, *lba).segment() == victim).collect()
}

#[test]
fn a_segment_is_emptied_by_parts_each_of_which_goes_on_where_the_last_ended() {
    let (pool, victim, blocks, parts) = begun();
    let parts_in_all = 1 + rest(&pool, &parts, victim) as u64;
    assert!(
        parts_in_all > blocks.div_ceil(RECORDS_AT_A_TIME as u64),
        "{parts_in_all} for {blocks} blocks"
    );
    assert_eq!(pool.counters.get().jobs.fragments_moved, blocks);
    assert!(pool.space.segments.borrow().get(victim).is_some_and(Segment::is_empty));
    assert_eq!(inside(&pool, victim), []);
}

#[test]
fn what_hosts_write_between_two_parts_is_not_replaced_by_what_was_read_before() {
    let (pool, victim, blocks, parts) = begun();
    let read = parts.emptying.borrow().as_ref().map_or(0, |emptying| emptying.items.len() as u64);
    assert!(read >= BATCH_BLOCKS, "{read} of {blocks}");
    write_small_blocks(&pool, 0..BATCH_BLOCKS);
    let written = || (0..BATCH_BLOCKS).map(|lba| location(&pool, lba)).collect::<Vec<_>>();
    let before = written();
    rest(&pool, &parts, victim);
    assert_eq!(written(), before);
    assert_eq!(pool.counters.get().jobs.fragments_moved, blocks - BATCH_BLOCKS);
}

/// Rows of the other one would have been taken for done, and what lives there for garbage.
#[test]
fn another_segment_that_has_the_number_by_now_is_emptied_from_its_first_row() {
    let (pool, victim, blocks, parts) = begun();
    let mut emptying = parts.emptying.take().expect("it has begun");
    (emptying.first_lsn, emptying.next_row) = (Lsn(emptying.first_lsn.0 + 1), u32::MAX);
    (emptying.records, emptying.items) = (VecDeque::new(), Vec::new());
    parts.emptying.replace(Some(emptying));
    assert_eq!(parts.segment(&pool.space.segments.borrow()), None);
    rest(&pool, &parts, victim);
    assert_eq!(pool.counters.get().jobs.fragments_moved, blocks);
    assert_eq!(inside(&pool, victim), []);
}

#[test]
fn where_there_is_no_room_for_a_while_nothing_is_read_anew() {
    let (pool, victim, blocks, parts) = begun();
    pool.seal_all();
    while at_once(pool.append_pages(Claim::Upkeep, vec![page(vec![1; 4096])])).is_ok() {
        pool.seal_all();
    }
    let refused =
        std::iter::from_fn(|| Some(at_once(pool.collect_in_parts(&parts, victim, Rest::Stays))))
            .find(Result::is_err);
    assert!(matches!(refused, Some(Err(AppendError::WindowEmpty))), "{refused:?}");
    let waiting = || parts.emptying.borrow().as_ref().map(|emptying| emptying.items.len() as u64);
    assert_eq!(waiting(), Some(blocks));
    at_once(pool.collect_in_parts(&parts, victim, Rest::Stays)).expect_err("there is still none");
    assert_eq!(waiting(), Some(blocks));
    at_once(pool.checkpoint(false)).expect("good drives");
    rest(&pool, &parts, victim);
    assert_eq!(pool.counters.get().jobs.fragments_moved, blocks);
}

/// Nothing said where the next batch begins: all that lay behind stayed without redundancy.
#[test]
fn what_lies_behind_a_batch_of_which_the_header_cannot_be_read_is_moved() {
    let (pool, victim) = filled();
    let header = |row| header(&pool, victim, row).expect("it can be read");
    let bad = header(header(0).rows);
    let blocks = |header: &BatchHeader| {
        header.records.iter().map(|record| record.key.lba.0).collect::<Vec<_>>()
    };
    let behind = blocks(&header(bad.row + bad.rows));
    assert!(!behind.is_empty());
    let columns =
        pool.space.segments.borrow().get(victim).expect("it is there").geometry.columns.clone();
    pool.array.give_up(columns[1].drive, DeviceError::Gone);
    let wrong = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
    at_once(pool.array.write_chunk(columns[0], bad.row, wrong, Durability::Stable));
    let parts = InParts::default();
    let next =
        || at_once(pool.collect_in_parts(&parts, victim, Rest::Moves)).expect("there is room");
    let ended = std::iter::repeat_with(next).find(|part| *part != Part::More);
    assert_eq!(ended, Some(Part::Done(Collected::Unmovable)));
    assert_eq!(inside(&pool, victim), blocks(&bad));
}

#[test]
fn a_batch_of_moves_is_small_but_for_stripes_so_wide_that_its_header_would_weigh() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = drives.open();
    let items: Vec<Item> = (0..300).map(|lba| block_item(&pool, lba, BLOCK_BYTES)).collect();
    assert_eq!([1, 8, 12, 16, 20].map(|data| of_a_batch(&items, data)), [128, 128, 192, 256, 256]);
}
