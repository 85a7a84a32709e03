//! CRC32C, as header and data digests have it (section 3.4.1: seed and final value inverted,
//! little-endian).

use crc_fast::{CrcAlgorithm, Digest, checksum};

/// Bytes of a digest on the wire.
pub const DIGEST_BYTES: usize = 4;

/// The CRC32C of `bytes`.
pub fn crc32c(bytes: &[u8]) -> u32 {
    checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// A payload's digest, computed as its bytes come. Of nothing, and of whatever has the digest of
/// nothing, it is 0.
#[derive(Clone, Copy, Default)]
pub struct DataDigest(u32);

impl DataDigest {
    /// Takes the next bytes in.
    pub fn update(&mut self, bytes: &[u8]) {
        // Most payloads come in one piece, which takes no state that would have to be set up for
        // each.
        self.0 = if self.0 == 0 { crc32c(bytes) } else { continued(self.0, bytes) };
    }

    /// The digest of all bytes so far, as it stands on the wire.
    pub fn to_bytes(&self) -> [u8; DIGEST_BYTES] {
        self.0.to_le_bytes()
    }
}

/// The CRC32C of what has the CRC32C `before`, and of `bytes` behind it.
fn continued(before: u32, bytes: &[u8]) -> u32 {
    let mut digest = Digest::new_with_init_state(CrcAlgorithm::Crc32Iscsi, u64::from(!before));
    digest.update(bytes);
    digest.finalize() as u32
}

#[cfg(test)]
mod tests;
