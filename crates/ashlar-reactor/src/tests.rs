use std::cell::RefCell;
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
