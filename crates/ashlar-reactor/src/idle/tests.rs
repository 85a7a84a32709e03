use super::*;
use crate::{Config, now, run, spawn_joined, stats, when_idle, yield_now};

/// As much as makes the reactor worth a look.
async fn work() {
    for _ in 0..1000 {
        yield_now().await;
    }
}

fn quickly_idle() -> Config {
    Config { idle_after: Duration::from_millis(10), ..Config::default() }
}

/// What tests wait for has come by then: only a hang takes that long.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits without work until `is_done`.
async fn rest_until(is_done: impl Fn() -> bool) {
    while !is_done() {
        crate::sleep(Duration::from_millis(30)).await;
    }
}

#[test]
fn what_is_kept_is_given_back_once_after_work() {
    run(quickly_idle(), async {
        let told = Rc::new(Cell::new(0));
        let count = told.clone();
        let _hook = when_idle(move || count.set(count.get() + 1));
        let buf = AlignedBuf::stale(1 << 20);
        drop(buf);
        assert!(AlignedBuf::kept_bytes() >= 1 << 20);
        work().await;
        rest_until(|| told.get() == 1).await;
        assert_eq!(AlignedBuf::kept_bytes(), 0);
        // Nothing to do: nothing to give back.
        for _ in 0..10 {
            crate::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(told.get(), 1);
        work().await;
        rest_until(|| told.get() == 2).await;
    })
    .unwrap();
}

/// What the tests without a reactor take for [`Config::idle_after`], in nanoseconds.
const IDLE_AFTER: u64 = 100;

/// Beginning to sleep, with nothing kept.
fn sleeps(idle: &Idle, at: u64, polls: u64) {
    idle.begin_watch(Mark { at: Nanos(at), polls }, 0, IDLE_AFTER);
}

fn is_idle(idle: &Idle, at: u64, polls: u64) -> bool {
    idle.ends_watch_idle(Mark { at: Nanos(at), polls }, false)
}

#[test]
fn a_reactor_that_has_worked_while_it_was_watched_is_not_idle() {
    let idle = Idle::default();
    sleeps(&idle, 0, IDLE_POLLS_MAX);
    assert_eq!(idle.due(), None, "so little is no work");
    sleeps(&idle, 1, 1000);
    sleeps(&idle, 2, 2000);
    assert_eq!(idle.due(), Some(Nanos(1 + IDLE_AFTER)));
    assert!(!is_idle(&idle, IDLE_AFTER, 1000));
    assert!(!is_idle(&idle, IDLE_AFTER + 1, 1000 + IDLE_POLLS_MAX + 1));
    assert_eq!(idle.due(), None);
    sleeps(&idle, 200, 3000);
    assert!(is_idle(&idle, 200 + IDLE_AFTER, 3000 + IDLE_POLLS_MAX));
}

#[test]
fn whether_a_reactor_is_idle_is_decided_once_nothing_is_ready() {
    let idle = Idle::default();
    sleeps(&idle, 0, 1000);
    let ends =
        |at, polls, has_ready| idle.ends_watch_idle(Mark { at: Nanos(at), polls }, has_ready);
    assert!(
        !ends(IDLE_AFTER, 1000, true),
        "what is ready may be a heartbeat, or much that has come in a standstill"
    );
    assert_eq!(idle.due(), Some(Nanos(IDLE_AFTER)));
    assert!(ends(IDLE_AFTER + 1, 1001, false), "a heartbeat");
    sleeps(&idle, 200, 2000);
    assert!(!ends(200 + IDLE_AFTER, 2000, true));
    assert!(!ends(200 + IDLE_AFTER + 1, 2001 + IDLE_POLLS_MAX, true), "much");
    assert_eq!(idle.due(), None);
}

#[test]
fn a_little_that_comes_all_the_time_is_no_work() {
    let idle = Idle::default();
    for step in 0..1000 {
        sleeps(&idle, step * IDLE_AFTER / 2, step * IDLE_POLLS_MAX / 2);
        assert_eq!(idle.due(), None);
    }
}

#[test]
fn few_polls_that_leave_much_behind_are_work() {
    let idle = Idle::default();
    idle.begin_watch(Mark { at: Nanos(0), polls: 1 }, IDLE_KEPT_BYTES_MAX, IDLE_AFTER);
    assert_eq!(idle.due(), None);
    idle.begin_watch(Mark { at: Nanos(0), polls: 1 }, IDLE_KEPT_BYTES_MAX + 1, IDLE_AFTER);
    assert_eq!(idle.due(), Some(Nanos(IDLE_AFTER)));
}

#[test]
fn a_hook_that_is_dropped_is_not_run() {
    run(quickly_idle(), async {
        let told = Rc::new(Cell::new(0));
        let count = told.clone();
        let hook = when_idle(move || count.set(count.get() + 1));
        let others = Rc::new(Cell::new(false));
        let noted = others.clone();
        let _other = when_idle(move || noted.set(true));
        drop(hook);
        work().await;
        rest_until(|| others.get()).await;
        assert_eq!(told.get(), 0);
    })
    .unwrap();
}

#[test]
fn an_idle_reactor_looks_once_and_sleeps_on() {
    run(quickly_idle(), async {
        let told = Rc::new(Cell::new(false));
        let noted = told.clone();
        let _hook = when_idle(move || noted.set(true));
        work().await;
        rest_until(|| told.get()).await;
        let before = stats();
        spawn_joined(crate::sleep(Duration::from_millis(500))).await;
        // A machine that stands still makes a timer late, which costs a turn or two. A look at each
        // end of a watch would be fifty.
        assert!(stats().turns - before.turns <= 16, "it sleeps");
    })
    .unwrap();
}

/// The heartbeats of a pool came as often as a reactor looks whether it is idle, and each look
/// found a heartbeat that was due in its very turn: what a load had taken was never given back.
#[test]
fn what_comes_whenever_a_watch_ends_does_not_keep_a_reactor_from_its_rest() {
    let config = quickly_idle();
    let period = config.idle_after;
    run(config, async move {
        let told = Rc::new(Cell::new(false));
        let tell = told.clone();
        let _hook = when_idle(move || tell.set(true));
        work().await;
        let begun = now();
        while !told.get() {
            crate::sleep(period).await;
            assert!(now().since(begun) < PATIENCE, "it never rests");
        }
    })
    .unwrap();
}
