use std::time::{Instant, SystemTime};

use super::*;
use crate::node_api::{Occurred, Occurrence, Occurrences};
use crate::types::Severity;
use crate::watch::compare::happenings;
use crate::watch::heard::Heard;

fn drive(name: &str, state: &str) -> PoolDrive {
    let states = vec![state.to_owned(), "sparse".to_owned()];
    PoolDrive { name: name.to_owned(), uuid: name.to_owned(), states, ..PoolDrive::default() }
}

fn pool(state: &str, drives: Vec<PoolDrive>) -> Seen {
    let (name, uuid, states) = ("tank".to_owned(), "u".to_owned(), vec![state.to_owned()]);
    Seen { pools: vec![Pool { name, uuid, states, drives, ..Pool::default() }], ..Seen::default() }
}

fn well() -> Vec<PoolDrive> {
    vec![drive("drive-0", "online"), drive("drive-1", "online")]
}

fn lost(drive: &str) -> Loss {
    Loss::Drive { drive: drive.to_owned(), why: "it was pulled".to_owned() }
}

/// What is told of these losses, and then of a look.
fn told(mut seen: Seen, whats: impl IntoIterator<Item = Loss>, mut now: Seen) -> Vec<String> {
    let one = |(number, what)| Occurrence {
        at: SystemTime::UNIX_EPOCH,
        number,
        pool_uuid: "u".to_owned(),
        what: Occurred::Lost(what),
    };
    let all = (1..).zip(whats).map(one).collect();
    let mut heard = Heard::default();
    heard.hear(Instant::now(), Occurrences { all, lost: 0 });
    let losses = tell(&mut seen, heard.take_losses(|_| None));
    assert!(losses.iter().all(|(at, _)| *at == Some(SystemTime::UNIX_EPOCH)));
    let losses = losses.into_iter().map(|(_, happening)| happening);
    let all = losses.chain(happenings(&seen, &mut now));
    all.map(|it| format!("{} {}", it.kind, it.states.join(" ")).trim_end().to_owned()).collect()
}

#[test]
fn a_drive_that_is_lost_and_back_between_two_looks_is_told_of_with_both() {
    let back = PoolDrive { uuid: "new".to_owned(), ..drive("drive-2", "online") };
    let now = vec![drive("drive-0", "online"), drive("drive-1", "returned"), back];
    let expected = ["drive_state failed", "drive_state returned", "drive_added"];
    assert_eq!(told(pool("online", well()), [lost("drive-1")], pool("online", now)), expected);
}

#[test]
fn a_loss_that_a_look_has_seen_is_told_once() {
    let now = || pool("degraded", vec![drive("drive-0", "online"), drive("drive-1", "failed")]);
    let expected = ["drive_state failed", "pool_state_entered degraded"];
    assert_eq!(told(pool("online", well()), [lost("drive-1")], now()), expected);
    assert_eq!(told(now(), [lost("drive-1")], now()), [""; 0]);
}

#[test]
fn a_drive_that_gives_no_answers_for_a_moment_between_two_looks_is_told_of_with_both() {
    let silent = || Loss::Answers { drive: "drive-1".to_owned() };
    let known = || pool("online", well());
    let expected = ["drive_state slow", "drive_state online"];
    assert_eq!(told(known(), [silent()], known()), expected);
    assert_eq!(told(known(), [silent(), silent()], known()), expected);
    let lost_then = pool("online", vec![drive("drive-0", "online"), drive("drive-1", "failed")]);
    let expected = ["drive_state slow", "drive_state failed"];
    assert_eq!(told(known(), [silent(), lost("drive-1")], lost_then), expected);
}

#[test]
fn a_pool_that_has_halted_and_is_opened_anew_between_two_looks_is_told_of_with_both() {
    let halt = Loss::Writes("too many drives are lost".to_owned());
    let expected = ["pool_state_entered read-only", "pool_state_left read-only"];
    let well = || pool("online", well());
    assert_eq!(told(well(), [halt.clone()], well()), expected);
    let halted = pool("read-only", super::tests::well());
    assert_eq!(told(well(), [halt], halted), ["pool_state_entered read-only"]);
}

#[test]
fn what_was_not_seen_before_is_told_of_by_the_look() {
    assert_eq!(told(Seen::default(), [lost("drive-1")], pool("online", well())), ["pool_opened"]);
    let known = || pool("online", well());
    assert_eq!(told(known(), [lost("drive-7")], known()), [""; 0]);
    let closed = pool("unavailable", well());
    let expected = ["pool_opened", "pool_state_left unavailable"];
    assert_eq!(told(closed, [lost("drive-1")], known()), expected);
}

#[test]
fn a_loss_says_why_and_is_an_error() {
    let mut seen = pool("online", well());
    let happening = drive_lost(&mut seen.pools[0], "drive-1", "it was pulled".to_owned()).unwrap();
    assert_eq!(happening.severity, Severity::Error);
    assert_eq!(happening.message, "drive-1 of pool 'tank' is failed: it was pulled");
    let happening = halted(&mut seen.pools[0], "no lease".to_owned()).unwrap();
    assert_eq!(happening.message, "pool 'tank' is read-only: no lease");
}
