//! What changes the node: each is done, durable and remembered when its method returns.

use std::sync::Arc;
use std::time::Duration;

use ashlar_block::DriveUuid;
use ashlar_control::types::{
    ChangePool, CreatePool, DriveInfo, FailDrive, ImportPool, NameDrive, Pool, RemoveDrive, ReplaceDrive,
    ReturnDrive,
};
use ashlar_control::{ApiError, Consent, ErrorKind};
use ashlar_raid::Level;
use ashlar_store::{DriveCondition, OpenPolicy};
use ashlar_volume::{Given, NodeError, Order, PoolRecord, PoolReport, Removal};
use futures_util::future::join_all;

use super::super::errors::api_error;
use super::super::state::PoolState;
use super::super::{convert, requests};
use super::{Shared, consent};

/// How often it is looked whether drives have been removed.
const REMOVAL_LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Of so many drives in directories it is said why they are no members.
const LEFT_OUT_MAX: usize = 16;

impl Shared {
    pub(super) async fn create_pool(&self, request: CreatePool) -> Result<Pool, ApiError> {
        let new = requests::new_pool(&request)?;
        let _changing = self.changing.lock().await;
        if self.memory().unavailable_pool(&new.name).is_some() {
            return Err(api_error(NodeError::PoolExists(new.name)));
        }
        self.check_no_spare(&request.drives)?;
        let record = self.node.create_pool(new, request.drives, request.force).await.map_err(api_error)?;
        let mut pool = self.remember(&record).await?;
        pool.notes.extend(Level::instead_of_groups(&request.level).map(|(_, why)| why));
        Ok(pool)
    }

    pub(super) async fn import_pool(&self, request: ImportPool) -> Result<Pool, ApiError> {
        let _changing = self.changing.lock().await;
        let given = self.members_among(&request.drives).await?;
        let policy = if request.degraded { OpenPolicy::Degraded } else { OpenPolicy::Whole };
        let closed = self.memory().unavailable().map(|(pool, _)| pool.known()).collect();
        let record = self.node.open_pool(request.pool, given, policy, closed).await.map_err(api_error)?;
        self.remember(&record).await
    }

    /// Remembers a pool that has been opened, with the numbers that its volumes brought.
    async fn remember(&self, record: &PoolRecord) -> Result<Pool, ApiError> {
        self.memory().remember(record)?;
        self.remember_nsids()?;
        let report = self.node.report(&record.uuid.to_string()).await.map_err(api_error)?;
        Ok(convert::pool(&report, &self.memory()))
    }

    /// Numbers that were given out are never given out again, also after a restart.
    pub(super) fn remember_nsids(&self) -> Result<(), ApiError> {
        self.memory().remember_nsids(self.node.table().nsid_high())
    }

    /// Of drives in directories, those that belong to pools; and why others may be missed.
    async fn members_among(&self, drives: &[String]) -> Result<Given, ApiError> {
        let (expanded, looked) = requests::expand_directories(drives)?;
        if !looked {
            return Ok(expanded.into());
        }
        let (mut members, mut left_out) = (Vec::new(), Vec::new());
        let looks = join_all(expanded.iter().map(|drive| self.node.inspect_drive(drive.clone()))).await;
        for (drive, mut looked) in expanded.into_iter().zip(looks) {
            // A disk and its partitions are in each other's way.
            if matches!(looked, Err(NodeError::Drive(_))) {
                looked = self.node.inspect_drive(drive.clone()).await;
            }
            if drives.contains(&drive) {
                members.push(drive);
                continue;
            }
            match looked.map(|reading| convert::drive_info(&reading)) {
                Ok(info) if info.state == "member" => members.push(drive),
                Ok(info) if info.state == "damaged" => {
                    left_out.push(format!("{drive} holds {}", info.content))
                }
                Ok(_) => {}
                Err(error) => left_out.push(error.to_string()),
            }
        }
        if members.is_empty() {
            return Err(requests::no_members(drives, &left_out));
        }
        let more = left_out.len().saturating_sub(LEFT_OUT_MAX);
        left_out.truncate(LEFT_OUT_MAX);
        left_out.extend((more > 0).then(|| format!("and {more} more")));
        Ok(Given { drives: members, left_out })
    }

    pub(super) async fn export_pool(&self, pool: String, consent: Consent) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        let unavailable = self.memory().unavailable_pool(&pool).map(|pool| pool.uuid.clone());
        if let Some(uuid) = unavailable {
            consent
                .check(|| format!("exporting pool '{pool}', which is not open, makes this node forget it"))?;
            return self.memory().forget(&uuid);
        }
        let report = self.node.report(&pool).await.map_err(api_error)?;
        check_outlives(&report)?;
        self.consent_to_close(consent, &report)?;
        let uuid = report.status.uuid.to_string();
        let closed = self.node.close_pool(&uuid).await;
        if closed.is_err() && self.node.report(&uuid).await.is_ok() {
            return closed.map(drop).map_err(api_error);
        }
        // One that has halted cannot end well, and is closed all the same.
        self.memory().forget(&uuid)?;
        closed.map(drop).map_err(api_error)
    }

    pub(super) async fn add_drive(&self, pool: String, request: NameDrive) -> Result<Pool, ApiError> {
        let _changing = self.changing.lock().await;
        self.check_available(&pool)?;
        self.check_no_spare([&request.drive])?;
        let added = self.node.add_drive(&pool, request.drive, request.force).await;
        self.remember(&added.map_err(api_error)?).await
    }

    pub(super) async fn fail_drive(
        &self,
        pool: String,
        request: FailDrive,
        consent: Consent,
    ) -> Result<Pool, ApiError> {
        self.check_available(&pool)?;
        let drive = self.node.drive_named(&pool, &request.drive).await.map_err(api_error)?;
        self.consent_to_fail(consent, &pool, &drive).await?;
        let report = self.node.fail_drive(&pool, request.drive, request.force).await.map_err(api_error)?;
        Ok(convert::pool(&report, &self.memory()))
    }

    pub(super) async fn remove_drive(
        self: Arc<Self>,
        pool: String,
        request: RemoveDrive,
        consent: Consent,
    ) -> Result<Pool, ApiError> {
        self.check_available(&pool)?;
        let removal = if request.cancel { Removal::Cancel } else { Removal::Begin };
        let drive = self.node.drive_named(&pool, &request.drive).await.map_err(api_error)?;
        // Of one that is released nothing is left but its name.
        if removal == Removal::Begin && drive.status.condition != DriveCondition::Released {
            consent.check(|| consent::removal(&pool, &drive))?;
        }
        let member = drive.status.uuid;
        let report = self.node.remove_drive(&pool, request.drive, removal).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        if removal == Removal::Cancel {
            // Whoever replaces it may be about to note that a drive has come for it.
            let _changing = self.changing.lock().await;
            self.memory().change_spares(&uuid, |spares| spares.stays(&member.to_string()))?;
        }
        tokio::spawn(self.clone().forget_removed(uuid));
        Ok(convert::pool(&report, &self.memory()))
    }

    pub(super) async fn replace_drive(
        self: Arc<Self>,
        pool: String,
        request: ReplaceDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.changing.lock().await;
        self.check_available(&pool)?;
        let ReplaceDrive { drive, with, force } = request;
        self.check_no_spare([&with])?;
        let old = self.node.drive_named(&pool, &drive).await.map_err(api_error)?.status.uuid;
        let replaced = self.node.replace_drive(&pool, drive, with, force).await;
        // The new drive may have come although the old one cannot go.
        let record = self.node.record(&pool).await.map_err(api_error)?;
        tokio::spawn(self.clone().forget_removed(record.uuid.to_string()));
        let remembered = self.remember(&record).await;
        replaced.map_err(api_error)?;
        // No spare is to come for it as well.
        let uuid = record.uuid.to_string();
        self.memory().change_spares(&uuid, |spares| spares.made_good.push(old.to_string()))?;
        remembered
    }

    pub(super) async fn return_drive(
        self: Arc<Self>,
        pool: String,
        request: ReturnDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.changing.lock().await;
        self.check_available(&pool)?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        if report.status.halted.is_some() {
            return self.reopen(uuid, request).await;
        }
        let known = self.memory().pool(&uuid).cloned();
        let remembered = |drive: DriveUuid| {
            let mut drives = known.iter().flat_map(|pool| &pool.drives);
            drives.find(|known| known.uuid == drive.to_string()).map(|known| known.spec.clone())
        };
        let record = self.node.return_drive(&uuid, request.drive, request.at, remembered).await;
        let record = record.map_err(api_error)?;
        tokio::spawn(self.clone().forget_removed(uuid));
        self.remember(&record).await
    }

    /// A pool that has halted is opened anew, with all drives that are there by now, and the one that is `at`.
    async fn reopen(&self, uuid: String, request: ReturnDrive) -> Result<Pool, ApiError> {
        let ReturnDrive { drive, at } = request;
        let mut drives = self.memory().pool(&uuid).map(PoolState::specs).unwrap_or_default();
        drives.extend(at.filter(|at| !drives.contains(at)));
        let error = match self.node.reopen_pool(&uuid, &drive, drives).await {
            Ok(record) => return self.remember(&record).await,
            Err(error) => error,
        };
        if self.node.report(&uuid).await.is_err() {
            self.memory().is_not_open(uuid, error.of_its_pool());
            let hint = "it is closed; ashlar pool import opens it once enough of its drives are there";
            return Err(api_error(error).with_hint(hint));
        }
        let is_missing = matches!(error, NodeError::Open { .. });
        let error = api_error(error);
        let hint = "it stays open for reads; bring more of its drives back and say this again";
        Err(if is_missing { error.with_hint(hint) } else { error })
    }

    /// Remembers a pool without the drives that are being removed from it, once they are.
    pub(super) async fn forget_removed(self: Arc<Self>, uuid: String) {
        loop {
            tokio::time::sleep(REMOVAL_LOOK_INTERVAL).await;
            let Ok(report) = self.node.report(&uuid).await else { return };
            if report.drives.iter().any(|drive| drive.status.condition == DriveCondition::Leaving) {
                continue;
            }
            let _changing = self.changing.lock().await;
            let Ok(record) = self.node.record(&uuid).await else { return };
            if let Err(error) = self.memory().remember(&record) {
                tracing::error!(
                    pool = record.name,
                    error = error.body.message,
                    "remembering a pool without a drive"
                );
            }
            return;
        }
    }

    pub(super) async fn change_pool(&self, pool: String, request: ChangePool) -> Result<Pool, ApiError> {
        let change = requests::settings(request)?;
        self.check_available(&pool)?;
        let report = self.node.set_pool(&pool, change).await.map_err(api_error)?;
        Ok(convert::pool(&report, &self.memory()))
    }

    pub(super) async fn scrub(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool)?;
        let report = self.node.scrub(&pool, order).await.map_err(api_error)?;
        Ok(convert::pool(&report, &self.memory()))
    }

    pub(super) async fn rebalance(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool)?;
        let report = self.node.rebalance(&pool, order).await.map_err(api_error)?;
        Ok(convert::pool(&report, &self.memory()))
    }

    pub(super) async fn destroy_pool(&self, pool: String, consent: Consent) -> Result<(), ApiError> {
        let _changing = self.changing.lock().await;
        self.check_available(&pool)?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        self.consent_to_destroy(consent, &report)?;
        let uuid = report.status.uuid;
        let destroyed = self.node.destroy_pool(&pool).await.map_err(api_error);
        if destroyed.is_err() && self.node.report(&uuid.to_string()).await.is_ok() {
            return destroyed.map(drop);
        }
        self.memory().forget(&uuid.to_string())?;
        destroyed.map(drop)
    }

    pub(super) async fn clear_label(
        &self,
        request: NameDrive,
        consent: Consent,
    ) -> Result<DriveInfo, ApiError> {
        let _changing = self.changing.lock().await;
        self.check_no_spare([&request.drive])?;
        if consent == Consent::Missing {
            let held = self.node.inspect_drive(request.drive.clone()).await.map_err(api_error)?;
            consent.check(|| consent::clearing(&held))?;
        }
        let reading = self.node.clear_label(request.drive, request.force).await.map_err(api_error)?;
        Ok(convert::drive_info(&reading))
    }
}

/// Refuses to export what could not be imported: memory is given back as its pool is closed. One that is another machine's goes.
fn check_outlives(report: &PoolReport) -> Result<(), ApiError> {
    if !report.is_volatile() || report.status.taken_by.is_some() {
        return Ok(());
    }
    let name = &report.status.name;
    let message = format!("pool '{name}' has drives in memory, of which nothing is left once it is closed");
    let hint = format!("ashlar pool destroy {name} says that all that it holds may be lost");
    Err(ApiError::new(ErrorKind::Conflict, "volatile", message).with_hint(hint))
}
