//! The bytes that are written: each version of each block has its own, and tells which it is.

use std::sync::LazyLock;

use ashlar_block::{BLOCK_BYTES, XorShift};

/// What was written to a block: 0 is zeros, others make content.
pub type Version = u64;

/// Block number and version.
const LABEL_BYTES: usize = 16;
const PADDING: u8 = 0x5a;
/// To compare with; comparing slices is many times faster than looking at each byte.
static PADDINGS: [u8; BLOCK_BYTES] = [PADDING; BLOCK_BYTES];
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Incompressible bytes, of which every content shows another part.
static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut rng = XorShift::new(1);
    (0..(1 << 20) / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect()
});

/// The part of a content between the label and the padding. How well it compresses depends on the version.
fn noise(block: u64, version: Version) -> &'static [u8] {
    let mut rng = XorShift::new(version.wrapping_mul(0x1_0001).wrapping_add(block));
    let noisy = match rng.below(4) {
        0 => BLOCK_BYTES,
        1 => BLOCK_BYTES - 300,
        _ => rng.below(BLOCK_BYTES as u64) as usize,
    };
    let from = rng.below((NOISE.len() - BLOCK_BYTES) as u64) as usize;
    &NOISE[from..from + noisy.saturating_sub(LABEL_BYTES)]
}

fn label(block: u64, version: Version) -> [u8; LABEL_BYTES] {
    let mut label = [0; LABEL_BYTES];
    label[..8].copy_from_slice(&block.to_le_bytes());
    label[8..].copy_from_slice(&version.to_le_bytes());
    label
}

/// Fills `bytes` with a version of a block.
pub fn fill(block: u64, version: Version, bytes: &mut [u8]) {
    if version == 0 {
        return bytes.fill(0);
    }
    let noise = noise(block, version);
    let (head, padding) = bytes.split_at_mut(LABEL_BYTES + noise.len());
    head[..LABEL_BYTES].copy_from_slice(&label(block, version));
    head[LABEL_BYTES..].copy_from_slice(noise);
    padding.fill(PADDING);
}

/// The version that these bytes are of, if they are the right bytes of one.
pub fn version_of(block: u64, bytes: &[u8]) -> Option<Version> {
    let version = Version::from_le_bytes(bytes[8..LABEL_BYTES].try_into().expect("8 bytes"));
    if version == 0 {
        return (bytes == ZEROS).then_some(0);
    }
    let noise = noise(block, version);
    let (head, padding) = bytes.split_at(LABEL_BYTES + noise.len());
    let right = head[..LABEL_BYTES] == label(block, version)
        && head[LABEL_BYTES..] == *noise
        && *padding == PADDINGS[..padding.len()];
    right.then_some(version)
}
