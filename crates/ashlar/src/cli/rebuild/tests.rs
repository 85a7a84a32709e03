use ashlar_control::types::PoolJobs;

use super::*;

fn left(left_bytes: u64, obstacle: Option<Obstacle>) -> Option<Progress> {
    Some(Progress { left_bytes, obstacle, ..Progress::default() })
}

/// What somebody who waits is told after looks at these seconds.
fn told(looks: &[(u64, Option<Progress>)]) -> Option<String> {
    let begun = Instant::now();
    let mut standstill = None;
    looks.iter().find_map(|(second, progress)| {
        let now = begun + Duration::from_secs(*second);
        standstill = Standstill::after(standstill, progress.as_ref(), now);
        standstill.and_then(|stands| stands.gives_up(Work::Rebuild, "tank", now))
    })
}

#[test]
fn a_second_loss_during_a_rebuild_is_waited_for_however_much_more_is_left() {
    assert_eq!(told(&[(0, left(100, None)), (10, left(900, None)), (300, left(800, None))]), None);
}

#[test]
fn a_rebuild_that_takes_its_time_is_waited_for() {
    assert_eq!(told(&[(0, left(100, None)), (600, left(100, None))]), None);
}

#[test]
fn room_that_does_not_come_is_said() {
    let (stuck, free) = (left(100, Some(Obstacle::NoRoom)), left(100, None));
    let why = told(&[(0, stuck), (30, stuck), (61, stuck)]).expect("it is not waited for");
    assert!(why.contains("waits for room"), "{why}");
    assert_eq!(told(&[(0, stuck), (30, free), (61, stuck), (120, stuck)]), None);
}

#[test]
fn data_that_cannot_be_read_are_said() {
    let stuck = left(100, Some(Obstacle::Unreadable));
    let why = told(&[(0, stuck), (61, stuck)]).expect("it is not waited for");
    assert!(why.contains("cannot read"), "{why}");
}

#[test]
fn a_loss_may_take_a_moment_until_it_can_be_made_good() {
    assert_eq!(told(&[(0, None), (9, None), (10, left(100, None)), (60, None)]), None);
    assert!(told(&[(0, None), (11, None)]).expect("it is not waited for").contains("lacks drives"));
}

fn rebuilding(rebuild: Option<Progress>) -> Pool {
    let jobs = PoolJobs { rebuild, ..PoolJobs::default() };
    Pool { jobs: Some(jobs), ..pool(&["degraded"], None) }
}

fn pool(states: &[&str], problem: Option<&str>) -> Pool {
    let states = states.iter().map(|state| (*state).to_owned()).collect();
    Pool { name: "tank".to_owned(), states, problem: problem.map(str::to_owned), ..Pool::default() }
}

#[test]
fn nothing_is_done_in_a_pool_that_is_not_open() {
    for work in [Work::Rebuild, Work::Evacuation, Work::Rebalance] {
        let why = is_done(&pool(&["unavailable"], Some("drive 1 is missing")), work)
            .unwrap_err()
            .to_string();
        for part in ["'tank' is not open", "drive 1 is missing", "ashlar pool import"] {
            assert!(why.contains(part), "'{part}' is not in: {why}");
        }
    }
}

#[test]
fn a_pool_that_takes_no_writes_is_not_waited_for() {
    let cases = [
        (&["degraded", "read-only"], Work::Rebuild),
        (&["rebalancing", "read-only"], Work::Rebalance),
    ];
    for (states, work) in cases {
        let why =
            is_done(&pool(states, Some("1 of 2 drives are left")), work).unwrap_err().to_string();
        assert!(
            why.contains("1 of 2 drives are left") && why.contains("ashlar drive return"),
            "{why}"
        );
    }
}

/// Whoever waited was told that the pool cannot rebuild, though nothing was to be rebuilt.
#[test]
fn nothing_is_left_to_wait_for_in_a_pool_that_takes_no_writes_for_another_reason() {
    let halted = pool(&["online", "read-only"], Some("its last root could not be written"));
    for work in [Work::Rebuild, Work::Rebalance] {
        assert!(is_done(&halted, work).expect("there is nothing to do"));
    }
}

#[test]
fn work_is_done_once_the_pool_is_no_longer_in_its_state() {
    let is_done = |states: &[&str], work| is_done(&pool(states, None), work).expect("it is open");
    assert!(!is_done(&["degraded", "rebuilding"], Work::Rebuild));
    assert!(!is_done(&["online", "evacuating"], Work::Evacuation));
    assert!(is_done(&["online", "evacuating"], Work::Rebuild));
    assert!(is_done(&["reduced"], Work::Evacuation));
}

#[test]
fn whoever_only_looks_is_told_why_a_rebuild_does_not_go_on() {
    let refused = |pool: &Pool| check_goes_on(pool, Work::Rebuild).unwrap_err().to_string();
    assert!(
        refused(&pool(&["unavailable"], Some("drive 1 is missing"))).contains("drive 1 is missing")
    );
    assert!(
        refused(&pool(&["degraded", "read-only"], Some("2 drives are lost")))
            .contains("2 drives are lost")
    );
    let stuck = rebuilding(left(100, Some(Obstacle::NoRoom)));
    assert!(refused(&stuck).contains("or add a drive"));
    for progress in [None, left(100, None)] {
        let goes_on = rebuilding(progress);
        check_goes_on(&goes_on, Work::Rebuild).expect("it goes on");
    }
    check_goes_on(&pool(&["online"], None), Work::Rebuild).expect("there is nothing to do");
}
