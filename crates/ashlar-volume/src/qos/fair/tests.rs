use std::cell::Cell;

use super::*;
use crate::qos::testing::{Tasks, TestClock};

const SECOND: u64 = 1_000_000_000;

/// A store that does one thing after the other, a MiB of costs in a millisecond.
#[derive(Clone)]
struct SlowStore {
    clock: TestClock,
    free_at: Rc<Cell<u64>>,
}

impl SlowStore {
    async fn execute(&self, bytes: u64) {
        let began = self.free_at.get().max(self.clock.now().0);
        let ends = began + (COMMAND + bytes);
        self.free_at.set(ends);
        self.clock.sleep(Nanos(ends).since(self.clock.now())).await;
    }
}

struct Bench {
    tasks: Tasks,
    store: SlowStore,
    share: Rc<FairShare<TestClock>>,
}

/// What a volume has done: bytes, and the longest that a command took.
type Done = Rc<Cell<(u64, u64)>>;

impl Bench {
    fn new() -> Self {
        let tasks = Tasks::default();
        let store = SlowStore { clock: tasks.clock.clone(), free_at: Rc::default() };
        let share = FairShare::new(tasks.clock.clone());
        Bench { tasks, store, share }
    }

    fn volume(&self, weight: u16) -> Rc<VolumeShare> {
        let volume = self.share.volume();
        volume.set_weight(weight);
        volume
    }

    /// So many commands outstanding all the time, with a pause after each.
    fn load(
        &mut self,
        volume: &Rc<VolumeShare>,
        bytes: u64,
        outstanding: usize,
        pause: Duration,
    ) -> Done {
        let done = Done::default();
        for _ in 0..outstanding {
            let (share, volume) = (self.share.clone(), volume.clone());
            let (store, done, clock) = (self.store.clone(), done.clone(), self.tasks.clock.clone());
            self.tasks.spawn(async move {
                loop {
                    let began = clock.now();
                    let in_store = share.enter(&volume, bytes).await;
                    store.execute(bytes).await;
                    drop(in_store);
                    let (all, longest) = done.get();
                    let took = clock.now().since(began).as_nanos() as u64;
                    done.set((all + bytes, longest.max(took)));
                    clock.sleep(pause).await;
                }
            });
        }
        done
    }
}

#[test]
fn volumes_that_want_more_than_there_is_get_it_by_their_weights() {
    let mut bench = Bench::new();
    let (one, other) = (bench.volume(100), bench.volume(300));
    let one = bench.load(&one, 64 << 10, 32, Duration::ZERO);
    let other = bench.load(&other, 64 << 10, 16, Duration::ZERO);
    bench.tasks.run_until(Nanos(SECOND / 2));
    let ratio = other.get().0 as f64 / one.get().0 as f64;
    assert!((2.8..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn commands_of_other_sizes_take_no_more_than_their_part() {
    let mut bench = Bench::new();
    let (small, large) = (bench.volume(100), bench.volume(100));
    let small = bench.load(&small, 4 << 10, 64, Duration::ZERO);
    let large = bench.load(&large, 256 << 10, 16, Duration::ZERO);
    bench.tasks.run_until(Nanos(SECOND / 2));
    let small_cost = small.get().0 / 4 * (4 + (COMMAND >> 10));
    let ratio = large.get().0 as f64 / small_cost as f64;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn a_volume_within_its_part_waits_for_no_turn_behind_a_noisy_one() {
    let mut bench = Bench::new();
    let (quiet, noisy) = (bench.volume(100), bench.volume(100));
    let quiet = bench.load(&quiet, 4 << 10, 1, Duration::from_millis(5));
    bench.load(&noisy, 64 << 10, 128, Duration::ZERO);
    bench.tasks.run_until(Nanos(SECOND / 10));
    quiet.set((0, 0));
    bench.tasks.run_until(Nanos(SECOND));
    // What the store has at a time, and its own.
    let most = DEPTH + 2 * (COMMAND + (64 << 10)) + COMMAND + (4 << 10);
    assert!(quiet.get().1 <= most, "{} ns", quiet.get().1);
}

#[test]
fn a_volume_alone_is_not_bounded_and_bounds_end_with_the_other() {
    let mut bench = Bench::new();
    let (one, other) = (bench.volume(100), bench.volume(100));
    bench.load(&one, 64 << 10, 64, Duration::ZERO);
    bench.tasks.run();
    assert!(bench.share.state.borrow().in_store.sum() > 4 * DEPTH);
    bench.load(&other, 4 << 10, 1, Duration::ZERO);
    bench.tasks.run_until(Nanos(SECOND / 5));
    assert!(bench.share.state.borrow().in_store.sum() <= DEPTH + 2 * (COMMAND + (64 << 10)));
    bench.tasks.drop_task(64);
    bench.tasks.run_until(Nanos(SECOND));
    assert!(bench.share.state.borrow().in_store.sum() > 4 * DEPTH);
}

#[test]
fn commands_that_hang_keep_nobody_from_the_store() {
    let mut bench = Bench::new();
    let (hung, other) = (bench.volume(100), bench.volume(100));
    for _ in 0..100 {
        let (share, volume) = (bench.share.clone(), hung.clone());
        bench.tasks.spawn(async move {
            let _in_store = share.enter(&volume, 1 << 20).await;
            std::future::pending::<()>().await;
        });
    }
    let other = bench.load(&other, 256 << 10, 16, Duration::ZERO);
    bench.tasks.run_until(Nanos(SECOND));
    let bytes_per_second = other.get().0;
    assert!(bytes_per_second > 700 << 20, "{bytes_per_second}");
}

#[test]
fn what_gives_up_while_it_waits_or_is_in_the_store_leaves_nothing_behind() {
    let mut bench = Bench::new();
    let volumes = [bench.volume(100), bench.volume(50)];
    volumes.iter().for_each(|it| drop(bench.load(it, 128 << 10, 32, Duration::ZERO)));
    bench.tasks.run_until(Nanos(SECOND / 10));
    (0..64).for_each(|_| bench.tasks.drop_task(0));
    let state = bench.share.state.borrow();
    assert_eq!(state.in_store.sum(), 0);
    assert!(state.waiting.is_empty());
    assert!(volumes.iter().all(|it| it.in_store.get().sum() == 0 && it.queue.borrow().is_empty()));
}
