//! What would come of it if drives were taken. Nothing changes.

use ashlar_control::ApiError;
use ashlar_control::types::{CreatePool, DrivePlan, PlanDrive, PoolPlan};
use ashlar_raid::Level;

use super::super::errors::api_error;
use super::super::{convert, requests};
use super::Shared;

impl Shared {
    pub(super) async fn plan_pool(&self, request: CreatePool) -> Result<PoolPlan, ApiError> {
        let new = requests::new_pool(&request)?;
        let _changing = self.changing.next().await?;
        self.check_new_pool(&new.name, &request.drives).await?;
        let (name, level) = (new.name.clone(), new.level.to_string());
        let plan =
            self.node.plan_pool(new, request.drives, request.force).await.map_err(api_error)?;
        let space = plan.shape.space;
        Ok(PoolPlan {
            name,
            level,
            chunk_bytes: plan.shape.chunk_bytes.into(),
            raw_bytes: space.raw,
            usable_bytes: space.usable,
            limit_bytes: space.limit,
            drives: plan.drives.iter().map(convert::drive_info).collect(),
            notes: Level::instead_of_groups(&request.level)
                .map(|(_, why)| why)
                .into_iter()
                .collect(),
        })
    }

    pub(super) async fn plan_drive(
        &self,
        pool: String,
        request: PlanDrive,
    ) -> Result<DrivePlan, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        let PlanDrive { drive, force, replaces } = request;
        self.check_nobodys(std::slice::from_ref(&drive)).await?;
        let replaces = match replaces {
            Some(old) => Some(self.name_of_member(&pool, &old).await?),
            None => None,
        };
        let plan = self.node.plan_drive(&pool, drive, force).await.map_err(api_error)?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        Ok(DrivePlan {
            pool: report.status.name,
            drive: convert::drive_info(&plan.drive),
            raw_bytes: plan.raw_bytes,
            replaces,
        })
    }

    /// How the pool calls the member that is meant.
    async fn name_of_member(&self, pool: &str, name: &str) -> Result<String, ApiError> {
        let name = self.member_called(pool, name, |_| true).await?;
        let drive = self.node.drive_named(pool, &name).await.map_err(api_error)?;
        Ok(drive.name())
    }
}
