//! Blocks of which little is left when they are compressed: their records and their map weigh as
//! much as they do.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, Cause, Lba, VolumeId};
use ashlar_store::{Compression, Options};
use bytes::Bytes;

use crate::good::{Good, GoodDrives, Load, Next};

/// Bytes of a block that do not compress.
const CONTENT_BYTES: usize = 240;
/// Blocks of one write.
const WRITE_BLOCKS: u64 = 16;
/// Writes outstanding.
const DEPTH: u64 = 8;
/// More than fit.
const VOLUME_BLOCKS: u64 = 400_000;
/// Part of what is said to be safe to write that must fit, records included, in percent.
const HONEST_PERCENT: u64 = 90;
/// Part of what fits that is overwritten, in percent.
const STEADY_PERCENT: u64 = 80;
/// How often all of it is.
const TURNS: u64 = 2;

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    /// Segments that were collected while hosts overwrote.
    pub collected: u64,
    /// Blocks that were moved for each that hosts overwrote.
    pub moved: f64,
    /// Memory that the map takes in the end.
    pub map_bytes: u64,
}

/// Fills a pool with such blocks until it refuses them, and overwrites a part.
pub fn fill_and_overwrite(options: Options) -> Result<Small, String> {
    let drives = GoodDrives { count: 5, chunks: 96, chunk_bytes: 256 << 10 };
    drives.run(options, async move |good| {
        let id = good.make_volume(VOLUME_BLOCKS, Compression::Lz4).await?;
        let filled = fill(&good, id).await?;
        overwrite(&good, id, filled * STEADY_PERCENT / 100).await
    })
}

/// Returns how many blocks fit.
async fn fill(good: &Good, id: VolumeId) -> Result<u64, String> {
    let promised = good.pool.status().space.safe_to_write;
    let next = Rc::new(Cell::new(0));
    let counter = next.clone();
    let in_order: Next =
        Rc::new(move |_| Lba(counter.replace(counter.get() + WRITE_BLOCKS) % VOLUME_BLOCKS));
    let load = Load {
        writes: VOLUME_BLOCKS / WRITE_BLOCKS,
        outstanding: DEPTH,
        next: in_order,
        data: data(),
    };
    match good.write(id, load).await {
        Err(error) if error.cause == Cause::CapacityExceeded => {}
        Err(error) => return Err(format!("filling: {error}")),
        Ok(()) => return Err("the pool takes more than it can hold".to_owned()),
    }
    // What was refused is not there.
    let filled = next.get() - DEPTH * WRITE_BLOCKS;
    let live = good.pool.status().space.live;
    if live < promised * HONEST_PERCENT / 100 {
        return Err(format!(
            "{promised} bytes were safe to write, and with {live} the pool is full"
        ));
    }
    Ok(filled)
}

async fn overwrite(good: &Good, id: VolumeId, live: u64) -> Result<Small, String> {
    let zeroed = good.pool.zero(id, Lba(live), VOLUME_BLOCKS - live).await;
    zeroed.map_err(|error| format!("a trim in a full pool: {error}"))?;
    let before = good.pool.status().counters;
    let writes = live / WRITE_BLOCKS;
    let at_random: Next = Rc::new(move |world| Lba(world.below(writes) * WRITE_BLOCKS));
    let load = Load { writes: TURNS * writes, outstanding: DEPTH, next: at_random, data: data() };
    good.write(id, load)
        .await
        .map_err(|error| format!("overwriting at {STEADY_PERCENT} %: {error}"))?;
    let after = good.pool.status().counters;
    Ok(Small {
        map_bytes: good.pool.status().map_bytes,
        collected: after.jobs.segments_collected - before.jobs.segments_collected,
        moved: (after.jobs.fragments_moved - before.jobs.fragments_moved) as f64
            / (after.hosts.blocks_written - before.hosts.blocks_written) as f64,
    })
}

/// Blocks whose beginnings do not compress, and which are zeros behind them.
fn data() -> Bytes {
    let mut bytes = vec![0; WRITE_BLOCKS as usize * BLOCK_BYTES];
    let mut state = 1u64;
    for block in bytes.chunks_mut(BLOCK_BYTES) {
        for byte in &mut block[..CONTENT_BYTES] {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 56) as u8;
        }
    }
    bytes.into()
}
