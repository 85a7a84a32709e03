//! Restores the label of a drive whose both ends were overwritten, for example by a partition
//! table, from the copy before the first chunk.
//!
//! This happens only when somebody asks for it: a drive that was given to something else may still
//! have that copy.

use ashlar_block::{AlignedBuf, ByteSize, Device, DeviceError, DriveId, Durability, SECTOR_BYTES};
use ashlar_format::superblock::{Superblock, SuperblockError};

use crate::members::create::write_superblock;

/// Why a drive's label is not restored.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RestoreError {
    /// It has one.
    #[error("it carries the label of {0} of pool '{1}': there is nothing to restore")]
    IsLabelled(DriveId, String),
    /// A label is there that this Ashlar cannot use.
    #[error("it carries a label: {0}")]
    NotUsable(SuperblockError),
    /// The copy before its first chunk is none.
    #[error("it holds no copy of a label either, where partition tools do not write: {0}")]
    NoCopy(SuperblockError),
    /// The copy is of a drive of another size.
    #[error(
        "the copy of a label on it names a drive of {}, and this drive has {}: the copy may belong \
         to another drive that was copied here",
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
        match read(outer).await {
            Ok(Ok(label)) => return Err(RestoreError::IsLabelled(label.drive, label.pool_name)),
            // Gone, whether it can be read or not.
            Err(_) | Ok(Err(SuperblockError::Absent | SuperblockError::Damaged)) => {}
            Ok(Err(error)) => return Err(RestoreError::NotUsable(error)),
        }
    }
    let label = read(inside).await?.map_err(RestoreError::NoCopy)?;
    if label.drive_bytes != bytes {
        return Err(RestoreError::OtherSize { copied_bytes: label.drive_bytes, bytes });
    }
    Ok(label)
}

/// Writes a drive's label anew from the copy that partition tools do not reach. What they have
/// written at both ends of the drive, where no chunk lies, is gone then. Returns the label.
///
/// # Errors
/// [`RestoreError`]; nothing is written then, unless writing failed.
pub async fn restore_label<D: Device>(drive: &D) -> Result<Superblock, RestoreError> {
    let label = label_to_restore(drive).await?;
    let end = Superblock::second_offset(label.drive_bytes) + SECTOR_BYTES as u64;
    let layout = label.layout;
    let chunks_end =
        layout.chunks_start + u64::from(layout.chunk_count) * u64::from(layout.chunk_bytes);
    let tail = chunks_end.max(end - Superblock::TAIL_BYTES);
    for range in [0..Superblock::root_offset(0), tail..end] {
        let zeros = AlignedBuf::zeroed((range.end - range.start) as usize).freeze();
        drive.write(range.start, zeros, Durability::Stable).await?;
    }
    write_superblock(drive, &label).await?;
    Ok(label)
}

#[cfg(test)]
mod tests;
