use ashlar_format::features::Features;
use ashlar_format::ids::{Incarnation, Lsn, RootGeneration};
use ashlar_format::root::{MemberRecord, TableRoot};
use ashlar_format::superblock::{DriveClass, Secret};
use ashlar_raid::{ChunkAddr, DriveLayout};

use super::*;

fn superblock(drive: u16) -> Superblock {
    Superblock {
        generation: 1,
        pool: PoolUuid([1; 16]),
        drive_uuid: DriveUuid([drive as u8; 16]),
        drive: DriveId(drive),
        class: DriveClass::Unknown,
        parity: 1,
        data: 2,
        member_count: 3,
        drive_bytes: 1 << 30,
        layout: DriveLayout { chunks_start: 1 << 20, chunk_bytes: 1 << 20, chunk_count: 1000 },
        secret: Secret([0; 32]),
        made_at: 0,
        segment_numbers: 1 << 12,
        features: Features::default(),
        pool_name: "tank".into(),
    }
}

/// A root of three drives, of which `absent` are.
pub fn root(line: &[(u64, u64)], generation: u64, absent: &[u16]) -> Root {
    root_of(3, line, generation, absent)
}

/// A root of so many drives, of which `absent` are.
fn root_of(drives: u16, line: &[(u64, u64)], generation: u64, absent: &[u16]) -> Root {
    let member = |drive: u16| MemberRecord {
        drive: DriveId(drive),
        uuid: DriveUuid([drive as u8; 16]),
        state: if absent.contains(&drive) { MemberState::Absent } else { MemberState::Present },
        made_good: false,
        given_up: false,
        since: RootGeneration(1),
        parity_used: 0,
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
        parity_used: 0,
        members: (0..drives).map(member).collect(),
        line: line
            .iter()
            .map(|(incarnation, first)| (Incarnation(*incarnation), RootGeneration(*first)))
            .collect(),
        catalog: None,
        shards: Vec::new(),
    }
}

#[test]
fn a_drive_that_missed_only_the_last_root_is_a_member() {
    for (newest, own) in [
        (root(&[(2, 20), (1, 1)], 25, &[]), root(&[(2, 20), (1, 1)], 24, &[])),
        (root(&[(2, 20), (1, 1)], 20, &[]), root(&[(1, 1)], 19, &[])),
    ] {
        assert_eq!(member_verdict(&newest, &superblock(0), Some(&own)), MemberVerdict::Member);
    }
}

/// A copy of a drive that somebody had put in its place counted as the drive, and what it had
/// missed was found out by read after read.
#[test]
fn a_drive_that_missed_more_roots_than_a_power_failure_explains_is_stale() {
    let mut newest = root(&[(2, 20), (1, 1)], 25, &[]);
    for own in [root(&[(2, 20), (1, 1)], 23, &[]), root(&[(1, 1)], 19, &[])] {
        assert_eq!(member_verdict(&newest, &superblock(0), Some(&own)), MemberVerdict::Stale);
    }
    // The root that takes it back is the first that it gets.
    newest.members[0].since = newest.generation;
    assert_eq!(
        member_verdict(&newest, &superblock(0), Some(&root(&[(1, 1)], 7, &[]))),
        MemberVerdict::Member
    );
}

#[test]
fn a_drive_that_was_named_absent_is_stale_however_new_its_root_is() {
    let newest = root(&[(2, 20), (1, 1)], 25, &[0]);
    assert_eq!(
        member_verdict(&newest, &superblock(0), Some(&root(&[(1, 1)], 19, &[]))),
        MemberVerdict::Stale
    );
    assert_eq!(member_verdict(&newest, &superblock(0), Some(&newest)), MemberVerdict::Stale);
}

#[test]
fn a_drive_that_was_released_is_not_missed_and_not_believed() {
    let mut newest = root_of(4, &[(1, 1)], 25, &[]);
    newest.members[3].state = MemberState::Released;
    let own = root_of(4, &[(1, 1)], 19, &[]);
    assert_eq!(member_verdict(&newest, &superblock(3), Some(&own)), MemberVerdict::Stale);
    // One of the other three may be away, as single parity survives, and no more.
    assert!(verdict(&[(0, &newest), (1, &newest)], &newest, 1).is_ok());
    assert!(verdict(&[(0, &newest), (3, &own)], &newest, 1).is_err());
}

#[test]
fn a_drive_that_is_not_the_member_it_was_is_stale() {
    let newest = root(&[(1, 1)], 25, &[]);
    let replaced = Superblock { drive_uuid: DriveUuid([9; 16]), ..superblock(0) };
    assert_eq!(member_verdict(&newest, &replaced, None), MemberVerdict::Stale);
}

#[test]
fn the_root_of_a_checkpoint_that_did_not_end_makes_no_line_of_its_own() {
    // The power failed after root 20 was on drive 0 alone. The pool was opened without that drive,
    // from root 19, and so has another root 20. Drive 0 came back, and the pool refused to open.
    let newest = root(&[(2, 20), (1, 1)], 30, &[0]);
    let unfinished = root(&[(1, 1)], 20, &[]);
    assert_eq!(member_verdict(&newest, &superblock(0), Some(&unfinished)), MemberVerdict::Stale);
}

#[test]
fn a_drive_that_was_opened_without_the_others_is_not_merged_with_them() {
    let newest = root(&[(2, 20), (1, 1)], 30, &[0]);
    let alone = root(&[(3, 20), (1, 1)], 22, &[1, 2]);
    assert_eq!(member_verdict(&newest, &superblock(0), Some(&alone)), MemberVerdict::Diverged);
}

/// As a pool writes it whose segments lie on all members.
fn striped(root: &Root) -> Root {
    let absent = root.members.iter().filter(|member| member.state == MemberState::Absent);
    let parity_used = absent.count() as u8;
    let mut root = Root { parity_used, ..root.clone() };
    root.members.iter_mut().for_each(|member| member.parity_used = parity_used);
    root
}

/// What becomes of a pool when these drives are given, each with its newest root.
fn verdict(given: &[(u16, &Root)], newest: &Root, parity: usize) -> Result<(), OpenError> {
    let drives =
        given.iter().map(|(drive, _)| FoundDrive { superblock: superblock(*drive), device: () });
    let roots: Vec<Vec<Root>> = given.iter().map(|(_, root)| vec![striped(root)]).collect();
    let (chosen, diverged) = sort_out(drives.collect(), &roots, striped(newest));
    agree(&chosen, &diverged, parity, OpenPolicy::Degraded)
}

/// What becomes of a pool whose members with this root are given, under this policy.
fn verdict_under(policy: OpenPolicy, given: &[u16], root: &Root) -> Result<(), OpenError> {
    let drives =
        given.iter().map(|drive| FoundDrive { superblock: superblock(*drive), device: () });
    let roots = vec![vec![striped(root)]; given.len()];
    let (chosen, diverged) = sort_out(drives.collect(), &roots, striped(root));
    agree(&chosen, &diverged, 2, policy)
}

#[test]
fn who_may_be_missing_hangs_on_what_was_said() {
    let (all, without) = (root_of(4, &[(1, 1)], 20, &[]), root_of(4, &[(1, 1)], 20, &[3]));
    let opens = |policy, given: &[u16], root: &Root| verdict_under(policy, given, root).is_ok();
    assert!(opens(OpenPolicy::Whole, &[0, 1, 2, 3], &all));
    assert!(matches!(
        verdict_under(OpenPolicy::Whole, &[0, 1, 2], &all),
        Err(OpenError::NotWhole { members: 4, missing }) if missing == [DriveId(3)]
    ));
    // Its loss is known, but who brings the drives may know better.
    assert!(!opens(OpenPolicy::Whole, &[0, 1, 2], &without));
    assert!(opens(OpenPolicy::Most, &[0, 1, 2], &all));
    assert!(matches!(
        verdict_under(OpenPolicy::Most, &[0, 1], &all),
        Err(OpenError::HalfMissing { members: 4, .. })
    ));
    assert!(opens(OpenPolicy::Degraded, &[0, 1], &all));
    assert!(matches!(
        verdict_under(OpenPolicy::Degraded, &[0], &all),
        Err(OpenError::TooManyMissing { .. })
    ));
}

#[test]
fn a_drive_that_is_there_under_a_new_number_is_not_missing() {
    let mut came_back = root_of(4, &[(1, 1)], 20, &[3]);
    let back =
        MemberRecord { drive: DriveId(4), state: MemberState::Present, ..came_back.members[3] };
    came_back.members.push(back);
    let there = |drive: u16| FoundDrive { superblock: superblock(drive), device: () };
    let renamed = FoundDrive {
        superblock: Superblock { drive_uuid: DriveUuid([3; 16]), ..superblock(4) },
        device: (),
    };
    let drives = vec![there(0), there(1), there(2), renamed];
    let roots = vec![vec![came_back.clone()]; 4];
    let (chosen, diverged) = sort_out(drives, &roots, came_back.clone());
    assert_eq!(chosen.missing, [DriveId(3)]);
    assert!(agree(&chosen, &diverged, 2, OpenPolicy::Whole).is_ok());
}

#[test]
fn a_line_that_too_few_drives_are_on_never_acknowledged_anything() {
    // Drive 1 alone got the root that names drive 2 absent, and then was away itself.
    let newest = root(&[(2, 21), (1, 1)], 30, &[1]);
    let alone = striped(&root(&[(1, 1)], 22, &[2]));
    let could_have = |others: &[DriveId]| could_have_opened(&alone, others, 1);
    assert!(!could_have(&[DriveId(1)]));
    assert!(!could_have(&[DriveId(1), DriveId(2)]), "it has named drive 2 absent");
    assert!(could_have(&[DriveId(0), DriveId(1)]));
    assert!(verdict(&[(0, &newest), (1, &alone), (2, &newest)], &newest, 1).is_ok());
}

#[test]
fn a_drive_that_a_line_named_absent_is_not_counted_for_it() {
    // Two parities. Drive 2 failed; the root that says so came to drive 3 alone. Then 0, 1 and 2
    // were opened without 3. Now 3 is back, and 2 is away: they never were on a line together.
    let newest = root_of(4, &[(2, 20), (1, 1)], 30, &[3]);
    let unfinished = root_of(4, &[(1, 1)], 22, &[2]);
    assert_eq!(member_verdict(&newest, &superblock(3), Some(&unfinished)), MemberVerdict::Diverged);
    assert!(verdict(&[(0, &newest), (1, &newest), (3, &unfinished)], &newest, 2).is_ok());
}

#[test]
fn nobody_is_told_to_give_up_a_line_before_all_drives_are_there() {
    // Drives 1 and 2 named drive 0 absent. Drive 2, which could tell how far the two of them went,
    // is not given.
    let newest = root(&[(2, 20), (1, 1)], 30, &[1, 2]);
    let others = root(&[(3, 20), (1, 1)], 22, &[0]);
    let one_parity = |given: &[(u16, &Root)]| verdict(given, &newest, 1);
    assert!(matches!(
        one_parity(&[(0, &newest), (1, &others)]),
        Err(OpenError::TooManyMissing { .. })
    ));
    assert!(matches!(
        one_parity(&[(0, &newest), (1, &others), (2, &others)]),
        Err(OpenError::Diverged { .. })
    ));
}

/// The root that names drive 2 absent came to drive 1 alone, as the power failed. Drive 1 was given
/// up as "used without the others" when it came back to the pool that 0 and 2 went on with.
#[test]
fn a_drive_may_come_back_whose_newest_root_came_to_too_few() {
    let newest = root(&[(2, 21), (1, 1)], 30, &[1]);
    let has_gone =
        |own: &Root, newest: &Root, parity| has_gone_another_way(&striped(own), newest, parity);
    assert!(!has_gone(&root(&[(1, 1)], 22, &[2]), &newest, 1));
    // Drives 1 and 2 of four, two of which may be lost, have gone on.
    let newest = root_of(4, &[(2, 21), (1, 1)], 30, &[1, 2]);
    let other = root_of(4, &[(3, 21), (1, 1)], 22, &[0, 3]);
    assert!(has_gone(&other, &newest, 2));
    assert!(!has_gone(&other, &newest, 1));
}

/// Machine 2 had opened drive 1 alone, which was away, and written to it. Machine 1 replaced drive
/// 0, too; then drive 1 came back there, and what machine 2 had acknowledged was overwritten
/// without a word.
#[test]
fn a_drive_that_went_on_without_others_is_known_as_that_also_after_those_were_removed() {
    let alone = root_of(2, &[(3, 21), (1, 1)], 22, &[0]);
    let mut newest = root_of(3, &[(2, 21), (1, 1)], 30, &[1]);
    let has_gone = |newest: &Root| has_gone_another_way(&striped(&alone), newest, 1);
    assert!(has_gone(&newest));
    newest.members.remove(0);
    assert!(has_gone(&newest));
}

/// The last drive that was given was believed, and all others were to be given up.
#[test]
fn of_two_roots_of_one_generation_the_one_on_more_drives_is_the_newest() {
    let (unfinished, newest) = (root(&[(1, 1)], 20, &[]), root(&[(2, 20), (1, 1)], 20, &[0]));
    for given in [
        [(0, &unfinished), (1, &newest), (2, &newest)],
        [(1, &newest), (2, &newest), (0, &unfinished)],
    ] {
        let given = given.map(|(drive, root)| (DriveId(drive), root));
        assert_eq!(newest_root(&given).expect("there are some").incarnation(), Incarnation(2));
    }
}

/// Seed 10700514: the power failed after a root was on drive 1 alone of two. Drive 0 was opened
/// without it and went on, and the power failed again after its first root. With both back it was
/// as good as tossed which of the two roots was the newest; if it was that of drive 1, the pool was
/// refused because drive 0 had been used alone.
#[test]
fn of_two_roots_of_one_generation_that_of_a_checkpoint_that_did_not_end_is_not_the_newest() {
    let unfinished = root_of(2, &[(1, 1)], 20, &[]);
    let newest = root_of(2, &[(2, 20), (1, 1)], 20, &[1]);
    for given in [[(0, &newest), (1, &unfinished)], [(1, &unfinished), (0, &newest)]] {
        let own = given.map(|(drive, root)| (DriveId(drive), root));
        assert_eq!(newest_root(&own).expect("there are some").incarnation(), Incarnation(2));
        assert!(verdict(&given, &newest, 1).is_ok());
    }
}

/// A new drive that failed while what an old one had was being restored, on it among others,
/// counted as a second loss: the pool halted, and could not be opened any more, though every
/// segment had all that it needs.
#[test]
fn drives_of_which_no_segment_has_lost_two_are_one_loss() {
    let known = root_of(5, &[(1, 1)], 20, &[3, 4]);
    let geometry = |parity: usize, drives: &[u16]| {
        let columns = drives.iter().map(|drive| ChunkAddr { drive: DriveId(*drive), chunk: 0 });
        Geometry::new(columns.collect(), parity)
    };
    let wide = geometry(1, &[0, 1, 2, 3]);
    let apart = [wide.clone(), geometry(1, &[0, 1, 2, 4])];
    let thin = [wide.clone(), geometry(1, &[3, 4])];
    let together = [wide, geometry(1, &[0, 1, 3, 4])];
    let is_gone = |drive: DriveId| drive.0 >= 3;
    let lost = |root: &Root, segments: &[Geometry], is_lost: &dyn Fn(DriveId) -> bool| {
        losses(root, is_lost, segments.iter(), 1)
    };
    assert_eq!(lost(&known, &apart, &is_gone), 1);
    assert_eq!(lost(&known, &together, &is_gone), 2);
    assert_eq!(lost(&known, &thin, &is_gone), 2);
    // Of two that were there at the last root nobody knows that they have not gone on by
    // themselves.
    assert_eq!(lost(&root_of(5, &[(1, 1)], 20, &[]), &apart, &is_gone), 2);
    assert_eq!(lost(&known, &apart, &|drive| drive.0 >= 2), 3);
    assert_eq!(lost(&known, &apart, &|_| false), 0);
}

/// A start has only the root to go by: its table may lie on what is missing.
#[test]
fn what_a_root_says_of_its_segments_decides_whether_more_may_be_missing_than_the_level_survives() {
    let known = |parity_used: u8, on_each: u8| {
        let mut root = Root { parity_used, ..root_of(6, &[(1, 1)], 20, &[3, 4, 5]) };
        root.members.iter_mut().for_each(|member| member.parity_used = on_each);
        root
    };
    let lost =
        |root: &Root, first_lost: u16| losses_by_root(root, |drive| drive.0 >= first_lost, 2);
    assert_eq!(lost(&known(2, 2), 3), 2, "each segment has what it needs");
    assert_eq!(lost(&known(3, 2), 3), 3);
    assert_eq!(lost(&known(2, 1), 2), 2, "one more may be missing: what it has lacks one");
    assert_eq!(lost(&known(2, 2), 2), 4);
    assert_eq!(lost(&known(2, 0), 1), 2, "two more may be of one segment, which lacks none");
    assert_eq!(lost(&known(2, 1), 1), 5);
    assert_eq!(lost(&known(0, 0), 0), 6, "three that are missed may have gone on by themselves");
}

/// Seed 98100645: a drive that had just joined, and held nothing, was lost. The root that said so
/// came to drive 0 alone before the power failed. The other two went on from the root before; but
/// drive 0 could have gone on by itself, too, and the pool was refused once all were given.
#[test]
fn a_drive_that_a_root_is_the_first_to_miss_could_have_gone_on_with_others() {
    let mut unfinished = root(&[(1, 1)], 20, &[2]);
    unfinished.members[2].since = RootGeneration(20);
    let opens_alone = |root: &Root| could_have_opened(root, &[DriveId(0)], 1);
    assert!(!opens_alone(&unfinished));
    unfinished.members[2].since = RootGeneration(19);
    assert!(opens_alone(&unfinished), "the root that missed it first came to all others");
}
