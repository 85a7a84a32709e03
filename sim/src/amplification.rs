//! Write amplification: what garbage collection moves for each block that hosts write, when it has
//! become steady.

use std::cell::Cell;
use std::rc::Rc;

use ashlar_block::{BLOCK_BYTES, Lba, SECTOR_BYTES};
use ashlar_store::{Compression, Counters, Options};
use bytes::Bytes;

use crate::good::{Good, GoodDrives, Load, Next};
use crate::world::SimWorld;

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
    /// Bytes written to drives for each byte that hosts wrote: parity, headers, journal and map
    /// included.
    pub bytes: f64,
}

/// The pool whose write amplification is measured.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    /// Its segments. What is kept free, open, or waits for a checkpoint weighs the more the fewer
    /// there are.
    pub segments: u64,
    /// Bytes of a chunk. What is left of a collected segment fills a batch the worse the smaller it
    /// is.
    pub chunk_bytes: u32,
    /// How much of the space behind parity lives.
    pub live_percent: u64,
}

/// Overwrites blocks that do not compress.
pub fn measure(pattern: Pattern, measured: Measured) -> Result<Amplification, String> {
    let drives =
        GoodDrives { count: DRIVES, chunks: measured.segments, chunk_bytes: measured.chunk_bytes };
    let options = Options {
        map_memory_bytes: MAP_MEMORY_BYTES,
        over_provisioning_percent: 15,
        ..Options::default()
    };
    drives.run(options, async move |good| run(&good, pattern, measured.live_percent).await)
}

async fn run(good: &Good, pattern: Pattern, live_percent: u64) -> Result<Amplification, String> {
    let blocks = good.pool.status().space.usable / BLOCK_BYTES as u64 * live_percent / 100;
    let writes = blocks / WRITE_BLOCKS;
    let id = good.make_volume(blocks, Compression::None).await?;
    let load = async |writes, next| {
        // Nothing reads it, and it must not be zeros.
        let data = Bytes::from_static(&[0xa5; WRITE_BLOCKS as usize * BLOCK_BYTES]);
        good.write(id, Load { writes, outstanding: DEPTH, next, data }).await
    };
    let fill = Cell::new(0);
    let in_order: Next = Rc::new(move |_| Lba(fill.replace(fill.get() + 1) * WRITE_BLOCKS));
    load(writes, in_order).await.map_err(|error| format!("filling: {error}"))?;
    let at_random: Next = Rc::new(move |world| Lba(pattern.next(world, writes)));
    let overwrite = async |turns| load(turns * writes, at_random.clone()).await;
    overwrite(TURNS_BEFORE).await.map_err(|error| format!("overwriting: {error}"))?;
    let before = good.pool.status().counters;
    overwrite(TURNS_COUNTED).await.map_err(|error| format!("overwriting: {error}"))?;
    Ok(amplification(&before, &good.pool.status().counters))
}

fn amplification(before: &Counters, after: &Counters) -> Amplification {
    let written = (after.hosts.blocks_written - before.hosts.blocks_written) as f64;
    let moved = (after.jobs.fragments_moved - before.jobs.fragments_moved) as f64;
    let bytes = (after.drives.bytes_to_drives - before.drives.bytes_to_drives) as f64;
    Amplification { blocks: 1.0 + moved / written, bytes: bytes / (written * SECTOR_BYTES as f64) }
}
