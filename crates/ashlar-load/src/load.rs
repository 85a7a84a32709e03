//! What a measurement asks of a server.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, XorShift};
use bytes::Bytes;
use serde::Serialize;

/// What noise is made of.
const WORD_BYTES: usize = 8;
/// What LZ4 needs beside a kibibyte of a block's noise, rounded up to what a block may be stored
/// in.
const LZ4_BYTES: usize = 64;

/// Which way data go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the target.
    Read,
    /// To the target.
    Write,
}

/// Where in a namespace operations go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// To places drawn at random, each aligned to an operation's size.
    Random,
    /// One behind the other, over and over, whichever of those outstanding is next.
    Sequential,
}

/// What is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Random bytes.
    Incompressible,
    /// Blocks of 4 KiB whose second half is zeros: a little less than 2:1 after LZ4.
    Compressible,
    /// Blocks of 4 KiB that LZ4 stores in exactly half of that: noise, then one word of it over and
    /// over.
    Half,
    /// Likewise, in a quarter.
    Quarter,
    /// Blocks of 4 KiB that are zeros but for their first 8 bytes: next to nothing after LZ4.
    Sparse,
}

/// One measurement's load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Load {
    /// Which way data go.
    pub direction: Direction,
    /// Where they go.
    pub pattern: Pattern,
    /// What they are, if they are written.
    pub content: Content,
    /// Bytes of one operation.
    pub bytes: u32,
    /// Connections, each an I/O queue.
    pub connections: u16,
    /// Operations outstanding per connection.
    pub depth: u32,
    /// Operations that are begun in a second, on all connections together, whether those before
    /// have ended or not, as long as no more than may be are outstanding. A latency counts from
    /// when its operation was to begin. Without it, each operation begins when another one ends.
    pub per_second: Option<u32>,
    /// How long nothing is counted, so that buffers are warm.
    pub warm_up: Duration,
    /// How long is measured.
    pub duration: Duration,
}

impl Load {
    /// Random places and bytes that do not compress, counted from the start and for one second.
    pub fn new(direction: Direction, bytes: u32, connections: u16, depth: u32) -> Self {
        Load {
            direction,
            pattern: Pattern::Random,
            content: Content::Incompressible,
            bytes,
            connections,
            depth,
            per_second: None,
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
        }
    }

    /// Operations outstanding on all connections.
    pub fn operations_outstanding(&self) -> u32 {
        u32::from(self.connections) * self.depth
    }
}

impl Content {
    /// `count` bytes of it, the same every time.
    pub fn bytes(self, count: usize) -> Bytes {
        let mut random = XorShift::new(count as u64);
        let mut buf = AlignedBuf::zeroed(count);
        for block in buf.chunks_mut(BLOCK_BYTES) {
            let random_bytes = match self {
                Content::Incompressible => block.len(),
                Content::Compressible => block.len() / 2,
                Content::Half => block.len() / 2 - 2 * LZ4_BYTES,
                Content::Quarter => block.len() / 4 - LZ4_BYTES,
                Content::Sparse => WORD_BYTES,
            };
            for word in block[..random_bytes].chunks_mut(WORD_BYTES) {
                word.copy_from_slice(&random.next_u64().to_le_bytes()[..word.len()]);
            }
            if matches!(self, Content::Half | Content::Quarter) {
                repeat_last_word(block, random_bytes);
            }
        }
        buf.freeze()
    }
}

/// Has the word that ends at `from` go on until the block ends.
fn repeat_last_word(block: &mut [u8], from: usize) {
    for at in from..block.len() {
        block[at] = block[at - WORD_BYTES];
    }
}

/// Draws places for a load's operations.
pub(crate) struct Places {
    pattern: Pattern,
    /// Places that there are.
    count: u64,
    next: Cell<u64>,
    random: RefCell<XorShift>,
}

impl Places {
    /// Draws from `count` places: others than any before it in this process. Who overwrites the
    /// same places in the same order round by round leaves whole segments without anything that
    /// lives, and collection with nothing to do.
    pub(crate) fn new(pattern: Pattern, count: u64) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let random = XorShift::new(NUMBER.fetch_add(1, Ordering::Relaxed));
        Places { pattern, count, next: Cell::new(0), random: RefCell::new(random) }
    }

    /// The next operation's place.
    pub(crate) fn draw(&self) -> u64 {
        match self.pattern {
            Pattern::Random => self.random.borrow_mut().below(self.count),
            Pattern::Sequential => self.next.replace((self.next.get() + 1) % self.count),
        }
    }
}

#[cfg(test)]
mod tests;
