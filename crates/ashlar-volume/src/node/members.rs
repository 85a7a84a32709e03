//! The drives of a node's pools: those that join, leave and come back.

use std::rc::Rc;
use std::time::Duration;

use ashlar_block::{DriveId, DriveUuid};
use ashlar_store::{DriveCondition, OpenPolicy};

use super::{Located, Node, check_unused};
use crate::dispatcher::Dispatcher;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::reactor_pools::{OpenRequest, Opening, ReactorPools, Removal};
use crate::report::{DriveReport, PoolRecord, PoolReport};
use ashlar_block::place::is_at;

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// Takes a drive into a pool: a blank one, or any with `force`.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn add_drive(
        &self,
        pool: &str,
        spec: String,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        self.add_drive_instead(pool, None, spec, force).await
    }

    async fn add_drive_instead(
        &self,
        pool: &str,
        old: Option<DriveId>,
        spec: String,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.add_drive(uuid, old, spec, force).await },
        )
        .await
    }

    /// Gives a drive of a pool up as if it had been pulled; named by its number, its name or as it
    /// was given.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn fail_drive(
        &self,
        pool: &str,
        name: String,
        force: bool,
    ) -> Result<PoolReport, NodeError> {
        let report = self.report(pool).await?;
        let drive = drive_named(&report, &name)?.status.drive;
        let at = Located::of(&report);
        self.at_pool(
            at,
            move |home, uuid| async move { home.fail_drive(uuid, drive, force).await },
        )
        .await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Refuses what [`Self::fail_drive`] would refuse now.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn may_fail_drive(
        &self,
        pool: &str,
        name: &str,
        force: bool,
    ) -> Result<(), NodeError> {
        let report = self.report(pool).await?;
        let drive = drive_named(&report, name)?.status.drive;
        let check = move |home: Rc<ReactorPools<B>>, uuid| async move {
            home.may_fail_drive(uuid, drive, force)
        };
        self.at_pool(Located::of(&report), check).await
    }

    /// Refuses what [`Self::remove_drive`] would refuse now.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn may_remove_drive(&self, pool: &str, name: &str) -> Result<(), NodeError> {
        let report = self.report(pool).await?;
        let drive = drive_named(&report, name)?.status.drive;
        let check = move |home: Rc<ReactorPools<B>>, uuid| async move {
            home.may_remove_drive(uuid, drive)
        };
        self.at_pool(Located::of(&report), check).await
    }

    /// Removes a drive of a pool once what lives on it is on others, or lets one stay that was to
    /// be removed. Returns when that is decided, not when it is done.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn remove_drive(
        &self,
        pool: &str,
        name: String,
        removal: Removal,
    ) -> Result<PoolReport, NodeError> {
        let report = self.report(pool).await?;
        let drive = drive_named(&report, &name)?.status.drive;
        let at = Located::of(&report);
        self.at_pool(
            at,
            move |home, uuid| async move { home.remove_drive(uuid, drive, removal).await },
        )
        .await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Takes a drive into a pool, as [`Self::add_drive`], and removes another one unless it is
    /// lost: what lived on that one is being rebuilt anyway.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn replace_drive(
        &self,
        pool: &str,
        name: String,
        spec: String,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        let old = drive_named(&self.report(pool).await?, &name)?.status.clone();
        let record = self.add_drive_instead(pool, Some(old.drive), spec.clone(), force).await?;
        if matches!(old.condition, DriveCondition::Failed(_) | DriveCondition::Absent) {
            return Ok(record);
        }
        let removed = self.remove_drive(pool, old.drive.0.to_string(), Removal::Begin).await;
        let cannot = |error| NodeError::ReplaceDrive { with: spec, error: Box::new(error) };
        removed.map_err(cannot).map(|_| record)
    }

    /// A member, named by its number, its name or as it was given.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn drive_named(&self, pool: &str, name: &str) -> Result<DriveReport, NodeError> {
        Ok(drive_named(&self.report(pool).await?, name)?.clone())
    }

    /// Takes a drive back that a pool has lost. `at`: where it is; without that, where the pool has
    /// had it, or where `remembered` says that a drive of that identity was.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn return_drive(
        &self,
        pool: &str,
        name: String,
        at: Option<String>,
        remembered: impl FnOnce(DriveUuid) -> Option<String>,
    ) -> Result<PoolRecord, NodeError> {
        let report = self.report(pool).await?;
        let found = lost_drive_named(&report, &name)?;
        let known = || found.facts.is_none().then(|| remembered(found.status.uuid)).flatten();
        let (place, drive) = (at.or_else(known), found.status.drive);
        let at = Located::of(&report);
        self.at_pool(
            at,
            move |home, uuid| async move { home.return_drive(uuid, drive, place).await },
        )
        .await
    }

    /// Opens a pool that has halted anew, with those of the drives that are there by now. Until it
    /// is sure that there are enough, the pool stays as it is, and can be read.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn reopen_pool(
        &self,
        pool: &str,
        name: &str,
        drives: Vec<String>,
    ) -> Result<PoolRecord, NodeError> {
        let report = self.report(pool).await?;
        lost_drive_named(&report, name)?;
        let at = Located::of(&report);
        let reports = self.reports().await?;
        let others = reports.into_iter().filter(|report| report.status.uuid != at.uuid);
        let request = OpenRequest {
            pool: Some(at.uuid.to_string()),
            name: Some(report.status.name),
            drives,
            seek: false,
            skipped_drives: Vec::new(),
            rename: None,
            names_taken: others.map(|report| report.status.name).collect(),
            closed: Vec::new(),
            // Half of them may be missing: until now this machine had the pool, and who has taken
            // it since has a heartbeat on those that are there.
            policy: OpenPolicy::Degraded,
            options: self.options.clone(),
            member_wait: Duration::ZERO,
            opening: Opening::default(),
        };
        self.at_pool(at, move |home, uuid| async move { home.reopen_pool(uuid, request).await })
            .await
    }
}

/// The drive of a pool that is named by its number, its name or as it was given. One that came back
/// has a record for each number that it had, until what it missed under that is restored: all of
/// its names mean the number that it has now.
fn drive_named<'a>(report: &'a PoolReport, name: &str) -> Result<&'a DriveReport, NodeError> {
    let is_named = |drive: &&DriveReport| {
        let number = drive.status.drive.0.to_string();
        let is_there = drive.facts.as_ref().is_some_and(|facts| is_at(&facts.spec, name));
        number == name || drive.name() == name || is_there
    };
    let no_such =
        || NodeError::NoSuchDrive { pool: report.status.name.clone(), drive: name.to_owned() };
    // The newest record comes last.
    let named = report.drives.iter().rfind(is_named).ok_or_else(no_such)?;
    let DriveCondition::Returned(now) = named.status.condition else { return Ok(named) };
    Ok(report.drives.iter().find(|drive| drive.status.drive == now).unwrap_or(named))
}

/// The same of one that is to come back.
fn lost_drive_named<'a>(report: &'a PoolReport, name: &str) -> Result<&'a DriveReport, NodeError> {
    let works = |drive: &DriveReport| {
        matches!(drive.status.condition, DriveCondition::Online | DriveCondition::Leaving)
    };
    let is_lost = |drive: &&DriveReport| {
        !works(drive) && !matches!(drive.status.condition, DriveCondition::Returned(_))
    };
    let named = drive_named(report, name)?;
    if !works(named) {
        return Ok(named);
    }
    let lost = report.drives.iter().filter(is_lost).map(DriveReport::name).collect();
    Err(NodeError::NotLost { pool: report.status.name.clone(), drive: named.name(), lost })
}
