//! What changes the node: each is done, durable and remembered when its method returns.

use std::sync::Arc;
use std::time::Duration;

use ashlar_block::DriveUuid;
use ashlar_control::types::{
    ChangePool, CreatePool, FailDrive, ImportPool, NameDrive, Pool, RemoveDrive, RenamePool,
    ReplaceDrive, ReturnDrive, SetCapacity,
};
use ashlar_control::{ApiError, Consent, ErrorCode};
use ashlar_node::name_the_same;
use ashlar_raid::Level;
use ashlar_store::{DriveCondition, OpenPolicy};
use ashlar_volume::{
    Given, KnownPool, NodeError, Opening, Order, PoolRecord, PoolReport, Removal, SettingsChange,
};
use futures_util::future::join_all;

use super::super::distinct::{self, Named};
use super::super::errors::api_error;
use super::super::memory::NotOpen;
use super::super::state::PoolState;
use super::super::{convert, requests};
use super::naming::is_lost;
use super::{Shared, consent};

/// How often it is looked whether drives have been removed.
const REMOVAL_LOOK_INTERVAL: Duration = Duration::from_secs(2);

/// Of so many drives in directories it is said why they are no members.
const LEFT_OUT_MAX: usize = 16;

impl Shared {
    pub(super) async fn create_pool(&self, request: CreatePool) -> Result<Pool, ApiError> {
        let new = requests::new_pool(&request)?;
        let _changing = self.changing.next().await?;
        self.check_new_pool(&new.name, &request.drives).await?;
        let record =
            self.node.create_pool(new, request.drives, request.force).await.map_err(api_error)?;
        let mut pool = self.remember(&record).await?;
        if request.overcommit {
            pool = self.overcommit(&record.name).await?;
        }
        pool.notes.extend(Level::instead_of_groups(&request.level).map(|(_, why)| why));
        Ok(pool)
    }

    /// Nothing that is remembered stands against a pool of this name and these drives.
    pub(super) async fn check_new_pool(
        &self,
        name: &str,
        drives: &[String],
    ) -> Result<(), ApiError> {
        self.note_stops().await;
        if self.memory().unavailable_pool(name).is_some() {
            return Err(api_error(NodeError::PoolExists(name.to_owned())));
        }
        self.check_nobodys(drives).await?;
        self.memory().check_remembers("Ashlar makes no pool now: no start would open it")
    }

    /// No pool has these drives, waits for them, or lies on them.
    pub(super) async fn check_nobodys(&self, drives: &[String]) -> Result<(), ApiError> {
        self.check_no_spare(drives)?;
        self.check_not_opening(drives)?;
        self.check_distinct(drives).await
    }

    /// Lets volumes of a pool that was just made be promised more than is formatted.
    async fn overcommit(&self, pool: &str) -> Result<Pool, ApiError> {
        let change = SettingsChange { overcommit: Some(true), ..SettingsChange::default() };
        let report = self.node.set_pool(pool, change).await.map_err(|error| {
            let way_out = format!(
                "the pool is made and serves, without overcommit: `ashlar pool set {pool} \
                 overcommit=on` asks again"
            );
            api_error(error).with_hint(way_out)
        })?;
        Ok(self.pool(&report))
    }

    /// Opens a pool with the drives that are named. It is not opened by itself meanwhile.
    pub(super) async fn import_pool(
        self: Arc<Self>,
        request: ImportPool,
    ) -> Result<Pool, ApiError> {
        if let ([], [uuid]) = (&*request.drives, &*self.not_open_with(request.pool.as_deref(), &[]))
        {
            self.places_are_known(uuid).await;
        }
        let _changing = self.changing.next().await?;
        self.note_stops().await;
        let by_itself = self.not_open_with(request.pool.as_deref(), &request.drives);
        for uuid in &by_itself {
            self.stop_opening(uuid).await;
        }
        let imported = self.import_stopped(request, &by_itself).await;
        by_itself.iter().for_each(|uuid| self.begin_opening_unless_stopped(uuid));
        let pool = imported?;
        self.deaths.forget(&pool.uuid, &pool.name);
        Ok(pool)
    }

    async fn import_stopped(
        &self,
        mut request: ImportPool,
        by_itself: &[String],
    ) -> Result<Pool, ApiError> {
        // It may just have been opened.
        if let [uuid] = by_itself
            && let Ok(record) = self.node.record(uuid).await
        {
            return self.with_name(record, request.name).await;
        }
        if by_itself.is_empty() {
            self.memory()
                .check_remembers("Ashlar opens no pool that is new here: no start would open it")?;
        }
        let is_sought = request.drives.is_empty();
        if let (true, [uuid]) = (is_sought, by_itself) {
            let found = self.found_drives(uuid);
            self.check_newest(&found).await.map_err(api_error)?;
            request.drives = found.into_iter().map(|found| found.spec).collect();
        }
        distinct::check_distinct(request.drives.iter().map(|drive| Named::wanted(drive)).collect())
            .await?;
        let given = Given { rename: request.name, ..self.members_among(&request.drives).await? };
        let policy = match (request.degraded, is_sought) {
            (true, _) => OpenPolicy::Degraded,
            // As at a start.
            (false, true) => OpenPolicy::Most,
            (false, false) => OpenPolicy::Whole,
        };
        let closed = self.closed_pools();
        let record =
            self.node.open_pool(request.pool, given, policy, closed).await.map_err(api_error)?;
        let pool = self.remember(&record).await;
        if let Ok(report) = self.node.report(&record.uuid.to_string()).await {
            self.warn_of_missing(&report);
        }
        pool
    }

    /// The open pool under the name that is wanted, its own if none is.
    async fn with_name(&self, record: PoolRecord, name: Option<String>) -> Result<Pool, ApiError> {
        match name.filter(|name| *name != record.name) {
            Some(name) => self.rename_open(&record.uuid.to_string(), name).await,
            None => self.remember(&record).await,
        }
    }

    async fn rename_open(&self, pool: &str, name: String) -> Result<Pool, ApiError> {
        let record =
            self.node.rename_pool(pool, name, self.closed_pools()).await.map_err(api_error)?;
        self.remember(&record).await
    }

    fn closed_pools(&self) -> Vec<KnownPool> {
        self.memory().unavailable().map(|(pool, _)| pool.known()).collect()
    }

    /// Remembers a pool that has been opened, with the numbers that its volumes brought.
    async fn remember(&self, record: &PoolRecord) -> Result<Pool, ApiError> {
        self.remember_as_it_is(record).await;
        self.remember_nsids();
        let report = self.node.report(&record.uuid.to_string()).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    /// Remembers what the pool consists of now, or by `record`, if it has been stopped since. Who
    /// has an older record than somebody else must not note that after them.
    pub(super) async fn remember_as_it_is(&self, record: &PoolRecord) {
        let _remembering = self.remembering.lock().await;
        let now = self.node.record(&record.uuid.to_string()).await;
        self.memory().remember(now.as_ref().unwrap_or(record));
    }

    /// Numbers that were given out are never given out again, also after a restart.
    pub(super) fn remember_nsids(&self) {
        self.memory().remember_nsids(self.node.table().nsid_high());
    }

    /// Of drives in directories, those that belong to pools; and why others may be missed.
    async fn members_among(&self, drives: &[String]) -> Result<Given, ApiError> {
        let (expanded, looked) = requests::expand_directories(drives)?;
        if !looked {
            return Ok(expanded.into());
        }
        let (mut members, mut skipped_drives) = (Vec::new(), Vec::new());
        let looks =
            join_all(expanded.iter().map(|drive| self.node.inspect_drive(drive.clone()))).await;
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
                Ok(info) if info.states == ["member"] => members.push(drive),
                Ok(info) if info.states == ["damaged"] => {
                    skipped_drives.push(format!("{drive} holds {}", info.content))
                }
                Ok(_) => {}
                Err(error) => skipped_drives.push(error.to_string()),
            }
        }
        if members.is_empty() {
            return Err(requests::no_members(drives, &skipped_drives));
        }
        let more = skipped_drives.len().saturating_sub(LEFT_OUT_MAX);
        skipped_drives.truncate(LEFT_OUT_MAX);
        skipped_drives.extend((more > 0).then(|| format!("and {more} more")));
        Ok(Given { drives: members, skipped_drives, rename: None })
    }

    pub(super) async fn export_pool(&self, pool: String, consent: Consent) -> Result<(), ApiError> {
        let _changing = self.changing.next().await?;
        self.note_stops().await;
        let unavailable = self.memory().unavailable_pool(&pool).map(|pool| pool.uuid.clone());
        if let Some(uuid) = unavailable {
            consent.check(|| {
                format!("exporting pool '{pool}', which is not open, makes this node forget it")
            })?;
            self.stop_opening(&uuid).await;
            // It may just have been opened.
            if self.node.report(&uuid).await.is_err() {
                self.forget(&uuid);
                return Ok(());
            }
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
        self.forget(&uuid);
        closed.map(drop).map_err(api_error)
    }

    pub(super) async fn add_drive(
        &self,
        pool: String,
        request: NameDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        self.check_nobodys(std::slice::from_ref(&request.drive)).await?;
        let added = self.node.add_drive(&pool, request.drive, request.force).await;
        self.remember(&added.map_err(api_error)?).await
    }

    pub(super) async fn fail_drive(
        &self,
        pool: String,
        request: FailDrive,
        consent: Consent,
    ) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let name = self.member_called(&pool, &request.drive, |_| true).await?;
        let drive = self.node.drive_named(&pool, &name).await.map_err(api_error)?;
        self.node.may_fail_drive(&pool, &name, request.force).await.map_err(api_error)?;
        self.consent_to_fail(consent, &pool, &drive).await?;
        let report = self.node.fail_drive(&pool, name, request.force).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn remove_drive(
        self: Arc<Self>,
        pool: String,
        request: RemoveDrive,
        consent: Consent,
    ) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let removal = if request.cancel { Removal::Cancel } else { Removal::Begin };
        let name = self.member_called(&pool, &request.drive, |_| true).await?;
        let drive = self.node.drive_named(&pool, &name).await.map_err(api_error)?;
        // Of one that is released nothing is left but its name.
        if removal == Removal::Begin && drive.status.condition != DriveCondition::Released {
            self.node.may_remove_drive(&pool, &name).await.map_err(api_error)?;
            consent.check(|| consent::removal(&pool, &drive))?;
        }
        let member = drive.status.uuid;
        let report = self.node.remove_drive(&pool, name, removal).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        if removal == Removal::Cancel {
            // Whoever replaces it may be about to note that a drive has come for it.
            let _changing = self.changing.next().await?;
            self.memory().change_spares(&uuid, |spares| spares.stays(&member.to_string()));
        }
        tokio::spawn(self.clone().forget_removed(uuid));
        Ok(self.pool(&report))
    }

    pub(super) async fn replace_drive(
        self: Arc<Self>,
        pool: String,
        request: ReplaceDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        let ReplaceDrive { drive, with, force } = request;
        self.check_nobodys(std::slice::from_ref(&with)).await?;
        let drive = self.member_called(&pool, &drive, |_| true).await?;
        let old = self.node.drive_named(&pool, &drive).await.map_err(api_error)?.status.uuid;
        let replaced = self.node.replace_drive(&pool, drive, with, force).await;
        // The new drive may have come although the old one cannot go.
        let record = self.node.record(&pool).await.map_err(api_error)?;
        tokio::spawn(self.clone().forget_removed(record.uuid.to_string()));
        let remembered = self.remember(&record).await;
        replaced.map_err(api_error)?;
        // No spare is to come for it as well.
        let uuid = record.uuid.to_string();
        self.memory().change_spares(&uuid, |spares| spares.made_good.push(old.to_string()));
        remembered
    }

    pub(super) async fn return_drive(
        self: Arc<Self>,
        pool: String,
        mut request: ReturnDrive,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        request.drive = self.member_called(&pool, &request.drive, is_lost).await?;
        let report = self.node.report(&pool).await.map_err(api_error)?;
        let uuid = report.status.uuid.to_string();
        if report.status.halted.is_some() {
            let found = self.found_drives(&uuid).into_iter().map(|found| found.spec).collect();
            return self.reopen(uuid, request, found).await;
        }
        let known = self.memory().pool(&uuid).cloned();
        let remembered = |drive: DriveUuid| {
            let mut drives = known.iter().flat_map(|pool| &pool.drives);
            drives.find(|known| known.uuid == drive.to_string()).map(|known| known.spec.clone())
        };
        let record =
            self.node.return_drive(&uuid, request.drive, request.at, Box::new(remembered)).await;
        let record = record.map_err(api_error)?;
        self.memory().returns.forget_pool(&record);
        tokio::spawn(self.clone().forget_removed(uuid));
        self.remember(&record).await
    }

    /// A pool that has halted is opened anew, with all drives that are there by now, those that
    /// were `found` elsewhere and the one that is `at` among them.
    pub(super) async fn reopen(
        self: &Arc<Self>,
        uuid: String,
        request: ReturnDrive,
        found: Vec<String>,
    ) -> Result<Pool, ApiError> {
        let ReturnDrive { drive, at } = request;
        let mut drives = self.memory().pool(&uuid).map(PoolState::specs).unwrap_or_default();
        for more in found.into_iter().chain(at) {
            if !drives.iter().any(|known| name_the_same(known, &more)) {
                drives.push(more);
            }
        }
        self.memory().was_closed(uuid.clone(), NotOpen::Opening(Opening::default()));
        let error = match self.node.reopen_pool(&uuid, &drive, drives).await {
            Ok(record) => return self.remember(&record).await,
            Err(error) => error,
        };
        if self.node.report(&uuid).await.is_err() {
            let why = error.of_its_pool();
            let why = match error {
                NodeError::Stopped { .. } => NotOpen::Stopped(why),
                _ => NotOpen::Unavailable(why),
            };
            self.memory().is_not_open(&uuid, why);
            self.begin_opening(&uuid);
            let hint = "it is closed, and opens by itself once enough of its drives are there";
            return Err(api_error(error).with_hint(hint));
        }
        self.memory().is_open(&uuid);
        let is_missing = matches!(error, NodeError::Open { .. });
        let error = api_error(error);
        let hint =
            "it stays open for reads; bring more of its drives back and give this command again";
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
            let Ok(_changing) = self.changing.next().await else { return };
            let Ok(record) = self.node.record(&uuid).await else { return };
            self.remember_as_it_is(&record).await;
            return;
        }
    }

    pub(super) async fn rename_pool(
        &self,
        pool: String,
        request: RenamePool,
    ) -> Result<Pool, ApiError> {
        let _changing = self.turn_to_change(&pool).await?;
        self.rename_open(&pool, request.name).await
    }

    pub(super) async fn change_pool(
        &self,
        pool: String,
        request: ChangePool,
    ) -> Result<Pool, ApiError> {
        let change = requests::settings(request)?;
        self.check_available(&pool).await?;
        let report = self.node.set_pool(&pool, change).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn scrub(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.scrub(&pool, order).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn grow(&self, pool: String) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.grow(&pool).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn trim(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.trim(&pool, order).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn verify(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.verify(&pool, order).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn set_capacity(
        &self,
        pool: String,
        request: SetCapacity,
    ) -> Result<Pool, ApiError> {
        let wanted = requests::capacity(&request)?;
        self.check_available(&pool).await?;
        let set = self.node.set_capacity(&pool, wanted, request.force).await;
        Ok(self.pool(&set.map_err(api_error)?))
    }

    pub(super) async fn release_reserve(&self, pool: String) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.release_reserve(&pool).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }

    pub(super) async fn rebalance(&self, pool: String, order: Order) -> Result<Pool, ApiError> {
        self.check_available(&pool).await?;
        let report = self.node.rebalance(&pool, order).await.map_err(api_error)?;
        Ok(self.pool(&report))
    }
}

/// Refuses to export what could not be imported: memory is given back as its pool is closed. One
/// that is another machine's goes.
fn check_outlives(report: &PoolReport) -> Result<(), ApiError> {
    if !report.is_volatile() || report.status.taken_by.is_some() {
        return Ok(());
    }
    let name = &report.status.name;
    let message =
        format!("pool '{name}' has drives in memory, of which nothing is left once it is closed");
    let hint = format!("`ashlar pool destroy {name}` closes it, and all that it holds is lost");
    Err(ApiError::new(ErrorCode::PoolInMemory, message).with_hint(hint))
}
