//! A simulated store, and volumes that use it.

use std::time::Duration;

use ashlar_block::{Nanos, XorShift};

use super::super::share::COMMAND;
use super::super::*;
use super::SECOND;
use crate::qos::testing::{Tasks, TestClock};

/// What commands take.
#[derive(Clone)]
pub(super) enum Store {
    /// One after the other, a MiB of costs in a millisecond.
    Serial(Rc<Cell<u64>>),
    /// Eight drives, each of which needs 2 µs for 4 KiB, and 70 µs until what is read is there.
    Drives(Rc<[Cell<u64>; 8]>, Rc<Cell<usize>>),
    /// As `Serial`, once the data are there, for which it waits 400 µs; and for 100 ms at a time
    /// it is faster or slower by up to a seventh.
    Uneven(Rc<Cell<u64>>),
    /// Whatever else there is, each takes 20 ms.
    Far,
    /// One after the other, 32 MiB of costs in a second, and what ends does so in bursts of so many
    /// nanoseconds: as where a batch is compressed with much effort.
    Slow(Rc<Cell<u64>>, u64),
}

impl Store {
    pub(super) fn serial() -> Self {
        Store::Serial(Rc::default())
    }

    pub(super) fn drives() -> Self {
        Store::Drives(Rc::default(), Rc::default())
    }

    /// When a command ends that begins now.
    pub(super) fn begin(&self, bytes: u64, now: u64) -> u64 {
        let (free_at, takes, delay) = match self {
            Store::Serial(free_at) => (&**free_at, COMMAND + bytes, 0),
            Store::Uneven(free_at) => {
                let (there, percent) =
                    (now + 400_000, 86 + XorShift::new(now / 100_000_000 + 1).below(29));
                free_at.set(free_at.get().max(there) + (COMMAND + bytes) * percent / 100);
                return free_at.get();
            }
            Store::Far => return now + 20_000_000,
            Store::Slow(free_at, burst) => {
                free_at.set(free_at.get().max(now) + (COMMAND + bytes) * 32);
                return free_at.get().next_multiple_of(*burst);
            }
            Store::Drives(drives, next) => {
                next.set((next.get() * 5 + 3) % drives.len());
                (&drives[next.get()], bytes / 2, 70_000)
            }
        };
        free_at.set(free_at.get().max(now) + takes);
        free_at.get() + delay
    }
}

pub(super) struct Bench {
    pub(super) tasks: Tasks,
    pub(super) store: Store,
    pub(super) share: Rc<FairShare<TestClock>>,
}

/// What a volume has done.
#[derive(Clone, Default)]
pub(super) struct Done {
    pub(super) bytes: Rc<Cell<u64>>,
    pub(super) took: Rc<RefCell<Vec<u64>>>,
}

impl Done {
    pub(super) fn forget(&self) {
        self.bytes.set(0);
        self.took.borrow_mut().clear();
    }

    pub(super) fn p99(&self) -> u64 {
        let mut took = self.took.borrow_mut();
        took.sort_unstable();
        took[took.len() * 99 / 100]
    }
}

/// Commands of a volume: bytes, how many are outstanding, and the pause after each.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) bytes: u64,
    pub(super) outstanding: usize,
    pub(super) pause: Duration,
}

pub(super) fn all_the_time(bytes: u64, outstanding: usize) -> Load {
    Load { bytes, outstanding, pause: Duration::ZERO }
}

impl Bench {
    pub(super) fn new(store: Store) -> Self {
        let tasks = Tasks::default();
        let share = FairShare::new(tasks.clock.clone());
        Bench { tasks, store, share }
    }

    /// A volume of that weight, and what it does.
    pub(super) fn volume(&mut self, weight: u16, load: Load) -> Done {
        let volume = self.share.volume();
        volume.set_weight(weight);
        self.load(&volume, load)
    }

    pub(super) fn load(&mut self, volume: &Rc<VolumeShare>, load: Load) -> Done {
        self.far_load(volume, load, Duration::ZERO)
    }

    /// The same, where each command takes `longer` from its turn until its data are there.
    pub(super) fn far_load(
        &mut self,
        volume: &Rc<VolumeShare>,
        load: Load,
        longer: Duration,
    ) -> Done {
        let done = Done::default();
        for _ in 0..load.outstanding {
            let (share, volume, store) = (self.share.clone(), volume.clone(), self.store.clone());
            let (done, clock) = (done.clone(), self.tasks.clock.clone());
            self.tasks.spawn(async move {
                loop {
                    let began = clock.now();
                    let in_store = share.enter(&volume, OpKind::Read, load.bytes).await;
                    clock.sleep(longer).await;
                    let in_store = in_store.with_data();
                    let now = clock.now();
                    clock.sleep(Nanos(store.begin(load.bytes, now.0)).since(now)).await;
                    drop(in_store);
                    done.bytes.set(done.bytes.get() + load.bytes);
                    done.took.borrow_mut().push(clock.now().0 - began.0);
                    clock.sleep(load.pause).await;
                }
            });
        }
        done
    }

    pub(super) fn run_for(&mut self, nanos: u64) {
        self.tasks.run_until(Nanos(self.tasks.clock.now().0 + nanos));
    }

    /// What volumes of these weights and loads do in half a second, in bytes.
    pub(super) fn shares(volumes: &[(u16, Load)]) -> Vec<f64> {
        Self::new(Store::serial()).shares_after(SECOND / 10, SECOND / 2, volumes)
    }

    /// The same in so long, after they have begun so long before.
    pub(super) fn shares_after(
        mut self,
        before: u64,
        nanos: u64,
        volumes: &[(u16, Load)],
    ) -> Vec<f64> {
        let done: Vec<Done> = volumes.iter().map(|it| self.volume(it.0, it.1)).collect();
        self.run_for(before);
        done.iter().for_each(Done::forget);
        self.run_for(nanos);
        done.iter().map(|done| done.bytes.get() as f64).collect()
    }
}
