use super::*;

/// A pool for whose bound commands wait, which does `rate(times)` bytes in a second, in bursts.
fn run(stretch: &mut Stretch, from: u64, seconds: u64, rate: fn(u64) -> u64) -> Vec<u64> {
    let times = |step: u64| {
        let times = if stretch.is_trial() { stretch.twice(1) } else { stretch.of(1) };
        stretch.ended(rate(times) / 20, 1 << 20);
        stretch.look(true, Nanos(step * 50_000_000));
        times
    };
    (from * 20 + 1..=(from + seconds) * 20).map(times).collect()
}

#[test]
fn where_the_pool_does_more_for_it_it_is_stretched_and_else_tried_now_and_then_only() {
    let mut stretch = Stretch::default();
    let times = run(&mut stretch, 0, 10, |times| times.min(8) << 30);
    assert_eq!(stretch.of(1), 8, "{times:?}");
    let mut stretch = Stretch::default();
    let times = run(&mut stretch, 0, 1000, |_| 1 << 30);
    let tried = times.iter().filter(|it| **it > 1).count();
    assert!(tried > 0 && tried < times.len() / 15, "{tried} of {}", times.len());
}

#[test]
fn what_was_stretched_in_vain_by_now_is_stretched_no_longer() {
    let mut stretch = Stretch::default();
    run(&mut stretch, 0, 10, |times| times.min(8) << 30);
    let times = run(&mut stretch, 10, 300, |_| 1 << 30);
    assert!(times[times.len() / 2..].iter().all(|it| *it <= 2), "{times:?}");
}

#[test]
fn where_nobody_waits_for_it_nothing_is_tried() {
    let mut stretch = Stretch::default();
    for step in 1..1000 {
        stretch.ended(1 << 20, 1 << 10);
        stretch.look(false, Nanos(step * 50_000_000));
        assert_eq!(stretch.of(1), 1);
    }
}
