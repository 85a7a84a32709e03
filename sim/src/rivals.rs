//! Machines that reach the same drives: whoever wants the pool while another one has it, whoever is
//! stopped in the middle of it and goes on when another one has it by now.

mod doubt;
mod drives;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Clock, Lba, Nanos, Spawn, VolumeId};
use ashlar_raid::Level;
use ashlar_store::format::heartbeat::Heartbeat;
use ashlar_store::{Compression, Holder, OpenError, Options};
use bytes::Bytes;
use futures_util::future::{join, join_all, join3};

use crate::good::{drives, make_pool, platters};
use crate::platter::SharedPlatter;
use crate::start::{Pool, open_with};
use crate::versions::Versions;
use crate::world::{Ended, Machine, SimWorld, WallClock};

const CHUNK_BYTES: u32 = 64 << 10;
const CHUNKS: u64 = 64;
const BLOCKS: u64 = 64;
const A: Machine = Machine(1);
const B: Machine = Machine(2);
/// Longer than any machine watches before it opens a pool.
const OPENED: Duration = Duration::from_secs(20);
/// Longer than any run takes. Heartbeats go on for ever, so that a deadlock shows by nothing else.
const ENDED_MAX: Duration = Duration::from_secs(3600);
/// Between two commands of a host.
const PAUSE_MAX_MICROS: u64 = 200_000;

/// An opening of the pool by a machine.
#[derive(Clone)]
struct Open {
    machine: Machine,
    /// Tells it from every other one.
    number: u64,
    pool: Pool,
    volume: VolumeId,
}

/// What all machines see, and all hosts know.
#[derive(Clone)]
struct Scene {
    world: SimWorld,
    level: Level,
    platters: Vec<SharedPlatter>,
    versions: Versions,
    openings: Rc<Cell<u64>>,
    /// Openings that have answered hosts, in that order: who is followed by another one answers no
    /// more.
    answering: Rc<RefCell<Vec<u64>>>,
    /// Machines whose hosts pause.
    paused: Rc<Cell<bool>>,
}

impl Scene {
    fn new(seed: u64, (level, count): (Level, usize)) -> Self {
        Scene {
            world: SimWorld::new(seed, Nanos(0), WallClock::Right),
            level,
            platters: platters(count, CHUNKS, CHUNK_BYTES),
            versions: Versions::of(BLOCKS),
            openings: Rc::default(),
            answering: Rc::default(),
            paused: Rc::default(),
        }
    }

    fn run<F: Future<Output = ()> + 'static>(&self, main: impl FnOnce(Scene) -> F) {
        let world = self.world.clone();
        self.world.spawn(async move {
            world.sleep(ENDED_MAX).await;
            panic!("something is waited for that never comes");
        });
        let ended = self.world.run(main(self.clone()), || false);
        self.world.stop();
        assert!(matches!(ended, Ended::Done));
    }

    fn options(machine: Machine) -> Options {
        let holder = Holder { id: [machine.0; 16], name: format!("machine {}", machine.0) };
        Options { holder: Some(holder), ..Options::default() }
    }

    /// Makes the pool and its volume.
    async fn make(&self, machine: Machine) -> Open {
        let (scene, own) = (self.clone(), self.world.seen_from(machine));
        let made = async move {
            let options = Self::options(machine);
            let made = make_pool(&own, &scene.platters, scene.level, CHUNK_BYTES, options).await;
            let pool = made.expect("good drives");
            let volume = pool
                .create_volume(BLOCKS, Compression::None, Bytes::new())
                .await
                .expect("there is room");
            scene.opened(machine, pool, volume)
        };
        self.world.on(machine, made).await
    }

    async fn open(&self, machine: Machine) -> Result<Open, OpenError> {
        let (scene, own) = (self.clone(), self.world.seen_from(machine));
        let opened = async move {
            let drives = drives(&own, &scene.platters);
            let (pool, _) = open_with(&own, drives, Self::options(machine)).await?;
            let (volume, _) = pool.volumes().into_iter().next().expect("it was made");
            Ok(scene.opened(machine, pool, volume))
        };
        self.world.on(machine, opened).await
    }

    fn opened(&self, machine: Machine, pool: Pool, volume: VolumeId) -> Open {
        let number = self.openings.get();
        self.openings.set(number + 1);
        Open { machine, number, pool, volume }
    }

    /// A host has had an answer.
    fn answered(&self, open: &Open) {
        let mut answering = self.answering.borrow_mut();
        if answering.last() == Some(&open.number) {
            return;
        }
        assert!(
            !answering.contains(&open.number),
            "{:?} has answered, and another one has the pool",
            open.machine
        );
        answering.push(open.number);
    }

    /// Hosts of the machine read and write, until they get an error.
    fn spawn_hosts(&self, open: &Open) {
        for _ in 0..3 {
            let (scene, open) = (self.clone(), open.clone());
            let world = self.world.seen_from(open.machine);
            world.clone().spawn(async move {
                while scene.command(&open, world.below(BLOCKS)).await {
                    world.sleep(Duration::from_micros(world.below(PAUSE_MAX_MICROS))).await;
                    while scene.paused.get() {
                        world.sleep(Duration::from_secs(1)).await;
                    }
                }
            });
        }
    }

    /// Whether it was answered.
    async fn command(&self, open: &Open, block: u64) -> bool {
        if self.world.once_in(2) {
            self.read(open, block).await
        } else {
            self.write(open, block).await
        }
    }

    async fn write(&self, open: &Open, block: u64) -> bool {
        let written = self.versions.write(&open.pool, open.volume, block).await.is_ok();
        if written {
            self.answered(open);
        }
        written
    }

    async fn read(&self, open: &Open, block: u64) -> bool {
        let read = self.versions.read(&open.pool, open.volume, block).await.is_ok();
        if read {
            self.answered(open);
        }
        read
    }

    /// The pool is whole, and this opening has it.
    async fn check(&self, open: &Open) {
        self.paused.set(true);
        self.world.sleep(OPENED).await;
        for block in 0..BLOCKS {
            assert!(self.read(open, block).await, "{:?}", open.pool.halted());
        }
        let audit = open.pool.audit().await.expect("good drives");
        assert!(audit.wrong.is_empty(), "{:?}", audit.wrong);
        assert_eq!(open.pool.halted(), None);
    }

    /// At most one of these has the pool; and if none has, it can be opened.
    async fn check_what_is_left(&self, opened: impl Iterator<Item = Open>) {
        let mut have_it = opened.filter(|open| open.pool.halted().is_none());
        match (have_it.next(), have_it.next()) {
            (Some(_), Some(_)) => panic!("two machines have it"),
            (Some(open), None) => self.check(&open).await,
            (None, _) => self.check(&self.open(B).await.expect("nobody has it")).await,
        }
    }

    async fn pause(&self, micros_max: u64) {
        self.world.sleep(Duration::from_micros(self.world.below(micros_max))).await;
    }

    /// Freezes a machine at any time, or just when it has looked at a drive, or writes its
    /// heartbeat.
    async fn freeze(&self, machine: Machine) {
        if self.world.once_in(2) {
            self.world.freeze_at(machine, Heartbeat::OFFSET, 1 + self.world.below(18));
            self.world.sleep(Duration::from_secs(8)).await;
        } else {
            self.pause(8_000_000).await;
            self.world.freeze(machine);
        }
    }
}

fn is_lost(open: &Open) -> bool {
    open.pool.halted().is_some_and(|why| why.contains("has opened the pool"))
}

/// Of a pool on one drive no other drive tells who has the lease.
const POOLS: [(Level, usize); 4] =
    [(Level::RAID0, 1), (Level::RAID1, 2), (Level::RAID5, 4), (Level::RAID6, 6)];

fn for_all(seeds: u64, mut run: impl FnMut(Scene)) {
    for seed in 0..seeds {
        for pool in POOLS {
            run(Scene::new(seed, pool));
        }
    }
}

async fn take_what_was_handed_back(scene: Scene) {
    let first = scene.make(A).await;
    scene.spawn_hosts(&first);
    scene.pause(3_000_000).await;
    scene.paused.set(true);
    scene.world.sleep(Duration::from_secs(2)).await;
    first.pool.close().await.expect("good drives");
    drop(first);
    let second = scene.open(B).await.expect("it was handed back");
    scene.paused.set(false);
    scene.spawn_hosts(&second);
    scene.check(&second).await;
}

async fn want_what_is_in_use(scene: Scene) {
    let first = scene.make(A).await;
    scene.spawn_hosts(&first);
    for _ in 0..3 {
        scene.pause(5_000_000).await;
        let refused = scene.open(B).await.err();
        assert!(
            matches!(&refused, Some(OpenError::InUse { holder }) if holder == "machine 1"),
            "{refused:?}"
        );
    }
    scene.check(&first).await;
}

/// Returns whether the second machine got it.
async fn freeze_and_thaw(scene: Scene, taken: Rc<Cell<bool>>) {
    let first = scene.make(A).await;
    scene.spawn_hosts(&first);
    scene.freeze(A).await;
    let thawing = async {
        scene.pause(40_000_000).await;
        scene.world.thaw(A);
    };
    let wanting = async {
        scene.pause(10_000_000).await;
        let opened = match scene.open(B).await {
            // The other one froze when its last root was there.
            Err(OpenError::Unsure) => scene.open(B).await,
            opened => opened,
        };
        if let Ok(second) = &opened {
            scene.spawn_hosts(second);
        }
        opened
    };
    let (second, ()) = join(wanting, thawing).await;
    scene.world.sleep(OPENED).await;
    match second {
        Ok(second) => {
            taken.set(true);
            assert!(is_lost(&first), "two machines have it: {:?}", first.pool.halted());
            scene.check(&second).await;
        }
        Err(OpenError::InUse { .. }) => {
            // Who wanted it found the heartbeat of the other one, and may have left its own before:
            // then nobody has it.
            if !is_lost(&first) {
                return scene.check(&first).await;
            }
            let again = scene.open(A).await.expect("nobody has it");
            scene.check(&again).await;
        }
        Err(error) => panic!("{error}"),
    }
}

async fn want_it_at_once(scene: Scene) {
    let made = scene.make(A).await;
    assert!(scene.write(&made, 1).await);
    if scene.world.once_in(2) {
        made.pool.close().await.expect("good drives");
    } else {
        scene.world.freeze(A);
        scene.world.sleep(OPENED).await;
    }
    let (one, other) = (Machine(3), Machine(4));
    // At the very same moment, or while the other one watches.
    let apart_micros = if scene.world.once_in(2) { 1_000 } else { 9_000_000 };
    let want = async |machine: Machine| {
        scene.pause(apart_micros).await;
        let opened = scene.open(machine).await;
        if let Ok(open) = &opened {
            scene.spawn_hosts(open);
        }
        opened.ok()
    };
    let freezing = async {
        if scene.world.once_in(2) {
            scene.world.freeze_at(one, Heartbeat::OFFSET, 1 + scene.world.below(20));
            scene.pause(60_000_000).await;
        }
        scene.world.thaw(one);
    };
    let (first, second, ()) = join3(want(one), want(other), freezing).await;
    scene.world.thaw(A);
    scene.world.sleep(OPENED).await;
    // The one that was stopped may have gone on meanwhile.
    scene.check_what_is_left([Some(made), first, second].into_iter().flatten()).await;
}

/// Wants the pool, has it until another one does, and wants it again, until all are to end.
async fn want_it_again(
    scene: Scene,
    machine: Machine,
    had: Rc<RefCell<Vec<Open>>>,
    ends: Rc<Cell<bool>>,
) {
    while !ends.get() {
        if let Ok(open) = scene.open(machine).await {
            scene.spawn_hosts(&open);
            had.borrow_mut().push(open.clone());
            while open.pool.halted().is_none() && !ends.get() {
                scene.world.sleep(Duration::from_secs(1)).await;
            }
        }
        scene.pause(10_000_000).await;
    }
}

/// A machine is stopped while it writes a heartbeat, and goes on just when the one that has taken
/// the pool is stopped: its heartbeat comes over the other one's, which cannot write another one.
/// Returns how often the roots had to say who has the pool, and how often the other one went on.
async fn freeze_one_then_the_other(scene: Scene, counts: Rc<Cell<(usize, usize)>>) {
    let first = scene.make(A).await;
    scene.spawn_hosts(&first);
    // Of one drive every second use of it is a write.
    scene.world.freeze_at(A, Heartbeat::OFFSET, 2 + 2 * scene.world.below(4));
    scene.world.sleep(Duration::from_secs(8)).await;
    let second = match scene.open(B).await {
        Err(OpenError::Unsure) => scene.open(B).await,
        opened => opened,
    };
    let Ok(second) = second else { return };
    scene.spawn_hosts(&second);
    scene.pause(5_000_000).await;
    if scene.world.once_in(2) {
        scene.world.freeze(B);
    } else {
        scene.world.freeze_at(B, Heartbeat::OFFSET, 1 + scene.world.below(12));
    }
    scene.pause(2_000_000).await;
    scene.world.thaw(A);
    scene.pause(30_000_000).await;
    scene.world.thaw(B);
    scene.world.sleep(OPENED * 2).await;
    let by_roots = first.pool.halted().is_some_and(|why| why.contains("'another machine'"));
    let (lost, kept) = counts.get();
    counts.set((lost + usize::from(by_roots), kept + usize::from(by_roots && !is_lost(&second))));
    scene.check_what_is_left([first, second].into_iter()).await;
}

/// Machines are stopped and go on at any time, any number of them at once.
async fn freeze_whichever(scene: Scene) {
    let made = scene.make(A).await;
    scene.spawn_hosts(&made);
    let had = Rc::new(RefCell::new(vec![made]));
    let ends = Rc::new(Cell::new(false));
    let machines = [A, B, Machine(3)];
    let stopping = async {
        for _ in 0..16 {
            let machine = machines[scene.world.below(3) as usize];
            match scene.world.below(4) {
                0 => scene.world.freeze(machine),
                1 => scene.world.freeze_at(machine, Heartbeat::OFFSET, 1 + scene.world.below(18)),
                _ => scene.world.thaw(machine),
            }
            scene.pause(12_000_000).await;
        }
        machines.into_iter().for_each(|machine| scene.world.thaw(machine));
        ends.set(true);
    };
    let want =
        |machine: &Machine| want_it_again(scene.clone(), *machine, had.clone(), ends.clone());
    join(stopping, join_all(machines[1..].iter().map(want))).await;
    scene.world.sleep(OPENED * 2).await;
    let had = had.take();
    scene.check_what_is_left(had.into_iter()).await;
}

#[test]
fn a_machine_takes_over_what_another_one_has_handed_back() {
    for_all(5, |scene| scene.run(take_what_was_handed_back));
}

#[test]
fn a_pool_that_a_machine_has_open_is_refused_to_all_others() {
    for_all(5, |scene| scene.run(want_what_is_in_use));
}

#[test]
fn a_machine_that_was_stopped_answers_nothing_once_another_one_has_the_pool() {
    let (mut taken, mut kept) = (0, 0);
    for_all(50, |scene| {
        let is_taken = Rc::new(Cell::new(false));
        let flag = is_taken.clone();
        scene.run(|scene| freeze_and_thaw(scene, flag));
        if is_taken.get() { taken += 1 } else { kept += 1 }
    });
    assert!(taken > 50 && kept > 20, "{taken} taken, {kept} kept");
}

#[test]
fn of_machines_that_want_a_pool_at_once_no_two_have_it() {
    for_all(50, |scene| scene.run(want_it_at_once));
}

#[test]
fn of_machines_that_are_stopped_in_turn_no_two_have_a_pool() {
    let counts = Rc::new(Cell::default());
    for seed in 0..200 {
        Scene::new(seed, POOLS[0]).run(|scene| freeze_one_then_the_other(scene, counts.clone()));
    }
    let (lost, kept) = counts.get();
    assert!(
        lost > 10 && kept > 10,
        "roots have said it {lost} times, and the other one has gone on {kept} times"
    );
}

#[test]
fn of_machines_that_are_stopped_at_any_time_no_two_have_a_pool() {
    for_all(20, |scene| scene.run(freeze_whichever));
}
