//! Write amplification: what garbage collection moves for each block that hosts write, when it has become steady.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, IoError, Lba, Nanos, SECTOR_BYTES, Spawn, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Counters, NewPool, Options, create};
use bytes::Bytes;

use crate::drive::SimDrive;
use crate::platter::SharedPlatter;
use crate::start::{Pool, open_with};
use crate::world::{Ended, SimWorld, WallClock};

const DRIVES: usize = 5;
/// Little: what the map hides is known late, as in a large pool.
const MAP_MEMORY_BYTES: usize = 256 << 10;
/// Blocks of one write.
const WRITE_BLOCKS: u64 = 4;
/// Writes outstanding.
const DEPTH: u64 = 32;
/// How often all that lives is overwritten before anything is counted, and while it is.
const TURNS_BEFORE: u64 = 4;
const TURNS_COUNTED: u64 = 2;

/// Which blocks are overwritten.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    /// All alike.
    Uniform,
    /// Nine of ten writes go to a tenth of the blocks.
    HotCold,
}

impl Pattern {
    /// The first block of the next write.
    fn next(self, world: &SimWorld, writes: u64) -> u64 {
        let tenth = writes / 10;
        let write = match self {
            Pattern::Uniform => world.below(writes),
            Pattern::HotCold if world.below(10) > 0 => world.below(tenth),
            Pattern::HotCold => tenth + world.below(writes - tenth),
        };
        write * WRITE_BLOCKS
    }
}

/// What a load came to.
#[derive(Clone, Copy, Debug)]
pub struct Amplification {
    /// Blocks written into stripes, moved ones included, for each block that hosts wrote.
    pub blocks: f64,
    /// Bytes written to drives for each byte that hosts wrote: parity, headers, journal and map included.
    pub bytes: f64,
}

/// The pool whose write amplification is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Its segments. What is kept free, open, or waits for a checkpoint weighs the more the fewer there are.
    pub segments: u64,
    /// Bytes of a chunk. What is left of a collected segment fills a batch the worse the smaller it is.
    pub chunk_bytes: u32,
    /// How much of the space behind parity lives.
    pub live_percent: u64,
}

/// Overwrites blocks that do not compress.
pub fn measure(pattern: Pattern, pool: Measured) -> Result<Amplification, String> {
    let world = SimWorld::new(1, Nanos(0), WallClock::Right);
    let drive_bytes = (2 << 20) + pool.segments * u64::from(pool.chunk_bytes);
    let platters: Vec<SharedPlatter> = (0..DRIVES).map(|_| SharedPlatter::new(drive_bytes)).collect();
    let drives =
        move |world: &SimWorld| platters.iter().map(|platter| SimDrive::new(world, platter)).collect();
    let result = Rc::new(Cell::new(None));
    let (own, answer) = (world.clone(), result.clone());
    let main = async move { answer.set(Some(run(&own, drives, pattern, pool).await)) };
    match world.run(main, || false) {
        Ended::Done => result.take().expect("it is done"),
        Ended::Cut => Err("the power was cut".to_owned()),
    }
}

async fn run(
    world: &SimWorld,
    drives: impl Fn(&SimWorld) -> Vec<SimDrive>,
    pattern: Pattern,
    measured: Measured,
) -> Result<Amplification, String> {
    let new = NewPool {
        name: "sim".to_owned(),
        level: Level::Raid5,
        chunk_bytes: Some(measured.chunk_bytes),
        segment_numbers: None,
    };
    create(world, &new, drives(world)).await.map_err(|error| error.to_string())?;
    let options =
        Options { map_memory_bytes: MAP_MEMORY_BYTES, over_provisioning_percent: 15, ..Options::default() };
    let (pool, _) = open_with(world, drives(world), options).await.map_err(|error| error.to_string())?;
    let blocks = pool.status().space.usable / BLOCK_BYTES as u64 * measured.live_percent / 100;
    let writes = blocks / WRITE_BLOCKS;
    let id = pool.create_volume(blocks, false, Bytes::new()).await.map_err(|error| error.to_string())?;
    let fill = Rc::new(Cell::new(0));
    let in_order = move |_: &SimWorld| fill.replace(fill.get() + 1) * WRITE_BLOCKS;
    load(world, &pool, id, writes, in_order).await.map_err(|error| format!("filling: {error}"))?;
    let at_random = move |world: &SimWorld| pattern.next(world, writes);
    let overwrite = |turns| load(world, &pool, id, turns * writes, at_random);
    overwrite(TURNS_BEFORE).await.map_err(|error| format!("overwriting: {error}"))?;
    let before = pool.status().counters;
    overwrite(TURNS_COUNTED).await.map_err(|error| format!("overwriting: {error}"))?;
    Ok(amplification(&before, &pool.status().counters))
}

fn amplification(before: &Counters, after: &Counters) -> Amplification {
    let written = (after.blocks_written - before.blocks_written) as f64;
    let moved = (after.fragments_moved - before.fragments_moved) as f64;
    let bytes = (after.bytes_to_drives - before.bytes_to_drives) as f64;
    Amplification { blocks: 1.0 + moved / written, bytes: bytes / (written * SECTOR_BYTES as f64) }
}

/// Does so many writes, some at a time, each where `next` says.
async fn load(
    world: &SimWorld,
    pool: &Pool,
    id: VolumeId,
    writes: u64,
    next: impl Fn(&SimWorld) -> u64 + Clone + 'static,
) -> Result<(), IoError> {
    let left = Rc::new(Cell::new(writes));
    let working = Rc::new(Cell::new(DEPTH));
    let failed = Rc::new(Cell::new(None));
    for _ in 0..DEPTH {
        let writer = writer(world.clone(), pool.clone(), id, left.clone(), next.clone());
        let (working, failed) = (working.clone(), failed.clone());
        world.spawn(async move {
            if let Err(error) = writer.await {
                failed.set(Some(error));
            }
            working.set(working.get() - 1);
        });
    }
    while working.get() > 0 {
        world.sleep(Duration::from_millis(50)).await;
    }
    failed.take().map_or(Ok(()), Err)
}

async fn writer(
    world: SimWorld,
    pool: Pool,
    id: VolumeId,
    left: Rc<Cell<u64>>,
    next: impl Fn(&SimWorld) -> u64,
) -> Result<(), IoError> {
    while left.get() > 0 {
        left.set(left.get() - 1);
        // Nothing reads it, and it must not be zeros.
        let data = Bytes::from_static(&[0xa5; WRITE_BLOCKS as usize * BLOCK_BYTES]);
        pool.write(id, Lba(next(&world)), data).await?;
    }
    Ok(())
}
