use super::*;
use crate::types::{Obstacle, PoolJobs, Progress};
use crate::watch::Seen;
use crate::watch::compare::happenings;

fn pool(states: &[&str], obstacle: Option<Obstacle>) -> Pool {
    let rebuild = Some(Progress { obstacle, left_bytes: 4 << 30, ..Progress::default() });
    Pool {
        name: "tank".to_owned(),
        uuid: "u".to_owned(),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        jobs: Some(PoolJobs { rebuild, ..PoolJobs::default() }),
        ..Pool::default()
    }
}

fn waits() -> Pool {
    pool(&["degraded", "need-rebuild"], Some(Obstacle::NoRoom))
}

fn goes_on() -> Pool {
    pool(&["degraded", "rebuilding"], None)
}

/// What is told of it by the looks, each at its second.
fn told(looks: impl IntoIterator<Item = (u64, Pool)>) -> Vec<(u64, Severity, String)> {
    let (mut before, mut all) = (Seen::default(), Vec::new());
    for (second, pool) in looks {
        let at = Duration::from_secs(second);
        let mut now = Seen { pools: vec![pool], at, ..Seen::default() };
        let kinds = [RebuildStuck.word(), RebuildGoesOn.word()];
        let told = happenings(&before, &mut now).into_iter();
        let of_it = told.filter(|told| kinds.contains(&told.kind.as_str()));
        all.extend(of_it.map(|told| (second, told.severity, told.message)));
        before = now;
    }
    all
}

/// Mail and webhooks said nothing of a pool that stayed without redundancy.
#[test]
fn a_rebuild_that_does_not_go_on_for_a_minute_is_told_once_with_the_cause_and_so_is_its_end() {
    let stuck = "the rebuild of pool 'tank' does not go on: there is no room: delete or trim data, \
                 or add a drive";
    let again = "the rebuild of pool 'tank' goes on, 4GiB left";
    let looks = [(0, goes_on()), (9, waits()), (68, waits()), (69, waits()), (200, waits())];
    let told = told(looks.into_iter().chain([(201, goes_on()), (202, goes_on())]));
    let expected = [(69, Severity::Error, stuck), (201, Severity::Info, again)];
    assert_eq!(told, expected.map(|(at, severity, text)| (at, severity, text.to_owned())));
}

#[test]
fn a_pool_that_lacks_drives_says_which_it_lacks() {
    let problem = Some("1 of 2 drives are left, and new data needs 2".to_owned());
    let states = ["degraded", "need-rebuild", "read-only"];
    let lacks = || Pool { problem: problem.clone(), jobs: None, ..pool(&states, None) };
    let whole = Pool { jobs: None, ..pool(&["online"], None) };
    let told = told([(0, lacks()), (60, lacks()), (61, whole)]);
    let messages: Vec<&str> = told.iter().map(|(_, _, message)| message.as_str()).collect();
    let stuck = "the rebuild of pool 'tank' does not go on: 1 of 2 drives are left, and new data \
                 needs 2";
    assert_eq!(messages, [stuck, "the rebuild of pool 'tank' is over: nothing lacks redundancy"]);
}

#[test]
fn a_rebuild_that_goes_on_by_itself_within_a_minute_says_nothing() {
    let looks = [(0, waits()), (59, waits()), (60, goes_on()), (61, waits()), (120, waits())];
    assert_eq!(told(looks), []);
}

#[test]
fn a_pool_that_is_closed_meanwhile_is_told_of_as_such_and_begins_anew() {
    let shut = || pool(&["unavailable"], None);
    let looks = [(0, waits()), (60, waits()), (70, shut()), (80, waits()), (139, waits())];
    assert_eq!(told(looks).len(), 1, "neither an end nor another beginning");
}
