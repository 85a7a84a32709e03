use super::*;
use crate::types::RootGeneration;

/// The record of drive `number`, of whatever has this identity.
fn member(number: u16, uuid: u8, state: MemberState, since: u64) -> MemberRecord {
    MemberRecord { drive: DriveId(number), uuid: DriveUuid([uuid; 16]), state, since: RootGeneration(since) }
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
