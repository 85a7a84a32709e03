//! Room of a pool.

use ashlar_block::{ByteSize, counted_are};
use ashlar_control::types::{AfterLoss, Pool};
use ashlar_store::{self as store, PoolStatus, WorstLoss};

use super::ratio;

const BLOCK_BYTES: u64 = ashlar_block::BLOCK_BYTES as u64;
/// What the record of a block takes.
const RECORD_BYTES: u64 = ashlar_store::format::header::RECORD_BYTES as u64;

/// The pool with its figures; hosts have written so much to it, of which so much is stored.
pub fn figures(pool: Pool, status: &PoolStatus, written_bytes: u64, stored_bytes: u64) -> Pool {
    let PoolStatus { space, capacity, .. } = status;
    Pool {
        raw_bytes: Some(space.raw),
        usable_bytes: Some(space.usable),
        limit_bytes: Some(space.limit),
        reserve_bytes: Some(space.reserve),
        reserve_released: Some(space.reserve_released),
        garbage_bytes: Some(space.garbage),
        free_bytes: Some(space.free),
        free_raw_bytes: Some(space.uses.free_raw),
        parity_bytes: Some(space.uses.parity),
        map_bytes: Some(space.uses.map),
        physical_used_bytes: Some(space.live),
        logical_used_bytes: Some(written_bytes),
        stored_bytes: Some(stored_bytes),
        zero_bytes: Some(capacity.promised.saturating_sub(written_bytes)),
        compression_ratio: ratio(written_bytes, stored_bytes),
        promised_bytes: Some(capacity.promised),
        formatted_bytes: Some(capacity.formatted()),
        formatted_ratio: Some(capacity.factor().as_f64()),
        provisioned_bytes: Some(capacity.provisioned),
        safe_to_format_bytes: Some(capacity.safe),
        ..pool
    }
}

/// What hosts can write of blocks that do not compress, where so much can be stored.
pub fn safe_noise(safe_bytes: u64) -> u64 {
    safe_bytes / (BLOCK_BYTES + RECORD_BYTES) * BLOCK_BYTES
}

/// What hosts can write of blocks that compress as those that are stored, where so much can be
/// stored. None: nothing is.
pub fn safe_alike(safe_bytes: u64, written_bytes: u64, stored_bytes: u64) -> Option<u64> {
    let blocks = u128::from(written_bytes / BLOCK_BYTES);
    let each = u128::from(stored_bytes).checked_div(blocks)? + u128::from(RECORD_BYTES);
    let bytes = u128::from(safe_bytes) / each * u128::from(BLOCK_BYTES);
    Some(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// What would be without a drive.
pub fn after_loss(worst: WorstLoss) -> AfterLoss {
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
