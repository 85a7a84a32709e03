use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use super::*;

fn run_here<F: Future + 'static>(main: F) -> F::Output {
    run(Config::default(), main).expect("io_uring is available")
}

#[test]
fn main_gives_its_output() {
    assert_eq!(run_here(async { 7 }), 7);
}

#[test]
fn a_joined_task_gives_its_output() {
    assert_eq!(run_here(async { spawn_joined(async { 3 }).await + 1 }), 4);
}

#[test]
fn yielding_lets_every_ready_task_run_first() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let log = order.clone();
    run_here(async move {
        for name in 1..=3 {
            let log = log.clone();
            spawn(async move { log.borrow_mut().push(name) });
        }
        yield_now().await;
        log.borrow_mut().push(0);
    });
    assert_eq!(*order.borrow(), [1, 2, 3, 0]);
}

/// A task that counts in `turns` how often it was woken.
fn count_wakes(turns: &Rc<Cell<u32>>) -> Rc<RefCell<Option<Waker>>> {
    let place: Rc<RefCell<Option<Waker>>> = Rc::default();
    let (waiting, turns) = (place.clone(), turns.clone());
    spawn(poll_fn(move |cx| {
        turns.set(turns.get() + 1);
        waiting.replace(Some(cx.waker().clone()));
        Poll::Pending
    }));
    place
}

#[test]
fn a_task_that_is_woken_at_once_has_run_when_the_waker_goes_on() {
    run_here(async {
        let turns = Rc::new(Cell::new(0));
        let waker = count_wakes(&turns);
        yield_now().await;
        assert_eq!(turns.get(), 1);
        let waker = waker.take().unwrap();
        wake_at_once(waker.clone());
        assert_eq!(turns.get(), 2);
        // It was queued as well: both times are its own.
        waker.wake_by_ref();
        wake_at_once(waker);
        assert_eq!(turns.get(), 3);
        yield_now().await;
        assert_eq!(turns.get(), 4);
    });
}

#[test]
fn what_is_woken_at_once_counts_as_a_poll_and_waits_when_the_turn_has_none_left() {
    let config = Config { polls_per_turn_max: 4, ..Config::default() };
    run(config, async {
        let turns = Rc::new(Cell::new(0));
        let waker = count_wakes(&turns);
        // A turn of its own.
        yield_now().await;
        yield_now().await;
        let waker = waker.take().unwrap();
        let polls = stats().polls;
        turns.set(0);
        (0..10).for_each(|_| wake_at_once(waker.clone()));
        assert!((1..4).contains(&turns.get()), "{} polls", turns.get());
        assert_eq!(stats().polls - polls, turns.get().into());
        let at_once = turns.get();
        yield_now().await;
        yield_now().await;
        assert_eq!(turns.get(), at_once + 1, "the others are one wake");
    })
    .unwrap();
}

#[test]
fn a_task_that_wakes_itself_at_once_runs_later() {
    run_here(async {
        let mut polls = 0;
        poll_fn(|cx| {
            polls += 1;
            wake_at_once(cx.waker().clone());
            if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    });
}

#[test]
fn sleepers_wake_in_order_of_their_deadlines() {
    let order = Rc::new(RefCell::new(Vec::new()));
    let log = order.clone();
    run_here(async move {
        let sleepers = [3u64, 1, 2].map(|count| {
            let log = log.clone();
            spawn_joined(async move {
                sleep(Duration::from_millis(5 * count)).await;
                log.borrow_mut().push(count);
            })
        });
        for sleeper in sleepers {
            sleeper.await;
        }
    });
    assert_eq!(*order.borrow(), [1, 2, 3]);
}

/// What a thread does while its process is stopped.
fn stand_still(duration: Duration) {
    std::thread::sleep(duration);
}

// A daemon that was stopped for longer than its timeouts dropped a host in the middle of its
// handshake: the timer was fired before the rest of the handshake, which had arrived meanwhile, was
// read to its end.
#[test]
fn what_arrived_during_a_standstill_is_seen_to_its_end_before_a_timeout_fires() {
    let arrived = Rc::new(Cell::new(false));
    let arrival = arrived.clone();
    let in_time = run_here(async move {
        let handshake = async move {
            while !arrived.get() {
                yield_now().await;
            }
            for _step in 0..8 {
                yield_now().await;
            }
        };
        let handshake = spawn_joined(timeout(Duration::from_millis(100), handshake));
        yield_now().await;
        stand_still(Duration::from_millis(500));
        arrival.set(true);
        handshake.await
    });
    assert_eq!(in_time, Ok(()));
}

#[test]
fn timers_of_a_reactor_that_is_always_late_fire_all_the_same() {
    run_here(async {
        let timer = spawn_joined(sleep(Duration::from_millis(1)));
        let mut turns = 0;
        while !timer.is_finished() {
            stand_still(Duration::from_millis(15));
            yield_now().await;
            turns += 1;
            assert!(turns < 100, "the timer does not fire");
        }
    });
}

#[test]
fn yielding_again_and_again_starves_neither_timers_nor_others() {
    run_here(async {
        let timer = spawn_joined(sleep(Duration::from_millis(1)));
        while !timer.is_finished() {
            yield_now().await;
        }
    });
}

#[test]
fn tasks_that_keep_waking_each_other_do_not_starve_the_ring() {
    let config = Config { polls_per_turn_max: 4, ..Config::default() };
    run(config, async {
        for _ in 0..2 {
            // Wakes itself without yielding: it is ready again at once.
            spawn(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::<()>::Pending
            }));
        }
        sleep(Duration::from_millis(1)).await;
    })
    .unwrap();
}

#[test]
fn an_idle_reactor_sleeps_in_the_kernel() {
    let config = Config { spin: Duration::from_micros(50), ..Config::default() };
    let (before, after) = run(config, async {
        sleep(Duration::from_millis(20)).await;
        let before = stats();
        sleep(Duration::from_millis(300)).await;
        (before, stats())
    })
    .unwrap();
    // A machine that stands still makes the timer late, which costs some. One that does not sleep
    // has thousands.
    assert!(after.turns - before.turns <= 16, "{before:?} {after:?}");
    assert!(after.enters - before.enters <= 16, "{before:?} {after:?}");
    assert!(after.sleeps > before.sleeps);
}

#[test]
fn a_timeout_drops_what_takes_too_long() {
    let held = Rc::new(());
    let witness = held.clone();
    let result = run_here(async move {
        timeout(Duration::from_millis(1), async move {
            let _held = witness;
            std::future::pending::<()>().await;
        })
        .await
    });
    assert_eq!(result, Err(TimedOut));
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn what_is_ready_is_never_timed_out() {
    assert_eq!(run_here(timeout(Duration::ZERO, async { 5 })), Ok(5));
}

#[test]
fn an_aborted_task_is_dropped_at_once() {
    run_here(async {
        let held = Rc::new(());
        let witness = held.clone();
        let task = spawn_joined(async move {
            let _held = witness;
            std::future::pending::<()>().await;
        });
        yield_now().await;
        task.abort();
        assert_eq!(Rc::strong_count(&held), 1);
    });
}

#[test]
fn a_task_may_abort_itself() {
    run_here(async {
        let place: Rc<RefCell<Option<JoinHandle<()>>>> = Rc::default();
        let own = place.clone();
        let reached = Rc::new(RefCell::new(0));
        let count = reached.clone();
        let task = spawn_joined(async move {
            *count.borrow_mut() += 1;
            let own = own.take();
            own.expect("left by main").abort();
            yield_now().await;
            *count.borrow_mut() += 1;
        });
        place.replace(Some(task));
        yield_now().await;
        yield_now().await;
        assert_eq!(*reached.borrow(), 1);
        assert_eq!(Rc::strong_count(&reached), 1);
    });
}

#[test]
fn tasks_left_at_the_end_are_dropped() {
    let held = Rc::new(());
    let witness = held.clone();
    run_here(async move {
        spawn(async move {
            let _held = witness;
            std::future::pending::<()>().await;
        });
    });
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn a_panic_in_a_task_ends_the_run_loudly_and_leaves_the_thread_usable() {
    let outcome = std::panic::catch_unwind(|| {
        run_here(async {
            spawn(async { panic!("an invariant failed") });
            std::future::pending::<()>().await;
        })
    });
    let payload = outcome.expect_err("the panic goes on in the caller");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"an invariant failed"));
    assert_eq!(run_here(async { 1 }), 1);
}

#[test]
fn one_thread_runs_one_reactor() {
    let inner = run_here(async { run(Config::default(), async {}) });
    assert!(matches!(inner, Err(StartError::AlreadyRunning)));
}

#[test]
fn a_configuration_out_of_bounds_is_refused_by_name() {
    let cases = [
        (Config { ring_entries: 0, ..Config::default() }, "ring_entries"),
        (Config { recv_buffer_bytes: 1, ..Config::default() }, "recv_buffer_bytes"),
        (Config { recv_buffer_count: 100, ..Config::default() }, "recv_buffer_count"),
        (
            Config { recv_held_per_connection_max: 0, ..Config::default() },
            "recv_held_per_connection_max",
        ),
        (Config { recv_queued_bytes_max: 0, ..Config::default() }, "recv_queued_bytes_max"),
        (Config { polls_per_turn_max: 0, ..Config::default() }, "polls_per_turn_max"),
    ];
    for (config, name) in cases {
        let error = run(config, async {}).expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_turn_begins_after_what_came_before_it_and_before_what_it_does() {
    run(Config::default(), async {
        let before = now();
        yield_now().await;
        yield_now().await;
        let (began, at) = (turn_began(), now());
        assert!(before <= began && began <= at, "{before:?} {began:?} {at:?}");
        assert_eq!(turn_began(), began, "it stays");
        sleep(Duration::from_millis(1)).await;
        assert!(turn_began() > at);
    })
    .unwrap();
}

#[test]
fn tasks_are_counted_until_they_end_and_ready_until_they_have_their_turn() {
    run_here(async {
        let before = stats().tasks;
        let task = spawn_joined(yield_now());
        assert_eq!((stats().tasks - before, stats().ready_tasks), (1, 1));
        task.await;
        assert_eq!((stats().tasks, stats().ready_tasks), (before, 0));
    });
}
