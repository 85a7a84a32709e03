//! A pool that was written and emptied, and left alone: as much of it is used as of a new one.

use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Clock, Lba, VolumeId};
use ashlar_store::{Compression, Options};
use bytes::Bytes;

use crate::good::{Good, GoodDrives};

const DRIVES: GoodDrives = GoodDrives { count: 3, chunks: 200, chunk_bytes: 256 << 10 };
const VOLUME_BLOCKS: u64 = 16 << 10;
/// Blocks of a write.
const WRITE_BLOCKS: u64 = 16;
/// Blocks are trimmed in steps of so many, round and round: neighbours at different times.
const STRIDE: u64 = 4099;
/// Longer than hosts have to be quiet for the counts to become exact.
const IDLE: Duration = Duration::from_secs(120);

/// How what was written goes.
#[derive(Clone, Copy, Debug)]
enum Emptying {
    Whole,
    BlockByBlock,
    /// Checkpoints see the half of it, so that deltas and runs have some absences each.
    WithCheckpoints,
    /// One block of eight stays until all others have gone, and the pool has been idle.
    Twice,
    Deleted,
}

async fn fill(good: &Good, id: VolumeId) -> Result<(), String> {
    let data = Bytes::from_static(&[0xa5; WRITE_BLOCKS as usize * BLOCK_BYTES]);
    for first in (0..VOLUME_BLOCKS).step_by(WRITE_BLOCKS as usize) {
        let written = good.pool.write(id, Lba(first), data.clone()).await;
        written.map_err(|error| format!("a write: {error}"))?;
    }
    Ok(())
}

async fn trim(good: &Good, id: VolumeId, first: u64, blocks: u64) -> Result<(), String> {
    good.pool.zero(id, Lba(first), blocks).await.map_err(|error| format!("a trim: {error}"))
}

/// Trims the blocks that are `wanted`, one by one.
async fn trim_singly(
    good: &Good,
    id: VolumeId,
    wanted: impl Fn(u64) -> bool,
) -> Result<(), String> {
    for nth in 0..VOLUME_BLOCKS {
        let block = nth * STRIDE % VOLUME_BLOCKS;
        if wanted(block) {
            trim(good, id, block, 1).await?;
        }
    }
    Ok(())
}

async fn checkpoint(good: &Good) -> Result<(), String> {
    good.pool.checkpoint().await.map_err(|error| format!("a checkpoint: {error}"))
}

async fn empty(good: &Good, id: VolumeId, emptying: Emptying) -> Result<(), String> {
    match emptying {
        Emptying::Whole => trim(good, id, 0, VOLUME_BLOCKS).await,
        Emptying::BlockByBlock => trim_singly(good, id, |_| true).await,
        Emptying::WithCheckpoints => {
            trim_singly(good, id, |block| block % 3 == 0).await?;
            checkpoint(good).await?;
            trim_singly(good, id, |block| block % 3 == 1).await?;
            checkpoint(good).await?;
            trim_singly(good, id, |block| block % 3 == 2).await
        }
        Emptying::Twice => {
            trim_singly(good, id, |block| block % 8 > 0).await?;
            good.world.sleep(IDLE).await;
            trim_singly(good, id, |block| block % 8 == 0).await
        }
        Emptying::Deleted => good.pool.delete_volume(id).await.map_err(|error| error.to_string()),
    }
}

/// What lives in a new pool, and in the same one after it was written, emptied and left alone.
fn live_before_and_after(emptying: Emptying, map_memory_bytes: usize) -> [u64; 2] {
    let options = Options { map_memory_bytes, ..Options::default() };
    let run = DRIVES.run(options, async move |good| {
        let kept = good.make_volume(VOLUME_BLOCKS, Compression::Lz4).await?;
        let id = good.make_volume(VOLUME_BLOCKS, Compression::Lz4).await?;
        if matches!(emptying, Emptying::Deleted) {
            // The catalog does not name it afterwards.
            good.pool.delete_volume(id).await.map_err(|error| error.to_string())?;
        }
        checkpoint(&good).await?;
        good.world.sleep(IDLE).await;
        let before = good.pool.status().space.live;
        let id = match emptying {
            Emptying::Deleted => good.make_volume(VOLUME_BLOCKS, Compression::Lz4).await?,
            _ => kept,
        };
        fill(&good, id).await?;
        empty(&good, id, emptying).await?;
        good.world.sleep(IDLE).await;
        let after = good.pool.status().space.live;
        good.pool.close().await.map_err(|error| format!("close: {error}"))?;
        Ok([before, after])
    });
    run.expect("good drives")
}

/// Absences stayed in deltas, 22 bytes each, until the map changed again: a MiB for 51,200 blocks.
#[test]
fn an_emptied_pool_that_is_left_alone_has_as_much_used_as_a_new_one() {
    let emptyings = [
        Emptying::Whole,
        Emptying::BlockByBlock,
        Emptying::WithCheckpoints,
        Emptying::Twice,
        Emptying::Deleted,
    ];
    for emptying in emptyings {
        for map_memory_bytes in [64 << 10, 32 << 20] {
            let [before, after] = live_before_and_after(emptying, map_memory_bytes);
            assert_eq!(
                after, before,
                "{emptying:?}, {map_memory_bytes} bytes of memory for the map"
            );
        }
    }
}
