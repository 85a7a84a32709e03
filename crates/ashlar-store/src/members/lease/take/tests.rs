use super::*;
use crate::members::lease::tests::heartbeat;

/// What becomes of a claim by the last look.
fn settle(claim: &Claim, after: &[Option<Heartbeat>]) -> Result<(), OpenError> {
    check_uncontested(claim, after).and_then(|()| check_seen(claim, after))
}

/// Each of two that had been refused it took its own heartbeat for the last one, and opened the
/// pool at once.
#[test]
fn who_wanted_a_pool_at_once_with_another_one_does_not_take_it_for_its_own() {
    let (here, there) =
        (Holder { id: [7; 16], name: String::new() }, Holder { id: [8; 16], name: String::new() });
    let one = heartbeat(5, 50, 3);
    let other = Heartbeat { holder: there.id, ..heartbeat(5, 51, 0) };
    for before in
        [[Some(one.clone()), Some(other.clone())], [Some(other.clone()), Some(one.clone())]]
    {
        assert_eq!(last_before(&before, &here), Some(&other));
        assert_eq!(last_before(&before, &there), Some(&one));
    }
    let later = heartbeat(6, 60, 0);
    assert_eq!(last_before(&[Some(later.clone()), Some(other)], &here), Some(&later));
}

#[test]
fn a_claim_that_another_heartbeat_has_come_over_is_given_up_on_however_many_drives_it_stands() {
    let own = heartbeat(5, 50, 0);
    let (old, late) = (heartbeat(4, 40, 8), heartbeat(4, 40, 9));
    let before = [Some(old.clone()), Some(old.clone()), Some(old.clone()), None];
    let claim = Claim { own: own.clone(), before: before.into(), taken: vec![true; 4], needed: 2 };
    let settle =
        |after: [Option<&Heartbeat>; 4]| settle(&claim, &after.map(Option::<&Heartbeat>::cloned));
    let ours = Some(&own);
    assert!(settle([ours; 4]).is_ok());
    assert!(settle([ours, ours, Some(&old), None]).is_ok(), "two drives did not take the claim");
    let claimed = settle([ours, Some(&old), Some(&old), None]);
    assert!(matches!(claimed, Err(OpenError::Unclaimed { claimed: 1, needed: 2 })), "{claimed:?}");
    for theirs in [&late, &heartbeat(5, 51, 0), &heartbeat(6, 60, 0)] {
        let settled = settle([ours, ours, Some(theirs), ours]);
        assert!(matches!(settled, Err(OpenError::InUse { .. })), "{settled:?}");
    }
}

#[test]
fn a_drive_that_cannot_be_read_now_and_then_is_no_sign_of_life() {
    let (one, next) = (Some(heartbeat(5, 50, 3)), Some(heartbeat(5, 50, 4)));
    let has_changed = |before: [&Option<Heartbeat>; 2], after: [&Option<Heartbeat>; 2]| {
        changed_heartbeats(&before.map(Option::clone), &after.map(Option::clone)).next().is_some()
    };
    assert!(!has_changed([&one, &one], [&one, &None]));
    assert!(has_changed([&one, &one], [&one, &next]));
    assert!(!has_changed([&one, &None], [&one, &one]));
    for newer in [next, Some(heartbeat(5, 51, 0)), Some(heartbeat(6, 60, 0))] {
        assert!(has_changed([&one, &None], [&one, &newer]), "{newer:?}");
    }
    assert!(has_changed([&None, &None], [&None, &one]), "nothing tells how old it is");
}

/// Seed 41000580: drive 4 hung while the pool was being opened, and had the heartbeat of before,
/// because the claim had not come to it. The pool was refused because it was open on another
/// machine, which was this one, a start before.
#[test]
fn the_heartbeat_of_before_on_a_drive_that_hung_is_no_other_machine() {
    let (own, old) = (heartbeat(5, 50, 0), heartbeat(4, 40, 8));
    let before = [Some(old.clone()), Some(old.clone()), None];
    let settle = |taken: &[bool]| {
        let claim =
            Claim { own: own.clone(), before: before.to_vec(), taken: taken.to_vec(), needed: 2 };
        settle(&claim, &[Some(own.clone()), Some(own.clone()), Some(old.clone())])
    };
    assert!(settle(&[true, true, false]).is_ok());
    // Unless it had come to it: the old one was on its way from a machine that goes on.
    let settled = settle(&[true; 3]);
    assert!(matches!(settled, Err(OpenError::InUse { .. })), "{settled:?}");
}

/// Seed 795: a crash had left a newer heartbeat on a drive alone, which hung until the pool had
/// been claimed. The pool was refused because it was open on another machine, which was this one, a
/// start before. Whoever is alive goes on with heartbeats: one more watch tells.
#[test]
fn a_newer_heartbeat_on_a_drive_that_could_not_be_read_before_is_watched_once_more() {
    let (own, old, newer) = (heartbeat(5, 50, 0), heartbeat(4, 40, 20), heartbeat(4, 40, 24));
    let before = vec![Some(old.clone()), Some(old.clone()), None];
    let mut claim = Claim { own: own.clone(), before, taken: vec![true, true, false], needed: 2 };
    let after = |late: &Heartbeat| [Some(own.clone()), Some(own.clone()), Some(late.clone())];
    assert_eq!(claim.adopt_late(&after(&old)), None, "as old as the others");
    assert_eq!(claim.adopt_late(&after(&own)), None, "the claim came late");
    assert_eq!(claim.adopt_late(&after(&newer)), Some(4));
    assert_eq!(claim.adopt_late(&after(&newer)), None);
    assert!(settle(&claim, &after(&newer)).is_ok());
    let settled = settle(&claim, &after(&heartbeat(4, 40, 25)));
    assert!(matches!(settled, Err(OpenError::InUse { .. })), "{settled:?}");
}

/// The drive that was late had the claim of a start that a crash cut short: of the same epoch. The
/// pool was opened, and lost at the first look at that drive.
#[test]
fn a_claim_goes_above_an_epoch_that_is_seen_late() {
    let (own, late) = (heartbeat(5, 50, 0), heartbeat(5, 51, 0));
    let before = vec![Some(heartbeat(4, 40, 20)), None];
    let mut claim = Claim { own: own.clone(), before, taken: vec![true, false], needed: 1 };
    let latest = claim.adopt_late(&[Some(own.clone()), Some(late.clone())]);
    claim.own = claim_after(own.clone(), latest.expect("it is newer than what the other has"));
    assert_eq!((claim.own.epoch, claim.own.session, claim.own.count), (6, 50, 1));
    assert_eq!(view(&claim.own, Some(&late)), View::Nothing);
    assert!(settle(&claim, &[Some(claim.own.clone()), Some(late)]).is_ok());
    // Where the second claim does not come, the first one is no other machine's.
    assert!(check_uncontested(&claim, &[Some(own), Some(claim.own.clone())]).is_ok());
    assert_eq!(claim_after(claim.own, 4).epoch, 6);
}

#[test]
fn of_two_that_wanted_it_at_once_each_is_known_by_its_own_heartbeats() {
    let known = [Some(heartbeat(5, 50, 9)), Some(heartbeat(5, 51, 0))];
    for (seen, is_new) in [
        (heartbeat(5, 51, 0), false),
        (heartbeat(5, 51, 1), true),
        (heartbeat(5, 52, 0), true),
        (heartbeat(4, 40, 99), false),
    ] {
        assert_eq!(is_newer(&seen, &known), is_new, "{seen:?}");
    }
}

#[test]
fn a_long_name_is_cut_between_letters() {
    assert_eq!(cut("abc", 5), "abc");
    assert_eq!(cut("aäb", 2), "a");
}
