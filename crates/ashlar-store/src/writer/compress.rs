//! Blocks to fragments: zero detection, LZ4 and zstd, checksums.

mod noise;

use std::cell::RefCell;
use std::ops::Deref;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, copies};
use ashlar_format::codec::crc32c;
use ashlar_format::compression::{Compression, ZstdLevel};
use ashlar_format::dictionary;
use ashlar_format::ids::DictionaryNumber;
use ashlar_format::location::{Codec, SLOT_BYTES};
use bytes::Bytes;
use lz4_flex::block::{CompressTable, compress_into_with_table};
use noise::is_noise;
pub use noise::{Streak, Streaks};

use crate::base::zstd::{self, DictionaryCompressor};

/// A compressed block must be at least this much smaller than the raw one: below that it would save
/// little space and cost a decompression at every read.
const SAVED_BYTES_MIN: usize = BLOCK_BYTES / 8;
const COMPRESSED_BYTES_MAX: usize = BLOCK_BYTES - SAVED_BYTES_MIN;

/// A block ready to be stored.
#[derive(Debug)]
pub struct Fragment {
    /// What is stored.
    pub bytes: FragmentBytes,
    /// How it is to be read.
    pub codec: Codec,
    /// CRC32C of `bytes`.
    pub crc: u32,
}

/// The bytes of a fragment.
#[derive(Debug)]
pub enum FragmentBytes {
    /// A part of what a host has sent, or of what was read with its neighbours.
    Shared(Bytes),
    /// Memory of its own, which is recycled.
    Own(AlignedBuf),
}

impl Deref for FragmentBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            FragmentBytes::Shared(bytes) => bytes,
            FragmentBytes::Own(bytes) => bytes,
        }
    }
}

impl Fragment {
    /// Slots that it takes.
    pub fn slots(&self) -> usize {
        self.bytes.len().div_ceil(SLOT_BYTES)
    }

    /// The same in memory of its own. Who keeps a fragment after its write was answered must not
    /// keep what a host's data was received in from others.
    pub fn detached(self) -> Self {
        match self.bytes {
            FragmentBytes::Shared(bytes) => {
                copies::note(bytes.len());
                Fragment { bytes: FragmentBytes::Own(AlignedBuf::copy_of(&bytes)), ..self }
            }
            FragmentBytes::Own(_) => self,
        }
    }

    fn new(bytes: FragmentBytes, codec: Codec) -> Self {
        let crc = crc32c(&bytes);
        Fragment { bytes, codec, crc }
    }
}

/// Blocks of a write that are compressed in one turn, for whose end all hosts of the pool wait: in
/// half a millisecond or so, but one at least. By anything faster than zstd a whole command takes
/// no longer than that.
pub const fn blocks_in_a_turn(compression: Compression) -> usize {
    match compression {
        Compression::Zstd(level) => match level.get() {
            1..=4 => 16,
            5..=9 => 4,
            _ => 1,
        },
        Compression::None | Compression::Lz4 | Compression::Auto => COMMAND_BLOCKS,
    }
}

/// More than any command has.
const COMMAND_BLOCKS: usize = 1 << 20;

/// What is stored for these blocks, one after the other. `None` stands for a block of zeros.
pub fn compress_blocks(
    data: &Bytes,
    compression: Compression,
) -> impl Iterator<Item = Option<Fragment>> {
    let mut streak = Streak::default();
    blocks(data).map(move |block| compress_block(block, compression, &mut streak))
}

/// The same for blocks that come after others of their volume, and after this streak of noise.
pub fn compress_next_blocks(
    data: &Bytes,
    compression: Compression,
    streak: &mut Streak,
) -> impl Iterator<Item = Option<Fragment>> {
    blocks(data).map(move |block| compress_block(block, compression, streak))
}

fn blocks(data: &Bytes) -> impl Iterator<Item = Bytes> {
    assert!(data.len().is_multiple_of(BLOCK_BYTES), "{} bytes are not whole blocks", data.len());
    (0..data.len()).step_by(BLOCK_BYTES).map(|at| data.slice(at..at + BLOCK_BYTES))
}

fn compress_block(block: Bytes, compression: Compression, streak: &mut Streak) -> Option<Fragment> {
    if is_zero(&block) {
        return None;
    }
    let is_tried = compression.compresses() && !streak.goes_on(&block);
    let compressed = if is_tried { compressed_block(&block, compression) } else { None };
    Some(compressed.unwrap_or_else(|| Fragment::new(FragmentBytes::Shared(block), Codec::Raw)))
}

/// The block as it is stored when a host writes it, if it compresses well enough.
fn compressed_block(block: &[u8], compression: Compression) -> Option<Fragment> {
    match compression {
        Compression::None => None,
        Compression::Lz4 | Compression::Auto => {
            let bytes = compress(block, COMPRESSED_BYTES_MAX, AlignedBuf::copy_of)?;
            Some(Fragment::new(FragmentBytes::Own(bytes), Codec::Lz4))
        }
        Compression::Zstd(level) => by_zstd(block, level, COMPRESSED_BYTES_MAX),
    }
}

/// The block as zstd stores it, if that has no more than `bytes_max`.
fn by_zstd(block: &[u8], level: ZstdLevel, bytes_max: usize) -> Option<Fragment> {
    behind(&[], Codec::Zstd, bytes_max, |out| zstd::compress(level, block, out))
}

/// What `compress` makes behind a head, if both have no more than `bytes_max`.
fn behind(
    head: &[u8],
    codec: Codec,
    bytes_max: usize,
    compress: impl FnOnce(&mut [u8]) -> Option<usize>,
) -> Option<Fragment> {
    WORKBENCH.with_borrow_mut(|Workbench { out, .. }| {
        let (start, rest) = out[..bytes_max].split_at_mut(head.len());
        start.copy_from_slice(head);
        let bytes = head.len() + compress(rest)?;
        copies::note(bytes);
        let bytes = AlignedBuf::copy_of(&out[..bytes]);
        Some(Fragment::new(FragmentBytes::Own(bytes), codec))
    })
}

/// Bytes of so many slots, as far as a compressed block may have them.
fn bytes_of(slots_max: usize) -> usize {
    (slots_max * SLOT_BYTES).min(COMPRESSED_BYTES_MAX)
}

/// A block as zstd stores it, in at most so many slots. None: it needs more.
pub fn compress_anew(block: &[u8], level: ZstdLevel, slots_max: usize) -> Option<Fragment> {
    if is_noise(block) { None } else { by_zstd(block, level, bytes_of(slots_max)) }
}

/// A block as zstd stores it by a dictionary, in at most so many slots. None: it needs more.
pub fn compress_by(
    (number, dictionary): (DictionaryNumber, &mut DictionaryCompressor),
    block: &[u8],
    slots_max: usize,
) -> Option<Fragment> {
    let head = dictionary::head(number);
    let compress = |out: &mut [u8]| dictionary.compress(block, out);
    if is_noise(block) { None } else { behind(&head, Codec::Named, bytes_of(slots_max), compress) }
}

/// Room that the codec wants for one block, whatever comes of it.
const CODEC_ROOM: usize = lz4_flex::block::get_maximum_output_size(BLOCK_BYTES);

/// What the codec works with: its memory of what it has seen, cleared for each block, and its
/// output.
struct Workbench {
    table: CompressTable,
    out: [u8; CODEC_ROOM],
}

thread_local! {
    static WORKBENCH: RefCell<Workbench> =
        RefCell::new(Workbench { table: CompressTable::small(), out: [0; CODEC_ROOM] });
}

/// What `keep` makes of the compressed form of at most a block, if that has no more than
/// `bytes_max`.
fn compress<T>(raw: &[u8], bytes_max: usize, keep: impl FnOnce(&[u8]) -> T) -> Option<T> {
    assert!(raw.len() <= BLOCK_BYTES, "{} bytes are more than a block", raw.len());
    WORKBENCH.with_borrow_mut(|Workbench { table, out }| {
        let bytes = compress_into_with_table(raw, out, table).ok()?;
        (bytes <= bytes_max).then(|| {
            copies::note(bytes);
            keep(&out[..bytes])
        })
    })
}

fn is_zero(block: &[u8]) -> bool {
    block.chunks_exact(64).all(|chunk| chunk.iter().fold(0, |sum, byte| sum | byte) == 0)
}

/// A page of the maps as a fragment.
pub fn compress_page(page: Vec<u8>) -> Fragment {
    // A page's length is not fixed, so the raw length goes before the compressed bytes.
    let length = (page.len() as u16).to_le_bytes();
    let bytes_max = page.len().saturating_sub(length.len() + SLOT_BYTES);
    match compress(&page, bytes_max, |compressed| [&length[..], compressed].concat()) {
        Some(bytes) => Fragment::new(FragmentBytes::Shared(bytes.into()), Codec::Lz4),
        None => raw_page(page),
    }
}

/// The same as it is.
pub fn raw_page(page: Vec<u8>) -> Fragment {
    Fragment::new(FragmentBytes::Shared(page.into()), Codec::Raw)
}

#[cfg(test)]
mod tests;
