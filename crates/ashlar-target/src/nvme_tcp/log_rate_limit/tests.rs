use ashlar_block::Nanos;

use super::{LogRateLimits, RateLimit};

const SECOND: u64 = 1_000_000_000;

/// What is told of one occurrence each millisecond for 25 s: when, and how often it is said to have
/// happened.
fn told_of_a_flood(tally: &RateLimit) -> Vec<(u64, u64)> {
    let count = |millisecond: u64| {
        Some((millisecond, tally.count(Nanos(SECOND + millisecond * SECOND / 1000))?))
    };
    (0..25_000).filter_map(count).collect()
}

#[test]
fn what_happens_all_the_time_is_told_once_in_ten_seconds_with_its_count() {
    assert_eq!(told_of_a_flood(&RateLimit::new(1)), [(0, 1), (10_000, 10_000), (20_000, 10_000)]);
}

#[test]
fn hosts_that_come_and_go_all_the_time_have_sixteen_lines_in_ten_seconds() {
    let all = LogRateLimits::default();
    for tally in [&all.arrival, &all.departure, &all.silence, &all.refusal] {
        let told = told_of_a_flood(tally);
        assert_eq!(told.len(), 3 * 16);
        assert_eq!(told[..17].iter().map(|(_, times)| times).sum::<u64>(), 10_001);
        assert_eq!(told[16], (10_000, 9_985));
        assert_eq!(told[17], (10_001, 1));
    }
}

#[test]
fn what_happens_now_and_then_is_told_each_time() {
    let tally = RateLimit::new(1);
    assert!((1..100).all(|number| tally.count(Nanos(number * 11 * SECOND)) == Some(1)));
}
