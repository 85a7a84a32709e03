//! The bounds of volumes.

use ashlar_block::{Cause, IoError};
use bytes::Bytes;

use crate::base::limits::VOLUME_BLOCKS_MAX;

/// What may be kept with a volume: its pages fit a directory of the catalog.
const ATTRIBUTES_BYTES_MAX: usize = 1 << 20;

pub(super) fn check_attributes(attributes: &Bytes) -> Result<(), IoError> {
    if attributes.len() <= ATTRIBUTES_BYTES_MAX {
        return Ok(());
    }
    let bytes = attributes.len();
    let message = format!(
        "at most {ATTRIBUTES_BYTES_MAX} bytes are kept with a volume, not {bytes}: allow fewer hosts"
    );
    Err(IoError::new(Cause::OutOfRange, message))
}

pub(super) fn check_size(blocks: u64) -> Result<(), IoError> {
    if (1..=VOLUME_BLOCKS_MAX).contains(&blocks) {
        return Ok(());
    }
    Err(IoError::new(
        Cause::OutOfRange,
        format!("a volume has 1 to {VOLUME_BLOCKS_MAX} blocks, not {blocks}"),
    ))
}
