//! What an open pool does with the room of its drives.

use ashlar_block::{DriveId, World};

use super::Store;
use crate::jobs::trim::TrimError;
use crate::members::grow::{GrowError, Grown};

impl<W: World> Store<W> {
    /// Begins to tell drives of all their space that is free, unless that goes on already:
    /// [`crate::PoolStatus::trim`] tells how far it is. A start forgets it.
    ///
    /// # Errors
    /// When the pool takes no writes, or none of its drives can be told.
    pub fn start_trim(&self) -> Result<(), TrimError> {
        self.pool.start_trim()
    }

    /// Takes the room of drives that have become larger into the pool. It is there when this
    /// returns.
    ///
    /// # Errors
    /// [`GrowError`]; drives that were done before stay so.
    pub async fn grow(&self) -> Result<Vec<Grown>, GrowError> {
        self.pool.grow().await
    }

    /// Bytes of a drive that the pool uses, if it is there.
    pub fn used_bytes(&self, drive: DriveId) -> Option<u64> {
        self.pool.array.member(drive).map(|member| member.used_bytes())
    }
}
