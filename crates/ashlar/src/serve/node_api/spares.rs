//! Spares are taken for drives that pools have lost, by the daemon itself.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use ashlar_control::types::{NameDrive, NameSpare, Pool};
use ashlar_control::{ApiError, ErrorCode};
use ashlar_drive::Machine;
use ashlar_node::name_the_same;
use ashlar_store::DriveCondition;
use ashlar_volume::{DriveReport, PoolReport};

use super::super::distinct::{self, Named};
use super::super::errors::api_error;
use super::super::finder::{Snapshot, path_of};
use super::super::spares::{Lacking, Spares, Taking};
use super::super::state::PoolState;
use super::Shared;

/// How often it is looked whether a pool has lost a drive.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

impl Shared {
    pub(super) async fn add_spare(
        &self,
        pool: String,
        request: NameDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        let NameDrive { drive, force } = request;
        self.check_no_spare([&drive])?;
        self.check_not_opening(std::slice::from_ref(&drive))?;
        self.check_distinct(std::slice::from_ref(&drive)).await?;
        self.node.prepare_spare(&pool, drive.clone(), force).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        let drive = lasting_name(&drive, &self.finder.snapshot()).unwrap_or(drive);
        let identity = identity_of(&drive).await?;
        self.memory().change_spares(&uuid, |spares| spares.add(drive, identity));
        Ok(self.pool(&report))
    }

    /// Refuses drives that wait as spares: whoever took one would leave its pool without.
    pub(super) fn check_no_spare<'a>(
        &self,
        drives: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), ApiError> {
        let memory = self.memory();
        let pool_of = |drive: &'a String| Some((drive, memory.pool_with_spare(drive)?));
        let Some((drive, pool)) = drives.into_iter().find_map(pool_of) else { return Ok(()) };
        let message = format!("{drive} is a spare of pool '{pool}'");
        let hint = format!("`ashlar pool spare remove {pool} {drive}` frees it");
        Err(ApiError::new(ErrorCode::IsSpare, message).with_hint(hint))
    }

    /// Refuses drives that are one drive under two names, or lie on each other or on one that is in
    /// use.
    pub(super) async fn check_distinct(&self, drives: &[String]) -> Result<(), ApiError> {
        let held = self.node.held().await.map_err(|gone| api_error(gone.into()))?;
        let spares: Vec<Named> = {
            let memory = self.memory();
            let pools = memory.pools().iter();
            pools
                .flat_map(|pool| {
                    pool.spares.waiting.iter().map(|spec| Named::spare(spec, &pool.name))
                })
                .collect()
        };
        let wanted = drives.iter().map(|drive| Named::wanted(drive));
        distinct::check_distinct(wanted.chain(held.iter().map(Named::held)).chain(spares).collect())
            .await
    }

    pub(super) async fn remove_spare(
        &self,
        pool: String,
        request: NameSpare,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        let spec = self.memory().spare_of(&uuid, &request.drive).ok_or_else(|| {
            let message = format!("pool '{pool}' has no spare {}", request.drive);
            let hint = "`ashlar pool show` lists the spares of a pool";
            ApiError::new(ErrorCode::NoSuchSpare, message).with_hint(hint)
        })?;
        self.memory().change_spares(&uuid, |spares| spares.remove(&spec));
        self.memory().spare_is_well(&spec);
        Ok(self.pool(&report))
    }

    /// Takes spares for what pools have lost, for as long as it is polled.
    pub(super) async fn keep_whole(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let pools = self.memory().pools_with_spares();
            for uuid in pools {
                self.take_spare(&uuid).await;
            }
        }
    }

    /// Takes a spare for the pool, if it lacks a drive and has one. What is being taken is
    /// remembered before it is a member: a daemon that is killed in between looks for it at its
    /// next start. That it cannot be remembered keeps no spare away.
    async fn take_spare(&self, uuid: &str) {
        let Ok(_changing) = self.changing.next().await else { return };
        let Ok(report) = self.node.report(uuid).await else { return };
        let settled = self.settle_taking(uuid, &report).await;
        if settled.is_err() || report.status.halted.is_some() {
            return;
        }
        let lost = lost_members(&report);
        let lacking = Lacking { lost: &lost, is_reduced: report.status.is_reduced };
        let Some(taking) = self.memory().next_spare(uuid, lacking) else { return };
        if let Err(error) = self.check_is_still(uuid, &report.status.name, &taking.spec).await {
            return self.refuse_spare(&report.status.name, taking.spec, error.detail);
        }
        let Taking { spec, lost } = taking.clone();
        self.memory().change_spares(uuid, |spares| spares.taking = Some(taking));
        let pool = &report.status.name;
        match self.node.add_drive(uuid, spec.clone(), false).await {
            Ok(record) => {
                tracing::warn!(pool, spec, lost, "a spare has been taken for a drive that is lost");
                self.remember_as_it_is(&record).await;
                self.memory().change_spares(uuid, Spares::taken);
            }
            Err(error) => self.refuse_spare(pool, spec, error.to_string()),
        }
    }

    fn refuse_spare(&self, pool: &str, spec: String, error: String) {
        tracing::error!(pool, spec, error, "a spare cannot be taken; it is tried again later");
        self.memory().spare_is_refused(spec, error);
    }

    /// Refuses a spare that is gone, or whose name leads to another drive by now.
    async fn check_is_still(&self, uuid: &str, pool: &str, spec: &str) -> Result<(), ApiError> {
        let now = identity_of(spec).await?;
        let is_still = |known: &PoolState| known.spares.is_still(spec, now.as_deref());
        if self.memory().pool(uuid).is_none_or(is_still) {
            return Ok(());
        }
        let forgets = format!("`ashlar pool spare remove {pool} {spec}` forgets it");
        if is_gone(spec).await? {
            let message =
                format!("{spec} is gone; the pool can take it once it is back. {forgets}");
            return Err(ApiError::new(ErrorCode::DriveUnusable, message));
        }
        let what =
            if now.is_some() { "another drive than" } else { "nothing that can be told for" };
        let message = format!(
            "{spec} leads to {what} the one that became a spare, so Ashlar leaves it alone. \
             {forgets}; `ashlar pool spare add` then adds the drive that you want as a spare"
        );
        Err(ApiError::new(ErrorCode::AnotherDrive, message))
    }

    /// What was being taken, by this daemon or one that was killed, is a member now, or waits as
    /// before.
    ///
    /// # Errors
    /// When the drives do not say which of them it is.
    async fn settle_taking(&self, uuid: &str, report: &PoolReport) -> Result<(), ApiError> {
        let spares = self.memory().pool(uuid).map(|pool| pool.spares.clone()).unwrap_or_default();
        let Some(Taking { spec, .. }) = spares.taking else { return Ok(()) };
        let identity = spares.identities.get(&spec).cloned();
        let facts = report.drives.iter().filter_map(|drive| drive.facts.as_ref());
        let members: Vec<String> = facts.map(|facts| facts.spec.clone()).collect();
        let is_member = move || is_among(&members, &spec, identity.as_deref());
        let taken = distinct::ask_drives(is_member).await?;
        self.memory().change_spares(uuid, |spares| {
            if taken { spares.taken() } else { spares.taking = None }
        });
        Ok(())
    }
}

/// The name that outlives restarts of a drive that is given by the kernel's.
fn lasting_name(spec: &str, known: &Snapshot) -> Option<String> {
    let path = path_of(spec)?;
    let is_link = fs::symlink_metadata(&path).ok()?.is_symlink();
    if is_link || spec.starts_with("file:") {
        return None;
    }
    known.stable_names.get(path.file_name()?.to_str()?).cloned()
}

/// What tells a drive from others.
async fn identity_of(spec: &str) -> Result<Option<String>, ApiError> {
    let spec = spec.to_owned();
    distinct::ask_drives(move || identity_at(&spec)).await
}

fn identity_at(spec: &str) -> Option<String> {
    Machine::default().lasting_identity(&path_of(spec)?)
}

async fn is_gone(spec: &str) -> Result<bool, ApiError> {
    let Some(path) = path_of(spec) else { return Ok(false) };
    distinct::ask_drives(move || matches!(path.try_exists(), Ok(false))).await
}

/// Whether one of the members is the drive that was called `spec` when that told it from others.
/// The name alone counts only where nothing else tells.
fn is_among(members: &[String], spec: &str, identity: Option<&str>) -> bool {
    members.iter().any(|member| match identity.zip(identity_at(member)) {
        Some((identity, member)) => Machine::is_same_drive(identity, &member),
        None => name_the_same(member, spec),
    })
}

/// Members that are lost and not restored yet, and for which no drive was added.
fn lost_members(report: &PoolReport) -> Vec<String> {
    let is_lost = |drive: &&DriveReport| {
        matches!(drive.status.condition, DriveCondition::Failed(_) | DriveCondition::Absent)
            && !drive.status.is_made_good
    };
    report.drives.iter().filter(is_lost).map(|drive| drive.status.uuid.to_string()).collect()
}

#[cfg(test)]
mod tests;
