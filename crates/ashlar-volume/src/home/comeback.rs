//! A drive that was lost comes back.

use ashlar_block::{DriveId, PoolUuid};
use ashlar_store::FoundDrive;

use super::{Home, OpenPool, PoolDrive};
use crate::bay::{BayDrive, DriveBay, DriveContent, inspect};
use crate::error::NodeError;
use crate::report::PoolRecord;

impl<B: DriveBay> Home<B> {
    /// Takes a drive back that a pool has lost. `at`: where it is, unless it is where the pool has had it. Returns what is to be
    /// remembered of the pool.
    ///
    /// # Errors
    /// [`NodeError`]; the pool goes on without the drive then.
    pub async fn return_drive(
        &self,
        uuid: PoolUuid,
        drive: DriveId,
        at: Option<String>,
    ) -> Result<PoolRecord, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        pool.store.forget_lost(drive).await?;
        let had = pool.take_drive(drive).map(|had| had.drive.facts.spec.clone());
        let spec = at.or(had).ok_or_else(|| NodeError::Whereabouts(drive.to_string()))?;
        let back = self.open_for_pool(std::slice::from_ref(&spec), false).await?.remove(0);
        let found = found_on(&self.bay, &back).await?;
        let pool_bytes = found.superblock.drive_bytes;
        let returned = pool.store.return_drive(drive, found).await?;
        tracing::info!(pool = pool.name, drive = spec, kept = returned.columns_kept, "the drive is back");
        let (id, uuid) = (returned.drive, returned.uuid);
        pool.drives.borrow_mut().push(PoolDrive { id, uuid, drive: back, pool_bytes });
        Ok(pool.record())
    }
}

impl<B: DriveBay> OpenPool<B> {
    /// Lets go of a drive that was given when the pool was opened, or later.
    fn take_drive(&self, id: DriveId) -> Option<PoolDrive<B::Device>> {
        let mut drives = self.drives.borrow_mut();
        let place = drives.iter().position(|drive| drive.id == id)?;
        Some(drives.remove(place))
    }
}

/// The drive as the store takes it.
async fn found_on<B: DriveBay>(
    bay: &B,
    drive: &BayDrive<B::Device>,
) -> Result<FoundDrive<B::Device>, NodeError> {
    let spec = &drive.facts.spec;
    match inspect(bay, &drive.device).await {
        Ok(DriveContent::Member(superblock)) => {
            Ok(FoundDrive { superblock: *superblock, device: drive.device.clone() })
        }
        Ok(other) => Err(NodeError::Drive(format!(
            "{spec} holds {}: ashlar pool replace takes it as a new drive",
            other.describe()
        ))),
        Err(error) => Err(NodeError::Drive(format!("{spec}: {error}"))),
    }
}
