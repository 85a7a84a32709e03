use std::time::Duration;

use super::Latencies;

#[test]
fn figures_are_those_of_the_operations() {
    let mut latencies = Latencies::default();
    (1..=100).for_each(|micros| latencies.record(Duration::from_micros(micros)));
    let mut all = Latencies::default();
    all.add(&latencies);
    let summary = all.summary();
    assert_eq!(summary.count, 100);
    assert!((summary.p50_us - 50.0).abs() < 0.5 && (summary.p99_us - 99.0).abs() < 0.5);
    assert!((summary.max_us - 100.0).abs() < 0.5);
}

#[test]
fn what_is_out_of_range_is_counted_at_its_end() {
    let mut latencies = Latencies::default();
    latencies.record(Duration::ZERO);
    latencies.record(Duration::from_secs(3600));
    assert_eq!(latencies.summary().count, 2);
}
