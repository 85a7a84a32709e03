//! A volume whose blocks all belong to one shard of the map: its deltas are many times what a
//! checkpoint may write.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, Lba, VolumeId};
use ashlar_store::{Compression, Options};
use bytes::Bytes;

use crate::good::{Good, GoodDrives, Load, Next};

const DRIVES: GoodDrives = GoodDrives { count: 3, chunks: 400, chunk_bytes: 64 << 10 };
/// Bytes of the segments that are kept for a checkpoint, parity included.
const CHECKPOINT_BYTES: u64 = 3 * 3 * (64 << 10);
/// Blocks of a range, in which neighbours belong to one shard, and ranges to the next one of the
/// same shard.
const RANGE_BLOCKS: u64 = 256;
const SHARDS: u64 = 64;
/// Ranges that are used.
const RANGES: u64 = 256;
/// Blocks of one write.
const WRITE_BLOCKS: u64 = 16;
/// Writes that write all of it.
const WRITES: u64 = RANGES * RANGE_BLOCKS / WRITE_BLOCKS;
/// Writes outstanding.
const DEPTH: u64 = 8;
/// Writes between two checkpoints: few enough that none comes by itself.
const ROUND_WRITES: u64 = 64;
/// Until nothing is left of the first deltas.
const ROUNDS: u64 = 3 * WRITES / ROUND_WRITES;

/// Overwrites the volume at random, looks at what checkpoints write, and reads all after each of
/// two starts.
pub fn overwrite_and_reopen() -> Result<(), String> {
    DRIVES.run(Options::default(), async move |good| {
        let id = good.make_volume(RANGES * SHARDS * RANGE_BLOCKS, Compression::Lz4).await?;
        let next = Cell::new(0);
        write(&good, id, WRITES, Rc::new(move |_| lba_of(next.replace(next.get() + 1)))).await?;
        for _ in 0..ROUNDS {
            write(&good, id, ROUND_WRITES, Rc::new(|world| lba_of(world.below(WRITES)))).await?;
            checkpoint(&good).await?;
        }
        let good = good.reopened().await?;
        check(&good, id).await?;
        write(&good, id, ROUND_WRITES, Rc::new(|world| lba_of(world.below(WRITES)))).await?;
        check(&good.reopened().await?, id).await
    })
}

/// Where the nth write goes.
fn lba_of(nth: u64) -> Lba {
    let (range, within) = (nth * WRITE_BLOCKS / RANGE_BLOCKS, nth * WRITE_BLOCKS % RANGE_BLOCKS);
    Lba(range * SHARDS * RANGE_BLOCKS + within)
}

fn content() -> Bytes {
    Bytes::from_static(&[0xa5; WRITE_BLOCKS as usize * BLOCK_BYTES])
}

async fn write(good: &Good, id: VolumeId, writes: u64, next: Next) -> Result<(), String> {
    let load = Load { writes, outstanding: DEPTH, next, data: content() };
    good.write(id, load).await.map_err(|error| format!("overwriting: {error}"))
}

async fn checkpoint(good: &Good) -> Result<(), String> {
    let before = good.pool.status().counters.drives.bytes_to_drives;
    good.pool.checkpoint().await.map_err(|error| format!("checkpoint: {error}"))?;
    let bytes = good.pool.status().counters.drives.bytes_to_drives - before;
    if bytes <= CHECKPOINT_BYTES {
        return Ok(());
    }
    Err(format!("a checkpoint has written {bytes} bytes, and {CHECKPOINT_BYTES} are kept for it"))
}

async fn check(good: &Good, id: VolumeId) -> Result<(), String> {
    for nth in 0..WRITES {
        let lba = lba_of(nth);
        let read = good.pool.read(id, lba, WRITE_BLOCKS as usize).await;
        if read.map_err(|error| format!("{lba:?}: {error}"))?[..] != content()[..] {
            return Err(format!("what was written at {lba:?} is not there"));
        }
    }
    let audit = good.pool.audit().await.map_err(|error| format!("audit: {error}"))?;
    if audit.wrong.is_empty() { Ok(()) } else { Err(format!("audit: {}", audit.wrong.join("; "))) }
}
