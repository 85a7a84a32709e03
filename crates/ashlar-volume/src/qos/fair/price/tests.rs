use super::*;

fn usual(kib: u64, millis: f64) -> Usual {
    Usual { cost: (kib << 10) as f64, nanos: millis * 1e6 }
}

fn prices(all: &[Usual]) -> Vec<u64> {
    let fastest = Fastest::of(all.iter().copied());
    all.iter().map(|it| fastest.price(*it).0).collect()
}

#[test]
fn bytes_are_worth_the_same_where_commands_take_the_same_time_or_as_long_as_they_are_large() {
    assert_eq!(prices(&[]), []);
    assert_eq!(prices(&[usual(16, 3.0), usual(268, 3.0)]), [100, 100]);
    assert_eq!(prices(&[usual(16, 0.016), usual(268, 0.268)]), [100, 100]);
    assert_eq!(prices(&[usual(76, 1.0), usual(76, 3.9), usual(76, 2.0)]), [100, 100, 100]);
}

#[test]
fn bytes_of_commands_that_take_far_longer_than_others_count_by_their_time() {
    assert_eq!(prices(&[usual(76, 5.0), usual(76, 300.0), usual(76, 600.0)]), [100, 1500, 3000]);
    // One of 1 MiB may take as long as 64 of 16 KiB.
    assert_eq!(prices(&[usual(16, 0.2), usual(1024, 51.0), usual(1024, 102.4)]), [100, 100, 200]);
    assert_eq!(prices(&[usual(76, 0.01), usual(76, 60_000.0)]), [100, 25_600]);
}

#[test]
fn what_commands_take_is_an_average_of_late_and_stays_while_none_ends() {
    let mut took = Took::default();
    assert_eq!(took.next_epoch(), None);
    (0..4).for_each(|_| took.ended(1 << 10, Duration::from_millis(8)));
    assert_eq!(took.next_epoch(), Some(usual(1, 8.0)));
    assert_eq!(took.next_epoch(), Some(usual(1, 8.0)));
    took.ended(5 << 10, Duration::from_millis(16));
    assert_eq!(took.next_epoch(), Some(usual(2, 10.0)));
}
