//! A pool on drives of unequal sizes, which is filled, overwritten, and given a drive more that is
//! smaller than the others.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{Cause, Lba, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Compression, Options};

use crate::drive::SimDrive;
use crate::good::{Good, Load, Next, noisy_blocks, platters, run_on};

const CHUNK_BYTES: u32 = 256 << 10;
/// More than fit.
const VOLUME_BLOCKS: u64 = 1 << 20;
/// Blocks of one write.
const WRITE_BLOCKS: u64 = 8;
/// Writes outstanding.
const DEPTH: u64 = 4;
/// Part of what is said to be safe to write that must fit, records included, in percent.
const HONEST_PERCENT: u64 = 90;
/// Part of what fits that is overwritten, in percent.
const STEADY_PERCENT: u64 = 80;
/// How often all of it is.
const TURNS: u64 = 2;

/// Fills a pool on drives with so many chunks, overwrites most of it, and fills it once more after
/// each of the drives that are added.
pub fn fill_and_grow(
    seed: u64,
    level: Level,
    chunks: &'static [u64],
    added: &'static [u64],
) -> Result<(), String> {
    let drives = chunks.iter().flat_map(|chunks| platters(1, *chunks, CHUNK_BYTES)).collect();
    run_on(seed, drives, level, CHUNK_BYTES, Options::default(), async move |good| {
        let id = good.make_volume(VOLUME_BLOCKS, Compression::None).await?;
        let mut filled = fill(&good, id, 0).await?;
        overwrite(&good, id, filled * STEADY_PERCENT / 100).await?;
        for chunks in added {
            add(&good, *chunks).await?;
            filled = fill(&good, id, filled).await?;
        }
        overwrite(&good, id, filled * STEADY_PERCENT / 100).await?;
        let audit = good.pool.audit().await.map_err(|error| error.to_string())?;
        if audit.wrong.is_empty() { Ok(()) } else { Err(format!("{audit:?}")) }
    })
}

/// Writes from block `from` on until the pool refuses. Returns where that is.
async fn fill(good: &Good, id: VolumeId, from: u64) -> Result<u64, String> {
    let before = good.pool.status().space;
    let next = Rc::new(Cell::new(from));
    let counter = next.clone();
    let in_order: Next = Rc::new(move |_| Lba(counter.replace(counter.get() + WRITE_BLOCKS)));
    match good.write(id, load(VOLUME_BLOCKS / WRITE_BLOCKS, in_order)).await {
        Err(error) if error.cause == Cause::CapacityExceeded => {}
        Err(error) => return Err(format!("filling: {error}")),
        Ok(()) => return Err("the pool takes more than it can hold".to_owned()),
    }
    let live = good.pool.status().space.live;
    if live < before.live + before.safe_to_write * HONEST_PERCENT / 100 {
        return Err(format!("with {live} bytes the pool is full, and before it said {before:?}"));
    }
    // What was refused is not there.
    Ok(next.get() - DEPTH * WRITE_BLOCKS)
}

/// Overwrites the first `blocks` at random, after the others have been trimmed.
async fn overwrite(good: &Good, id: VolumeId, blocks: u64) -> Result<(), String> {
    let zeroed = good.pool.zero(id, Lba(blocks), VOLUME_BLOCKS - blocks).await;
    zeroed.map_err(|error| format!("a trim in a full pool: {error}"))?;
    let writes = blocks / WRITE_BLOCKS;
    let at_random: Next = Rc::new(move |world| Lba(world.below(writes) * WRITE_BLOCKS));
    let written = good.write(id, load(TURNS * writes, at_random)).await;
    written.map_err(|error| format!("overwriting at {STEADY_PERCENT} %: {error}"))
}

/// A drive more: nothing may become less.
async fn add(good: &Good, chunks: u64) -> Result<(), String> {
    let before = good.pool.status().space;
    let platter = &platters(1, chunks, CHUNK_BYTES)[0];
    let added = good.pool.add_drive(SimDrive::new(&good.world, platter), None).await;
    added.map_err(|error| error.to_string())?;
    let after = good.pool.status().space;
    if after.limit < before.limit
        || after.usable < before.usable
        || after.safe_to_write < before.safe_to_write
    {
        return Err(format!("{before:?}, and with a drive of {chunks} chunks more {after:?}"));
    }
    Ok(())
}

fn load(writes: u64, next: Next) -> Load {
    Load { writes, outstanding: DEPTH, next, data: noisy_blocks(WRITE_BLOCKS) }
}
