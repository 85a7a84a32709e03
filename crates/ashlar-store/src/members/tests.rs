use ashlar_raid::DriveLayout;

use super::*;
use crate::format::root::{MemberRecord, TableRoot};
use crate::format::superblock::Secret;
use crate::types::{Incarnation, Lsn, RootGeneration};

fn superblock(drive: u16) -> Superblock {
    Superblock {
        generation: 1,
        pool: PoolUuid([1; 16]),
        drive_uuid: DriveUuid([drive as u8; 16]),
        drive: DriveId(drive),
        parity: 1,
        data: 2,
        member_count: 3,
        drive_bytes: 1 << 30,
        layout: DriveLayout { chunks_start: 1 << 20, chunk_bytes: 1 << 20, chunk_count: 1000 },
        table_bytes: 4096,
        secret: Secret([0; 32]),
        made_at: 0,
        segment_numbers: 1 << 12,
        pool_name: "tank".into(),
    }
}

/// A root of three drives, of which `absent` are.
fn root(line: &[(u64, u64)], generation: u64, absent: &[u16]) -> Root {
    let member = |drive: u16| MemberRecord {
        drive: DriveId(drive),
        uuid: DriveUuid([drive as u8; 16]),
        state: if absent.contains(&drive) { MemberState::Absent } else { MemberState::Present },
        since: RootGeneration(1),
    };
    Root {
        pool: PoolUuid([1; 16]),
        generation: RootGeneration(generation),
        next_lsn: Lsn(64),
        replay_floor: Lsn(64),
        segment_ordinal: 0,
        segment_swept: 3,
        clean: false,
        written_at: 0,
        unclean_starts: 0,
        table: TableRoot::default(),
        members: (0..3).map(member).collect(),
        line: line
            .iter()
            .map(|(incarnation, first)| (Incarnation(*incarnation), RootGeneration(*first)))
            .collect(),
        catalog: None,
        shards: Vec::new(),
    }
}

#[test]
fn a_drive_that_missed_only_the_last_roots_is_a_member() {
    let newest = root(&[(2, 20), (1, 1)], 25, &[]);
    for own in [root(&[(2, 20), (1, 1)], 24, &[]), root(&[(1, 1)], 19, &[])] {
        assert_eq!(standing(&newest, &superblock(0), Some(&own)), Standing::Member);
    }
}

#[test]
fn a_drive_that_was_named_absent_is_stale_however_new_its_root_is() {
    let newest = root(&[(2, 20), (1, 1)], 25, &[0]);
    assert_eq!(standing(&newest, &superblock(0), Some(&root(&[(1, 1)], 19, &[]))), Standing::Stale);
    assert_eq!(standing(&newest, &superblock(0), Some(&newest)), Standing::Stale);
}

#[test]
fn a_drive_that_is_not_the_member_it_was_is_stale() {
    let newest = root(&[(1, 1)], 25, &[]);
    let replaced = Superblock { drive_uuid: DriveUuid([9; 16]), ..superblock(0) };
    assert_eq!(standing(&newest, &replaced, None), Standing::Stale);
}

#[test]
fn the_root_of_a_checkpoint_that_did_not_end_makes_no_line_of_its_own() {
    // The power failed after root 20 was on drive 0 alone. The pool was opened without that drive, from root 19, and
    // so has another root 20. Drive 0 came back, and the pool refused to open.
    let newest = root(&[(2, 20), (1, 1)], 30, &[0]);
    let unfinished = root(&[(1, 1)], 20, &[]);
    assert_eq!(standing(&newest, &superblock(0), Some(&unfinished)), Standing::Stale);
}

#[test]
fn a_drive_that_was_opened_without_the_others_is_not_merged_with_them() {
    let newest = root(&[(2, 20), (1, 1)], 30, &[0]);
    let alone = root(&[(3, 20), (1, 1)], 22, &[1, 2]);
    assert_eq!(standing(&newest, &superblock(0), Some(&alone)), Standing::Diverged);
}

#[test]
fn a_line_that_too_few_drives_are_on_never_acknowledged_anything() {
    // Drive 1 alone got the root that names drive 2 absent, and then was away itself.
    let newest = root(&[(2, 21), (1, 1)], 30, &[1]);
    assert!(!could_have_opened(1, &newest, 1));
    assert!(could_have_opened(2, &newest, 1));
}

#[test]
fn nobody_is_told_to_give_up_a_line_before_all_drives_are_there() {
    // Drive 1 named drive 2 absent before it was away itself; drive 2, which could tell whether the two of them ever
    // acknowledged anything, is not given.
    let newest = root(&[(2, 20), (1, 1)], 30, &[1]);
    let alone = root(&[(3, 20), (1, 1)], 22, &[2]);
    let verdict = |given: &[(u16, &Root)]| {
        let drives = given.iter().map(|(drive, _)| FoundDrive { superblock: superblock(*drive), device: () });
        let roots: Vec<Vec<Root>> = given.iter().map(|(_, root)| vec![(*root).clone()]).collect();
        let (chosen, diverged) = sort_out(drives.collect(), &roots, newest.clone());
        agree(&chosen, &diverged, 1, OpenPolicy::default())
    };
    assert!(matches!(verdict(&[(0, &newest), (1, &alone)]), Err(OpenError::TooManyMissing { .. })));
    assert!(matches!(verdict(&[(0, &newest), (1, &alone), (2, &alone)]), Err(OpenError::Diverged { .. })));
    assert!(verdict(&[(0, &newest), (1, &alone), (2, &newest)]).is_ok());
}
