//! CRC32C, as header and data digests have it (section 3.4.1: seed and final value inverted, little-endian).

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// Bytes of a digest on the wire.
pub const DIGEST_BYTES: usize = 4;

/// The CRC32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// A payload's digest, computed as its bytes come.
#[derive(Clone)]
pub struct DataDigest(Digest);

impl Default for DataDigest {
    fn default() -> Self {
        DataDigest(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }
}

impl DataDigest {
    /// Takes the next bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far, as it stands on the wire.
    pub fn to_bytes(&self) -> [u8; DIGEST_BYTES] {
        (self.0.finalize() as u32).to_le_bytes()
    }
}
