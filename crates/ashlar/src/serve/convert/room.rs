//! Room of a pool.

use ashlar_block::{ByteSize, counted_are};
use ashlar_control::types::{AfterLoss, PoolSpace};
use ashlar_store::{self as store, PoolStatus, WorstLoss};

use super::ratio;

const BLOCK_BYTES: u64 = ashlar_block::BLOCK_BYTES as u64;
/// What the record of a block takes.
const RECORD_BYTES: u64 = ashlar_store::format::header::RECORD_BYTES as u64;

/// What is known of a pool's room besides what the store reports.
#[derive(Clone, Copy)]
pub struct RoomKnown {
    /// What hosts have written to its volumes.
    pub written_bytes: u64,
    /// What is stored of that.
    pub stored_bytes: u64,
    /// It takes no writes.
    pub is_read_only: bool,
    /// How long it is until it is full.
    pub full_in_seconds: Option<u64>,
}

/// The room of a pool.
pub fn space(status: &PoolStatus, known: RoomKnown) -> PoolSpace {
    let PoolStatus { space, capacity, .. } = status;
    let RoomKnown { written_bytes, stored_bytes, is_read_only, full_in_seconds } = known;
    let safe_bytes = if is_read_only { 0 } else { space.safe_to_write };
    PoolSpace {
        raw_bytes: space.raw,
        usable_bytes: space.usable,
        limit_bytes: space.limit,
        reserve_bytes: space.reserve,
        reserve_released: space.reserve_released,
        physical_used_bytes: space.live,
        logical_used_bytes: written_bytes,
        stored_bytes,
        zero_bytes: capacity.promised.saturating_sub(written_bytes),
        map_bytes: space.uses.map,
        parity_bytes: space.uses.parity,
        garbage_bytes: space.garbage,
        free_bytes: space.free,
        free_raw_bytes: space.uses.free_raw,
        compression_ratio: ratio(written_bytes, stored_bytes),
        promised_bytes: capacity.promised,
        provisioned_bytes: capacity.provisioned,
        formatted_bytes: capacity.formatted(),
        formatted_ratio: capacity.factor().as_f64(),
        safe_to_format_bytes: capacity.safe,
        safe_to_write_bytes: safe_bytes,
        safe_noise_bytes: safe_noise(safe_bytes),
        safe_alike_bytes: safe_alike(safe_bytes, written_bytes, stored_bytes),
        full_in_seconds,
        after_loss: status.worst_loss.map(after_loss),
        out_of_space: is_full(status, is_read_only),
        map_memory_bytes: status.map_bytes,
    }
}

/// Whether new data is refused for lack of space. A pool that takes none for another reason has
/// little room as well, but trimming and deleting do not help it.
pub fn is_full(status: &PoolStatus, is_read_only: bool) -> bool {
    status.space.full && !is_read_only
}

/// What hosts can write of blocks that do not compress, where so much can be stored.
fn safe_noise(safe_bytes: u64) -> u64 {
    safe_bytes / (BLOCK_BYTES + RECORD_BYTES) * BLOCK_BYTES
}

/// What hosts can write of blocks that compress as those that are stored, where so much can be
/// stored. None: nothing is.
fn safe_alike(safe_bytes: u64, written_bytes: u64, stored_bytes: u64) -> Option<u64> {
    let blocks = u128::from(written_bytes / BLOCK_BYTES);
    let each = u128::from(stored_bytes).checked_div(blocks)? + u128::from(RECORD_BYTES);
    let bytes = u128::from(safe_bytes) / each * u128::from(BLOCK_BYTES);
    Some(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// What would be without a drive.
fn after_loss(worst: WorstLoss) -> AfterLoss {
    let drive = format!("drive-{}", worst.drive.0);
    let (mut spare_bytes, mut short_bytes) = (None, None);
    let problem = match worst.after {
        store::AfterLoss::GoesOn { spare_bytes: spare } => {
            spare_bytes = Some(spare);
            None
        }
        store::AfterLoss::Short { short_bytes: short, is_restored } => {
            short_bytes = Some(short);
            let short = ByteSize(short);
            Some(if is_restored {
                format!("without {drive} new data would be refused: {short} more live than may")
            } else {
                format!(
                    "without {drive} writes would be refused: {short} more live than may, and not all \
                     that lived on it had room on the others"
                )
            })
        }
        store::AfterLoss::TooFewDrives { left, needed } => Some(format!(
            "without {drive} {} left, and new data needs {needed}: writes would be refused",
            counted_are(left, "drive")
        )),
        store::AfterLoss::LosesData => Some(format!("without {drive} data could not be read")),
    };
    AfterLoss { survives: problem.is_none(), drive, spare_bytes, short_bytes, problem }
}

#[cfg(test)]
mod tests;
