//! When a dictionary is made, how large it is, and whether it is kept: pure functions.

use crate::base::options::Learning;

/// Bytes of a dictionary, at most: twice as many gain some percent, and double the memory that
/// each volume takes.
const DICTIONARY_BYTES_MAX: u64 = 32 << 10;
/// The same, at least: a smaller one has no room for what blocks have in common.
const DICTIONARY_BYTES_MIN: u64 = 1 << 10;

/// Bytes of all dictionaries of a pool, at most: they are in memory for as long as it is open.
/// Enough for a thousand volumes.
const POOL_BYTES_MAX: usize = 32 << 20;

/// Blocks out of which a sample is taken, at most: 256 MiB.
const WINDOW_BLOCKS_MAX: u64 = 1 << 16;
/// Part of a volume's blocks out of which one is taken: the others are to profit from it.
const WINDOW_PART: u64 = 8;

/// Bytes that a new dictionary may have where those of its volume have `of_family` already, and all
/// of the pool `of_pool`. None: too few.
pub(crate) fn dictionary_bytes(
    stored_bytes: u64,
    of_family: usize,
    of_pool: usize,
    learning: &Learning,
) -> Option<usize> {
    let left_of_family = (stored_bytes / learning.stored_part).saturating_sub(of_family as u64);
    let left = left_of_family.min(POOL_BYTES_MAX.saturating_sub(of_pool) as u64);
    (left >= DICTIONARY_BYTES_MIN).then_some(left.min(DICTIONARY_BYTES_MAX) as usize)
}

/// Whether a volume that has so many blocks, and had so many `before` when a dictionary was last
/// made for it, is to have another one.
pub(crate) fn has_grown(blocks: u64, before: u64, learning: &Learning) -> bool {
    blocks >= before.saturating_mul(learning.growth)
}

/// How many blocks of a volume have to come by before a dictionary is made.
pub(crate) fn window_blocks(blocks: u64, learning: &Learning) -> u64 {
    (blocks / WINDOW_PART).min(WINDOW_BLOCKS_MAX).max(learning.blocks_min)
}

/// Whether blocks that take `then` slots by a dictionary, and `now` without, are worth it.
pub(crate) fn pays(now: usize, then: usize, learning: &Learning) -> bool {
    (then * 100) as u64 <= now as u64 * (100 - learning.gain_percent_min)
}

#[cfg(test)]
mod tests;
