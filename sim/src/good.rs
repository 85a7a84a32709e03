//! A pool on drives that never fail, in a world without power cuts: for what takes many writes to
//! see.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, IoError, Lba, Nanos, Spawn, VolumeId, XorShift};
use ashlar_raid::Level;
use ashlar_store::{Compression, NewPool, Options, create};
use bytes::Bytes;

use crate::drive::SimDrive;
use crate::platter::SharedPlatter;
use crate::start::{Pool, open_with};
use crate::world::{Ended, SimWorld, WallClock};

/// Bytes of a drive before its chunks, at least.
const METADATA_BYTES: u64 = (2 << 20) + (832 << 10);

/// Drives that are all alike.
#[derive(Clone, Copy, Debug)]
pub struct GoodDrives {
    /// How many.
    pub count: usize,
    /// Chunks of each.
    pub chunks: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u32,
}

/// The pool on them.
pub struct Good {
    /// Where it is.
    pub world: SimWorld,
    /// It.
    pub pool: Pool,
    /// Its drives, and what it was opened with.
    #[cfg(test)]
    made_of: (Vec<SharedPlatter>, Options),
}

/// Where the next write goes.
pub type Next = Rc<dyn Fn(&SimWorld) -> Lba>;

/// What is written into a volume.
pub struct Load {
    /// How often.
    pub writes: u64,
    /// Writes that are outstanding at a time.
    pub outstanding: u64,
    /// Where.
    pub next: Next,
    /// Always the same.
    pub data: Bytes,
}

impl GoodDrives {
    /// Makes a pool of level 5 of them, and does `main` with it.
    pub fn run<T: 'static>(
        self,
        options: Options,
        main: impl AsyncFnOnce(Good) -> Result<T, String> + 'static,
    ) -> Result<T, String> {
        let platters = platters(self.count, self.chunks, self.chunk_bytes);
        run_on(1, platters, Level::RAID5, self.chunk_bytes, options, main)
    }
}

/// Makes a pool on these drives in the world of a seed, and does `main` with it.
pub fn run_on<T: 'static>(
    seed: u64,
    platters: Vec<SharedPlatter>,
    level: Level,
    chunk_bytes: u32,
    options: Options,
    main: impl AsyncFnOnce(Good) -> Result<T, String> + 'static,
) -> Result<T, String> {
    let world = SimWorld::new(seed, Nanos(0), WallClock::Right);
    let result = Rc::new(Cell::new(None));
    let (own, answer) = (world.clone(), result.clone());
    let done = async move {
        let result = match make_good(own, platters, level, chunk_bytes, options).await {
            Ok(good) => main(good).await,
            Err(error) => Err(error),
        };
        answer.set(Some(result));
    };
    match world.run(done, || false) {
        Ended::Done => result.take().expect("it is done"),
        Ended::Cut => Err("the power was cut".to_owned()),
    }
}

async fn make_good(
    world: SimWorld,
    platters: Vec<SharedPlatter>,
    level: Level,
    chunk_bytes: u32,
    options: Options,
) -> Result<Good, String> {
    let pool = make_pool(&world, &platters, level, chunk_bytes, options.clone()).await?;
    Ok(Good {
        world,
        pool,
        #[cfg(test)]
        made_of: (platters, options),
    })
}

/// Empty drives with so many chunks each.
pub fn platters(count: usize, chunks: u64, chunk_bytes: u32) -> Vec<SharedPlatter> {
    let drive_bytes = METADATA_BYTES + chunks * u64::from(chunk_bytes);
    (0..count).map(|_| SharedPlatter::new(drive_bytes)).collect()
}

/// Makes a pool and opens it.
pub async fn make_pool(
    world: &SimWorld,
    platters: &[SharedPlatter],
    level: Level,
    chunk_bytes: u32,
    options: Options,
) -> Result<Pool, String> {
    let new = NewPool {
        name: "sim".to_owned(),
        level,
        chunk_bytes: Some(chunk_bytes),
        segment_numbers: None,
    };
    create(world, &new, drives(world, platters)).await.map_err(|error| error.to_string())?;
    let opened = open_with(world, drives(world, platters), options).await;
    opened.map(|(pool, _)| pool).map_err(|error| error.to_string())
}

/// What is on the platters, as drives of this world.
pub fn drives(world: &SimWorld, platters: &[SharedPlatter]) -> Vec<SimDrive> {
    platters.iter().map(|platter| SimDrive::new(world, platter)).collect()
}

/// A block that does not compress in its first bytes; the others are zeros.
pub fn noisy_block(seed: u64, noise_bytes: usize) -> Bytes {
    let mut rng = XorShift::new(seed);
    let mut block = vec![0; BLOCK_BYTES];
    block[..noise_bytes]
        .chunks_mut(8)
        .for_each(|part| part.copy_from_slice(&rng.next_u64().to_le_bytes()));
    block.into()
}

/// So many blocks that do not compress, each of them different.
pub fn noisy_blocks(count: u64) -> Bytes {
    (0..count).flat_map(|block| noisy_block(block + 1, BLOCK_BYTES)).collect()
}

impl Good {
    /// Closes the pool and opens it again.
    #[cfg(test)]
    pub async fn reopened(self) -> Result<Good, String> {
        let (platters, options) = &self.made_of;
        self.pool.close().await.map_err(|error| format!("close: {error}"))?;
        let opened = open_with(&self.world, drives(&self.world, platters), options.clone()).await;
        let (pool, _) = opened.map_err(|error| format!("open: {error}"))?;
        Ok(Good { pool, ..self })
    }

    /// Makes a volume.
    pub async fn make_volume(
        &self,
        blocks: u64,
        compression: Compression,
    ) -> Result<VolumeId, String> {
        let made = self.pool.create_volume(blocks, compression, Bytes::new()).await;
        made.map_err(|error| error.to_string())
    }

    /// Does all writes of a load, or ends with the first error, when nothing is outstanding any
    /// more.
    pub async fn write(&self, id: VolumeId, load: Load) -> Result<(), IoError> {
        let left = Rc::new(Cell::new(load.writes));
        let working = Rc::new(Cell::new(load.outstanding));
        let failed = Rc::new(Cell::new(None));
        for _ in 0..load.outstanding {
            let (world, pool, left, next) =
                (self.world.clone(), self.pool.clone(), left.clone(), load.next.clone());
            let (working, failed, data) = (working.clone(), failed.clone(), load.data.clone());
            self.world.spawn(async move {
                while left.get() > 0 {
                    left.set(left.get() - 1);
                    if let Err(error) = pool.write(id, next(&world), data.clone()).await {
                        left.set(0);
                        failed.set(Some(error));
                    }
                }
                working.set(working.get() - 1);
            });
        }
        while working.get() > 0 {
            self.world.sleep(Duration::from_millis(50)).await;
        }
        failed.take().map_or(Ok(()), Err)
    }
}
