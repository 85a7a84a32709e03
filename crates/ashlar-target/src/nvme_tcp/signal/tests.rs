use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

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
