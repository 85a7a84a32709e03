use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use futures_util::FutureExt;

use super::*;

fn enter(gate: &Gate) -> Entry<'_> {
    gate.enter().now_or_never().expect("the gate is open").expect("the gate is not closed")
}

#[test]
fn alone_waits_for_those_inside_and_keeps_others_out() {
    let gate = Gate::default();
    let inside = enter(&gate);
    let mut alone = Box::pin(gate.alone());
    assert!((&mut alone).now_or_never().is_none());
    assert!(gate.enter().now_or_never().is_none());
    drop(inside);
    let alone = alone.now_or_never().expect("nobody is inside");
    assert!(gate.enter().now_or_never().is_none());
    drop(alone);
    drop(enter(&gate));
}

#[test]
fn one_that_gave_up_waiting_to_be_alone_leaves_the_gate_open() {
    let gate = Gate::default();
    let _inside = enter(&gate);
    assert!(gate.alone().now_or_never().is_none());
    drop(enter(&gate));
}

#[test]
fn settling_waits_for_what_came_before_and_not_for_what_came_after() {
    let gate = Gate::default();
    let before = enter(&gate);
    let mut settled = Box::pin(gate.settle());
    assert!((&mut settled).now_or_never().is_none());
    let _after = enter(&gate);
    assert!((&mut settled).now_or_never().is_none());
    drop(before);
    assert!(settled.now_or_never().is_some());
}

#[test]
fn epochs_end_in_order_whatever_order_they_empty_in() {
    let gate = Gate::default();
    let first = enter(&gate);
    let mut settled_first = Box::pin(gate.settle());
    assert!((&mut settled_first).now_or_never().is_none());
    let second = enter(&gate);
    let mut settled_second = Box::pin(gate.settle());
    assert!((&mut settled_second).now_or_never().is_none());
    drop(second);
    assert!((&mut settled_second).now_or_never().is_none());
    drop(first);
    assert!(settled_first.now_or_never().is_some());
    assert!(settled_second.now_or_never().is_some());
    assert!(gate.settle().now_or_never().is_some());
}

#[test]
fn a_closed_gate_says_why() {
    let gate = Gate::default();
    gate.close(Some(Cause::NoSuchVolume));
    let refused = gate.enter().now_or_never().expect("closed").map(drop);
    assert_eq!(refused.map_err(|error| error.cause), Err(Cause::NoSuchVolume));
    assert!(gate.alone().now_or_never().is_some());
}

#[test]
fn who_would_enter_does_not_wait_for_one_who_has_it_alone_and_refuses() {
    let gate = Gate::default();
    let inside = enter(&gate);
    let mut alone = Box::pin(gate.alone_refusing(Cause::Formatting));
    assert!(alone.as_mut().now_or_never().is_none());
    for _ in 0..2 {
        let refused = gate.enter().now_or_never().expect("it is not waited").map(drop);
        assert_eq!(refused.map_err(|error| error.cause), Err(Cause::Formatting));
    }
    assert_eq!(gate.refusal(), Some(Cause::Formatting));
    drop(inside);
    drop(alone.as_mut().now_or_never().expect("all is out"));
    assert_eq!(gate.refusal(), None);
    drop(enter(&gate));
    drop(gate.alone().now_or_never().expect("all is out"));
}

struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn one_that_waits_is_noted_once_and_forgotten_when_it_stops() {
    let gate = Gate::default();
    let inside = enter(&gate);
    let task = Arc::new(Task);
    let waker = Waker::from(task.clone());
    let mut alone = Box::pin(gate.alone());
    for _ in 0..1000 {
        assert!(alone.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&task), 3, "the task, its waker, and one more");
    drop(alone);
    assert_eq!(Arc::strong_count(&task), 2);
    drop(inside);
}
