use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::{Letter, Once};

#[test]
fn the_first_value_counts_and_everyone_sees_it() {
    let once = Once::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut wait = pin!(once.wait());
    assert!(wait.as_mut().poll(&mut cx).is_pending());
    once.set(1);
    once.set(2);
    assert_eq!(wait.as_mut().poll(&mut cx), Poll::Ready(1));
    assert_eq!(once.get(), Some(1));
}

#[test]
fn a_letter_is_taken_once() {
    let letter = Letter::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut take = pin!(letter.take());
    assert!(take.as_mut().poll(&mut cx).is_pending());
    letter.clone().leave(5);
    assert_eq!(take.as_mut().poll(&mut cx), Poll::Ready(5));
}

struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn who_waits_for_what_happens_once_is_noted_once_and_forgotten_when_it_stops() {
    let once = Once::<()>::new();
    let task = Arc::new(Task);
    let waker = Waker::from(task.clone());
    for _ in 0..1000 {
        let mut wait = Box::pin(once.wait());
        for _ in 0..10 {
            assert!(wait.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(Arc::strong_count(&task), 3, "the task, its waker, and one more");
    }
    assert_eq!(Arc::strong_count(&task), 2);
}
