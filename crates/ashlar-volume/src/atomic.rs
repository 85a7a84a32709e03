//! What hosts are told of the atomicity of a volume's writes.

use ashlar_block::ByteSize;

/// The largest write that hosts are told is atomic. It changes nothing of how the store writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AtomicWrites {
    /// All that the store writes as one.
    #[default]
    Most,
    /// At most so many bytes: a power of two.
    UpTo(u32),
    /// One logical block: no host is promised less.
    Off,
}

/// Why no host can be told so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "hosts cannot be told that writes of {0} bytes are atomic: choose a power of two from \
     {least} to {most}, or off",
    least = ByteSize(AtomicWrites::BYTES_MIN.into()),
    most = ByteSize(AtomicWrites::BYTES_MAX.into())
)]
pub struct InvalidAtomic(pub u64);

impl AtomicWrites {
    /// Least bytes that can be chosen: a block of the store.
    pub const BYTES_MIN: u32 = 4 << 10;
    /// Most bytes that can be chosen: no pool writes more as one.
    pub const BYTES_MAX: u32 = 256 << 10;

    /// Writes of up to `bytes`; 0 for off.
    ///
    /// # Errors
    /// [`InvalidAtomic`].
    pub fn new(bytes: u64) -> Result<Self, InvalidAtomic> {
        let is_possible = |bytes: &u32| {
            bytes.is_power_of_two() && (Self::BYTES_MIN..=Self::BYTES_MAX).contains(bytes)
        };
        match u32::try_from(bytes) {
            Ok(0) => Ok(AtomicWrites::Off),
            Ok(bytes) if is_possible(&bytes) => Ok(AtomicWrites::UpTo(bytes)),
            _ => Err(InvalidAtomic(bytes)),
        }
    }

    /// The number that stands for it; none for all that the store writes as one.
    pub(crate) fn stored(self) -> Option<u32> {
        match self {
            AtomicWrites::Most => None,
            AtomicWrites::UpTo(bytes) => Some(bytes),
            AtomicWrites::Off => Some(0),
        }
    }

    /// Bytes that an operator is told: 0 where it is off. The store writes up to `max` as one.
    pub(crate) fn shown(self, max: u32) -> u32 {
        self.stored().map_or(max, |bytes| bytes.min(max))
    }

    /// Bytes that hosts are told, whose sectors have `lba_bytes`: a sector is always atomic.
    pub(crate) fn announced(self, lba_bytes: u32, max: u32) -> u32 {
        self.shown(max).max(lba_bytes)
    }
}

#[cfg(test)]
mod tests;
