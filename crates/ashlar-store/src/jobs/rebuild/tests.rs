use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use ashlar_block::{AlignedBuf, DeviceError, Durability, SECTOR_BYTES};
use ashlar_format::table::{RowExtent, TableEntry};
use ashlar_raid::Level;

use super::*;
use crate::space::segments::{FoundBatches, Segment};
use crate::testing::{Drives, StillWorld, at_once, location, write_block, write_small_blocks};

/// Batches in the segment in question.
const BATCHES: u64 = 8;
/// In each batch of those that compress.
const SMALL_BLOCKS: u64 = 24;
/// The block that cannot be read, where one cannot.
const BAD: u64 = 3;

fn next(pool: &Pool<StillWorld>) -> Option<RebuildTask> {
    pool.rebuild_at_once();
    pool.next_rebuild(
        &pool.space.segments.borrow(),
        pool.writer.lsns.floor(),
        &pool.allocation_targets(),
    )
}

/// Does what is to be done about lost drives as long as it is `wanted`. Returns what comes next.
fn rebuild(
    pool: &Rc<Pool<StillWorld>>,
    wanted: impl Fn(RebuildTask) -> bool,
) -> Option<RebuildTask> {
    for _ in 0..1000 {
        let next = next(pool);
        let Some(task) = next.filter(|task| wanted(*task)) else { return next };
        at_once(pool.rebuild_step(task)).expect("good drives");
    }
    panic!("it does not come to an end");
}

/// A pool with some segments, and without one of the drives that they lie on.
fn degraded(level: Level, drives: usize) -> Rc<Pool<StillWorld>> {
    let pool = Drives::new(level, drives).open();
    for nth in 0..4 * BATCHES {
        write_block(&pool, nth);
    }
    without_one(&pool);
    pool
}

/// The same of a pool whose stripes are as wide as it is, with more blocks in each segment than are
/// read in a part.
fn degraded_of_small_blocks() -> Rc<Pool<StillWorld>> {
    let pool = Drives::new(Level::RAID5, 4).open();
    for first in (0..4 * BATCHES).map(|nth| nth * SMALL_BLOCKS) {
        write_small_blocks(&pool, first..first + SMALL_BLOCKS);
    }
    without_one(&pool);
    pool
}

fn without_one(pool: &Pool<StillWorld>) {
    without(pool, DriveId(0));
}

fn without(pool: &Pool<StillWorld>, drive: DriveId) {
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    pool.array.give_up(drive, DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("one may be lost");
}

/// That this segment lacks redundancy, and no other.
fn assert_only_lacks(pool: &Pool<StillWorld>, id: SegmentId) {
    let (segments, unreleased) = (pool.space.segments.borrow(), pool.unreleased());
    let lacking =
        pool.damaged_from(&segments, SegmentId(0), &unreleased, pool.writer.lsns.floor()).damaged;
    assert!(lacking.iter().all(|segment| segment.id == id) && !lacking.is_empty(), "{lacking:?}");
}

/// Behind a hole as long as a step it began at the same row for ever.
#[test]
fn a_segment_with_a_long_hole_is_restored() {
    let pool = Drives::new(Level::RAID1, 3).open();
    (0..BATCHES).for_each(|nth| write_block(&pool, nth));
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    let of_data =
        |(id, segment): (SegmentId, &Segment)| (segment.rows > 8).then_some((id, segment.rows));
    let (id, rows) =
        pool.space.segments.borrow().iter().find_map(of_data).expect("they are in one");
    let rows_each = rows / BATCHES as u32;
    let lost = pool.space.segments.borrow().get(id).expect("it is there").geometry.columns[0].drive;
    let accepted = [0, rows - rows_each].map(|row| RowExtent { row, rows: rows_each }).to_vec();
    let Segment { first_lsn, last_lsn, .. } =
        *pool.space.segments.borrow().get(id).expect("it is there");
    let found = FoundBatches { rows, first_lsn, last_lsn, accepted, has_pages: false };
    pool.space.segments.borrow_mut().found(id, found, 0);
    pool.array.give_up(lost, DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("one may be lost");
    rebuild(&pool, |_| true);
    assert!(pool.unreleased().is_empty(), "all that lived there has been restored");
    assert!(
        pool.space
            .segments
            .borrow()
            .get(id)
            .is_none_or(|segment| segment.geometry.columns[0].drive != lost)
    );
}

/// All that came after it stayed without redundancy.
#[test]
fn a_segment_that_cannot_be_read_does_not_keep_the_others_waiting() {
    // Stripes are as wide as the pool: what is lost is collected, not moved.
    let pool = degraded(Level::RAID5, 4);
    let Some(RebuildTask::Collect(first)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    pool.space.segments.borrow_mut().set_unmovable(first, true);
    assert!(
        matches!(next(&pool), Some(RebuildTask::Collect(other)) if other != first),
        "{:?}",
        next(&pool)
    );
    rebuild(&pool, |_| true);
    assert_only_lacks(&pool, first);
}

/// It was written anew as a whole in one step, for which hosts waited 12 to 36 ms where chunks are
/// of 1 MiB.
#[test]
fn hosts_have_their_share_between_parts_of_a_segment_that_is_written_anew() {
    let pool = degraded_of_small_blocks();
    let Some(task @ RebuildTask::Collect(first)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let live = || pool.space.segments.borrow().get(first).expect("it is there").live.fragments;
    let before = live();
    at_once(pool.rebuild_step(task)).expect("good drives");
    assert_eq!(live(), before, "nothing fills a batch yet");
    assert!(pool.jobs.rebuild.done.has_begun(), "what hosts wait for is not counted yet");
    assert_eq!(next(&pool), Some(task));
    rebuild(&pool, |wanted| wanted == task);
    assert_eq!(live(), 0);
}

#[test]
fn a_segment_that_is_collected_for_space_meanwhile_is_not_restored_again() {
    let pool = degraded_of_small_blocks();
    let Some(task @ RebuildTask::Collect(first)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    at_once(pool.rebuild_step(task)).expect("good drives");
    at_once(pool.collect(first)).expect("there is room");
    assert_ne!(next(&pool), Some(task));
    rebuild(&pool, |_| true);
    assert!(pool.unreleased().is_empty());
}

#[test]
fn who_waits_for_a_rebuild_is_told_what_it_lacks() {
    let pool = degraded(Level::RAID1, 4);
    let obstacle = || pool.status().rebuild.expect("it goes on").obstacle;
    assert_eq!(obstacle(), None);
    pool.postpone_rebuild();
    assert_eq!(obstacle(), Some(Obstacle::NoRoom));
    let task = next(&pool).expect("there is room");
    at_once(pool.rebuild_step(task)).expect("good drives");
    assert_eq!(obstacle(), None);
    let Some(RebuildTask::Move(id)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let geometry = pool.space.segments.borrow().get(id).expect("it lives").geometry.clone();
    geometry.columns.iter().for_each(|column| pool.array.give_up(column.drive, DeviceError::Gone));
    let mut lane = pool.begin_to_restore(id).expect("there is room");
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::Unreadable);
    pool.lane_ended(lane, Relocated::Unreadable);
    for _ in 0..pool.identity.segment_rows {
        at_once(pool.perform_rebuild(RebuildTask::Collect(id))).expect("nothing is written");
    }
    assert_eq!(obstacle(), Some(Obstacle::Unreadable));
}

/// A pool in which segments can be restored where they lie, but for one: a block of it that is on
/// another drive cannot be read.
fn degraded_with_a_bad_sector() -> (Rc<Pool<StillWorld>>, SegmentId) {
    let pool = Drives::new("2+1".parse().expect("a level"), 5).open();
    (0..4 * BATCHES).for_each(|nth| write_block(&pool, nth));
    let at = location(&pool, BAD);
    let columns = pool
        .space
        .segments
        .borrow()
        .get(at.segment())
        .expect("it lives there")
        .geometry
        .columns
        .clone();
    without(&pool, columns[(at.column() + 1) % columns.len()].drive);
    let wrong = AlignedBuf::zeroed(SECTOR_BYTES).freeze();
    at_once(pool.array.write_chunk(
        columns[at.column()],
        at.sectors().start,
        wrong,
        Durability::Stable,
    ));
    (pool, at.segment())
}

/// What lived there stayed without redundancy as long as the sector could not be read, and the pool
/// without the chance to lose another drive.
#[test]
fn what_can_be_read_is_restored_also_of_a_segment_of_which_something_cannot() {
    let (pool, id) = degraded_with_a_bad_sector();
    let live = || pool.space.segments.borrow().get(id).map_or(0, |segment| segment.live.fragments);
    assert!(live() > 1);
    rebuild(&pool, |_| true);
    assert_eq!(live(), 1, "all but what cannot be read");
    assert_only_lacks(&pool, id);
}

#[test]
fn what_cannot_be_read_and_does_not_live_any_more_leaves_nothing_without_redundancy() {
    let (pool, _) = degraded_with_a_bad_sector();
    write_block(&pool, BAD);
    rebuild(&pool, |_| true);
    assert!(pool.unreleased().is_empty(), "{:?}", pool.status().rebuild);
}

/// The loss of another drive halted the pool, though no segment lacked more than one column.
#[test]
fn what_is_restored_counts_before_a_root_says_so() {
    let pool = degraded(Level::RAID1, 4);
    let left = rebuild(&pool, |task| task != RebuildTask::Settle);
    assert_eq!(left, Some(RebuildTask::Settle));
    pool.array.give_up(DriveId(1), DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("the first has been made good");
}

/// What had been written anew was counted where it had been, on both, until a root freed that; and
/// the root that would have was not written for it.
#[test]
fn what_is_empty_counts_for_nothing_when_another_drive_is_lost_before_a_root_says_so() {
    let pool = degraded_of_small_blocks();
    let left = rebuild(&pool, |task| task != RebuildTask::Settle);
    assert_eq!(left, Some(RebuildTask::Settle));
    pool.array.give_up(DriveId(1), DeviceError::Gone);
    at_once(pool.checkpoint(false)).expect("the first has been made good");
}

/// Whoever waited for it was told after ten seconds that nothing can be rebuilt, where the share of
/// the time is small and roots are slow.
#[test]
fn a_rebuild_goes_on_until_a_root_says_that_all_is_restored() {
    let pool = degraded(Level::RAID1, 4);
    rebuild(&pool, |task| task != RebuildTask::Settle);
    let left = || pool.status().rebuild.map(|rebuild| rebuild.bytes_left);
    assert_eq!(left(), Some(0));
    assert_eq!(rebuild(&pool, |_| true), None);
    assert_eq!(left(), None);
}

/// A pause of some microseconds was over between the look at what is to be done and the rest that
/// was to last as long: in a pool without hosts an evacuation stood still until something else was
/// to be done.
#[test]
fn a_turn_that_comes_just_before_a_rest_is_taken() {
    let pool = degraded(Level::RAID1, 4);
    pool.rebuild_at_once();
    assert_eq!(pool.rebuild_waits(false), Some(Duration::ZERO));
    assert_eq!(pool.rebuild_waits(true), None, "what lacks room is not looked at again and again");
    rebuild(&pool, |_| true);
    assert_eq!(pool.rebuild_waits(false), None);
}

#[test]
fn a_root_says_what_is_restored_from_time_to_time() {
    let pool = degraded(Level::RAID1, 4);
    assert!(matches!(next(&pool), Some(RebuildTask::Move(_))));
    pool.jobs.relocation.pretend_unsettled(64);
    assert_eq!(next(&pool), Some(RebuildTask::Settle));
}

/// Collection emptied it meanwhile and a checkpoint freed it. Nobody gave back what had been
/// reserved for its column, and a segment that came to the same number would have been restored
/// from the row on that this one had come to.
#[test]
fn a_segment_that_is_gone_before_it_is_restored_leaves_nothing_behind() {
    let pool = degraded(Level::RAID1, 4);
    let Some(RebuildTask::Move(id)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let mut lane = pool.begin_to_restore(id).expect("there is room");
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::Part);
    let entry = pool.space.segments.borrow().get(id).expect("it exists").table_entry(id);
    let again = TableEntry { first_lsn: pool.writer.lsns.next(), ..entry };
    pool.space.segments.borrow_mut().free(id);
    pool.space.segments.borrow_mut().load(vec![again]).expect("it is free");
    assert_ne!(
        next(&pool),
        Some(RebuildTask::Move(id)),
        "its number is another's, and a lane has it"
    );
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::GivenUp);
    pool.lane_ended(lane, Relocated::GivenUp);
    assert_no_chunk_is_taken_for_nothing(&pool);
}

fn assert_no_chunk_is_taken_for_nothing(pool: &Pool<StillWorld>) {
    let (segments, drives) = (pool.space.segments.borrow(), pool.allocation_targets());
    let taken: u32 = segments.loads(&drives).values().map(|load| load.used).sum();
    let columns = segments.iter().flat_map(|(_, segment)| &segment.geometry.columns);
    let named = columns.filter(|column| drives.contains(&column.drive)).count();
    assert_eq!(taken as usize, named, "no chunk is taken for what no segment has");
}

#[test]
fn a_segment_that_is_emptied_while_it_is_restored_is_left_to_the_next_root() {
    let pool = degraded(Level::RAID1, 4);
    let Some(RebuildTask::Move(id)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let mut lane = pool.begin_to_restore(id).expect("there is room");
    at_once(pool.lane_step(&mut lane));
    at_once(pool.collect(id)).expect("there is room");
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::GivenUp);
    pool.lane_ended(lane, Relocated::GivenUp);
    rebuild(&pool, |_| true);
    assert!(pool.unreleased().is_empty());
    assert_no_chunk_is_taken_for_nothing(&pool);
}

#[test]
fn a_lane_gives_up_when_a_drive_that_its_columns_go_to_is_lost() {
    let pool = degraded(Level::RAID1, 4);
    let Some(RebuildTask::Move(id)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let mut lane = pool.begin_to_restore(id).expect("there is room");
    let targets = pool.allocation_targets();
    let to = *targets
        .iter()
        .find(|drive| pool.space.segments.borrow().is_target(**drive))
        .expect("one of them");
    pool.array.give_up(to, DeviceError::Gone);
    assert_eq!(at_once(pool.lane_step(&mut lane)), Relocated::GivenUp);
    pool.lane_ended(lane, Relocated::GivenUp);
    assert!(!pool.space.segments.borrow().is_moving(id));
}

/// Its root would have said that nothing lies on a drive any more, and its table that something
/// does.
#[test]
fn a_column_arrives_only_when_no_checkpoint_is_on_its_way() {
    let pool = degraded(Level::RAID1, 4);
    let Some(RebuildTask::Move(id)) = next(&pool) else { panic!("{:?}", next(&pool)) };
    let mut lane = pool.begin_to_restore(id).expect("there is room");
    pool.space.segments.borrow_mut().note();
    {
        let mut rows = pin!(async { while pool.lane_step(&mut lane).await == Relocated::Part {} });
        let mut poll = || rows.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending() && poll().is_pending());
        assert!(pool.space.segments.borrow().is_moving(id));
        pool.space.segments.borrow_mut().end_note();
        pool.checkpoint.roots.announce();
        assert!(poll().is_ready());
    }
    assert!(!pool.space.segments.borrow().is_moving(id));
    pool.lane_ended(lane, Relocated::Whole);
    assert!(!pool.jobs.relocation.is_settled());
}

#[test]
fn as_many_lanes_go_on_as_there_may_be_and_the_next_begins_when_one_has_ended() {
    let pool = degraded(Level::RAID1, 4);
    let mut lanes = Vec::new();
    while let Some(RebuildTask::Move(id)) = next(&pool) {
        lanes.push(pool.begin_to_restore(id).expect("there is room"));
    }
    assert_eq!((lanes.len(), next(&pool)), (pool.jobs.relocation.lanes(), None));
    assert!(lanes.len() > 1 && pool.rebuild_waits(false).is_none(), "{}", lanes.len());
    let lane = lanes.pop().expect("there are some");
    pool.lane_ended(lane, Relocated::GivenUp);
    assert!(matches!(next(&pool), Some(RebuildTask::Move(_))));
}
