use super::*;

/// A pool for whose bound commands wait, whose volumes do `rates(times)` bytes in a second.
struct Pool {
    stretch: Stretch,
    steps: u64,
    done: [u64; 2],
}

impl Pool {
    fn new() -> Self {
        Pool { stretch: Stretch::default(), steps: 0, done: [0; 2] }
    }

    fn run(&mut self, seconds: u64, rates: fn(u64) -> [u64; 2]) -> Vec<u64> {
        let mut times_of_steps = Vec::new();
        for _ in 0..seconds * 20 {
            let stretch = &self.stretch;
            let times = if stretch.is_trial() { stretch.twice(1) } else { stretch.of(1) };
            let rates = rates(times);
            self.steps += 1;
            let done = [0, 1].map(|index| {
                self.done[index] += rates[index] / 20;
                Done { volume: index as u64, bytes: self.done[index], outstanding: 1 << 20 }
            });
            self.stretch.look(true, &done, Nanos(self.steps * 50_000_000));
            times_of_steps.push(times);
        }
        times_of_steps
    }
}

#[test]
fn where_one_does_more_and_none_less_it_is_stretched_and_else_tried_now_and_then_only() {
    for rates in [|times: u64| [times.min(8) << 30; 2], |times: u64| [times.min(8) << 30, 1 << 20]]
    {
        let mut pool = Pool::new();
        let times = pool.run(60, rates);
        assert!(times.contains(&8), "{times:?}");
    }
    let times = Pool::new().run(1000, |_| [1 << 30, 3 << 30]);
    let tried = times.iter().filter(|it| **it > 1).count();
    assert!(tried > 0 && tried < times.len() / 15, "{tried} of {}", times.len());
}

#[test]
fn where_one_does_more_at_the_cost_of_another_it_is_not_stretched() {
    let mut pool = Pool::new();
    let times = pool.run(300, |times| [times << 30, (10 - times) << 29]);
    assert!(times.iter().all(|it| *it <= 2) && !pool.stretch.is_stretched(), "{times:?}");
}

#[test]
fn what_was_stretched_in_vain_by_now_is_stretched_no_longer() {
    let mut pool = Pool::new();
    pool.run(10, |times| [times.min(8) << 30; 2]);
    let times = pool.run(300, |_| [1 << 30; 2]);
    assert!(times[times.len() / 2..].iter().all(|it| *it <= 2), "{times:?}");
}

#[test]
fn where_nobody_waits_for_it_nothing_is_tried() {
    let mut stretch = Stretch::default();
    for step in 1..1000 {
        let done = [Done { volume: 1, bytes: step << 20, outstanding: 1 << 10 }];
        stretch.look(false, &done, Nanos(step * 50_000_000));
        assert_eq!(stretch.of(1), 1);
    }
}
