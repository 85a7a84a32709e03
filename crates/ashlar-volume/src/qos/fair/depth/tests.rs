use super::*;

/// A pool in use by somebody who always wants more.
struct Pool {
    depth: Depth,
    now: u64,
    /// Bytes per second, and what a protected command takes, by the depth.
    rate: fn(u64) -> u64,
    took_us: fn(u64) -> u64,
    /// Protected commands in a window.
    protected: u64,
    several: bool,
}

impl Pool {
    fn new(rate: fn(u64) -> u64, took_us: fn(u64) -> u64) -> Self {
        let depth = Depth::default();
        Pool { depth, now: 0, rate, took_us, protected: 300, several: false }
    }

    /// Windows of half a second: the depth after each.
    fn run(&mut self, windows: usize) -> Vec<u64> {
        let window = |_| {
            let bytes = self.depth.bytes();
            self.now += 500_000_000;
            for index in 0..self.protected {
                // One of fifty takes half as long again.
                let took = (self.took_us)(bytes) * if index % 50 == 0 { 3 } else { 2 } / 2;
                self.depth.took(Kind::Read, Duration::from_micros(took), Nanos(self.now));
            }
            self.depth.ended((self.rate)(bytes) / 2, bytes);
            self.depth.waits(false, self.several);
            self.depth.decide(Nanos(self.now));
            self.depth.bytes()
        };
        (0..windows).map(window).collect()
    }
}

#[test]
fn where_the_pool_does_no_more_for_it_the_depth_falls_as_far_as_that_protects() {
    let mut pool = Pool::new(|_| 800 << 20, |depth| 16 + depth / 1000);
    let depths = pool.run(200);
    assert!(depths[100..].iter().all(|depth| *depth <= 2 * LEAST), "{:?}", &depths[100..]);
}

#[test]
fn the_pool_does_a_quarter_of_what_it_can_do_whatever_that_costs_others() {
    // Nothing helps the protected but that nobody else does anything.
    let mut pool = Pool::new(|depth| (depth * 1000).min(4 << 30), |depth| 20 + depth / 1000);
    pool.protected = 0;
    pool.run(60);
    pool.protected = 300;
    let depths = pool.run(300);
    let least = depths[50..].iter().min().unwrap();
    assert!((pool.rate)(*least) >= (4 << 30) / 6, "{least}");
    let average = depths[50..].iter().sum::<u64>() / 250;
    assert!((pool.rate)(average) >= (4 << 30) / 5, "{average}");
}

#[test]
fn the_depth_grows_to_what_keeps_drives_busy_where_that_costs_nobody_anything() {
    let mut pool = Pool::new(|depth| (depth * 1000).min(4 << 30), |_| 80);
    let depths = pool.run(400);
    let average = depths[200..].iter().map(|depth| (pool.rate)(*depth)).sum::<u64>() / 200;
    assert!(average > (4 << 30) * 4 / 5, "{average}");
}

#[test]
fn where_nobody_is_to_be_protected_it_grows_only_while_turns_are_of_no_account_or_more_is_done() {
    let mut pool = Pool::new(|_| 800 << 20, |_| 80);
    pool.protected = 0;
    pool.several = true;
    let depths = pool.run(100);
    assert!(depths.iter().all(|depth| *depth <= 2 * FIRST), "{depths:?}");
    pool.several = false;
    assert_eq!(pool.run(20).last(), Some(&MOST));
}

#[test]
fn where_the_pool_does_nearly_as_much_more_as_it_has_the_depth_grows_by_its_double() {
    let mut pool = Pool::new(|depth| (depth * 10).min(300 << 20), |_| 80);
    (pool.protected, pool.several) = (0, true);
    pool.run(40);
    assert!(pool.depth.bytes() >= 30 << 20, "{}", pool.depth.bytes());
}

#[test]
fn where_nobody_waits_and_little_is_done_nothing_is_decided() {
    let mut depth = Depth::default();
    for window in 1..100 {
        let now = Nanos(window * 500_000_000);
        (0..300).for_each(|_| depth.took(Kind::Write, Duration::from_micros(window), now));
        depth.ended(1 << 20, 64 << 10);
        depth.decide(now);
        assert_eq!(depth.bytes(), FIRST);
    }
}
