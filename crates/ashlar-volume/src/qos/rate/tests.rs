use ashlar_block::XorShift;

use super::*;

const SECOND: u64 = 1_000_000_000;
const MILLI: u64 = 1_000_000;

fn rate(per_second: u64, burst_millis: u64) -> Rate {
    let rate = Rate::default();
    rate.set(NonZeroU64::new(per_second), Duration::from_millis(burst_millis), Nanos(0));
    rate
}

/// Commands of one after the other: when each begins, and its units.
fn run(rate: &Rate, until: u64, mut next: impl FnMut() -> (u64, u64)) -> Vec<(u64, u64)> {
    let (mut now, mut begun) = (0, Vec::new());
    while now < until {
        let (pause, units) = next();
        now = rate.take(units, Nanos(now + pause)).0;
        begun.push((now, units));
    }
    begun
}

/// Checks every window that begins with a command: what the rate allows in it and the burst, and
/// the largest command, is the most that there is.
fn check_windows(begun: &[(u64, u64)], per_second: u64, burst_millis: u64, window: u64) {
    let largest = begun.iter().map(|(_, units)| *units).max().unwrap();
    let allowed = per_second as f64 * (window as f64 / 1e9 + burst_millis as f64 / 1e3);
    let (mut first, mut sum) = (0, 0_u64);
    for (at, units) in begun {
        sum += units;
        while begun[first].0 + window <= *at {
            sum -= begun[first].1;
            first += 1;
        }
        assert!(sum as f64 <= allowed * 1.001 + largest as f64, "{sum} in a window, {allowed}");
    }
}

#[test]
fn whoever_always_wants_more_gets_the_rate_within_one_percent() {
    for (per_second, units) in [(10, 1), (1000, 1), (333_333, 1), (50 << 20, 128 << 10)] {
        for seconds in [1, 10] {
            let rate = rate(per_second, 10);
            // What was saved up before goes first.
            let skipped = run(&rate, 2 * SECOND, || (0, units)).last().unwrap().0;
            let begun = run(&rate, skipped + seconds * SECOND, || (0, units));
            let from = begun.iter().position(|(at, _)| *at > skipped).unwrap();
            let sum: u64 = begun[from..].iter().map(|(_, units)| units).sum();
            let expected = per_second * seconds;
            let off = sum.abs_diff(expected).saturating_sub(2 * units);
            assert!(off * 100 <= expected, "{sum} instead of {expected} in {seconds} s");
        }
    }
}

#[test]
fn no_window_holds_more_than_the_rate_the_burst_and_one_command() {
    for seed in 0..200 {
        let mut random = XorShift::new(seed);
        let per_second = [50, 1000, 20_000, 8 << 20][random.below(4) as usize];
        let burst = [10, 100, 1000, 5000][random.below(4) as usize];
        let units_max = (per_second / 20).max(2);
        let idle = random.below(3) * 500;
        let limit = rate(per_second, burst);
        let begun = run(&limit, 20 * SECOND, || {
            let pause = if random.below(50) == 0 { random.below(idle + 1) * MILLI } else { 0 };
            (pause, 1 + random.below(units_max))
        });
        for window in [SECOND / 10, SECOND, 3 * SECOND, 10 * SECOND] {
            check_windows(&begun, per_second, burst, window);
        }
    }
}

#[test]
fn who_was_idle_has_the_burst_at_once_and_no_more() {
    let rate = rate(1000, 500);
    let at = Nanos(10 * SECOND);
    let at_once = (0..2000).take_while(|_| rate.take(1, at) == at).count();
    assert_eq!(at_once, 501, "half a second of the rate, and the command that exceeds it");
}

#[test]
fn late_timers_lose_nothing_of_the_rate() {
    let rate = rate(1000, 100);
    let mut now = 0;
    let mut begun = 0;
    while now < 10 * SECOND {
        // Each wait ends 7 ms late.
        let at = rate.take(1, Nanos(now)).0;
        now = if at > now { at + 7 * MILLI } else { at };
        begun += 1;
    }
    // The last wait may be the one that ends late.
    assert!((9_990..=10_110).contains(&begun), "{begun} in ten seconds");
}

#[test]
fn a_command_larger_than_the_burst_begins_and_those_behind_it_wait() {
    let rate = rate(1 << 20, 10);
    let now = Nanos(SECOND);
    assert_eq!(rate.take(4 << 20, now), now);
    let next = rate.take(1, now).0 - now.0;
    assert_eq!(next, 4 * SECOND - 10 * MILLI);
}

#[test]
fn what_is_given_back_can_be_taken_again() {
    let rate = rate(100, 10);
    let now = Nanos(SECOND);
    let before = [rate.take(1, now), rate.take(1, now), rate.take(1, now)];
    rate.give_back(1);
    assert_eq!(rate.take(1, now), before[2]);
}

#[test]
fn a_change_gives_no_burst_anew_and_nobody_waits_for_what_an_old_limit_was_owed() {
    let second = Duration::from_secs(1);
    let (rate, now) = (Rate::default(), Nanos(10 * SECOND));
    rate.set(NonZeroU64::new(100), second, Nanos(0));
    let begun_at_once = || (0..1000).take_while(|_| rate.try_take(1, now)).count();
    assert_eq!(begun_at_once(), 101);
    rate.set(NonZeroU64::new(100), second, now);
    assert!(begun_at_once() <= 1, "the burst is spent");
    // What is owed is a second of a slow limit at most, not the thousand seconds of before.
    rate.set(NonZeroU64::new(10), Duration::from_millis(10), now);
    (0..100).for_each(|_| assert!(rate.take(1, now) >= now));
    rate.set(NonZeroU64::new(1000), Duration::from_millis(10), now);
    assert_eq!(rate.take(1, now), now);
    rate.set(None, Duration::from_millis(10), now);
    assert!((0..100_000).all(|_| rate.take(1 << 20, now) == now));
}

#[test]
fn a_longer_burst_and_a_first_limit_begin_with_nothing_saved_up() {
    let now = Nanos(10 * SECOND);
    let begun_at_once = |rate: &Rate| (0..10_000).take_while(|_| rate.try_take(1, now)).count();
    let longer = rate(500, 100);
    assert_eq!(begun_at_once(&longer), 51);
    longer.set(NonZeroU64::new(500), Duration::from_secs(10), now);
    assert!(begun_at_once(&longer) <= 1, "ten seconds of the rate come by and by");
    assert_eq!(longer.take(1000, Nanos(12 * SECOND)), Nanos(12 * SECOND), "as they do here");

    let first = rate(0, 100);
    first.set(NonZeroU64::new(500), Duration::from_secs(10), now);
    assert!(begun_at_once(&first) <= 1);

    let shorter = rate(500, 10_000);
    shorter.set(NonZeroU64::new(500), Duration::from_millis(100), now);
    assert_eq!(begun_at_once(&shorter), 51, "of what was saved up the shorter burst stays");
}

#[test]
fn threads_that_try_at_once_begin_one_command_more_than_the_burst_and_no_others() {
    for _ in 0..50 {
        let rate = rate(1000, 10);
        let begun: usize = std::thread::scope(|scope| {
            let try_all = || (0..200).filter(|_| rate.try_take(1, Nanos(SECOND))).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(try_all)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(begun, 11);
    }
}

#[test]
fn threads_that_take_at_once_share_the_one_rate() {
    let rate = rate(1000, 10);
    let last = std::thread::scope(|scope| {
        let take = || (0..1000).map(|_| rate.take(1, Nanos(SECOND)).0).max().unwrap();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    });
    // The 4000th begins when 3999 have been spent, less the burst.
    assert_eq!(last, SECOND + 3999 * MILLI - 10 * MILLI);
}
