//! The memory that a command takes at most while it is executed, in bytes: its data that do not
//! come in its capsule, and what the volume has in memory for it ([`ashlar_volume::VolumeIo`] says
//! what that is).
//!
//! All of it is reserved before the command begins: a command that held a part and waited for the
//! rest would wait for others that do the same.

use std::ops::Range;

use ashlar_block::{AlignedBuf, BLOCK_BYTES};

const BLOCK: u64 = BLOCK_BYTES as u64;

/// Bytes that a Verify has checked at a time, whatever its range.
const VERIFY_BYTES_MAX: u64 = 1 << 20;

/// A buffer of that many bytes.
pub(super) fn buffer(bytes: u64) -> u64 {
    if bytes == 0 { 0 } else { AlignedBuf::taken_bytes(bytes as usize) as u64 }
}

/// The blocks that `range`, in bytes, touches.
fn blocks(range: &Range<u64>) -> u64 {
    let first = range.start / BLOCK * BLOCK;
    buffer(range.end.next_multiple_of(BLOCK) - first)
}

fn is_whole(range: &Range<u64>) -> bool {
    range.start.is_multiple_of(BLOCK) && range.end.is_multiple_of(BLOCK)
}

/// Read, until it is sent.
pub(super) fn read(range: &Range<u64>) -> u64 {
    blocks(range)
}

/// Write, of which `bytes_to_come` do not come in the capsule. One of parts of blocks reads these
/// first, an edge at a time.
pub(super) fn write(range: &Range<u64>, bytes_to_come: u32) -> u64 {
    let read = if is_whole(range) { 0 } else { blocks(range) + BLOCK };
    buffer(bytes_to_come.into()) + read
}

/// Compare, with what is compared.
pub(super) fn compare(range: &Range<u64>, bytes_to_come: u32) -> u64 {
    buffer(bytes_to_come.into()) + blocks(range)
}

/// Compare and Write, fused: the data of both, and what is compared, which then is written.
pub(super) fn compare_and_write(range: &Range<u64>, bytes_to_come: [u32; 2]) -> u64 {
    let data: u64 = bytes_to_come.into_iter().map(|bytes| buffer(bytes.into())).sum();
    data + blocks(range)
}

/// Write Zeroes: a block that is not zeroed whole is read first, the first and then the last.
pub(super) fn write_zeroes(range: &Range<u64>) -> u64 {
    if is_whole(range) { 0 } else { buffer(BLOCK) }
}

/// The parts that a Verify is checked in, each of which is read: none touches more than the largest
/// transfer, or [`VERIFY_BYTES_MAX`].
pub(super) fn verified_parts(
    range: Range<u64>,
    transfer_bytes_max: u32,
) -> impl Iterator<Item = Range<u64>> {
    // A power of two, so that its multiples are limits of blocks.
    let step = VERIFY_BYTES_MAX.min(transfer_bytes_max.into());
    let mut left = range;
    std::iter::from_fn(move || {
        let end = (left.start / step + 1) * step;
        let part = left.start..end.min(left.end);
        left.start = part.end;
        (!part.is_empty()).then_some(part)
    })
}

/// One of [`verified_parts`].
pub(super) fn verify(part: &Range<u64>) -> u64 {
    blocks(part)
}

/// What no command exceeds, with transfers of this many bytes, a power of two, at most: a Compare
/// and Write of which neither the data come in capsules, nor the blocks are touched whole.
pub(super) const fn largest(transfer_bytes_max: u32) -> u64 {
    4 * transfer_bytes_max as u64
}

#[cfg(test)]
mod tests;
