//! Limits that more than one part keeps to.

/// Blocks of the largest volume: 1 PiB.
pub const VOLUME_BLOCKS_MAX: u64 = 1 << 38;

/// Batches of one stream that may be in flight. Part of the format: recovery's search depends on
/// it.
pub(crate) const IN_FLIGHT_MAX: usize = 8;

/// Pages that are read together, and decoded in one turn: hosts' operations wait for its end.
pub(crate) const PAGES_READ_AT_A_TIME: usize = 8;
