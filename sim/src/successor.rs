//! A drive that has come instead of a lost one is lost as well, before all that the first had is
//! restored. What lives has lost no more than one level of redundancy anywhere: the pool goes on,
//! also if the power fails before a root says so, and restores both.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{Clock, Nanos, Spawn, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Compression, Options, Settings};
use bytes::Bytes;

use crate::drive::SimDrive;
use crate::good::{drives, make_pool, platters};
use crate::platter::SharedPlatter;
use crate::start::{Pool, open_with};
use crate::versions::Versions;
use crate::world::{Ended, SimWorld, WallClock};

const CHUNK_BYTES: u32 = 64 << 10;
const CHUNKS: u64 = 64;
/// Of which each is written before anything is lost.
const BLOCKS: u64 = 600;
/// Operations of drives between the second loss and the power cut, at most.
const OPERATIONS_BEFORE_CUT: u64 = 200;
/// Within which the second drive is lost, in microseconds.
const SECOND_LOSS_MICROS: u64 = 30_000;
/// By when all is restored.
const REBUILD: Duration = Duration::from_secs(60);

/// What outlives a power cut.
#[derive(Clone)]
struct Scene {
    level: Level,
    drives: usize,
    /// The last one is the successor.
    platters: Vec<SharedPlatter>,
    versions: Versions,
    /// Whether something of the first lost drive was still to be restored when the second was lost.
    was_rebuilding: Rc<Cell<bool>>,
}

impl Scene {
    fn new(level: Level, drives: usize) -> Self {
        Scene {
            level,
            drives,
            platters: platters(drives + 1, CHUNKS, CHUNK_BYTES),
            versions: Versions::of(BLOCKS),
            was_rebuilding: Rc::default(),
        }
    }

    /// Until the second drive is lost, and a while longer. `cut`: then the power is.
    async fn lose_both(self, world: SimWorld, cut: bool) {
        let members = &self.platters[..self.drives];
        let made = make_pool(&world, members, self.level, CHUNK_BYTES, Options::default()).await;
        let pool = made.expect("good drives");
        let settings = Settings { recon_prio: 1 + world.below(100) as u8, ..pool.settings() };
        pool.set_settings(settings).await.expect("good drives");
        let volume = pool
            .create_volume(BLOCKS, Compression::None, Bytes::new())
            .await
            .expect("there is room");
        for block in 0..BLOCKS {
            self.write(&pool, volume, block).await;
        }
        self.platters[0].0.borrow_mut().gone = true;
        // Acknowledged once a root says that the drive is lost.
        self.write(&pool, volume, 0).await;
        let successor = self.platters.last().expect("there is one");
        pool.add_drive(SimDrive::new(&world, successor), None).await.expect("a good drive");
        self.spawn_writer(&world, &pool, volume);
        world.sleep(Duration::from_micros(world.below(SECOND_LOSS_MICROS))).await;
        self.was_rebuilding.set(pool.status().rebuild.is_some());
        successor.0.borrow_mut().gone = true;
        if cut {
            world.cut_after(world.below(OPERATIONS_BEFORE_CUT));
        }
        self.restore_and_check(&world, &pool, volume).await;
    }

    async fn go_on(self, world: SimWorld) {
        let left = drives(&world, &self.platters[1..self.drives]);
        let opened = open_with(&world, left, Options::default()).await;
        let (pool, _) =
            opened.unwrap_or_else(|error| panic!("nothing that lives is lost: {error}"));
        let (volume, _) = pool.volumes().into_iter().next().expect("it was made");
        self.restore_and_check(&world, &pool, volume).await;
    }

    async fn restore_and_check(&self, world: &SimWorld, pool: &Pool, volume: VolumeId) {
        // A root goes to every drive: whoever is lost and has not been missed yet is now.
        pool.set_settings(pool.settings())
            .await
            .expect("one level of redundancy is lost, and no more");
        let until = Nanos(world.now().0 + REBUILD.as_nanos() as u64);
        while pool.status().rebuild.is_some() && world.now() < until {
            world.sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(pool.halted(), None);
        assert!(pool.status().rebuild.is_none(), "{:?}", pool.status().rebuild);
        for block in 0..BLOCKS {
            self.versions.read(pool, volume, block).await.expect("enough drives");
        }
    }

    fn spawn_writer(&self, world: &SimWorld, pool: &Pool, volume: VolumeId) {
        let (scene, clock, pool) = (self.clone(), world.clone(), pool.clone());
        world.spawn(async move {
            loop {
                scene.write(&pool, volume, 1 + clock.below(BLOCKS - 1)).await;
            }
        });
    }

    async fn write(&self, pool: &Pool, volume: VolumeId, block: u64) {
        let written = self.versions.write(pool, volume, block).await;
        written.unwrap_or_else(|error| {
            panic!("one level of redundancy is lost, and no more: {error}")
        });
    }
}

/// Returns whether the rebuild was under way when the successor was lost.
fn lose_a_successor(seed: u64, level: Level, drives: usize, cut: bool) -> bool {
    let scene = Scene::new(level, drives);
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let ended = world.run(scene.clone().lose_both(world.clone(), cut), || false);
    world.stop();
    if matches!(ended, Ended::Cut) {
        scene.platters.iter().for_each(|platter| platter.cut_power(&world));
        let later = SimWorld::new(seed + 1, world.now(), WallClock::Right);
        assert!(matches!(later.run(scene.clone().go_on(later.clone()), || false), Ended::Done));
        later.stop();
    }
    scene.was_rebuilding.get()
}

const POOLS: [(Level, usize); 4] =
    [(Level::RAID1, 4), (Level::RAID5, 4), (Level::RAID5, 6), (Level::RAID6, 6)];

fn lose_successors(seeds: u64, cut: bool) {
    let mut rebuilding = 0;
    for seed in 0..seeds {
        for (level, drives) in POOLS {
            rebuilding += u64::from(lose_a_successor(seed, level, drives, cut));
        }
    }
    let all = seeds * POOLS.len() as u64;
    assert!(rebuilding > all / 3, "only {rebuilding} of {all} were lost during the rebuild");
}

/// The pool halted: two drives were lost, and level 5 survives one.
#[test]
fn a_new_drive_that_is_lost_during_the_rebuild_is_no_second_loss() {
    lose_successors(10, false);
}

/// The pool could not be opened again.
#[test]
fn a_pool_whose_new_drive_is_lost_with_the_power_is_opened_without_both() {
    lose_successors(10, true);
}
