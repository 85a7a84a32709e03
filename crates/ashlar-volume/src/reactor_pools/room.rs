//! What a pool does with the room of its drives.

use ashlar_block::{Device, PoolUuid};
use ashlar_store::WantedCapacity;

use super::ReactorPools;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::report::Order;

impl<B: DriveProvider> ReactorPools<B> {
    /// Begins to tell the drives of a pool of all space that is free, or stops that.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn trim(&self, uuid: PoolUuid, order: Order) -> Result<(), NodeError> {
        let store = &self.pool(uuid)?.store;
        match order {
            Order::Start => store.start_trim()?,
            Order::Stop => store.stop_trim(),
        }
        Ok(())
    }

    /// Begins to prove the ledger of a pool, or stops that.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn verify(&self, uuid: PoolUuid, order: Order) -> Result<(), NodeError> {
        let store = &self.pool(uuid)?.store;
        match order {
            Order::Start => store.start_verify()?,
            Order::Stop => store.stop_verify(),
        }
        Ok(())
    }

    /// Takes the room of drives that have become larger into a pool.
    ///
    /// # Errors
    /// [`NodeError`]; drives that were done before stay so.
    pub async fn grow(&self, uuid: PoolUuid) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let grown = pool.store.grow().await;
        // Those that were done before another one failed, too.
        for member in pool.drives.borrow_mut().iter_mut() {
            member.pool_bytes = pool.store.used_bytes(member.id).unwrap_or(member.pool_bytes);
            member.drive.facts.size_bytes = member.drive.device.size_bytes();
        }
        grown.map(drop).map_err(NodeError::from)
    }

    /// Formats more or less of a pool.
    ///
    /// # Errors
    /// [`NodeError`]; the capacity is as it was.
    pub async fn set_capacity(
        &self,
        uuid: PoolUuid,
        wanted: WantedCapacity,
        is_forced: bool,
    ) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let set = pool.store.set_capacity(wanted, is_forced).await;
        set.map_err(|error| NodeError::of_capacity(&pool.name(), error))
    }

    /// Lets hosts have what was kept for when the pool is full.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn release_reserve(&self, uuid: PoolUuid) -> Result<(), NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        Ok(pool.store.release_reserve().await?)
    }
}
