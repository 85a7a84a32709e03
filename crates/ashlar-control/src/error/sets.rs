//! Errors that several operations have in common.

use super::ErrorCode::{self, *};

/// Of an operation on a pool that has to be open.
pub(crate) const OPEN_POOL: &[ErrorCode] =
    &[NoSuchPool, PoolOpening, PoolUnavailable, PoolStopped, PoolFailed, NoRoom, Stopping];

/// Of one on a volume.
pub(crate) const VOLUME: &[ErrorCode] = &[NoSuchVolume, VolumeFormatting, VolumeSanitizing];

/// Of one that closes a pool.
pub(crate) const CLOSES_POOL: &[ErrorCode] = &[PoolInUse, DriveUnusable, DriveHangs];

/// Of one that looks at drives.
pub(crate) const DRIVES: &[ErrorCode] = &[DriveUnusable, DriveHangs, DriveInUse];

/// Of one that takes drives for a pool.
pub(crate) const TAKES_DRIVES: &[ErrorCode] =
    &[DriveUnusable, DriveHangs, DriveInUse, DriveHoldsData, IsSpare, SameDrive, NoDrives];

/// Of one that opens a pool.
pub(crate) const OPENS_POOL: &[ErrorCode] =
    &[CannotOpen, PoolInUse, PoolExists, PoolFailed, PoolStopped, NoSuchPool, NoRoom, Stopping];
