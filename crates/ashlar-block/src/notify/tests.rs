use std::cell::Cell;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::*;

/// A task whose wakers are counted.
struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

/// A task, and its waker.
fn task() -> (Arc<Task>, Waker) {
    let task = Arc::new(Task);
    (task.clone(), Waker::from(task))
}

/// Wakers of the task that others keep.
fn kept(task: &Arc<Task>) -> usize {
    Arc::strong_count(task) - 2
}

#[test]
fn a_task_that_is_polled_a_thousand_times_leaves_one_waker() {
    let changed = Notify::new();
    let (task, waker) = task();
    let mut waiting = pin!(wait_for(&changed, || None::<()>));
    for _ in 0..1000 {
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        // Woken for nothing now and then.
        changed.notify_waiters();
    }
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(kept(&task), 1);
}

#[test]
fn a_task_that_stops_waiting_leaves_nothing() {
    let changed = Notify::new();
    let (task, waker) = task();
    for _ in 0..1000 {
        let mut waiting = Box::pin(wait_for(&changed, || None::<()>));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(kept(&task), 1);
    }
    assert_eq!(kept(&task), 0);
}

#[test]
fn what_was_ready_before_is_not_waited_for_and_what_changes_is_seen() {
    let changed = Notify::new();
    let value = Cell::new(Some(1));
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(pin!(wait_for(&changed, || value.get())).poll(&mut cx), Poll::Ready(1));
    value.set(None);
    let mut waiting = pin!(wait_for(&changed, || value.get()));
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    value.set(Some(2));
    changed.notify_waiters();
    assert_eq!(waiting.as_mut().poll(&mut cx), Poll::Ready(2));
}
