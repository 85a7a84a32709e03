use super::*;

fn usual(kib: u64, millis: f64) -> Usual {
    Usual { cost: (kib << 10) as f64, nanos: millis * 1e6 }
}

fn hundredths(all: &[Usual]) -> Vec<u64> {
    prices(all).into_iter().map(|it| it.0).collect()
}

fn at(seconds: u64) -> Nanos {
    Nanos(seconds * 1_000_000_000)
}

#[test]
fn bytes_are_worth_the_same_where_commands_take_the_same_time_or_as_long_as_they_are_large() {
    assert_eq!(hundredths(&[]), []);
    assert_eq!(hundredths(&[usual(16, 3.0), usual(268, 3.0)]), [100, 100]);
    assert_eq!(hundredths(&[usual(16, 0.016), usual(268, 0.268)]), [100, 100]);
    assert_eq!(hundredths(&[usual(76, 1.0), usual(76, 3.9), usual(76, 12.0)]), [100; 3]);
    assert_eq!(hundredths(&[usual(76, 0.0), usual(76, 0.0)]), [100, 100]);
}

#[test]
fn bytes_of_commands_that_take_far_longer_than_others_count_by_their_time() {
    // Those that take about the same time have one price, whatever there is beside them.
    let all = [usual(76, 300.0), usual(76, 5.0), usual(76, 600.0), usual(76, 20_000.0)];
    assert_eq!(hundredths(&all), [1500, 100, 1500, 25_600]);
    // One of 1 MiB may take as long as 64 of 16 KiB.
    assert_eq!(hundredths(&[usual(16, 0.2), usual(1024, 51.0)]), [100, 100]);
    assert_eq!(hundredths(&[usual(16, 0.2), usual(1024, 102.4)]), [100, 200]);
}

#[test]
fn what_commands_take_is_an_average_of_late_and_is_forgotten_once_none_has_ended_for_long() {
    let mut took = Took::default();
    assert_eq!(took.next_epoch(at(1)), None);
    (0..4).for_each(|_| took.ended(1 << 10, Duration::from_millis(8)));
    assert_eq!(took.next_epoch(at(2)), Some(usual(1, 8.0)));
    assert_eq!(took.next_epoch(at(3)), Some(usual(1, 8.0)));
    took.ended(5 << 10, Duration::from_millis(16));
    assert_eq!(took.next_epoch(at(4)), Some(usual(2, 10.0)));
    assert_eq!(took.next_epoch(at(8)), Some(usual(2, 10.0)));
    assert_eq!(took.next_epoch(at(9)), None);
    took.ended(1 << 10, Duration::from_secs(30));
    assert_eq!(took.next_epoch(at(10)), Some(usual(1, 1000.0)));
}
