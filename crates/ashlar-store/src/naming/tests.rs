use ashlar_block::{Durability, MemoryDevice, SECTOR_BYTES};
use ashlar_raid::Level;

use super::*;
use crate::testing::{Drives, at_once};

const LEVEL: &str = "5";

fn drives() -> Drives {
    Drives::new(LEVEL.parse::<Level>().unwrap(), 4)
}

fn superblock(device: &MemoryDevice, offset: u64) -> Superblock {
    let (_, sector) = at_once(device.read(offset, AlignedBuf::zeroed(SECTOR_BYTES)));
    Superblock::decode(&sector).expect("a superblock")
}

/// What both superblocks of each drive say.
fn names(drives: &Drives) -> Vec<[String; 2]> {
    let of = |device: &MemoryDevice| {
        let first = superblock(device, Superblock::FIRST_OFFSET);
        let second = superblock(device, Superblock::second_offset(first.drive_bytes));
        [first.pool_name, second.pool_name]
    };
    drives.devices.iter().map(of).collect()
}

fn name_of(drives: &Drives) -> String {
    drives.open().name()
}

fn all(name: &str) -> Vec<[String; 2]> {
    vec![[name.to_owned(), name.to_owned()]; 4]
}

/// Writes a drive as it was.
fn put_back(device: &MemoryDevice, superblock: &Superblock) {
    let sector = AlignedBuf::copy_of(&superblock.encode()).freeze();
    for offset in [Superblock::FIRST_OFFSET, Superblock::second_offset(superblock.drive_bytes)] {
        at_once(device.write(offset, sector.clone(), Durability::Stable)).expect("a good drive");
    }
}

fn settle(drives: &Drives) {
    let superblocks: Vec<Superblock> = drives.found().into_iter().map(|found| found.superblock).collect();
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
        let before: Vec<Superblock> = drives.found().into_iter().map(|found| found.superblock).collect();
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
fn a_rename_counts_more_than_any_other_change_of_a_superblock() {
    let label = |generation| Label { generation, name: "a".to_owned() };
    for generation in [1, 78, RENAMED - 1, RENAMED, RENAMED + 5] {
        let renamed = label(generation).renamed("b");
        assert_eq!(renamed.generation / RENAMED, generation / RENAMED + 1);
        assert!(renamed > label(generation / RENAMED * RENAMED + RENAMED - 1));
    }
}
