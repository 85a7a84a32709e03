//! A pool that is filled until it refuses, trimmed and filled again, time after time: what is given
//! back comes back, all of it, and writes go on by themselves.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, IoError, Lba, VolumeId};
use ashlar_store::{Compression, Options, VerifyState};

use crate::good::{Good, GoodDrives, Load, Next, noisy_blocks};

const CHUNK_BYTES: u32 = 64 << 10;
const DRIVES: usize = 4;
const WRITE_BLOCKS: u64 = 8;
const WRITE_BYTES: u64 = WRITE_BLOCKS * BLOCK_BYTES as u64;
/// Writes outstanding.
const DEPTH: u64 = 4;
/// More than fits into any of these pools, in writes.
const VOLUME_WRITES: u64 = 4096;
/// How often the ledger is proved.
const PROVED_ONCE_IN: u64 = 25;
/// How often all is trimmed, and not only what was written last.
const EMPTIED_ONCE_IN: u64 = 10;
/// Chunks of each drive.
const CHUNKS: [u64; 3] = [96, 160, 256];
/// Part of the first fill that may be lacking later: in pools of a hundred segments what is open,
/// and what the maps take, is not the same each time. After all was trimmed it is less.
const LEAST_PART: u64 = 8;
const LAST_PART: u64 = 16;

/// Writes in order from `from` on until a write is refused: how many were taken.
async fn fill(good: &Good, id: VolumeId, from: u64) -> Result<u64, String> {
    let nth = Rc::new(Cell::new(from));
    let count = nth.clone();
    let next: Next = Rc::new(move |_| Lba(count.replace(count.get() + 1) * WRITE_BLOCKS));
    let data = noisy_blocks(WRITE_BLOCKS);
    let load = Load { writes: VOLUME_WRITES - from, outstanding: DEPTH, next, data };
    match good.write(id, load).await {
        Err(error) if error.cause == Cause::CapacityExceeded => Ok(nth.get()),
        other => Err(format!("a fill without an end: {other:?}")),
    }
}

async fn in_full_pool(good: &Good, id: VolumeId, end: u64) -> Result<(), IoError> {
    good.pool.read(id, Lba(good.world.below(end) * WRITE_BLOCKS), WRITE_BLOCKS as usize).await?;
    // Zeros, the sizes of volumes and other volumes are changed as ever.
    good.pool.zero(id, Lba(VOLUME_WRITES * WRITE_BLOCKS - 1), 1).await?;
    let other = good.pool.create_volume(16, Compression::Lz4, Default::default()).await?;
    good.pool.resize_volume(other, 8).await?;
    good.pool.delete_volume(other).await
}

async fn prove(good: &Good) -> Result<(), String> {
    good.pool.start_verify().map_err(|error| error.to_string())?;
    loop {
        let report = good.pool.status().verify.expect("one was begun");
        match report.state {
            VerifyState::Running => good.world.sleep(std::time::Duration::from_millis(50)).await,
            VerifyState::Proven => return Ok(()),
            other => return Err(format!("{other:?}: {:?}", report.wrong)),
        }
    }
}

/// How much a pool has taken, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// In the first cycle.
    pub first: u64,
    /// At least, in each later one.
    pub least: u64,
    /// In the last one that began with an empty volume.
    pub last: u64,
}

/// Fills, is refused, trims a part and fills again, so many times, in a pool of drives of so many
/// chunks.
pub fn cycles(chunks: u64, cycles: u64) -> Result<Taken, String> {
    let drives = GoodDrives { count: DRIVES, chunks, chunk_bytes: CHUNK_BYTES };
    drives.run(Options::default(), async move |good| {
        let id = good.make_volume(VOLUME_WRITES * WRITE_BLOCKS, Compression::Lz4).await?;
        let first = fill(&good, id, 0).await?;
        let (mut least, mut last, mut end) = (first, first, first);
        for cycle in 0..cycles {
            in_full_pool(&good, id, end)
                .await
                .map_err(|error| format!("cycle {cycle}, while it is full: {error}"))?;
            let keep =
                if cycle % EMPTIED_ONCE_IN == 0 { 0 } else { end - 1 - good.world.below(end / 8) };
            let blocks = (VOLUME_WRITES - keep) * WRITE_BLOCKS;
            let trimmed = good.pool.zero(id, Lba(keep * WRITE_BLOCKS), blocks).await;
            trimmed.map_err(|error| format!("cycle {cycle}, a trim: {error}"))?;
            end = fill(&good, id, keep).await.map_err(|why| format!("cycle {cycle}: {why}"))?;
            least = least.min(end);
            if keep == 0 {
                last = end;
            }
            if cycle % PROVED_ONCE_IN == 0 {
                prove(&good).await.map_err(|why| format!("cycle {cycle}: {why}"))?;
            }
        }
        let [first, least, last] = [first, least, last].map(|writes| writes * WRITE_BYTES);
        Ok(Taken { first, least, last })
    })
}

/// The same in pools of three sizes. What each has taken is told; an error where one has lost room.
pub fn in_all_sizes(count: u64) -> Result<(), String> {
    for chunks in CHUNKS {
        let taken = cycles(chunks, count).map_err(|why| format!("{chunks} chunks: {why}"))?;
        println!("{chunks} chunks of 64 KiB on each of {DRIVES} drives, {count} cycles: {taken:?}");
        let Taken { first, least, last } = taken;
        if least < first - first / LEAST_PART || last < first - first / LAST_PART {
            return Err(format!("{chunks} chunks: the pool does not take what it took: {taken:?}"));
        }
    }
    Ok(())
}

/// `sim --cycles 500` does it longer.
#[test]
fn what_is_trimmed_can_be_written_again_time_after_time() {
    in_all_sizes(21).expect("nothing is lost");
}
