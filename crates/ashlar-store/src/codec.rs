//! What is done to the bytes of blocks on their way to the drives and back, for estimates and
//! benchmarks.

use ashlar_block::BLOCK_BYTES;
use ashlar_format::codec::crc32c;
use ashlar_format::compression::Compression;
use ashlar_format::location::{Codec, SLOT_BYTES};
use bytes::Bytes;

use crate::jobs::recompress::policy::level_for;
use crate::jobs::recompress::recoded;
use crate::reader::decompress::decompress_block;
use crate::writer::compress::{Fragment, compress_anew, compress_blocks};

/// Blocks in the form in which they are stored.
pub struct Stored(Vec<Fragment>);

impl Stored {
    /// Compresses whole blocks as when hosts write them, and computes their checksums. Blocks of
    /// zeros are left out.
    pub fn of(data: &Bytes, compression: Compression) -> Self {
        Stored(compress_blocks(data, compression).flatten().collect())
    }

    /// The same once they are cold, and collection has moved them.
    pub fn become_cold(self, compression: Compression) -> Self {
        let cold = |fragment: Fragment| {
            let level = level_for(compression, fragment.codec);
            let by_level = |level| {
                let compress = |block: &[u8], slots_max| compress_anew(block, level, slots_max);
                recoded(&fragment, |_| None, compress)
            };
            level.and_then(by_level).unwrap_or(fragment)
        };
        Stored(self.0.into_iter().map(cold).collect())
    }

    /// Blocks that are stored.
    pub fn blocks(&self) -> usize {
        self.0.len()
    }

    /// Bytes that are stored.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|fragment| fragment.bytes.len()).sum()
    }

    /// Bytes of the slots that they take.
    pub fn slot_bytes(&self) -> usize {
        self.0.iter().map(|fragment| fragment.slots() * SLOT_BYTES).sum()
    }

    /// Checks every block, and decompresses those that are compressed into `out`. Whether all were
    /// right.
    pub fn read(&self, out: &mut [u8; BLOCK_BYTES]) -> bool {
        self.0.iter().all(|fragment| {
            let is_right = crc32c(&fragment.bytes) == fragment.crc;
            is_right
                && (fragment.codec == Codec::Raw
                    || decompress_block(&fragment.bytes, fragment.codec, |_| None, out))
        })
    }
}
