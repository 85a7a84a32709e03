//! What is stored anew, and when: pure functions.

use ashlar_format::compression::{Compression, ZstdLevel};
use ashlar_format::header::{Record, RecordKind};
use ashlar_format::ids::Family;
use ashlar_format::location::Codec;

/// Part of a fragment's slots that its new form has to save: a read of zstd costs five of LZ4.
const SAVED_PART: usize = 8;

/// Part of what may live that lives, in percent, from which on segments are emptied for this alone:
/// below it nobody needs the room, and drives wear.
const USED_PERCENT_MIN: u64 = 50;

/// The level by which a fragment of a volume is stored anew once it is cold, if that is tried.
pub(crate) fn level_for(compression: Compression, codec: Codec) -> Option<ZstdLevel> {
    match (compression, codec) {
        (_, Codec::Zstd | Codec::Named) | (Compression::None | Compression::Lz4, _) => None,
        (Compression::Zstd(level), _) => Some(level),
        (Compression::Auto, _) => Some(ZstdLevel::DEFAULT),
    }
}

/// Slots that the new form of a fragment of so many may have. None: no form saves enough.
pub(crate) fn slots_max(slots: usize) -> Option<usize> {
    let most = slots - slots.div_ceil(SAVED_PART);
    (most > 0).then_some(most)
}

/// Whether so much of `limit` lives that room becomes scarce.
pub(crate) fn is_scarce(live: u64, limit: u64) -> bool {
    live >= limit / 100 * USED_PERCENT_MIN
}

/// Whether the batch with these records says that its segment is worth emptying: a quarter of its
/// blocks are to be tried that LZ4 has compressed. What it could not compress seldom gains.
pub(crate) fn is_promising(
    records: &[Record],
    compression_of: impl Fn(Family) -> Option<Compression>,
) -> bool {
    let is_block = |record: &&Record| {
        !matches!(record.kind, RecordKind::Page(_) | RecordKind::ZeroRange { .. })
    };
    let is_tried = |record: &&Record| {
        let codec = record.location.map(|location| location.codec());
        let level = compression_of(record.key.family)
            .zip(codec)
            .and_then(|(compression, codec)| level_for(compression, codec));
        codec == Some(Codec::Lz4) && level.is_some()
    };
    let blocks = records.iter().filter(is_block);
    let (tried, all) = (blocks.clone().filter(is_tried).count(), blocks.count());
    tried > 0 && tried * 4 >= all
}

#[cfg(test)]
mod tests;
