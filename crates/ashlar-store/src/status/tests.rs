use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ashlar_block::{Cause, Device, DeviceError};
use ashlar_format::ids::RootGeneration;
use ashlar_format::superblock::DriveClass;

use super::*;
use crate::members::add::AddError;
use crate::members::create::{NewPool, create};
use crate::testing::{Drives, StillWorld, TestDevice, at_once, walked_over, write_block};

/// A pool that loses drives, gets others and restores what it can.
struct PoolScenario {
    drives: Drives,
    pool: Rc<Pool<StillWorld>>,
}

impl PoolScenario {
    fn new(level: Level, count: usize) -> Self {
        let drives = Drives::new(level, count);
        let pool = drives.open();
        PoolScenario { drives, pool }
    }

    /// Does the work, and the checkpoints that it asks for.
    fn ordered<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(done) => return done,
                Poll::Pending => at_once(self.pool.ordered_checkpoint()),
            }
        }
    }

    fn lose(&self, drive: u16) {
        self.pool.array.give_up(DriveId(drive), DeviceError::Gone);
        at_once(self.pool.ordered_checkpoint());
    }

    /// Whether there was something to restore.
    fn restore_some(&self) -> bool {
        self.pool.rebuild_at_once();
        let next = self.pool.next_rebuild(
            &self.pool.space.segments.borrow(),
            self.pool.writer.lsns.floor(),
            &self.pool.allocation_targets(),
        );
        next.map(|task| at_once(self.pool.rebuild_step(task)).expect("good drives")).is_some()
    }

    fn restore(&self) {
        while self.restore_some() {}
        assert!(self.pool.unreleased().is_empty(), "all is restored");
    }

    fn add(&mut self, instead_of: Option<u16>) {
        let device = TestDevice::new(self.drives.devices[0].size_bytes());
        self.drives.devices.push(device.clone());
        self.ordered(self.pool.add_drive(device, instead_of.map(DriveId))).expect("a good drive");
    }

    fn bring_back(&self, drive: u16) {
        let is_it =
            |found: &crate::members::FoundDrive<TestDevice>| found.superblock.drive.0 == drive;
        let found = self.drives.found().into_iter().find(is_it).expect("it is there");
        self.ordered(self.pool.return_drive(DriveId(drive), found)).expect("it is a member");
    }

    /// Whether it is reduced, now and after a restart.
    fn is_reduced(&mut self) -> bool {
        let now = self.pool.status().is_reduced;
        self.pool = self.drives.open();
        assert_eq!(self.pool.status().is_reduced, now, "after a restart");
        now
    }
}

/// Raw bytes and those for data that a pool has after its drive 1 was lost and replaced by one of
/// so many bytes.
fn replaced_by(bytes: impl Fn(u64) -> u64) -> [(u64, u64); 2] {
    let mut pool = PoolScenario::new(Level::RAID5, 4);
    (0..64).for_each(|lba| write_block(&pool.pool, lba));
    pool.pool.seal_all();
    pool.lose(1);
    let has = |pool: &PoolScenario| {
        let space = pool.pool.space();
        (space.raw, space.usable)
    };
    let without = has(&pool);
    let device = TestDevice::new(bytes(pool.drives.devices[0].size_bytes()));
    pool.drives.devices.push(device.clone());
    pool.ordered(pool.pool.add_drive(device, Some(DriveId(1)))).expect("a good drive");
    let with = has(&pool);
    pool.restore();
    assert!(!pool.is_reduced());
    [without, with]
}

#[test]
fn a_drive_is_replaced_by_a_smaller_one_and_leaves_no_less_room_than_without() {
    let [without, with] = replaced_by(|size| size / 3 * 2 / 4096 * 4096);
    assert!(with.0 > without.0 && with.1 >= without.1, "{without:?} {with:?}");
    let [_, with_as_large] = replaced_by(|size| size);
    assert!(with_as_large.1 > with.1);
}

#[test]
fn what_kind_of_drive_it_is_is_written_on_each_that_a_pool_is_made_of_and_on_each_added() {
    let mut pool = PoolScenario::new(Level::RAID1, 2);
    let bytes = pool.drives.devices[0].size_bytes();
    let added = [true, false].map(|turns| TestDevice::new(bytes).turning(turns));
    for device in added {
        pool.drives.devices.push(device.clone());
        pool.ordered(pool.pool.add_drive(device, None)).expect("a good drive");
    }
    let classes: Vec<DriveClass> =
        pool.drives.found().iter().map(|found| found.superblock.class).collect();
    let (unknown, spinning, flash) = (
        DriveClass::Unknown,
        DriveClass::of_rotational(Some(true)),
        DriveClass::of_rotational(Some(false)),
    );
    assert_eq!(classes, [unknown, unknown, spinning, flash]);
    let devices: Vec<TestDevice> =
        [true, false].map(|turns| TestDevice::new(64 << 20).turning(turns)).into();
    let new = NewPool {
        name: "other".into(),
        level: Level::RAID1,
        chunk_bytes: None,
        segment_numbers: None,
    };
    at_once(create(&pool.drives.world, &new, devices.clone())).expect("good drives");
    let made = Drives { world: pool.drives.world, devices }.found();
    assert_eq!([0, 1].map(|nth: usize| made[nth].superblock.class), [spinning, flash]);
}

/// It had joined after the pool was made, and so it passed for a drive that was added: the next
/// loss was not seen.
#[test]
fn a_drive_that_came_back_makes_up_for_no_other_one() {
    let mut five = PoolScenario::new(Level::RAID5, 5);
    five.lose(1);
    five.bring_back(1);
    five.restore();
    assert!(!five.is_reduced());
    five.lose(2);
    five.restore();
    assert!(five.is_reduced());
    five.add(None);
    assert!(!five.is_reduced());
}

#[test]
fn an_added_drive_makes_up_for_one_that_is_lost_before_or_after_all_is_restored() {
    for restored_first in [false, true] {
        let mut pool = PoolScenario::new(Level::RAID5, 5);
        pool.lose(0);
        if restored_first {
            pool.restore();
            assert!(pool.is_reduced());
        }
        pool.add(None);
        pool.restore();
        assert!(!pool.is_reduced());
        // And for one only.
        pool.lose(3);
        pool.restore();
        assert!(pool.is_reduced());
    }
}

#[test]
fn a_drive_that_was_added_while_none_was_lost_is_missed_like_the_others() {
    let mut pool = PoolScenario::new(Level::RAID5, 4);
    pool.add(None);
    pool.lose(2);
    pool.restore();
    assert!(pool.is_reduced());
    pool.ordered(pool.pool.remove_drive(DriveId(2))).expect("it was released");
    assert!(!pool.is_reduced(), "whoever forgets a drive does without");
}

#[test]
fn a_drive_that_replaces_another_makes_up_for_that_one_alone() {
    let mut pool = PoolScenario::new(Level::RAID6, 6);
    pool.lose(0);
    pool.lose(1);
    pool.add(Some(1));
    pool.restore();
    assert!(pool.is_reduced(), "there is one less");
    pool.add(Some(2));
    assert!(pool.is_reduced(), "it is for one that works");
    pool.bring_back(0);
    pool.restore();
    assert!(!pool.is_reduced());
}

#[test]
fn a_drive_that_made_up_for_another_and_is_lost_itself_is_missed_once() {
    let mut pool = PoolScenario::new(Level::RAID6, 6);
    pool.lose(0);
    pool.add(None);
    pool.lose(6);
    pool.restore();
    assert!(pool.is_reduced());
    pool.add(None);
    assert!(!pool.is_reduced());
}

/// The pool had as many drives as ever, and was said to be reduced for good.
#[test]
fn a_drive_that_comes_back_leaves_the_one_that_made_up_for_it_to_another_that_is_missed() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    pool.lose(0);
    pool.add(None);
    pool.restore();
    pool.lose(1);
    pool.restore();
    assert!(pool.is_reduced());
    pool.bring_back(0);
    pool.restore();
    assert!(!pool.is_reduced());
    // And to one only.
    pool.lose(2);
    pool.restore();
    assert!(pool.is_reduced());
}

/// It was said to be at 0 percent again.
#[test]
fn how_far_a_rebuild_is_outlives_a_restart() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    for lba in 0..64 {
        write_block(&pool.pool, lba);
    }
    pool.pool.seal_all();
    pool.lose(1);
    let rebuilt =
        |pool: &PoolScenario| pool.pool.status().rebuild.map_or(0, |rebuild| rebuild.bytes_done);
    while rebuilt(&pool) == 0 {
        assert!(pool.restore_some(), "there is something to restore");
    }
    at_once(pool.pool.checkpoint(false)).expect("one may be lost");
    let before = rebuilt(&pool);
    pool.drives.devices.remove(1);
    pool.pool = pool.drives.open();
    assert_eq!(rebuilt(&pool), before);
    assert!(before > 0);
    pool.restore();
    pool.lose(2);
    assert_eq!(rebuilt(&pool), 0, "the next one is counted anew");
}

/// Each walked over all segments, several times a second: 54 ms at a time with half a million.
#[test]
fn who_asks_for_the_status_or_what_to_do_next_walks_over_no_more_of_many_segments_than_of_few() {
    let walked = |count: usize| {
        let drives = Drives::of_chunks(Level::RAID5, 5, count as u64 + 200);
        let pool = drives.open();
        let (floor, targets) = (pool.writer.lsns.floor(), pool.allocation_targets());
        pool.space.segments.borrow_mut().invent(count, &targets, floor);
        pool.array.give_up(DriveId(1), DeviceError::Gone);
        at_once(pool.checkpoint(false)).expect("one may be lost");
        let floor = pool.writer.lsns.next();
        [
            walked_over(|| _ = pool.space()),
            walked_over(|| _ = pool.status()),
            walked_over(|| _ = pool.wants()),
            walked_over(|| _ = pool.space.segments.borrow().reclaimable(floor)),
        ]
    };
    // A search for what is to be restored looks at some thousands.
    let few = walked(4_000);
    assert_eq!(few, walked(20_000));
    assert_eq!((few[0], few[1], few[3]), (0, 0, 0));
}

/// The record of drive `number`, of whatever has this identity.
fn member(number: u16, uuid: u8, state: MemberState, since: u64) -> MemberRecord {
    MemberRecord {
        drive: DriveId(number),
        uuid: DriveUuid([uuid; 16]),
        state,
        made_good: false,
        given_up: false,
        since: RootGeneration(since),
        parity_used: 0,
    }
}

/// What has become of each.
fn now(members: &[MemberRecord]) -> Vec<Option<u16>> {
    members.iter().map(|record| came_back_as(members, record).map(|drive| drive.0)).collect()
}

#[test]
fn all_old_numbers_of_a_drive_that_came_back_twice_mean_the_one_that_it_has_now() {
    use MemberState::{Absent, Leaving, Present};
    let others = [member(1, 1, Present, 1), member(2, 2, Absent, 40)];
    let old = [member(0, 9, Absent, 10), member(4, 9, Absent, 20)];
    for state in [Present, Leaving] {
        let members = [&others[..], &old, &[member(5, 9, state, 15)]].concat();
        assert_eq!(now(&members), [None, None, Some(5), Some(5), None]);
    }
    let lost_again = [&others[..], &old, &[member(5, 9, Absent, 30)]].concat();
    assert_eq!(now(&lost_again), [None, None, Some(5), Some(5), None]);
}

#[test]
fn what_is_missing_is_not_taken_for_back_because_its_newest_number_holds_nothing() {
    let members = [member(0, 9, MemberState::Absent, 10), member(4, 9, MemberState::Released, 30)];
    assert_eq!(now(&members)[0], None);
}

fn is_given_up(pool: &Pool<StillWorld>, drive: u16) -> bool {
    let drives = pool.status().drives;
    drives.iter().find(|status| status.drive.0 == drive).expect("it is known").is_given_up
}

#[test]
fn a_drive_that_was_there_when_it_was_lost_stays_given_up_until_it_is_found_gone() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    pool.lose(1);
    assert!(is_given_up(&pool.pool, 1), "whatever it has said last");
    pool.pool = pool.drives.open();
    assert!(is_given_up(&pool.pool, 1), "after a restart");
    pool.ordered(pool.pool.drives_are_gone(&[DriveId(1)])).expect("good drives");
    assert!(!is_given_up(&pool.pool, 1));
    pool.pool = pool.drives.open();
    assert!(!is_given_up(&pool.pool, 1), "after a restart");
}

#[test]
fn a_drive_that_is_found_gone_is_lost_with_that_and_not_given_up() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    pool.ordered(pool.pool.drives_are_gone(&[DriveId(2)])).expect("good drives");
    let lost =
        pool.pool.status().drives.into_iter().find(|status| status.drive.0 == 2).expect("a member");
    assert!(lost.condition != DriveCondition::Online && !lost.is_given_up, "{lost:?}");
    pool.restore();
    pool.pool = pool.drives.open();
    assert!(!is_given_up(&pool.pool, 2), "after it is released, and a restart");
}

#[test]
fn a_drive_that_is_missing_when_the_pool_is_opened_is_not_given_up() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    pool.drives.devices.remove(1);
    pool.pool = pool.drives.open();
    assert!(!is_given_up(&pool.pool, 1));
}

#[test]
fn a_drive_that_was_given_up_and_came_back_on_request_is_not_given_up_under_any_number() {
    let pool = PoolScenario::new(Level::RAID5, 5);
    pool.ordered(pool.pool.fail_drive(DriveId(1), false)).expect("good drives");
    assert!(is_given_up(&pool.pool, 1));
    pool.bring_back(1);
    assert!(pool.pool.status().drives.iter().all(|status| !status.is_given_up));
}

/// Who still read of the first found the second where that had been, and blamed it.
#[test]
fn a_drive_that_is_added_does_not_get_the_number_of_one_that_was_removed_a_moment_ago() {
    let mut pool = PoolScenario::new(Level::RAID5, 5);
    pool.lose(4);
    pool.restore();
    pool.ordered(pool.pool.remove_drive(DriveId(4))).expect("it was released");
    pool.add(None);
    let numbers: Vec<u16> = pool.pool.status().drives.iter().map(|drive| drive.drive.0).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 5]);
}

/// It got the number of the first, and the daemon ended.
#[test]
fn a_drive_is_refused_while_another_is_on_its_way_to_become_a_member() {
    let pool = PoolScenario::new(Level::RAID5, 4);
    let new = || TestDevice::new(pool.drives.devices[0].size_bytes());
    let mut first = pin!(pool.pool.add_drive(new(), None));
    assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    pool.pool.requests.answer_checkpoints(&Err(Cause::NotReady.into()));
    let unsettled = pool.ordered(first);
    assert!(matches!(unsettled, Err(AddError::Unsettled { .. })), "{unsettled:?}");
    let refused = at_once(pool.pool.add_drive(new(), None));
    assert!(matches!(refused, Err(AddError::Joining(DriveId(4)))), "{refused:?}");
    at_once(pool.pool.ordered_checkpoint());
    pool.ordered(pool.pool.add_drive(new(), None)).expect("the first is a member");
}
