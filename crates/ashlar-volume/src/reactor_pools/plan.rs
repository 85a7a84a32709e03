//! What would come of it if drives were taken: everything that taking them checks, and nothing is
//! written. A file that is not there is made, to see that it can be, and removed again.

use ashlar_block::{Device, PoolUuid};
use ashlar_store::Shape;

use super::create::{CreateRequest, DriveReading, Taken, not_created};
use super::{PoolStore, ReactorPools};
use crate::drive_provider::{DriveProvider, ProvidedDrive};
use crate::error::NodeError;

/// A pool that could be made.
#[derive(Clone, Debug)]
pub struct PoolPlan {
    /// Its drives, and what they hold, which would be lost.
    pub drives: Vec<DriveReading>,
    /// What it would be.
    pub shape: Shape,
}

/// A drive that a pool could take.
#[derive(Clone, Debug)]
pub struct DrivePlan {
    /// What it is, and what it holds, which would be lost.
    pub drive: DriveReading,
    /// The room that it would bring, redundancy included.
    pub raw_bytes: u64,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// What [`Self::create_pool`] would make.
    ///
    /// # Errors
    /// What it would refuse.
    pub async fn plan_pool(&self, request: CreateRequest) -> Result<PoolPlan, NodeError> {
        let drives = self.open_for_pool(&request.drives, true).await?;
        let planned = self.plan_on(&request, &drives).await;
        self.give_back(drives);
        planned
    }

    async fn plan_on(
        &self,
        request: &CreateRequest,
        drives: &Taken<B>,
    ) -> Result<PoolPlan, NodeError> {
        self.check_may_take(drives, request.force).await?;
        let mut readings = Vec::with_capacity(drives.len());
        for drive in drives {
            readings.push(self.reading(drive).await?);
        }
        let devices = drives.iter().map(|drive| drive.device.clone()).collect();
        let options = request.options.clone();
        let shape = ashlar_store::rehearse(&self.world, &request.new, devices, options)
            .map_err(|error| not_created(error, drives))?;
        Ok(PoolPlan { drives: readings, shape })
    }

    /// What [`Self::add_drive`] would do.
    ///
    /// # Errors
    /// What it would refuse.
    pub async fn plan_drive(
        &self,
        uuid: PoolUuid,
        spec: String,
        force: bool,
    ) -> Result<DrivePlan, NodeError> {
        let pool = self.pool(uuid)?;
        pool.store.check_room_below()?;
        let drives = self.open_for_pool(std::slice::from_ref(&spec), true).await?;
        let planned = self.plan_with(&pool.store, &drives[0], force).await;
        self.give_back(drives);
        planned
    }

    async fn plan_with(
        &self,
        store: &PoolStore<B>,
        drive: &ProvidedDrive<B::Device>,
        force: bool,
    ) -> Result<DrivePlan, NodeError> {
        let spec = || drive.facts.spec.clone();
        let raw_bytes = store
            .may_add_drive(drive.device.size_bytes())
            .map_err(|error| NodeError::AddDrive { spec: spec(), error })?;
        self.check_may_add(store, drive, force).await?;
        Ok(DrivePlan { drive: self.reading(drive).await?, raw_bytes })
    }

    async fn reading(&self, drive: &ProvidedDrive<B::Device>) -> Result<DriveReading, NodeError> {
        Ok(DriveReading { facts: drive.facts.clone(), content: self.content_of(drive).await? })
    }
}
