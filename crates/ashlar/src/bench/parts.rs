//! What storing a block cannot do without, each alone: the codec and the checksum, the parity, and what a drive in memory
//! takes for its bytes. Beside the echo server these are the floor under what a pool costs.

use std::hint::black_box;
use std::time::Duration;

use ashlar_bench::cpu::CpuClock;
use ashlar_bench::wire_bench::{Direction, Load};
use ashlar_block::{AlignedBuf, BLOCK_BYTES};
use ashlar_raid::parity;
use ashlar_store::codec;
use serde::Serialize;

/// Blocks that are worked on at a time, and how often.
const BLOCKS: usize = 32;
const ROUNDS: u32 = 2000;
/// Data columns of a stripe over the bench's five drives of level 5.
const DATA_COLUMNS: usize = 4;

/// Processor time for one block of 4 KiB that does not compress, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parts {
    /// Trying to compress it, and its checksum.
    pub codec_and_checksum_ns: f64,
    /// Its checksum alone.
    pub checksum_ns: f64,
    /// Its share of the parity of a stripe.
    pub parity_ns: f64,
    /// Copying one block to a drive in memory, or from it.
    pub drive_ns: f64,
}

impl Parts {
    /// Measures them on this thread.
    ///
    /// # Errors
    /// The thread's processor time cannot be read.
    pub fn measure() -> std::io::Result<Self> {
        let data = super::random_data(7);
        let columns: Vec<&[u8]> = data.chunks(data.len() / DATA_COLUMNS).collect();
        let mut parity = vec![0; columns[0].len()];
        let mut drive = AlignedBuf::zeroed(data.len());
        Ok(Parts {
            codec_and_checksum_ns: per_block(|| codec::store(&data, true))?,
            checksum_ns: per_block(|| codec::store(&data, false))?,
            parity_ns: per_block(|| parity::encode(&columns, &mut [&mut parity[..]]))?,
            drive_ns: per_block(|| drive.copy_from_slice(black_box(&data)))?,
        })
    }

    /// The floor under an operation, beside what the wire costs.
    pub fn of(&self, load: &Load) -> Duration {
        let blocks = f64::from(load.bytes) / BLOCK_BYTES as f64;
        let columns = DATA_COLUMNS as f64;
        let block_ns = match load.direction {
            Direction::Read => self.checksum_ns + self.drive_ns,
            Direction::Write => {
                self.codec_and_checksum_ns + self.parity_ns + self.drive_ns * (columns + 1.0) / columns
            }
        };
        Duration::from_nanos((blocks * block_ns) as u64)
    }
}

/// Processor time of `work` on [`BLOCKS`] blocks, for one of them.
fn per_block<T>(mut work: impl FnMut() -> T) -> std::io::Result<f64> {
    black_box(work());
    let clock = CpuClock::of_this_thread()?;
    let before = clock.spent()?;
    for _ in 0..ROUNDS {
        black_box(work());
    }
    let spent = clock.spent()?.saturating_sub(before);
    Ok(spent.as_nanos() as f64 / f64::from(ROUNDS) / BLOCKS as f64)
}

/// The data that is worked on is as many blocks as this room counts.
const _: () = assert!(super::FILL_BYTES as usize == BLOCKS * BLOCK_BYTES);

#[cfg(test)]
mod tests;
