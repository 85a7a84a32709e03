use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::DeviceError;
use ashlar_raid::Level;

use super::*;
use crate::base::options::Options;
use crate::testing::{Drives, StillWorld, at_once, write_block};

const BLOCKS: u64 = 32;

/// A pool of mirrors, with segments on all of its drives.
fn filled(options: Options) -> (Drives, Rc<Pool<StillWorld>>) {
    let drives = Drives::new(Level::RAID1, 4);
    let pool = drives.open_with(options);
    (0..BLOCKS).for_each(|lba| write_block(&pool, lba));
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    at_once(pool.checkpoint(false)).expect("good drives");
    (drives, pool)
}

fn segments_on(pool: &Pool<StillWorld>, drive: DriveId) -> BTreeSet<SegmentId> {
    let segments = pool.space.segments.borrow();
    segments
        .iter()
        .filter(|(_, segment)| segment.columns_on(&[drive]) > 0)
        .map(|(id, _)| id)
        .collect()
}

/// A copy of a drive was put in its place, made before a column came to it: the column lay there by
/// the table, and what the copy has in its place is something else.
#[test]
fn a_drive_brings_the_columns_that_were_written_and_placed_before_its_newest_root() {
    let (_, pool) = filled(Options::default());
    let (segments, root) = (pool.space.segments.borrow(), pool.checkpoint.roots.newest());
    let is_sealed = |segment: &&Segment| segment.state == SegmentState::Sealed;
    let segment = segments.iter().map(|(_, segment)| segment).find(is_sealed).expect("one of them");
    let held = Held::by(&root);
    let has = |change: &dyn Fn(&mut Segment)| {
        let mut changed = segment.clone();
        change(&mut changed);
        held.has(&changed)
    };
    assert!(has(&|_| {}));
    assert!(!has(&|segment| segment.last_lsn = root.replay_floor), "it lacks a batch");
    assert!(!has(&|segment| segment.placed_lsn = root.replay_floor), "it lay elsewhere");
    assert!(!has(&|segment| segment.state = SegmentState::Open), "more may be written to it");
}

/// All columns of a drive were named on it in one root. Where segments are small, and the pool is
/// full, no segment was left for the leaves of the table, and the pool halted.
#[test]
fn a_drive_has_its_columns_back_in_as_many_roots_as_the_table_has_room_for() {
    let (drives, pool) = filled(Options { adopted_columns_max: 1, ..Options::default() });
    let away = DriveId(1);
    pool.array.give_up(away, DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
    let found =
        drives.found().into_iter().find(|found| found.superblock.drive == away).expect("a member");
    let (mut work, mut roots_that_add) = (pin!(pool.return_drive(away, found)), 0);
    let mut known = BTreeSet::new();
    let back = loop {
        match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(back) => break back.expect("it is a member"),
            Poll::Pending => at_once(pool.ordered_checkpoint()),
        }
        let root = pool.checkpoint.roots.newest().members.iter().map(|member| member.drive).max();
        let now = segments_on(&pool, root.expect("it has members"));
        roots_that_add += usize::from(now.len() > known.len());
        assert!(now.len() <= known.len() + 1, "{known:?}, then {now:?}");
        known = now;
    };
    assert!(back.columns_kept > 1 && roots_that_add as u64 >= back.columns_kept, "{back:?}");
    assert!(pool.space.segments.borrow().summary_is_right());
}

/// Who asked for it has gone. What the drive holds beyond what is its own again is free.
#[test]
fn chunks_that_are_kept_for_columns_are_free_once_nobody_adopts_them() {
    let (drives, pool) = filled(Options { adopted_columns_max: 1, ..Options::default() });
    let away = DriveId(1);
    pool.array.give_up(away, DeviceError::Gone);
    at_once(pool.ordered_checkpoint());
    let found =
        drives.found().into_iter().find(|found| found.superblock.drive == away).expect("a member");
    let chunks = found.superblock.layout.chunk_count;
    {
        let mut work = pin!(pool.return_drive(away, found));
        while pool.membership.joining.get().is_none() {
            assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
    }
    let new = pool.membership.joining.get().expect("seen").record.drive;
    let load = pool.space.segments.borrow().loads(&[new])[&new];
    assert_eq!((load.used, load.total), (segments_on(&pool, new).len() as u32, chunks));
}
