//! How much relocation moves at a time: pure functions of the state of the pool.

use ashlar_block::SECTOR_BYTES;

/// Rows that a step copies where drives have to seek to each column: reading a MiB takes about as
/// long as getting there, and hosts wait behind it.
const SPINNING_ROWS: u32 = 256;

/// Rows that a step copies of flash: what hosts ask for waits behind them, in the drives' queues.
const FLASH_ROWS: u32 = 16;

/// The same where no share of the time is to be left to hosts.
const FLASH_ROWS_ALONE: u32 = 32;

/// The parts of a segment's rows that a step copies at most: where chunks are small a lane is to
/// have steps all the same, or hosts would wait for all of it.
const STEPS_MIN: u32 = 4;

/// Most bytes that lanes have in memory, all together.
const MEMORY_BYTES_MAX: usize = 256 << 20;

/// Of what a lane reads it holds one step, and the beginning of the next.
const STEPS_IN_MEMORY: usize = 2;

/// Steps that a lane reads ahead where no share of the time is to be left to hosts.
const STEPS_AHEAD: usize = 2;

/// Columns that are relocated at least until a root says where they are.
const UNSETTLED_COLUMNS_MIN: u64 = 64;

/// The part of the pool that is copied again after a crash, at most.
const UNSETTLED_DIVISOR: u64 = 100;

/// Bytes that are copied again after a crash, at most, however large the pool.
const UNSETTLED_BYTES_MAX: u64 = 4 << 30;

/// The whole of the time, in thousandths.
const SHARE_WHOLE: u16 = 1000;

/// All that the pace of lanes depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions {
    /// Drives that columns may go to.
    pub drives: usize,
    /// Columns of the widest stripe on them.
    pub columns: usize,
    /// Some of them have to seek.
    pub is_spinning: bool,
    /// Part of the time that relocations may have, in thousandths.
    pub share: u16,
    pub segment_rows: u32,
    /// What they may have in memory.
    pub memory_bytes: usize,
}

/// How many lanes go on at a time, and how much each copies in a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pacing {
    pub lanes_max: usize,
    pub step_rows: u32,
    /// Steps that each reads ahead.
    pub steps_ahead: usize,
}

/// How many lanes keep all drives at work. A lane has something to do for each drive of a stripe,
/// and nothing for the others. Alone it reads ahead: one lane keeps drives busy that seek, and a
/// second one on the same drives would have them seek for each step; of flash it takes two. Where
/// hosts are to have a share of the time one is enough: two that meet on a drive would have hosts
/// wait for both.
pub(crate) fn pacing(now: &Conditions) -> Pacing {
    let is_alone = now.share >= SHARE_WHOLE;
    let lanes_for_stripe = if is_alone && !now.is_spinning { 2 } else { 1 };
    let lanes_wanted = (now.drives / now.columns.max(1)).max(1) * lanes_for_stripe;
    let rows_wanted = match (now.is_spinning, is_alone) {
        (true, _) => SPINNING_ROWS.min(now.segment_rows),
        (false, true) => FLASH_ROWS_ALONE.min(now.segment_rows / STEPS_MIN),
        (false, false) => FLASH_ROWS.min(now.segment_rows / STEPS_MIN),
    };
    let steps_ahead = if is_alone { STEPS_AHEAD } else { 0 };
    let row_bytes = now.columns.max(1) * SECTOR_BYTES * (STEPS_IN_MEMORY + steps_ahead);
    let rows_in_memory = now.memory_bytes.min(MEMORY_BYTES_MAX) / row_bytes;
    let step_rows = rows_wanted
        .min((rows_in_memory / lanes_wanted) as u32)
        .max(FLASH_ROWS.min(rows_wanted))
        .max(1);
    let lanes_max = lanes_wanted.min(rows_in_memory / step_rows as usize).max(1);
    Pacing { lanes_max, step_rows, steps_ahead }
}

/// Columns that may be relocated until a root says where they are. `moved_max`: those that one
/// checkpoint has room to say it of.
pub(crate) fn unsettled_columns_max(
    chunks_total: u64,
    chunk_bytes: u64,
    moved_max: usize,
) -> usize {
    let of_pool = chunks_total / UNSETTLED_DIVISOR;
    let most = (UNSETTLED_BYTES_MAX / chunk_bytes).min(moved_max as u64);
    of_pool.min(most).max(UNSETTLED_COLUMNS_MIN) as usize
}

#[cfg(test)]
mod tests;
