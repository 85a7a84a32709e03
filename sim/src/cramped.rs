//! A pool that is as full as it can be and then loses drives: what lives has more room than there
//! is left for it. It takes nothing new, but whatever else is asked of it, for as long as it is
//! asked, it does not halt; and what is trimmed comes back.

use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, Lba, Nanos, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Compression, Obstacle, Options, VolumeUpdate};
use bytes::Bytes;
use futures_util::future::join_all;

use crate::drive::SimDrive;
use crate::good::{drives, make_pool, noisy_block, platters};
use crate::platter::SharedPlatter;
use crate::start::{Pool, open_with};
use crate::world::{Ended, SimWorld, WallClock};

const CHUNK_BYTES: u32 = 64 << 10;
const CHUNKS: u64 = 64;
/// More than fits.
const VOLUME_BLOCKS: u64 = 1 << 20;
/// Blocks of a write.
const WRITE_BLOCKS: u64 = 8;
/// Requests after each loss that take a checkpoint each: more than there are rows in what is kept
/// for them.
const REQUESTS: u64 = 120;
/// One of so many requests is a restart.
const RESTART_ONCE_IN: u64 = 12;
/// Starts one after the other: more than a pool has segments that only checkpoints may take.
const RESTARTS: u64 = 24;
/// Trims that are outstanding together.
const TRIMS_AT_ONCE: u64 = 200;
/// How long the rebuild has: it comes as far as there is room.
const REBUILD: Duration = Duration::from_secs(30);

/// Of what may live, where a pool can lose some drives before it lacks room.
const LIVE_PERCENT: u64 = 38;

/// A pool, and what is made of it.
struct Cramped {
    world: SimWorld,
    level: Level,
    kind: Kind,
    platters: Vec<SharedPlatter>,
    pool: Pool,
    volume: VolumeId,
    /// Blocks from the first on that have been written and not trimmed.
    written: Vec<bool>,
}

/// What blocks hold, and how much of the map is in memory.
#[derive(Clone, Copy)]
struct Kind {
    /// Bytes of a block that do not compress; the others are zeros.
    noise_bytes: usize,
    map_memory_bytes: usize,
}

/// The map does not fit its memory.
const NOISE: Kind = Kind { noise_bytes: BLOCK_BYTES, map_memory_bytes: 64 << 10 };
/// A great many blocks, all of which are in the map's buffer: each that is trimmed is an update.
const SMALL: Kind = Kind { noise_bytes: 16, map_memory_bytes: 32 << 20 };

impl Kind {
    fn options(self) -> Options {
        let (space_wait, map_memory_bytes) = (Duration::from_millis(100), self.map_memory_bytes);
        Options { space_wait, map_memory_bytes, ..Options::default() }
    }

    fn content(self, block: u64) -> Bytes {
        noisy_block(block + 1, self.noise_bytes)
    }
}

impl Cramped {
    async fn new(world: SimWorld, level: Level, drives: usize, kind: Kind) -> Self {
        let platters = platters(drives, CHUNKS, CHUNK_BYTES);
        let made = make_pool(&world, &platters, level, CHUNK_BYTES, kind.options()).await;
        let pool = made.expect("good drives");
        let volume = pool
            .create_volume(VOLUME_BLOCKS, Compression::Lz4, Bytes::new())
            .await
            .expect("there is room");
        Cramped { world, level, kind, platters, pool, volume, written: Vec::new() }
    }

    async fn whole(mut self) {
        self.fill().await;
        for _ in 0..self.level.parity() {
            self.lose_one().await;
            self.world.sleep(REBUILD).await;
            self.ask_for_checkpoints().await;
            self.check().await;
        }
        self.empty_and_fill().await;
        self.check().await;
        self.pool.close().await.expect("it works");
    }

    /// Loses a drive, and all is trimmed at once.
    async fn trimmed_at_once(mut self) {
        self.fill().await;
        self.lose_one().await;
        self.world.sleep(REBUILD).await;
        let blocks = self.written.len() as u64;
        self.trim(0, blocks).await;
        assert_eq!(self.pool.halted(), None, "{}", self.told());
        self.restart().await;
        self.check().await;
        let written = self.fill().await;
        assert!(
            written > blocks / 4,
            "{written} of {blocks} blocks can be written again; {}",
            self.told()
        );
        self.pool.close().await.expect("it works");
    }

    /// Loses a drive, and gets another one instead, on which alone there is any room.
    async fn restored(mut self) {
        self.fill().await;
        self.lose_one().await;
        self.world.sleep(REBUILD).await;
        self.ask_for_checkpoints().await;
        self.add_one().await;
        self.world.sleep(10 * REBUILD).await;
        let status = self.pool.status();
        assert!(status.rebuild.is_none(), "{:?}; {}", status.rebuild, self.told());
        self.check().await;
        self.pool.close().await.expect("it works");
    }

    /// Loses as many drives at once as it survives, and is started again and again.
    async fn restarted(mut self) {
        self.fill().await;
        for _ in 0..self.level.parity() {
            self.lose_one().await;
        }
        self.world.sleep(REBUILD).await;
        self.ask_for_checkpoints().await;
        for _ in 0..RESTARTS {
            self.restart().await;
        }
        self.check().await;
        self.empty_and_fill().await;
        self.pool.close().await.expect("it works");
    }

    /// Loses a drive, and a great many hosts trim a block each.
    async fn trimmed_by_many(mut self) {
        self.fill().await;
        self.lose_one().await;
        self.world.sleep(REBUILD).await;
        self.ask_for_checkpoints().await;
        let before = self.pool.status().counters.jobs.checkpoints;
        let trims = (0..TRIMS_AT_ONCE).map(|block| self.pool.zero(self.volume, Lba(block * 2), 1));
        for done in join_all(trims).await {
            done.unwrap_or_else(|error| panic!("a trim in a full pool: {error}; {}", self.told()));
        }
        (0..TRIMS_AT_ONCE).for_each(|block| self.written[block as usize * 2] = false);
        let checkpoints = self.pool.status().counters.jobs.checkpoints - before;
        assert!(checkpoints < TRIMS_AT_ONCE / 10, "{checkpoints} checkpoints");
        self.check().await;
        self.pool.close().await.expect("it works");
    }

    /// Loses drives one after the other, each once what lived on the one before is restored, until
    /// what lives has no room any more.
    async fn outgrown(mut self) {
        let live = self.pool.status().space.limit * LIVE_PERCENT / 100;
        self.fill_bytes(live).await;
        while !self.lacks_room() {
            assert!(
                self.platters.len() > self.level.parity() + 1,
                "there was room for all: {}",
                self.told()
            );
            self.lose_one().await;
            self.pool.checkpoint().await.expect("no more are lost than the level survives");
            self.world.sleep(REBUILD).await;
            assert!(self.pool.status().rebuild.is_none() || self.lacks_room(), "{}", self.told());
        }
        // It rests: nothing is moved to and fro.
        let before = self.pool.status();
        self.world.sleep(10 * REBUILD).await;
        let after = self.pool.status();
        assert_eq!(
            (before.counters.drives.bytes_to_drives, before.rebuild),
            (after.counters.drives.bytes_to_drives, after.rebuild)
        );
        let blocks = self.written.len() as u64;
        self.trim(0, blocks / 2).await;
        self.world.sleep(REBUILD).await;
        assert!(self.pool.status().rebuild.is_none(), "{}", self.told());
        self.check().await;
    }

    /// The rebuild says that it waits for room, and not for how long.
    fn lacks_room(&self) -> bool {
        let rebuild = self.pool.status().rebuild;
        rebuild
            .is_some_and(|left| left.obstacle == Some(Obstacle::NoRoom) && left.remaining.is_none())
    }

    async fn fill_bytes(&mut self, bytes: u64) {
        for next in (0..bytes / BLOCK_BYTES as u64).step_by(WRITE_BLOCKS as usize) {
            let blocks = next..next + WRITE_BLOCKS;
            let data: Vec<u8> = blocks.clone().flat_map(|block| self.kind.content(block)).collect();
            self.pool.write(self.volume, Lba(next), data.into()).await.expect("there is room");
            self.written.resize(self.written.len().max(blocks.end as usize), true);
        }
    }

    /// Writes until the pool refuses, and how much was written.
    async fn fill(&mut self) -> u64 {
        let mut next = 0;
        loop {
            let blocks = next..next + WRITE_BLOCKS;
            let data: Vec<u8> = blocks.clone().flat_map(|block| self.kind.content(block)).collect();
            match self.pool.write(self.volume, Lba(next), data.into()).await {
                Ok(()) => {}
                Err(error) if error.cause == Cause::CapacityExceeded => return next,
                Err(error) => panic!("{error}"),
            }
            self.written.resize(self.written.len().max(blocks.end as usize), true);
            self.written[blocks.start as usize..blocks.end as usize].fill(true);
            next = blocks.end;
        }
    }

    async fn lose_one(&mut self) {
        let lost = self.world.below(self.platters.len() as u64) as usize;
        self.platters.remove(lost).0.borrow_mut().gone = true;
    }

    async fn add_one(&mut self) {
        let platter = platters(1, CHUNKS, CHUNK_BYTES).remove(0);
        let added = self.pool.add_drive(SimDrive::new(&self.world, &platter), None).await;
        added.unwrap_or_else(|error| panic!("{error}; {}", self.told()));
        self.platters.push(platter);
    }

    async fn ask_for_checkpoints(&mut self) {
        for _ in 0..REQUESTS {
            self.ask_for_a_checkpoint().await;
            let halted = self.pool.halted();
            assert_eq!(halted, None, "{}", self.told());
        }
    }

    async fn ask_for_a_checkpoint(&mut self) {
        if self.world.once_in(RESTART_ONCE_IN) {
            return self.restart().await;
        }
        let done = match self.world.below(3) {
            0 => {
                let attributes = self.world.below(1 << 32).to_le_bytes().to_vec().into();
                let update = VolumeUpdate { attributes: Some(attributes), ..Default::default() };
                self.pool.update_volume(self.volume, update).await
            }
            1 => {
                let blocks = VOLUME_BLOCKS + self.world.below(VOLUME_BLOCKS);
                self.pool.resize_volume(self.volume, blocks).await
            }
            _ => return self.trim(self.world.below(self.written.len() as u64), 1).await,
        };
        if let Err(error) = done {
            assert_eq!(error.cause, Cause::CapacityExceeded, "{error}; {}", self.told());
        }
    }

    /// A pool that has lost two drives may have no segment left for its maps: then it has to be
    /// given a drive first.
    async fn trim(&mut self, first: u64, blocks: u64) {
        if let Err(error) = self.pool.zero(self.volume, Lba(first), blocks).await {
            let lacks_segments = error.to_string().contains("no room left for its maps");
            assert!(lacks_segments && self.level.parity() > 1, "{error}; {}", self.told());
            self.add_one().await;
            self.pool.zero(self.volume, Lba(first), blocks).await.unwrap_or_else(|error| {
                panic!("a trim once there is another drive: {error}; {}", self.told());
            });
        }
        self.written[first as usize..(first + blocks) as usize].fill(false);
    }

    async fn restart(&mut self) {
        self.pool.close().await.expect("it works");
        let drives = drives(&self.world, &self.platters);
        let opened = open_with(&self.world, drives, self.kind.options()).await;
        self.pool = opened.unwrap_or_else(|error| panic!("{error}")).0;
    }

    /// Trims three quarters, after which there has to be room again.
    async fn empty_and_fill(&mut self) {
        let (blocks, quarter) = (self.written.len() as u64, self.written.len() as u64 / 4);
        self.trim(quarter, blocks - quarter).await;
        self.world.sleep(REBUILD).await;
        let written = self.fill().await;
        assert!(
            written > quarter,
            "{written} of {blocks} blocks can be written again; {}",
            self.told()
        );
    }

    async fn check(&self) {
        for (block, written) in self.written.iter().enumerate() {
            let read =
                self.pool.read(self.volume, Lba(block as u64), 1).await.expect("enough drives");
            let expected = if *written {
                self.kind.content(block as u64)
            } else {
                vec![0; BLOCK_BYTES].into()
            };
            assert!(read[..] == expected[..], "block {block} is not as it was written");
        }
    }

    fn told(&self) -> String {
        format!("{} of {} drives, {:?}", self.level, self.platters.len(), self.pool.status().space)
    }
}

fn run<F: Future<Output = ()> + 'static>(seed: u64, main: impl FnOnce(SimWorld) -> F) {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    assert!(matches!(world.run(main(world.clone()), || false), Ended::Done));
    world.stop();
}

/// Seed 9457: every checkpoint took some of what only checkpoints may take, nothing was left to
/// collect into, and the last one found no segment.
#[test]
fn a_full_pool_that_loses_drives_does_not_halt_however_often_it_is_asked_for_something() {
    for seed in 0..4 {
        for (level, drives) in
            [(Level::RAID1, 4), (Level::RAID5, 4), (Level::RAID5, 6), (Level::RAID6, 6)]
        {
            run(seed, |world| async move {
                Cramped::new(world, level, drives, NOISE).await.whole().await
            });
        }
    }
}

/// Seed 81010123: each start took a segment for a catalog that said what it had said before, until
/// there was none, and the pool could not be opened any more.
#[test]
fn a_full_pool_that_has_lost_drives_is_opened_however_often_it_is_started() {
    for seed in 0..4 {
        for (level, drives) in
            [(Level::RAID1, 4), (Level::RAID5, 4), (Level::RAID6, 5), (triple(), 5)]
        {
            run(seed, |world| async move {
                Cramped::new(world, level, drives, NOISE).await.restarted().await
            });
        }
    }
}

fn triple() -> Level {
    Level::of(1, 2).expect("two copies of one column")
}

/// Each block was an update of the map, and the next checkpoint had to write all of them: there
/// were not so many segments, neither then nor at any start after it.
#[test]
fn all_of_a_full_pool_that_has_lost_a_drive_is_trimmed_at_once() {
    for (level, drives) in [(Level::RAID1, 4), (Level::RAID5, 4)] {
        run(1, |world| async move {
            Cramped::new(world, level, drives, SMALL).await.trimmed_at_once().await
        });
    }
}

/// Restoring takes room, and has to leave the last that there is: what the drive had brought was of
/// no use to anything else, and the pool stayed as it was beside it.
#[test]
fn a_full_pool_that_has_lost_a_drive_is_whole_again_once_it_gets_another() {
    for seed in 0..4 {
        for (level, drives) in
            [(Level::RAID1, 4), (Level::RAID5, 4), (Level::RAID5, 6), (Level::RAID6, 6)]
        {
            run(seed, |world| async move {
                Cramped::new(world, level, drives, NOISE).await.restored().await
            });
        }
    }
}

/// One checkpoint for each of them took minutes, and the segments that are left for checkpoints.
#[test]
fn trims_of_many_hosts_in_a_full_pool_share_checkpoints() {
    for (level, drives) in [(Level::RAID1, 4), (Level::RAID5, 4)] {
        run(2, |world| async move {
            Cramped::new(world, level, drives, NOISE).await.trimmed_by_many().await;
        });
    }
}

/// It was said to be rebuilding for ever, and when it would be done.
#[test]
fn a_pool_that_has_become_too_small_for_what_lives_says_that_its_rebuild_lacks_room() {
    for (seed, (level, drives)) in [(Level::RAID5, 5), (Level::RAID6, 6)].into_iter().enumerate() {
        run(seed as u64, |world| async move {
            Cramped::new(world, level, drives, NOISE).await.outgrown().await;
        });
    }
}
