use ashlar_block::latency::{Histogram, Operations, SizeClass};

use super::*;
use crate::cli::tables::grid::WIDTH;

fn some(times_us: &[u64]) -> Operations {
    let mut took = Histogram::default();
    times_us.iter().for_each(|us| took.record(Duration::from_micros(*us)));
    Operations { took, bytes: 4096 * times_us.len() as u64 }
}

#[test]
fn there_is_a_line_for_each_kind_and_size_that_there_was() {
    let small = some(&[50, 60, 4_000]);
    let reads = KindLatency {
        all: SizedLatency::of_any(&small),
        classes: vec![SizedLatency::of_class(SizeClass::UpTo4KiB, &small)],
    };
    let text = latency(&Latency { operations_in_flight: 3, reads, ..Latency::default() });
    assert!(text.starts_with(" in flight  3\n"), "{text}");
    for words in [
        ["read", "any", "3", "1.4ms", "60us", "4.0ms"],
        ["", "to 4KiB", "3", "1.4ms", "60us", "4.0ms"],
    ] {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(text.lines().any(has_all), "{words:?} is not in\n{text}");
    }
    assert!(!text.contains("write") && !text.contains("trim"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
}

#[test]
fn of_a_volume_that_nobody_has_used_that_is_said() {
    let text = latency(&Latency::default());
    assert_eq!(text, " in flight  0\n no operation has ended yet");
}
