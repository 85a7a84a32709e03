//! The label of a drive whose both ends were overwritten, by a partition table for one: it is
//! written anew from the copy before the first chunk.
//!
//! Nothing does this by itself. A drive that was given to something else may have that copy still.

use ashlar_block::{AlignedBuf, ByteSize, Device, DeviceError, DriveId, Durability, SECTOR_BYTES};
use ashlar_format::superblock::{Superblock, SuperblockError};

use crate::members::create::write_superblock;

/// Why a drive's label is not restored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RestoreError {
    /// It has one.
    #[error("it carries the label of {0} of pool '{1}': there is nothing to be restored")]
    IsLabelled(DriveId, String),
    /// The copy before its first chunk is none.
    #[error("no copy of a label is left on it, where partition tools do not write either: {0}")]
    NoCopy(SuperblockError),
    /// The copy is of a drive of another size.
    #[error(
        "the copy of a label on it is of a drive of {}, and it has {}: it may be of a drive that was copied here",
        ByteSize(*copied_bytes), ByteSize(*bytes)
    )]
    OtherSize {
        /// The size that the copy says.
        copied_bytes: u64,
        /// The drive's.
        bytes: u64,
    },
    /// It cannot be read or written.
    #[error("{0}")]
    Drive(#[from] DeviceError),
}

/// What the copy of a drive's label says that partition tools do not reach, if both others are
/// gone.
///
/// # Errors
/// [`RestoreError`].
pub async fn label_to_restore<D: Device>(drive: &D) -> Result<Superblock, RestoreError> {
    let bytes = drive.size_bytes();
    let read = async |offset: u64| {
        let (read, sector) = drive.read(offset, AlignedBuf::stale(SECTOR_BYTES)).await;
        read.map(|()| Superblock::decode(&sector))
    };
    let [first, second, inside] = Superblock::offsets(bytes);
    for outer in [first, second] {
        if let Ok(label) = read(outer).await? {
            return Err(RestoreError::IsLabelled(label.drive, label.pool_name));
        }
    }
    let label = read(inside).await?.map_err(RestoreError::NoCopy)?;
    if label.drive_bytes != bytes {
        return Err(RestoreError::OtherSize { copied_bytes: label.drive_bytes, bytes });
    }
    Ok(label)
}

/// Writes a drive's label anew from the copy that partition tools do not reach. What they have
/// written at both ends of the drive is gone then; no chunk lies there. Returns the label.
///
/// # Errors
/// [`RestoreError`]; nothing is written then, unless writing failed.
pub async fn restore_label<D: Device>(drive: &D) -> Result<Superblock, RestoreError> {
    let label = label_to_restore(drive).await?;
    let tail = label.drive_bytes / SECTOR_BYTES as u64 * SECTOR_BYTES as u64 - Superblock::TAIL_BYTES;
    for (offset, bytes) in [(0, Superblock::root_offset(0)), (tail, Superblock::TAIL_BYTES)] {
        let zeros = AlignedBuf::zeroed(bytes as usize).freeze();
        drive.write(offset, zeros, Durability::Stable).await?;
    }
    write_superblock(drive, &label).await?;
    Ok(label)
}

#[cfg(test)]
mod tests;
