use ashlar_block::Nanos;

use super::Tally;

const SECOND: u64 = 1_000_000_000;

#[test]
fn what_happens_all_the_time_is_told_once_in_ten_seconds_with_its_count() {
    let tally = Tally::default();
    let told: Vec<_> = (0..25_000_u64)
        .filter_map(|millisecond| {
            Some((millisecond, tally.count(Nanos(SECOND + millisecond * SECOND / 1000))?))
        })
        .collect();
    assert_eq!(told, [(0, 1), (10_000, 10_000), (20_000, 10_000)]);
}

#[test]
fn what_happens_now_and_then_is_told_each_time() {
    let tally = Tally::default();
    assert!((1..100).all(|number| tally.count(Nanos(number * 11 * SECOND)) == Some(1)));
}
