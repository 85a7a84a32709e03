//! What an open pool does with the room of its drives.

use ashlar_block::{DriveId, IoError, World};

use super::Store;
use crate::jobs::trim::TrimError;
use crate::members::grow::{GrowError, Grown};
use crate::space::promises::{Capacity, CapacityError, OverPromised, WantedCapacity};

impl<W: World> Store<W> {
    /// Begins to tell drives of all their space that is free, unless that goes on already:
    /// [`crate::PoolStatus::trim`] tells how far it is. A start forgets it.
    ///
    /// # Errors
    /// When the pool takes no writes, or none of its drives can be told.
    pub fn start_trim(&self) -> Result<(), TrimError> {
        self.pool.start_trim()
    }

    /// Stops that, if it goes on: drives are told of no more for it.
    pub fn stop_trim(&self) {
        self.pool.stop_trim();
    }

    /// Begins to prove the ledger, unless that goes on already: [`crate::PoolStatus::verify`] tells
    /// how far it is, and what it has found. A start forgets it.
    ///
    /// # Errors
    /// When the pool takes no writes.
    pub fn start_verify(&self) -> Result<(), IoError> {
        self.pool.start_verify()
    }

    /// Stops that, if it goes on. The proof has compared nothing then.
    pub fn stop_verify(&self) {
        self.pool.stop_verify();
    }

    /// Takes the room of drives that have become larger into the pool. It is there when this
    /// returns.
    ///
    /// # Errors
    /// [`GrowError`]; drives that were done before stay so.
    pub async fn grow(&self) -> Result<Vec<Grown>, GrowError> {
        self.pool.grow().await
    }

    /// How much the pool holds, and how much of it is promised.
    pub fn capacity(&self) -> Capacity {
        self.pool.capacity()
    }

    /// Formats more or less of the pool. Durable when it returns.
    ///
    /// # Errors
    /// [`CapacityError`]; the capacity is as it was.
    pub async fn set_capacity(
        &self,
        wanted: WantedCapacity,
        is_forced: bool,
    ) -> Result<(), CapacityError> {
        self.pool.set_capacity(wanted, is_forced).await
    }

    /// Refuses to promise volumes `more` bytes than they have been, where that is more than is
    /// formatted.
    ///
    /// # Errors
    /// [`OverPromised`].
    pub fn check_promise(&self, more: u64) -> Result<(), OverPromised> {
        self.pool.capacity().promise(more)
    }

    /// Bytes of a drive that the pool uses, if it is there.
    pub fn used_bytes(&self, drive: DriveId) -> Option<u64> {
        self.pool.array.member(drive).map(|member| member.used_bytes())
    }
}
