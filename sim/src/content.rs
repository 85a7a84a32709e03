//! The bytes that are written: each version of each block has its own, and tells which it is.

use std::ops::Range;
use std::sync::LazyLock;

use ashlar_block::{AlignedBuf, BLOCK_BYTES, XorShift};
use bytes::Bytes;

/// What was written to a block: 0 is zeros, others make content.
pub type Version = u64;

/// Block number and version.
const LABEL_BYTES: usize = 16;
const PADDING: u8 = 0x5a;
/// To compare with; comparing slices is many times faster than looking at each byte.
static PADDINGS: [u8; BLOCK_BYTES] = [PADDING; BLOCK_BYTES];
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Bytes without repetitions, of which every content shows another part. A quarter of them are of a
/// few values, of which zstd makes half, and LZ4 nothing.
static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    const BYTES: usize = 1 << 20;
    let mut rng = XorShift::new(1);
    let mut bytes: Vec<u8> = (0..BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    bytes[BYTES / 4 * 3..].iter_mut().for_each(|byte| *byte &= 0x0f);
    bytes
});

/// What the blocks of one write are like. The last digit of a version, so that a version says it by
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// A quarter does not compress, a quarter hardly, the rest more or less.
    Mixed,
    /// None compresses.
    Raw,
    /// None compresses, but for one here and there.
    RawButFew,
    /// Each takes more than half a sector, so that no two share one.
    OverHalf,
    /// Little is left of each.
    Tiny,
    /// Half of them are zeros.
    Holes,
}

impl Sort {
    pub const ALL: [Sort; 6] =
        [Sort::Mixed, Sort::Raw, Sort::RawButFew, Sort::OverHalf, Sort::Tiny, Sort::Holes];

    /// The sort of a version's blocks.
    pub fn of(version: Version) -> Self {
        Sort::ALL[(version % Sort::ALL.len() as u64) as usize]
    }

    /// The version of this sort that follows `nth - 1` others.
    pub fn version(self, nth: u64) -> Version {
        nth * Sort::ALL.len() as u64 + self as u64
    }

    /// Bytes of a block that do not compress, its label among them. `None`: it is all zeros.
    fn noisy_bytes(self, rng: &mut XorShift) -> Option<usize> {
        let any = |rng: &mut XorShift| rng.below(BLOCK_BYTES as u64) as usize;
        match self {
            Sort::Mixed => Some(match rng.below(4) {
                0 => BLOCK_BYTES,
                1 => BLOCK_BYTES - 300,
                _ => any(rng),
            }),
            Sort::RawButFew if rng.below(RAW_FOR_ONE_OTHER) == 0 => Some(any(rng)),
            Sort::Raw | Sort::RawButFew => Some(BLOCK_BYTES),
            Sort::OverHalf => Some(BLOCK_BYTES / 2 + any(rng) / 2),
            Sort::Tiny => Some(any(rng) / 8),
            Sort::Holes => (rng.below(2) == 0).then(|| any(rng)),
        }
    }
}

/// One of so many blocks of [`Sort::RawButFew`] compresses.
const RAW_FOR_ONE_OTHER: u64 = 32;

/// The part of a content between the label and the padding. `None`: it is all zeros.
fn noise(block: u64, version: Version) -> Option<&'static [u8]> {
    if version == 0 {
        return None;
    }
    let mut rng = XorShift::new(version.wrapping_mul(0x1_0001).wrapping_add(block));
    let noisy = Sort::of(version).noisy_bytes(&mut rng)?;
    let from = rng.below((NOISE.len() - BLOCK_BYTES) as u64) as usize;
    Some(&NOISE[from..from + noisy.saturating_sub(LABEL_BYTES)])
}

/// What a block reads as once this version of it was written: the version, or 0 where that leaves
/// zeros.
pub fn shown(block: u64, version: Version) -> Version {
    if noise(block, version).is_some() { version } else { 0 }
}

fn label(block: u64, version: Version) -> [u8; LABEL_BYTES] {
    let mut label = [0; LABEL_BYTES];
    label[..8].copy_from_slice(&block.to_le_bytes());
    label[8..].copy_from_slice(&version.to_le_bytes());
    label
}

/// Fills `bytes` with a version of a block.
pub fn fill(block: u64, version: Version, bytes: &mut [u8]) {
    let Some(noise) = noise(block, version) else { return bytes.fill(0) };
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
    let noise = noise(block, version)?;
    let (head, padding) = bytes.split_at(LABEL_BYTES + noise.len());
    let right = head[..LABEL_BYTES] == label(block, version)
        && head[LABEL_BYTES..] == *noise
        && *padding == PADDINGS[..padding.len()];
    right.then_some(version)
}

/// The bytes of one version of these blocks.
pub fn content_of(blocks: &Range<u64>, version: Version) -> Bytes {
    let mut bytes = AlignedBuf::stale((blocks.end - blocks.start) as usize * BLOCK_BYTES);
    for (block, bytes) in blocks.clone().zip(bytes.chunks_mut(BLOCK_BYTES)) {
        fill(block, version, bytes);
    }
    bytes.freeze()
}
