use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;

use super::*;
use crate::types::Severity;

fn log() -> Arc<EventLog> {
    Arc::new(EventLog::beginning_at(100))
}

fn add(log: &EventLog, count: usize) {
    log.add((0..count).map(|_| Happening::new(Severity::Info, "test", "something")).collect());
}

/// What there is to read now.
fn read(follower: &mut Follower) -> Vec<u64> {
    std::iter::from_fn(|| follower.next().now_or_never().flatten().map(|event| event.seq)).collect()
}

#[test]
fn a_follower_gets_what_was_there_and_what_comes() {
    let log = log();
    add(&log, 3);
    let mut follower = log.follow(100).expect("there is room");
    assert_eq!(read(&mut follower), [101, 102]);
    let mut next = Box::pin(follower.next());
    let mut context = Context::from_waker(Waker::noop());
    assert!(next.as_mut().poll(&mut context).is_pending());
    add(&log, 1);
    assert!(
        matches!(next.as_mut().poll(&mut context), Poll::Ready(Some(event)) if event.seq == 103)
    );
    drop(next);
    log.end();
    assert_eq!(follower.next().now_or_never(), Some(None));
}

#[test]
fn a_log_that_ends_is_read_to_its_end() {
    let log = log();
    let mut follower = log.follow(0).expect("there is room");
    add(&log, 2);
    log.end();
    assert_eq!(read(&mut follower), [100, 101]);
}

#[test]
fn a_slow_follower_makes_nothing_grow_and_sees_the_gap() {
    let log = log();
    let mut follower = log.follow(0).expect("there is room");
    add(&log, 1);
    assert_eq!(read(&mut follower), [100]);
    (0..10).for_each(|_| add(&log, EVENTS_MAX));
    assert_eq!(log.kept().events.len(), EVENTS_MAX);
    let all = read(&mut follower);
    assert_eq!((all.len(), all[0]), (EVENTS_MAX, 101 + 9 * EVENTS_MAX as u64));
    assert_eq!(log.after(0).len(), EVENTS_MAX);
}

#[test]
fn what_comes_after_a_number_is_listed() {
    let log = log();
    assert!(log.after(0).is_empty());
    add(&log, 5);
    let after = |seq| log.after(seq).iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!((after(0), after(102)), (vec![100, 101, 102, 103, 104], vec![103, 104]));
    assert!(after(104).is_empty() && after(u64::MAX).is_empty());
}

#[test]
fn only_so_many_follow_at_a_time() {
    let log = log();
    let mut followers: Vec<Follower> =
        (0..FOLLOWERS_MAX).map(|_| log.follow(0).expect("there is room")).collect();
    assert!(log.follow(0).is_none());
    followers.pop();
    assert!(log.follow(0).is_some());
    drop(followers);
    assert_eq!(log.followers(), 0);
}
