use std::collections::BTreeMap;
use std::ops::Range;

use ashlar_block::{Device, Durability, SECTOR_BYTES};
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, TestDevice, at_once};

const LEVEL: &str = "5";

fn drives() -> Drives {
    Drives::new(LEVEL.parse::<Level>().unwrap(), 4)
}

fn superblock(device: &TestDevice, offset: u64) -> Superblock {
    let (_, sector) = at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES)));
    Superblock::decode(&sector).expect("a superblock")
}

/// What both superblocks of each drive say.
fn names(drives: &Drives) -> Vec<[String; 2]> {
    let of = |device: &TestDevice| {
        let first = superblock(device, Superblock::FIRST_OFFSET);
        let second = superblock(device, Superblock::second_offset(first.drive_bytes));
        [first.pool_name, second.pool_name]
    };
    drives.devices.iter().map(of).collect()
}

fn name_of(drives: &Drives) -> String {
    drives.open().name()
}

/// By both copies of each drive.
fn newest_name(drives: &Drives) -> String {
    let offsets = |device: &TestDevice| [Superblock::FIRST_OFFSET, second_of(device).start];
    let copies = |device| offsets(device).map(|offset| superblock(device, offset));
    let superblocks: Vec<Superblock> = drives.devices.iter().flat_map(copies).collect();
    newest_label(&superblocks).expect("there are some").pool_name.clone()
}

fn all(name: &str) -> Vec<[String; 2]> {
    vec![[name.to_owned(), name.to_owned()]; 4]
}

/// Writes a drive as it was.
fn put_back(device: &TestDevice, superblock: &Superblock) {
    let sector = AlignedBuf::copy_of(&superblock.encode()).freeze();
    for offset in [Superblock::FIRST_OFFSET, Superblock::second_offset(superblock.drive_bytes)] {
        at_once(device.write(offset, sector.clone(), Durability::Stable)).expect("a good drive");
    }
}

fn settle(drives: &Drives) {
    let superblocks: Vec<Superblock> =
        drives.found().into_iter().map(|found| found.superblock).collect();
    at_once(drives.open().settle_name(&superblocks));
}

#[test]
fn a_pool_has_its_new_name_on_both_copies_of_each_drive_and_after_each_opening() {
    let drives = drives();
    let pool = drives.open();
    for name in ["tank", "dozer", "test", "test"] {
        at_once(pool.rename(name)).unwrap();
        assert_eq!((pool.name().as_str(), names(&drives)), (name, all(name)));
    }
    drop(pool);
    assert_eq!(name_of(&drives), "test");
}

#[test]
fn what_is_no_name_changes_nothing() {
    let drives = drives();
    let pool = drives.open();
    for name in ["", "a/b", "a b", &"x".repeat(65)] {
        assert!(matches!(at_once(pool.rename(name)), Err(RenameError::Name(_))), "{name}");
    }
    assert_eq!((pool.name().as_str(), names(&drives)), ("test", all("test")));
}

/// The daemon is killed when some of the drives have the new name.
#[test]
fn a_rename_that_was_stopped_halfway_is_brought_to_its_end_by_the_next_opening() {
    for told in 1..4 {
        let drives = drives();
        let before: Vec<Superblock> =
            drives.found().into_iter().map(|found| found.superblock).collect();
        at_once(drives.open().rename("tank")).unwrap();
        for (device, before) in drives.devices.iter().zip(&before).skip(told) {
            put_back(device, before);
        }
        assert_eq!(name_of(&drives), "tank", "{told} of 4 drives had been told");
        settle(&drives);
        assert_eq!(names(&drives), all("tank"));
    }
}

/// Its superblock may have been written more often than those of the others.
#[test]
fn a_drive_that_was_away_does_not_bring_the_old_name_back() {
    let drives = drives();
    let mut away = drives.found().remove(3).superblock;
    away.generation += 77;
    at_once(drives.open().rename("tank")).unwrap();
    put_back(&drives.devices[3], &away);
    assert_eq!(name_of(&drives), "tank");
    settle(&drives);
    assert_eq!(names(&drives), all("tank"));
}

#[test]
fn a_scrub_takes_no_name_that_changes_for_a_fault() {
    let drives = drives();
    let pool = drives.open();
    let before = pool.identity.naming.settled();
    assert!(before.is_some());
    pool.identity.naming.is_changing.set(true);
    assert_eq!(pool.identity.naming.settled(), None);
    pool.identity.naming.is_changing.set(false);
    at_once(pool.rename("tank")).unwrap();
    assert_ne!(pool.identity.naming.settled(), before);
}

#[test]
fn an_attempt_counts_more_than_any_other_change_of_a_superblock_and_any_attempt_before() {
    for generation in [1, 78, RENAMED - 1, RENAMED, RENAMED + 5] {
        let attempt = Label::above(generation, "b");
        assert_eq!(attempt.generation / RENAMED, generation / RENAMED + 1);
        assert!(attempt.generation > generation / RENAMED * RENAMED + RENAMED - 1);
    }
    let naming = Naming::new(Label { generation: 7, name: "a".to_owned() });
    let attempts = ["b", "c", "a"].map(|name| naming.next(name).generation);
    assert!(attempts.is_sorted_by(|one, next| one < next), "{attempts:?}");
}

fn refuse_all(drives: &Drives, range: impl Fn(&TestDevice) -> Range<u64>) {
    drives.devices.iter().for_each(|device| device.refuse_writes(range(device)));
}

fn second_of(device: &TestDevice) -> Range<u64> {
    let at = Superblock::second_offset(device.size_bytes());
    at..at + SECTOR_BYTES as u64
}

const FIRST: Range<u64> = 0..SECTOR_BYTES as u64;

/// Names of one generation, on any copies of any drives.
fn assert_each_generation_has_one_name(drives: &Drives) {
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    for device in &drives.devices {
        for offset in [Superblock::FIRST_OFFSET, second_of(device).start] {
            let says = superblock(device, offset);
            let known = names.entry(says.generation).or_insert_with(|| says.pool_name.clone());
            assert_eq!(*known, says.pool_name, "both have generation {}", says.generation);
        }
    }
}

#[test]
fn a_pool_of_which_no_drive_takes_the_name_keeps_its_own_whatever_came_to_a_drive() {
    let drives = drives();
    let pool = drives.open();
    refuse_all(&drives, second_of);
    assert!(matches!(at_once(pool.rename("tank")), Err(RenameError::Unsure)));
    assert_eq!(pool.name(), "test");
    // What came to one drive when the first attempt was made.
    let mut late = drives.found().remove(2).superblock;
    (late.generation, late.pool_name) = (RENAMED, "tank".to_owned());
    refuse_all(&drives, |_| 0..0);
    put_back(&drives.devices[2], &late);
    drives.devices[0].refuse_writes(second_of(&drives.devices[0]));
    at_once(pool.rename("dozer")).expect("three drives take it");
    assert_each_generation_has_one_name(&drives);
    drop(pool);
    assert_eq!(name_of(&drives), "dozer");
}

#[test]
fn a_drive_of_which_one_copy_takes_the_name_says_it() {
    let drives = drives();
    let pool = drives.open();
    refuse_all(&drives, |_| FIRST);
    at_once(pool.rename("tank")).expect("the second copies take it");
    assert_eq!(pool.name(), "tank");
    assert_eq!(names(&drives), vec![["test".to_owned(), "tank".to_owned()]; 4]);
    refuse_all(&drives, |_| 0..0);
    at_once(pool.rename("dozer")).unwrap();
    assert_eq!(names(&drives), all("dozer"));
    assert_each_generation_has_one_name(&drives);
}

/// The daemon is killed between the two copies of the only drive that had been told, and the next
/// rename does not come to that one.
#[test]
fn a_rename_after_one_that_was_cut_between_two_copies_has_a_generation_of_its_own() {
    let drives = drives();
    let before = drives.found().remove(1).superblock;
    let cut = Superblock { generation: RENAMED, pool_name: "zebra".to_owned(), ..before };
    let pool = drives.open();
    let sector = AlignedBuf::copy_of(&cut.encode()).freeze();
    let second = second_of(&drives.devices[1]);
    at_once(drives.devices[1].write(second.start, sector, Durability::Stable))
        .expect("a good drive");
    drives.devices[1].refuse_writes(second);
    at_once(pool.rename("tank")).expect("three drives take it");
    assert_each_generation_has_one_name(&drives);
    drop(pool);
    assert_eq!(newest_name(&drives), "tank");
}

/// It has a generation above those of the others, which a rename that does not come to it must
/// outdo.
#[test]
fn a_drive_that_had_come_back_does_not_undo_a_rename_that_it_refuses() {
    let drives = drives();
    let mut returned = drives.found().remove(3).superblock;
    returned.generation = 3 * RENAMED + 2;
    put_back(&drives.devices[3], &returned);
    let pool = drives.open();
    drives.devices[3].refuse_writes(0..drives.devices[3].size_bytes());
    at_once(pool.rename("tank")).expect("three drives take it");
    assert_eq!(newest_name(&drives), "tank");
    assert_each_generation_has_one_name(&drives);
}
