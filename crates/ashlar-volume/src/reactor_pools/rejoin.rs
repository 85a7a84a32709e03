//! A drive that was lost comes back.

use std::collections::BTreeSet;
use std::time::Duration;

use ashlar_block::{DriveId, DriveUuid, PoolUuid};
use ashlar_store::{AddError, DriveCondition, DriveStatus, FoundDrive, RejoinError};

use super::open::not_opened;
use super::{OpenPool, OpenRequest, PoolDrive, ReactorPools};
use crate::drive_provider::{DriveContent, DriveProvider, ProvidedDrive, inspect};
use crate::error::NodeError;
use crate::report::PoolRecord;

/// What was under way in a pool that has halted keeps its drives open for a moment after the pool
/// is closed.
const CLOSING_WAIT: Duration = Duration::from_secs(5);

impl<B: DriveProvider> ReactorPools<B> {
    /// Takes a drive back that a pool has lost. `at`: where it is, unless it is where the pool has
    /// had it. Returns what is to be remembered of the pool.
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
        let _changing = pool.turn_to_change().await?;
        pool.store.check_room_below()?;
        pool.store.forget_lost(drive).await?;
        let had = pool.take_drive(drive).map(|had| had.drive.facts.spec.clone());
        let spec = at.or(had).ok_or_else(|| NodeError::Whereabouts(drive.to_string()))?;
        let (back, found) = self.in_time(&spec, self.open_lost(&spec)).await?;
        let pool_bytes = found.superblock.drive_bytes;
        let returned = pool.store.return_drive(drive, found).await;
        let member = match &returned {
            Ok(returned) => Some((returned.drive, returned.uuid)),
            // Some drive may say already that it is a member.
            Err(RejoinError::Add(AddError::Unsettled { drive, uuid, .. })) => Some((*drive, *uuid)),
            Err(_) => None,
        };
        if let Some((id, uuid)) = member {
            pool.drives.borrow_mut().push(PoolDrive { id, uuid, drive: back, pool_bytes });
        }
        let kept = returned?.columns_kept;
        tracing::info!(pool = pool.name(), drive = spec, kept, "the drive is back");
        self.table.occurrences().ring();
        Ok(pool.record(&self.provider))
    }

    async fn open_lost(
        &self,
        spec: &String,
    ) -> Result<(ProvidedDrive<B::Device>, FoundDrive<B::Device>), NodeError> {
        let drive = self.open_for_pool(std::slice::from_ref(spec), false).await?.remove(0);
        let found = found_on(&self.provider, &drive).await?;
        Ok((drive, found))
    }

    /// Opens a pool that has halted anew, once it is sure that there are enough drives for it.
    /// Until then it can be read; hosts keep its namespaces all the while, or else they would give
    /// up what they have made of them.
    ///
    /// # Errors
    /// [`NodeError`]; if the pool is closed then, hosts keep its namespaces, which are not ready.
    pub async fn reopen_pool(
        &self,
        uuid: PoolUuid,
        request: OpenRequest,
    ) -> Result<PoolRecord, NodeError> {
        let drives = self.could_reopen(uuid, &request.drives).await?;
        let request = OpenRequest { drives, member_wait: CLOSING_WAIT, ..request };
        self.table.suspend_pool(uuid);
        let halted = self.suspend_pool(uuid).await?;
        if let Err(error) = halted.store.close().await {
            tracing::info!(pool = halted.name(), %error, "closing a pool that has halted, to open it again");
        }
        drop(halted);
        let opened = self.open_pool(request).await;
        if opened.is_err() {
            self.table.remove_health(uuid);
        }
        opened
    }

    /// Whether a pool that has halted for want of drives has enough of them with those that are at
    /// `specs`. It stays open as it is, and what can be read of it can still be read. Returns the
    /// places that have one.
    ///
    /// # Errors
    /// [`NodeError::Open`] with the members that are missing.
    async fn could_reopen(
        &self,
        uuid: PoolUuid,
        specs: &[String],
    ) -> Result<Vec<String>, NodeError> {
        let pool = self.pool(uuid)?;
        pool.is_not_taken()?;
        let _changing = pool.turn_to_change().await?;
        pool.store.forget_all_lost();
        // One that came back has two records: that of its old number says that it is lost.
        let works = |drive: &&DriveStatus| {
            matches!(drive.condition, DriveCondition::Online | DriveCondition::Leaving)
        };
        let working: BTreeSet<DriveUuid> =
            pool.store.status().drives.iter().filter(works).map(|drive| drive.uuid).collect();
        pool.drives.borrow_mut().retain(|drive| working.contains(&drive.uuid));
        let in_use: Vec<String> =
            pool.drives.borrow().iter().map(|drive| drive.drive.facts.spec.clone()).collect();
        let others: Vec<String> =
            specs.iter().filter(|spec| !in_use.contains(spec)).cloned().collect();
        let found = self.find_members(&others).await;
        let back: BTreeSet<DriveUuid> = found.members_of(uuid).collect();
        let could = pool.store.could_open_with(&back);
        could.map_err(|error| not_opened(&pool.name(), error, &found.reasons(), &[]))?;
        Ok(specs.iter().filter(|spec| !found.is_missing(spec)).cloned().collect())
    }
}

impl<B: DriveProvider> OpenPool<B> {
    /// Lets go of a drive that was given when the pool was opened, or later.
    fn take_drive(&self, id: DriveId) -> Option<PoolDrive<B::Device>> {
        let mut drives = self.drives.borrow_mut();
        let place = drives.iter().position(|drive| drive.id == id)?;
        Some(drives.remove(place))
    }
}

/// The drive as the store takes it.
async fn found_on<B: DriveProvider>(
    provider: &B,
    drive: &ProvidedDrive<B::Device>,
) -> Result<FoundDrive<B::Device>, NodeError> {
    let spec = &drive.facts.spec;
    match inspect(provider, &drive.device).await {
        Ok(DriveContent::Member(superblock)) => {
            if let Some(cut) = drive.cut_short(&superblock) {
                return Err(NodeError::Drive(format!(
                    "{cut}: bring it back whole, or `ashlar pool replace --force` takes it as a \
                     new drive"
                )));
            }
            Ok(FoundDrive { superblock: *superblock, device: drive.device.clone() })
        }
        Ok(content @ DriveContent::Overwritten { .. }) => {
            Err(NodeError::Drive(format!("{spec} holds {}", content.describe())))
        }
        Ok(other) => Err(NodeError::Drive(format!(
            "{spec} holds {}: `ashlar pool replace` takes it as a new drive",
            other.describe()
        ))),
        Err(error) => Err(NodeError::Drive(format!("{spec}: {error}"))),
    }
}
