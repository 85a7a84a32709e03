//! A rebuild that is held to a latency of hosts, on drives that do one operation at a time: hosts
//! wait behind it, and it behind them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, Lba, Nanos, Spawn, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Compression, Options, Settings};
use bytes::Bytes;

use crate::good::{make_pool, noisy_block, platters};
use crate::platter::SharedPlatter;
use crate::service::OneAtATime;
use crate::start::Pool;
use crate::world::{Ended, SimWorld, WallClock};

const CHUNK_BYTES: u32 = 256 << 10;
const CHUNKS: u64 = 160;
/// Blocks of a write that fills the volume.
const FILL_BLOCKS: u64 = 64;
/// Each of which waits for an answer and then for a while, twice as long as this at most.
const HOSTS: u64 = 16;
const THOUGHT: Duration = Duration::from_millis(8);
/// Of ten operations of a host.
const READS_OF_TEN: u64 = 7;
/// How long hosts are watched while all drives are there.
const NORMAL: Duration = Duration::from_secs(2);
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// By when a rebuild has come to its end.
const PATIENCE: Duration = Duration::from_secs(600);

/// A latency that hosts always have, and one that they never have.
const LAX: Duration = Duration::from_millis(100);
const IMPOSSIBLE: Duration = Duration::from_micros(20);

/// Late answers while a rebuild is held to a latency, in hundredths of a percent. The share at
/// which 100 are late is approached from both sides, for an average of 90. The first windows, in
/// which the share comes down to that, add some, and so does chance, for a window has a thousand
/// answers, of which ten may be late.
const LATE_MAX: usize = 140;

/// A pool that loses a drive.
#[derive(Clone, Copy)]
struct Scene {
    drives: usize,
    live_blocks: u64,
    bytes_per_second: u64,
    /// More than hosts wait while nothing is rebuilt, less than while it is as fast as can be.
    target: Duration,
}

/// Drives beside those of a segment have room: columns are restored there.
const WIDE: Scene = Scene {
    drives: 11,
    live_blocks: 32_768,
    bytes_per_second: 100_000_000,
    target: Duration::from_micros(400),
};

/// Each segment lies on all drives: what lives is written anew, in narrower stripes.
const NARROW: Scene = Scene {
    drives: 6,
    live_blocks: 16_384,
    bytes_per_second: 100_000_000,
    target: Duration::from_micros(600),
};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// What hosts have waited for while all drives were there, and while what lived on one was
/// restored; and how long that took.
struct Watched {
    normal: Vec<Duration>,
    rebuilding: Vec<Duration>,
    took: Duration,
}

/// What hosts are waiting for, until they end.
#[derive(Default)]
struct Hosts {
    waited: RefCell<Vec<Duration>>,
    end: Cell<bool>,
}

impl Scene {
    /// A rebuild that has so much of the time, in percent.
    fn with_share(self, seed: u64, recon_prio: u8) -> Watched {
        self.watch(seed, Settings { recon_prio, ..settings() })
    }

    /// A rebuild that is held to a latency.
    fn held_to(self, seed: u64, target: Duration) -> Watched {
        self.watch(seed, Settings { recon_p99: Some(target), ..settings() })
    }

    fn watch(self, seed: u64, settings: Settings) -> Watched {
        let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
        let watched = Rc::new(Cell::new(None));
        let (own, answer) = (world.clone(), watched.clone());
        let main = async move { answer.set(Some(self.lose_one(&own, settings).await)) };
        assert!(matches!(world.run(main, || false), Ended::Done));
        world.stop();
        watched.take().expect("it is done")
    }

    async fn lose_one(self, world: &SimWorld, settings: Settings) -> Watched {
        let platters = platters(self.drives, CHUNKS, CHUNK_BYTES);
        let (pool, id) = self.make(world, &platters).await;
        pool.set_settings(settings).await.expect("good drives");
        let hosts = Rc::<Hosts>::default();
        (0..HOSTS).for_each(|_| self.spawn_host(world, &pool, id, &hosts));
        world.sleep(NORMAL).await;
        platters[0].0.borrow_mut().gone = true;
        until(world, || pool.status().is_degraded()).await;
        let (normal, lost_at) = (hosts.waited.take(), world.now());
        until(world, || !pool.status().is_degraded()).await;
        hosts.end.set(true);
        Watched { normal, rebuilding: hosts.waited.take(), took: world.now().since(lost_at) }
    }

    /// A pool with a volume that has been written; after that its drives do one operation at a
    /// time.
    async fn make(self, world: &SimWorld, platters: &[SharedPlatter]) -> (Pool, VolumeId) {
        let made = make_pool(world, platters, Level::RAID5, CHUNK_BYTES, Options::default()).await;
        let pool = made.expect("good drives");
        let id = pool
            .create_volume(self.live_blocks, Compression::None, Bytes::new())
            .await
            .expect("good drives");
        for first in (0..self.live_blocks).step_by(FILL_BLOCKS as usize) {
            let data = noisy_block(1 + first, BLOCK_BYTES).repeat(FILL_BLOCKS as usize);
            pool.write(id, Lba(first), data.into()).await.expect("there is room");
        }
        let service = OneAtATime::new(Duration::from_micros(80), self.bytes_per_second);
        platters
            .iter()
            .for_each(|platter| platter.0.borrow_mut().service = Some(Box::new(service)));
        (pool, id)
    }

    fn spawn_host(self, world: &SimWorld, pool: &Pool, id: VolumeId, hosts: &Rc<Hosts>) {
        let (own, pool, hosts) = (world.clone(), pool.clone(), hosts.clone());
        world.spawn(async move {
            while !hosts.end.get() {
                own.sleep(Duration::from_micros(own.below(2 * THOUGHT.as_micros() as u64))).await;
                let (lba, begun) = (Lba(own.below(self.live_blocks)), own.now());
                let done = if own.below(10) < READS_OF_TEN {
                    pool.read(id, lba, 1).await.map(drop)
                } else {
                    pool.write(id, lba, noisy_block(1 + lba.0, BLOCK_BYTES)).await
                };
                done.expect("one drive may be lost");
                hosts.waited.borrow_mut().push(own.now().since(begun));
            }
        });
    }
}

fn settings() -> Settings {
    Settings { scrub_interval: None, ..Settings::default() }
}

async fn until(world: &SimWorld, is_so: impl Fn() -> bool) {
    let since = world.now();
    while !is_so() {
        world.sleep(LOOK_INTERVAL).await;
        assert!(world.now().since(since) < PATIENCE, "it does not come to its end");
    }
}

/// 99 of 100 were not longer.
fn p99(waited: &[Duration]) -> Duration {
    let mut sorted = waited.to_vec();
    sorted.sort();
    sorted[sorted.len() * 99 / 100]
}

/// How many were longer, in hundredths of a percent.
fn later_than(waited: &[Duration], target: Duration) -> usize {
    waited.iter().filter(|waited| **waited > target).count() * 10_000 / waited.len()
}

fn holds_what_a_share_does_not(scene: Scene) {
    for seed in SEEDS {
        let (held, fast) = (scene.held_to(seed, scene.target), scene.with_share(seed, 100));
        let late = later_than(&held.rebuilding, scene.target);
        let (normal, held, fast) =
            (p99(&held.normal), p99(&held.rebuilding), p99(&fast.rebuilding));
        println!(
            "seed {seed}: normal {normal:?}, held {held:?}, late {late}, as fast as can be {fast:?}"
        );
        assert!(normal < scene.target, "{normal:?}: no rebuild could hold that");
        assert!(late <= LATE_MAX && held <= scene.target * 4 / 3, "{held:?}, late: {late}");
        assert!(fast >= scene.target * 2, "{fast:?}: it need not be held to anything");
    }
}

#[test]
fn a_rebuild_onto_other_drives_holds_a_latency_of_hosts() {
    holds_what_a_share_does_not(WIDE);
}

#[test]
fn a_rebuild_into_narrower_stripes_holds_a_latency_of_hosts() {
    holds_what_a_share_does_not(NARROW);
}

#[test]
fn a_rebuild_that_is_held_to_a_lax_latency_is_much_faster_than_one_held_to_a_tight_one() {
    for (seed, scene) in SEEDS.flat_map(|seed| [(seed, WIDE), (seed, NARROW)]) {
        let (lax, tight) = (scene.held_to(seed, LAX).took, scene.held_to(seed, scene.target).took);
        println!("seed {seed}: lax {lax:?}, tight {tight:?}");
        assert!(lax * 3 < tight, "{lax:?}, {tight:?}");
    }
}

/// It has its least share, and so takes no longer than with that.
#[test]
fn a_rebuild_that_is_held_to_a_latency_that_hosts_never_have_comes_to_its_end() {
    for (seed, scene) in SEEDS.flat_map(|seed| [(seed, WIDE), (seed, NARROW)]) {
        let (held, least) = (scene.held_to(seed, IMPOSSIBLE), scene.with_share(seed, 1));
        println!("seed {seed}: {:?}, with the least share {:?}", held.took, least.took);
        assert_eq!(later_than(&held.rebuilding, IMPOSSIBLE), 10_000);
        assert!(held.took <= least.took * 5 / 4, "{:?}, {:?}", held.took, least.took);
    }
}
