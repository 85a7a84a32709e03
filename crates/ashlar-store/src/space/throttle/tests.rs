use ashlar_raid::Level;

use super::*;
use crate::space::over_limit::Held;
use crate::testing::{Drives, write_small_blocks};

fn all() -> impl Iterator<Item = Levels> {
    let up_to = |stop| (1..=stop).map(move |throttle| Levels { warn: 1, throttle, stop });
    (1..=100).flat_map(up_to)
}

#[test]
fn no_per_cent_slows_writes_by_more_than_two() {
    for levels in all() {
        for used in 0..100 {
            let [one, next] = [used, used + 1].map(|used| slowdown(levels, f64::from(used)));
            assert!(next >= one && next <= one * 2.0 + 1e-9, "{levels:?} at {used}: {one}, {next}");
        }
    }
}

#[test]
fn writes_are_as_fast_as_ever_below_the_level_and_slowest_at_the_end() {
    let levels = Levels::default();
    assert_eq!(slowdown(levels, 0.0), 1.0);
    assert_eq!(slowdown(levels, f64::from(levels.throttle)), 1.0);
    assert!((slowdown(levels, 100.0) - 32.0).abs() < 1e-6);
    assert!((slowdown(levels, 120.0) - 32.0).abs() < 1e-6);
}

#[test]
fn levels_that_leave_no_room_throttle_nothing() {
    assert_eq!(slowdown(Levels { throttle: 100, ..Levels::default() }, 100.0), 1.0);
}

#[test]
fn what_may_live_ends_at_the_level() {
    assert_eq!(stop_at(Levels { stop: 95, ..Levels::default() }, 1000), 950);
    assert_eq!(stop_at(Levels::default(), u64::MAX), u64::MAX);
}

#[test]
fn a_pool_warns_when_as_much_is_left_as_lies_between_the_levels() {
    assert_eq!(little(Levels::default(), 1000), 100);
    assert_eq!(little(Levels { stop: 95, ..Levels::default() }, 1000), 50);
    assert_eq!(little(Levels { warn: 100, ..Levels::default() }, 1000), 0, "it never warns");
}

#[test]
fn a_batch_is_followed_by_a_pause_that_makes_it_as_slow_as_it_is_to_be() {
    let throttle = Throttle::default();
    let now = Nanos(1_000_000_000);
    throttle.batch_ended(Duration::from_millis(2), 4.0, 0, now);
    assert_eq!(throttle.wait(4.0, now), Duration::from_millis(6));
    assert_eq!(throttle.wait(1.0, now), Duration::ZERO, "room has come back meanwhile");
    throttle.batch_ended(Duration::from_secs(20), 32.0, 0, now);
    assert_eq!(
        throttle.wait(32.0, now),
        PAUSE_MAX,
        "a drive that hung is no reason to wait minutes"
    );
}

/// Hosts give a command up after 30 seconds, however many of them are outstanding.
#[test]
fn pauses_before_all_that_waits_are_bounded_together() {
    let throttle = Throttle::default();
    let now = Nanos(1_000_000_000);
    throttle.batch_ended(Duration::from_millis(20), 30.0, 127, now);
    assert_eq!(throttle.wait(30.0, now), PAUSES_MAX / 128);
}

/// Its hosts overwrite at a level where others are refused, for as long as the drive is gone.
#[test]
fn a_pool_over_its_limit_after_a_loss_is_not_throttled() {
    let pool = Drives::new(Level::RAID5, 4).open();
    write_small_blocks(&pool, 0..100);
    let live = pool.space.segments.borrow().live().bytes();
    pool.space.limit_bytes.set(live / 2);
    assert!(pool.slowdown() > 1.0);
    let held = Held { live, limit: live / 2, most: 2 * live, lacks_drives: true };
    pool.space.over_limit.refresh(held);
    assert_eq!(pool.slowdown(), 1.0);
}
