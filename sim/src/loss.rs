//! What hosts notice of the loss of a drive, on drives that are as fast as NVMe ones, and without
//! what a machine adds: in simulated time nothing takes the processor's.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, Lba, Nanos, Spawn, VolumeId};
use ashlar_drive::{ModelName, Timing};
use ashlar_raid::Level;
use ashlar_store::{Compression, Options, Settings};
use bytes::Bytes;

use crate::good::{make_pool, noisy_block, platters};
use crate::platter::SharedPlatter;
use crate::start::Pool;
use crate::world::{Ended, SimWorld, WallClock};

const DRIVES: usize = 8;
const MODEL: &str = "nvme-gen4";
const CHUNK_BYTES: u32 = 1 << 20;
const CHUNKS: u64 = 160;
const LIVE_BLOCKS: u64 = 131_072;
/// Blocks of a write that fills the volume.
const FILL_BLOCKS: u64 = 64;
/// Half of a block does not compress.
const NOISE_BYTES: usize = BLOCK_BYTES / 2;
/// Between two operations of hosts, however long they take: 4,000 in a second.
const INTERVAL: Duration = Duration::from_micros(250);
/// Of ten operations.
const READS_OF_TEN: u64 = 7;
/// How long hosts are watched in a state that does not end by itself.
const WATCHED: Duration = Duration::from_secs(5);
const RECON_PRIO_LEAST: u8 = 1;
const RECON_PRIO: u8 = 10;
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// By when a rebuild has come to its end.
const PATIENCE: Duration = Duration::from_secs(300);
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// What hosts have waited for in one state.
struct Watched {
    waited: Vec<Duration>,
    took: Duration,
}

impl Watched {
    /// So many of a thousand were not longer.
    fn of_thousand(&self, count: usize) -> Duration {
        self.waited[self.waited.len() * count / 1000]
    }

    fn per_second(&self) -> f64 {
        self.waited.len() as f64 / self.took.as_secs_f64()
    }
}

/// The four states, in the order in which they come.
struct States {
    normal: Watched,
    degraded: Watched,
    rebuilding: Watched,
    restored: Watched,
}

/// A pool under a steady load.
struct Scene {
    world: SimWorld,
    platters: Vec<SharedPlatter>,
    pool: Pool,
    id: VolumeId,
    /// How often each block has been written; those that are being read or written are left alone.
    versions: RefCell<Vec<u64>>,
    busy: RefCell<BTreeSet<u64>>,
    waited: RefCell<Vec<Duration>>,
    end: Cell<bool>,
}

fn lose_a_drive(seed: u64) -> States {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let states = Rc::new(Cell::new(None));
    let (own, answer) = (world.clone(), states.clone());
    let main = async move { answer.set(Some(Scene::make(own).await.lead().await)) };
    assert!(matches!(world.run(main, || false), Ended::Done));
    world.stop();
    states.take().expect("it is done")
}

impl Scene {
    /// A pool with a volume that has been written; after that its drives take their time.
    async fn make(world: SimWorld) -> Rc<Scene> {
        let platters = platters(DRIVES, CHUNKS, CHUNK_BYTES);
        let made =
            make_pool(&world, &platters, Level::RAID6, CHUNK_BYTES, Options::default()).await;
        let pool = made.expect("good drives");
        let id = pool
            .create_volume(LIVE_BLOCKS, Compression::Lz4, Bytes::new())
            .await
            .expect("good drives");
        for first in (0..LIVE_BLOCKS).step_by(FILL_BLOCKS as usize) {
            let data: Vec<u8> =
                (first..first + FILL_BLOCKS).flat_map(|lba| content(lba, 0)).collect();
            pool.write(id, Lba(first), data.into()).await.expect("there is room");
        }
        let profile =
            ModelName::parse(MODEL).expect("it has a name").profile().expect("it is built in");
        for platter in &platters {
            let mut platter = platter.0.borrow_mut();
            platter.service = Some(Box::new(Timing::new(profile.clone(), platter.size_bytes)));
        }
        Rc::new(Scene {
            world,
            platters,
            pool,
            id,
            versions: RefCell::new(vec![0; LIVE_BLOCKS as usize]),
            busy: RefCell::default(),
            waited: RefCell::default(),
            end: Cell::new(false),
        })
    }

    async fn lead(self: Rc<Self>) -> States {
        self.set_recon_prio(RECON_PRIO_LEAST).await;
        self.world.spawn(self.clone().load());
        self.watch(self.world.sleep(WATCHED)).await;
        let normal = self.watch(self.world.sleep(WATCHED)).await;
        self.platters[0].0.borrow_mut().gone = true;
        let degraded = self.watch(self.world.sleep(WATCHED)).await;
        assert!(self.pool.status().is_degraded(), "a rebuild with the least share takes longer");
        self.set_recon_prio(RECON_PRIO).await;
        let rebuilding = self.watch(self.rebuilt()).await;
        let restored = self.watch(self.world.sleep(WATCHED)).await;
        self.end.set(true);
        States { normal, degraded, rebuilding, restored }
    }

    async fn set_recon_prio(&self, recon_prio: u8) {
        let settings = Settings { recon_prio, scrub_interval: None, ..Settings::default() };
        self.pool.set_settings(settings).await.expect("it has enough drives");
    }

    async fn rebuilt(&self) {
        let since = self.world.now();
        while self.pool.status().is_degraded() {
            self.world.sleep(LOOK_INTERVAL).await;
            assert!(self.world.now().since(since) < PATIENCE, "it does not come to its end");
        }
    }

    /// What hosts wait for until then.
    async fn watch(&self, until: impl Future<Output = ()>) -> Watched {
        let since = self.world.now();
        self.waited.borrow_mut().clear();
        until.await;
        let mut waited = self.waited.take();
        waited.sort_unstable();
        Watched { waited, took: self.world.now().since(since) }
    }

    /// Operations begin at a steady rate, and what is read is checked.
    async fn load(self: Rc<Self>) {
        while !self.end.get() {
            self.world.sleep(INTERVAL).await;
            self.world.spawn(self.clone().operate());
        }
    }

    async fn operate(self: Rc<Self>) {
        let mut lba = self.world.below(LIVE_BLOCKS);
        while !self.busy.borrow_mut().insert(lba) {
            lba = (lba + 1) % LIVE_BLOCKS;
        }
        let version = self.versions.borrow()[lba as usize];
        let begun = self.world.now();
        if self.world.below(10) < READS_OF_TEN {
            let read = self.pool.read(self.id, Lba(lba), 1).await.expect("one drive may be lost");
            assert!(*read == *content(lba, version), "block {lba} is wrong");
        } else {
            let written = self.pool.write(self.id, Lba(lba), content(lba, version + 1)).await;
            written.expect("one drive may be lost");
            self.versions.borrow_mut()[lba as usize] = version + 1;
        }
        self.waited.borrow_mut().push(self.world.now().since(begun));
        self.busy.borrow_mut().remove(&lba);
    }
}

fn content(lba: u64, version: u64) -> Bytes {
    noisy_block(1 + lba + version * LIVE_BLOCKS, NOISE_BYTES)
}

#[test]
fn the_loss_of_a_drive_and_its_rebuild_leave_hosts_rate_and_999_of_1000_answers_as_they_were() {
    for seed in SEEDS {
        let States { normal, degraded, rebuilding, restored } = lose_a_drive(seed);
        let states = [
            ("normal", &normal),
            ("degraded", &degraded),
            ("rebuilding", &rebuilding),
            ("restored", &restored),
        ];
        for (name, state) in states {
            let [half, most, nearly_all] = [500, 990, 999].map(|count| state.of_thousand(count));
            let (took, rate) = (state.took, state.per_second());
            println!(
                "seed {seed} {name:10} {took:.1?}, {rate:.0}/s, 50 % {half:.0?}, 99 % {most:.0?}, 99.9 % {nearly_all:.0?}"
            );
        }
        for (name, state) in &states[1..] {
            let [before, now] = [&normal, state].map(|state| state.of_thousand(999));
            assert!(now * 2 <= before * 3, "{name}: {now:?}, normally {before:?}");
            assert!(
                state.per_second() > 0.99 * normal.per_second(),
                "{name}: {}/s",
                state.per_second()
            );
        }
    }
}
