//! Blocks to fragments and back: zero detection, LZ4, checksums.

use std::cell::RefCell;

use ashlar_block::{AlignedBuf, BLOCK_BYTES};
use bytes::Bytes;
use lz4_flex::block::{CompressTable, compress_into_with_table};
use smallvec::SmallVec;

use crate::format::codec::crc32c;
use crate::format::location::{Codec, SLOT_BYTES};

/// A compressed block must be at least this much smaller than the raw one: below that it would save little space
/// and cost a decompression at every read.
const SAVED_BYTES_MIN: usize = BLOCK_BYTES / 8;
const COMPRESSED_BYTES_MAX: usize = BLOCK_BYTES - SAVED_BYTES_MIN;

/// A block ready to be stored.
#[derive(Clone, Debug)]
pub struct Fragment {
    /// What is stored.
    pub bytes: Bytes,
    /// How it is to be read.
    pub codec: Codec,
    /// CRC32C of `bytes`.
    pub crc: u32,
}

impl Fragment {
    /// Slots that it takes.
    pub fn slots(&self) -> usize {
        self.bytes.len().div_ceil(SLOT_BYTES)
    }

    fn new(bytes: Bytes, codec: Codec) -> Self {
        let crc = crc32c(&bytes);
        Fragment { bytes, codec, crc }
    }
}

/// Blocks of a command whose fragments are listed without an allocation.
const BLOCKS_INLINE: usize = 2;

/// What is stored for the blocks of one command.
pub type Fragments = SmallVec<[Option<Fragment>; BLOCKS_INLINE]>;

/// Compresses the blocks of one command. `None` stands for a block of zeros.
pub fn compress_blocks(data: &Bytes, compression: bool) -> Fragments {
    assert!(data.len().is_multiple_of(BLOCK_BYTES), "{} bytes are not whole blocks", data.len());
    if !compression {
        return blocks(data)
            .map(|block| (!is_zero(&block)).then(|| Fragment::new(block, Codec::Raw)))
            .collect();
    }
    // One buffer for the compressed forms of all blocks, cut apart at the end.
    let mut arena = AlignedBuf::stale(data.len() / BLOCK_BYTES * COMPRESSED_BYTES_MAX + codec_room());
    let mut used = 0;
    let pieces: SmallVec<[Piece; BLOCKS_INLINE]> = blocks(data)
        .map(|block| {
            if is_zero(&block) {
                return Piece::Zero;
            }
            match compress_into(&block, &mut arena[used..used + codec_room()]) {
                Some(bytes) if bytes <= COMPRESSED_BYTES_MAX => {
                    used += bytes;
                    Piece::Compressed(used - bytes..used)
                }
                _ => Piece::Raw(block),
            }
        })
        .collect();
    let arena = if used == 0 { Bytes::new() } else { arena.freeze() };
    pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Zero => None,
            Piece::Raw(block) => Some(Fragment::new(block, Codec::Raw)),
            Piece::Compressed(range) => Some(Fragment::new(arena.slice(range), Codec::Lz4)),
        })
        .collect()
}

thread_local! {
    /// The codec's memory of what it has seen: cleared for each block, allocated once.
    static CODEC_TABLE: RefCell<CompressTable> = RefCell::new(CompressTable::small());
}

fn compress_into(block: &[u8], out: &mut [u8]) -> Option<usize> {
    CODEC_TABLE.with_borrow_mut(|table| compress_into_with_table(block, out, table)).ok()
}

enum Piece {
    Zero,
    Raw(Bytes),
    Compressed(std::ops::Range<usize>),
}

/// Room that the codec wants for one block, whatever comes of it.
const fn codec_room() -> usize {
    lz4_flex::block::get_maximum_output_size(BLOCK_BYTES)
}

fn blocks(data: &Bytes) -> impl Iterator<Item = Bytes> + '_ {
    (0..data.len()).step_by(BLOCK_BYTES).map(|at| data.slice(at..at + BLOCK_BYTES))
}

fn is_zero(block: &[u8]) -> bool {
    block.chunks_exact(64).all(|chunk| chunk.iter().fold(0, |sum, byte| sum | byte) == 0)
}

/// What is done to the bytes of blocks on their way to the drives and back, for benchmarks.
pub mod codec {
    use ashlar_block::BLOCK_BYTES;
    use bytes::Bytes;

    use super::{Codec, Fragment, compress_blocks, crc32c, decompress_block};

    /// Blocks in the form in which they are stored.
    pub struct Stored(Vec<Fragment>);

    impl Stored {
        /// Compresses whole blocks, if `compression`, and computes their checksums. Blocks of zeros are left out.
        pub fn of(data: &Bytes, compression: bool) -> Self {
            Stored(compress_blocks(data, compression).into_iter().flatten().collect())
        }

        /// Bytes that are stored.
        pub fn bytes(&self) -> usize {
            self.0.iter().map(|fragment| fragment.bytes.len()).sum()
        }

        /// Checks every block, and decompresses those that are compressed into `out`. Whether all were right.
        pub fn read(&self, out: &mut [u8; BLOCK_BYTES]) -> bool {
            self.0.iter().all(|fragment| {
                let is_right = crc32c(&fragment.bytes) == fragment.crc;
                is_right
                    && (fragment.codec == Codec::Raw
                        || decompress_block(&fragment.bytes, fragment.codec, out))
            })
        }
    }
}

/// A page of the maps as a fragment.
pub fn compress_page(page: Vec<u8>) -> Fragment {
    let compressed = lz4_flex::block::compress(&page);
    // A page's length is not fixed, so the raw length goes before the compressed bytes.
    if compressed.len() + 2 + SLOT_BYTES <= page.len() {
        let mut bytes = (page.len() as u16).to_le_bytes().to_vec();
        bytes.extend_from_slice(&compressed);
        return Fragment::new(bytes.into(), Codec::Lz4);
    }
    Fragment::new(page.into(), Codec::Raw)
}

/// The page that a stored fragment holds.
pub fn decompress_page(stored: &[u8], codec: Codec) -> Option<Vec<u8>> {
    match codec {
        Codec::Raw => Some(stored.to_vec()),
        Codec::Lz4 => {
            let (length, rest) = stored.split_first_chunk()?;
            let length = usize::from(u16::from_le_bytes(*length));
            lz4_flex::block::decompress(rest, length).ok().filter(|page| page.len() == length)
        }
    }
}

/// Writes the block that a stored fragment holds to `out`, which is one block long. False if the fragment, though
/// its checksum is right, is not one.
pub fn decompress_block(stored: &[u8], codec: Codec, out: &mut [u8]) -> bool {
    match codec {
        Codec::Raw if stored.len() == out.len() => {
            out.copy_from_slice(stored);
            true
        }
        Codec::Raw => false,
        Codec::Lz4 => lz4_flex::block::decompress_into(stored, out).is_ok_and(|bytes| bytes == out.len()),
    }
}

#[cfg(test)]
mod tests;
