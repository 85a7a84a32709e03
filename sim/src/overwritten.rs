//! One block that is written again and again, or written and trimmed: there is never much in the
//! map, and soon a great deal to replay.

use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, Lba, VolumeId};
use ashlar_store::{Compression, Options};
use bytes::Bytes;

use crate::good::{Good, GoodDrives, Load};

/// All fits few segments: these are no reason for a checkpoint.
const DRIVES: GoodDrives = GoodDrives { count: 3, chunks: 64, chunk_bytes: 4 << 20 };
/// After which a checkpoint is due.
const REPLAY_RECORDS_MAX: u64 = 400;
/// How often the block is written, or written or trimmed.
const TIMES: u64 = 2000;
/// Writes outstanding.
const DEPTH: u64 = 8;

/// Checkpoints while it is written, and while it is written and trimmed.
pub fn checkpoints_of_one_block() -> Result<[u64; 2], String> {
    let options = Options { replay_records_max: REPLAY_RECORDS_MAX, ..Options::default() };
    DRIVES.run(options, async move |good| {
        let id = good.make_volume(1, Compression::Lz4).await?;
        let before = good.pool.status().counters.jobs.checkpoints;
        let data = Bytes::from_static(&[0xa5; BLOCK_BYTES]);
        let load = Load { writes: TIMES, outstanding: DEPTH, next: Rc::new(|_| Lba(0)), data };
        good.write(id, load).await.map_err(|error| format!("overwriting: {error}"))?;
        let between = good.pool.status().counters.jobs.checkpoints;
        write_and_trim(&good, id).await?;
        Ok([between - before, good.pool.status().counters.jobs.checkpoints - between])
    })
}

async fn write_and_trim(good: &Good, id: VolumeId) -> Result<(), String> {
    for _ in 0..TIMES / 2 {
        let data = Bytes::from_static(&[0xa5; BLOCK_BYTES]);
        good.pool.write(id, Lba(0), data).await.map_err(|error| format!("a write: {error}"))?;
        good.pool.zero(id, Lba(0), 1).await.map_err(|error| format!("a trim: {error}"))?;
    }
    Ok(())
}
