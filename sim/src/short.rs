//! A pool that holds more than its drives may, because one of them was lost: overwrites go on, and
//! new data has an end.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{BLOCK_BYTES, Cause, Clock, DriveId, IoError, Lba, VolumeId};
use ashlar_raid::Level;
use ashlar_store::{Compression, Options, Space};

use crate::good::{Good, Load, Next, noisy_blocks, platters, run_on};

const CHUNK_BYTES: u32 = 256 << 10;
const DRIVES: usize = 4;
const CHUNKS: u64 = 640;
/// More than fit.
const VOLUME_BLOCKS: u64 = 1 << 20;
const WRITE_BLOCKS: u64 = 8;
const WRITE_BYTES: u64 = WRITE_BLOCKS * BLOCK_BYTES as u64;
/// Writes outstanding.
const DEPTH: u64 = 4;
/// How often what lives is overwritten.
const TURNS: u64 = 1;
/// Part of the limit that is written before the loss, in percent: without one of four drives that
/// is more than may live, and less than could.
const USED_PERCENT: u64 = 70;
/// Beyond what lives at the loss, new data gets no more of the limit than this part, and what is
/// outstanding.
const NEW_PART: u64 = 16;
/// For the rebuild.
const REBUILD: Duration = Duration::from_secs(120);

/// What a pool allows that has lost a drive.
#[derive(Debug)]
pub struct Told {
    pub before: Space,
    pub after: Space,
    /// Once new data has been refused.
    pub full: Space,
}

/// Writes, loses a drive, overwrites, writes new data until it is refused, and overwrites once more
/// after some has been trimmed.
pub fn overwrite_after_loss(seed: u64) -> Result<Told, String> {
    let drives = platters(DRIVES, CHUNKS, CHUNK_BYTES);
    run_on(seed, drives, Level::RAID5, CHUNK_BYTES, Options::default(), async move |good| {
        let id = good.make_volume(VOLUME_BLOCKS, Compression::None).await?;
        let before = good.pool.status().space;
        let writes = before.limit * USED_PERCENT / 100 / WRITE_BYTES;
        write_in_order(&good, id, 0, writes).await.map_err(|error| format!("writing: {error}"))?;
        good.pool.fail_drive(DriveId(3), false).await.map_err(|error| error.to_string())?;
        good.world.sleep(REBUILD).await;
        let after = good.pool.status().space;
        overwrite(&good, id, writes)
            .await
            .map_err(|error| format!("overwriting after the loss: {error}"))?;
        let refused =
            write_in_order(&good, id, writes, VOLUME_BLOCKS / WRITE_BLOCKS - writes).await;
        match refused {
            Err(error) if error.cause == Cause::CapacityExceeded => {}
            other => return Err(format!("new data without an end: {other:?}")),
        }
        let full = good.pool.status().space;
        let blocks = writes * WRITE_BLOCKS;
        let trimmed = good.pool.zero(id, Lba(blocks), VOLUME_BLOCKS - blocks).await;
        trimmed.map_err(|error| format!("a trim: {error}"))?;
        overwrite(&good, id, writes)
            .await
            .map_err(|error| format!("overwriting after a trim: {error}"))?;
        let audit = good.pool.audit().await.map_err(|error| error.to_string())?;
        if audit.wrong.is_empty() {
            Ok(Told { before, after, full })
        } else {
            Err(format!("{audit:?}"))
        }
    })
}

async fn write_in_order(good: &Good, id: VolumeId, from: u64, writes: u64) -> Result<(), IoError> {
    let nth = Cell::new(from);
    let next: Next = Rc::new(move |_| Lba(nth.replace(nth.get() + 1) * WRITE_BLOCKS));
    good.write(id, load(writes, next)).await
}

async fn overwrite(good: &Good, id: VolumeId, writes: u64) -> Result<(), IoError> {
    let next: Next = Rc::new(move |world| Lba(world.below(writes) * WRITE_BLOCKS));
    good.write(id, load(TURNS * writes, next)).await
}

fn load(writes: u64, next: Next) -> Load {
    Load { writes, outstanding: DEPTH, next, data: noisy_blocks(WRITE_BLOCKS) }
}

/// Level 5 of four drives, most of it used: when one of them was lost, all writes were refused,
/// overwrites too.
#[test]
fn overwrites_go_on_after_a_loss_that_leaves_too_little_room_and_new_data_has_an_end() {
    let Told { before, after, full } = overwrite_after_loss(2).expect("overwrites go on");
    assert!(after.live > after.limit && after.limit < before.limit, "{after:?}");
    assert!(!after.full && after.safe_to_write <= after.limit / NEW_PART, "{after:?}");
    assert!(full.full && full.safe_to_write < 2 * WRITE_BYTES, "{full:?}");
    assert!(full.live <= after.live + after.limit / NEW_PART, "{} and {}", after.live, full.live);
}
