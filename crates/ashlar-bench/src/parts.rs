//! What storing a block cannot do without, each alone and on the same data: the codec and the
//! checksum, the parity, and handing the rows to drives in memory. Beside the echo server these are
//! the floor under what a pool costs.

use std::hint::black_box;
use std::time::Duration;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, ByteSize, Device, Durability, XorShift};
use ashlar_drive::{Drive, DriveSpec, OpenMode};
use ashlar_load::load::{Content, Direction, Load};
use ashlar_load::ratio::median;
use ashlar_raid::parity;
use ashlar_store::Compression;
use ashlar_store::codec::Stored;
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Blocks that are worked on at a time, and how often: little, so that parts can be measured
/// between any two loads.
const BLOCKS: usize = 32;
const ROUNDS: usize = 64;
/// What a batch writes to each column: [`BLOCKS`] blocks over four.
const COLUMN_BYTES: usize = BLOCKS * BLOCK_BYTES / 4;
/// The drive that is written and read: much larger than the processor's caches, as drives are.
const DRIVE_BYTES: u64 = 256 << 20;

/// Columns of a stripe over the bench's five drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stripe {
    /// Columns of data.
    pub data: usize,
    /// Columns of parity.
    pub parity: usize,
}

/// What a drive in memory takes for one block of 4 KiB, in nanoseconds of processor time.
#[derive(Clone, Copy, Debug)]
pub struct DriveParts {
    /// Written with others of its column, 32 KiB at a time, one behind the other.
    pub write_ns: f64,
    /// Read alone, at random.
    pub read_ns: f64,
    /// Read with others of its column, 32 KiB at a time, one behind the other.
    pub sequential_read_ns: f64,
}

/// Processor time for one block of 4 KiB, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Parts {
    /// What is left of it after compression.
    pub stored_fraction: f64,
    /// Compressing it, or trying to, and the checksum of what is stored.
    pub encode_ns: f64,
    /// Its share of the parity of what is stored.
    pub parity_ns: f64,
    /// Its and its parity's share of writing columns to drives.
    pub drive_write_ns: f64,
    /// Checking and decompressing it.
    pub decode_ns: f64,
    /// Reading it from a drive, alone at a random place.
    pub drive_read_ns: f64,
    /// Reading it from a drive with its neighbours.
    pub drive_sequential_read_ns: f64,
}

/// A drive in memory whose parts are measured.
pub struct MeasuredDrive {
    drive: Drive,
    /// Where it is read at random, and where one behind the other: on from where the measurement
    /// before ended.
    random: XorShift,
    next: u64,
}

impl MeasuredDrive {
    /// Makes one.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn new() -> anyhow::Result<Self> {
        let spec = DriveSpec::Memory { size: ByteSize(DRIVE_BYTES), touched: true, model: None };
        let drive = Drive::open(&spec, OpenMode::CreateIfMissing)?;
        Ok(MeasuredDrive { drive, random: XorShift::new(1), next: 0 })
    }

    /// Measures it, on this thread's reactor.
    ///
    /// # Errors
    /// What the drive refuses.
    pub async fn measure(&mut self) -> anyhow::Result<DriveParts> {
        let blocks = (COLUMN_BYTES / BLOCK_BYTES) as f64;
        let Self { drive, random, next } = self;
        let mut next_offset = || {
            *next = (*next + COLUMN_BYTES as u64) % DRIVE_BYTES;
            *next
        };
        let mut random_offset =
            || random.below(DRIVE_BYTES / BLOCK_BYTES as u64) * BLOCK_BYTES as u64;
        Ok(DriveParts {
            write_ns: write_ns(drive, &mut next_offset).await? / blocks,
            read_ns: read_ns(drive, BLOCK_BYTES, &mut random_offset).await?,
            sequential_read_ns: read_ns(drive, COLUMN_BYTES, &mut next_offset).await? / blocks,
        })
    }
}

async fn write_ns(drive: &Drive, offset: &mut impl FnMut() -> u64) -> anyhow::Result<f64> {
    let data = Content::Incompressible.bytes(COLUMN_BYTES);
    let before = thread_time();
    let rounds = ROUNDS * BLOCKS;
    for _ in 0..rounds {
        drive.write(offset(), data.clone(), Durability::Stable).await?;
    }
    Ok(nanos_each(thread_time().saturating_sub(before), rounds))
}

async fn read_ns(
    drive: &Drive,
    bytes: usize,
    offset: &mut impl FnMut() -> u64,
) -> anyhow::Result<f64> {
    let mut buf = AlignedBuf::stale(bytes);
    let before = thread_time();
    let rounds = ROUNDS * BLOCKS;
    for _ in 0..rounds {
        let (result, returned) = drive.read(offset(), buf).await;
        result?;
        buf = returned;
    }
    Ok(nanos_each(thread_time().saturating_sub(before), rounds))
}

impl Parts {
    /// Measures on this thread what `content` takes, on drives that take what `drive` says.
    pub fn measure(content: Content, stripe: Stripe, drive: DriveParts) -> Self {
        let data = content.bytes(BLOCKS * BLOCK_BYTES);
        let stored = Stored::of(&data, Compression::Lz4);
        let stored_fraction = stored.bytes() as f64 / data.len() as f64;
        let mut out = [0; BLOCK_BYTES];
        // A compressed block alone is nearly always read as one whole sector.
        let rows_fraction = (stripe.data + stripe.parity) as f64 / stripe.data as f64;
        Parts {
            stored_fraction,
            encode_ns: per_block(BLOCKS, || Stored::of(&data, Compression::Lz4).bytes()),
            parity_ns: parity_ns(stripe) * stored_fraction,
            drive_write_ns: drive.write_ns * stored_fraction * rows_fraction,
            decode_ns: per_block(BLOCKS, || stored.read(&mut out)),
            drive_read_ns: drive.read_ns,
            drive_sequential_read_ns: drive.sequential_read_ns * stored_fraction,
        }
    }

    /// The medians of several measurements of the same.
    pub fn medians(of: &[Parts]) -> Self {
        let middle = |part: fn(&Parts) -> f64| median(&of.iter().map(part).collect::<Vec<_>>());
        Parts {
            stored_fraction: middle(|parts| parts.stored_fraction),
            encode_ns: middle(|parts| parts.encode_ns),
            parity_ns: middle(|parts| parts.parity_ns),
            drive_write_ns: middle(|parts| parts.drive_write_ns),
            decode_ns: middle(|parts| parts.decode_ns),
            drive_read_ns: middle(|parts| parts.drive_read_ns),
            drive_sequential_read_ns: middle(|parts| parts.drive_sequential_read_ns),
        }
    }

    /// The floor under an operation, beside what the wire costs.
    pub fn of(&self, load: &Load) -> Duration {
        let blocks = f64::from(load.bytes) / BLOCK_BYTES as f64;
        let block_ns = match load.direction {
            Direction::Read if blocks <= 1.0 => self.decode_ns + self.drive_read_ns,
            Direction::Read => self.decode_ns + self.drive_sequential_read_ns,
            Direction::Write => self.encode_ns + self.parity_ns + self.drive_write_ns,
        };
        Duration::from_nanos((blocks * block_ns) as u64)
    }
}

/// What the parity of a block of 4 KiB takes.
fn parity_ns(stripe: Stripe) -> f64 {
    let data: Vec<Bytes> =
        (0..stripe.data).map(|_| Content::Incompressible.bytes(COLUMN_BYTES)).collect();
    let columns: Vec<&[u8]> = data.iter().map(|column| &column[..]).collect();
    let mut parities = vec![vec![0; COLUMN_BYTES]; stripe.parity];
    per_block(stripe.data * COLUMN_BYTES / BLOCK_BYTES, || {
        let mut parities: Vec<&mut [u8]> =
            parities.iter_mut().map(|parity| &mut parity[..]).collect();
        parity::encode(&columns, &mut parities);
    })
}

/// Processor time of `work` on so many blocks, for one of them.
fn per_block<T>(blocks: usize, mut work: impl FnMut() -> T) -> f64 {
    black_box(work());
    let before = thread_time();
    for _ in 0..ROUNDS {
        black_box(work());
    }
    nanos_each(thread_time().saturating_sub(before), ROUNDS * blocks)
}

/// Processor time of this thread, exactly: what `/proc` says of a running thread is milliseconds
/// old.
pub fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

pub fn nanos_each(spent: Duration, count: usize) -> f64 {
    spent.as_nanos() as f64 / count as f64
}

#[cfg(test)]
mod tests;
