use ashlar_block::PoolUuid;

use super::*;
use crate::members::lease::tests::heartbeat;
use crate::members::tests::root;

#[test]
fn a_heartbeat_says_whose_the_pool_is_unless_it_is_of_an_opening_that_is_over() {
    let own = heartbeat(5, 50, 3);
    assert_eq!(view(&own, Some(&heartbeat(5, 50, 2))), View::Ours);
    assert_eq!(view(&own, Some(&heartbeat(6, 60, 0))), View::Theirs);
    assert_eq!(view(&own, Some(&heartbeat(5, 51, 0))), View::Theirs, "two that opened it at once");
    // A drive that was away, or lost a write.
    assert_eq!(view(&own, Some(&heartbeat(4, 40, 9))), View::Nothing);
    assert_eq!(
        view(&own, Some(&Heartbeat { pool: PoolUuid([2; 16]), ..heartbeat(9, 90, 0) })),
        View::Nothing
    );
    assert_eq!(view(&own, None), View::Nothing);
}

#[test]
fn whoever_opens_a_pool_has_one_of_the_drives_that_were_looked_at() {
    for members in 1..=16_usize {
        for parity in 0..members.min(5) {
            let looked_at = looks_wanted(parity, members);
            // All but as many as the level survives, and more than half.
            let others_at_least = (members - parity).max(members / 2 + 1).min(members);
            assert!(looked_at + others_at_least > members, "{members} drives, {parity} parity");
            // One that hangs stops nobody, where it can be done without.
            assert!(members - parity.min(1) >= looked_at, "{members} drives, {parity} parity");
        }
    }
}

const SECOND: u64 = 1_000_000_000;

fn at(seconds: u64) -> Nanos {
    Nanos(seconds * SECOND)
}

/// What looks at drives say that began at these times, ours or not.
fn looks(newest: &[(u64, bool)]) -> Looks {
    let look = |(seconds, is_ours): &(u64, bool)| Look { began: at(*seconds), is_ours: *is_ours };
    let newest =
        newest.iter().map(look).enumerate().map(|(drive, look)| (DriveId(drive as u16), look));
    Looks { newest: newest.collect(), ..Looks::default() }
}

fn next(looks: &Looks, needed: usize, now: u64, is_permitted: bool) -> Next {
    let working: Vec<DriveId> = (0..3).map(DriveId).collect();
    looks.next(&working, needed, at(now), is_permitted)
}

#[test]
fn a_pool_is_as_sure_as_the_oldest_look_that_is_needed() {
    let three = looks(&[(5, true), (9, true), (7, true)]);
    assert_eq!(next(&three, 1, 10, true), Next::Permit(at(9)));
    assert_eq!(next(&three, 2, 10, true), Next::Permit(at(7)));
    assert_eq!(next(&three, 4, 10, true), Next::Stay, "more than there are");
    let two = looks(&[(5, true), (9, false), (7, true)]);
    assert_eq!(next(&two, 2, 10, true), Next::Permit(at(5)));
    assert_eq!(
        next(&two, 2, 12, false),
        Next::Contested(Contested { since: at(12), is_late: false })
    );
}

/// Whoever had taken the pool meanwhile would be seen, unless a heartbeat of ours had come over its
/// own.
#[test]
fn after_a_pause_between_two_heartbeats_one_look_is_enough() {
    let mut one = looks(&[(5, true)]);
    let Next::Contested(contested) = next(&one, 1, 20, false) else { panic!("no look is in time") };
    one.contest(contested);
    assert_eq!(next(&one, 1, 21, false), Next::Stay, "its look is of before");
    one.note(DriveId(0), at(21), View::Ours);
    assert_eq!(next(&one, 1, 21, false), Next::Permit(at(21)));
}

#[test]
fn after_a_pause_in_a_heartbeat_the_roots_decide_once_whoever_else_sends_heartbeats_would_be_seen()
{
    let mut one = looks(&[(5, true)]);
    one.heartbeats_under_way.insert(DriveId(0));
    let Next::Contested(contested) = next(&one, 1, 20, false) else { panic!("no look is in time") };
    one.contest(contested);
    for (began, wanted) in [(21, Next::Stay), (27, Next::Stay), (28, Next::AskRoots(Some(at(28))))]
    {
        one.note(DriveId(0), at(began), View::Ours);
        assert_eq!(next(&one, 1, began, false), wanted, "{began}");
    }
    one.contest(Contested::late(at(28)));
    assert_eq!(next(&one, 1, 28, false), Next::Stay, "the heartbeat has come just now");
}

#[test]
fn who_sees_only_older_heartbeats_for_long_asks_the_roots_too() {
    let mut one = looks(&[(5, true)]);
    one.note(DriveId(0), at(7), View::Nothing);
    assert_eq!(next(&one, 1, 8, true), Next::Stay, "it may still write, its heartbeat too");
    one.contest(Contested { since: at(11), is_late: false });
    one.note(DriveId(0), at(13), View::Nothing);
    assert_eq!(next(&one, 1, 13, false), Next::Stay);
    one.note(DriveId(0), at(19), View::Nothing);
    assert_eq!(next(&one, 1, 19, false), Next::AskRoots(None));
}

#[test]
fn the_roots_say_whose_the_pool_is_as_long_as_nobody_else_has_written_one_since() {
    let root =
        |incarnation, generation, first| root(&[(incarnation, first), (1, 1)], generation, &[]);
    let (before, own) = (root(1, 9, 1), root(2, 12, 10));
    let view = |on_drives: &[Vec<Root>], needed| view_of_roots(on_drives, &own, needed);
    let drive = || vec![before.clone(), own.clone()];
    assert_eq!(view(&[drive(), drive()], 2), View::Ours);
    assert_eq!(view(&[drive(), vec![]], 1), View::Ours, "one that cannot be read");
    assert_eq!(view(&[drive(), vec![before.clone()]], 2), View::Nothing);
    assert_eq!(view(&[vec![before.clone()]], 1), View::Nothing);
    for generation in [10, 12, 13] {
        let theirs = root(3, generation, generation);
        assert_eq!(view(&[drive(), vec![theirs.clone()]], 1), View::Theirs, "{generation}");
        // A drive holds the last few.
        assert_eq!(view(&[vec![theirs]], 1), View::Theirs, "{generation}");
    }
}
