//! A node: its reactors and the pools on them, as the control plane sees them. Usable on any thread.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ashlar_block::{DriveId, DriveUuid, PoolUuid};
use ashlar_store::{DriveCondition, OpenPolicy, Options};
use futures_util::future::join_all;

use crate::bay::DriveBay;
use crate::courier::{Courier, Gone};
use crate::door::Nsid;
use crate::error::NodeError;
use crate::home::{AccessChange, CreateRequest, DriveReading, NewVolume, OpenRequest, Removal};
use crate::name::VolumeName;
use crate::report::{DriveReport, Order, PoolRecord, PoolReport, SettingsChange, VolumeReport};
use crate::table::{ReactorIndex, Table};

/// All pools of a daemon. Clones are the same node.
///
/// Pools are made, opened and closed one at a time: the caller sees to it. Volumes may be changed by
/// several at once.
pub struct Node<B: DriveBay, C: Courier<B>> {
    table: Arc<Table>,
    courier: C,
    options: Options,
    bay: std::marker::PhantomData<fn() -> B>,
}

impl<B: DriveBay, C: Courier<B>> Clone for Node<B, C> {
    fn clone(&self) -> Self {
        let (table, courier, options) = (self.table.clone(), self.courier.clone(), self.options.clone());
        Node { table, courier, options, bay: self.bay }
    }
}

/// A pool that a node has had.
#[derive(Clone, Debug)]
pub struct KnownPool {
    /// Its UUID.
    pub uuid: String,
    /// Its name.
    pub name: String,
    /// Where its drives are.
    pub drives: Vec<String>,
}

/// A pool and where it lives.
#[derive(Clone, Debug)]
struct Located {
    home: ReactorIndex,
    uuid: PoolUuid,
}

impl<B: DriveBay, C: Courier<B> + Send + Sync> Node<B, C> {
    /// The node that `courier` reaches. Its pools are opened with `options`.
    pub fn new(table: Arc<Table>, courier: C, options: Options) -> Self {
        Node { table, courier, options, bay: std::marker::PhantomData }
    }

    /// The table of its namespaces.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Everything there is to say of its pools.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn reports(&self) -> Result<Vec<PoolReport>, Gone> {
        let mut all = Vec::new();
        for reactor in 0..self.courier.reactors() {
            all.extend(self.courier.call(ReactorIndex(reactor), |home| async move { home.reports() }).await?);
        }
        all.sort_by(|one, other| one.status.name.cmp(&other.status.name));
        Ok(all)
    }

    /// A pool by its name or UUID.
    ///
    /// # Errors
    /// [`NodeError::NoSuchPool`].
    pub async fn report(&self, pool: &str) -> Result<PoolReport, NodeError> {
        let reports = self.reports().await?;
        let named =
            |report: &PoolReport| report.status.name == pool || report.status.uuid.to_string() == pool;
        reports.into_iter().find(named).ok_or_else(|| NodeError::NoSuchPool(pool.to_owned()))
    }

    async fn locate(&self, pool: &str) -> Result<Located, NodeError> {
        let report = self.report(pool).await?;
        Ok(Located { home: report.home, uuid: report.status.uuid })
    }

    /// The reactor with the fewest pools.
    fn least_loaded(&self, reports: &[PoolReport]) -> ReactorIndex {
        let pools_on = |reactor: &usize| reports.iter().filter(|report| report.home.0 == *reactor).count();
        ReactorIndex((0..self.courier.reactors()).min_by_key(pools_on).unwrap_or(0))
    }

    // --- pools ----------------------------------------------------------------------------------------------

    /// Makes a pool and opens it.
    ///
    /// # Errors
    /// [`NodeError`]; nothing has changed then.
    pub async fn create_pool(
        &self,
        new: ashlar_store::NewPool,
        drives: Vec<String>,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        let reports = self.reports().await?;
        if reports.iter().any(|report| report.status.name == new.name) {
            return Err(NodeError::PoolExists(new.name));
        }
        check_unused(&reports, &drives)?;
        let home = self.least_loaded(&reports);
        let request = CreateRequest { new, drives, force, options: self.options.clone() };
        self.courier.call(home, move |home| async move { home.create_pool(request).await }).await?
    }

    /// Opens the pool that drives belong to: `pool` by name or UUID, if they belong to several. Members that it
    /// counts on are waited for as long as `member_wait`.
    ///
    /// # Errors
    /// [`NodeError`]; nothing is open then.
    pub async fn open_pool(
        &self,
        pool: Option<String>,
        drives: Vec<String>,
        policy: OpenPolicy,
        member_wait: Duration,
    ) -> Result<PoolRecord, NodeError> {
        let reports = self.reports().await?;
        let names_taken = reports.iter().map(|report| report.status.name.clone()).collect();
        let home = self.least_loaded(&reports);
        let options = self.options.clone();
        let request = OpenRequest { pool, drives, names_taken, policy, options, member_wait };
        self.courier.call(home, move |home| async move { home.open_pool(request).await }).await?
    }

    /// Opens pools that the node has, all at once: one whose drives are late, or that another machine had last, keeps no other one
    /// waiting. The answers are in the order of the pools.
    pub async fn open_pools(
        &self,
        pools: &[KnownPool],
        member_wait: Duration,
    ) -> Vec<Result<PoolRecord, NodeError>> {
        let open = async |(at, pool): (usize, &KnownPool)| {
            let others = pools.iter().filter(|other| other.uuid != pool.uuid);
            let request = OpenRequest {
                pool: Some(pool.uuid.clone()),
                drives: pool.drives.clone(),
                names_taken: others.map(|other| other.name.clone()).collect(),
                policy: OpenPolicy::Most,
                options: self.options.clone(),
                member_wait,
            };
            let home = ReactorIndex(at % self.courier.reactors());
            self.courier.call(home, move |home| async move { home.open_pool(request).await }).await?
        };
        join_all(pools.iter().enumerate().map(open)).await
    }

    /// Takes a drive into a pool: a blank one, or any with `force`.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn add_drive(&self, pool: &str, spec: String, force: bool) -> Result<PoolRecord, NodeError> {
        self.add_drive_instead(pool, None, spec, force).await
    }

    async fn add_drive_instead(
        &self,
        pool: &str,
        old: Option<DriveId>,
        spec: String,
        force: bool,
    ) -> Result<PoolRecord, NodeError> {
        check_unused(&self.reports().await?, std::slice::from_ref(&spec))?;
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier
            .call(home, move |home| async move { home.add_drive(uuid, old, spec, force).await })
            .await?
    }

    /// Gives a drive of a pool up as if it had been pulled; named by its number, its name or as it was given.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn fail_drive(&self, pool: &str, name: String, force: bool) -> Result<PoolReport, NodeError> {
        let report = self.report(pool).await?;
        let drive = drive_named(&report, &name)?.status.drive;
        let (home, uuid) = (report.home, report.status.uuid);
        self.courier
            .call(home, move |home| async move { home.fail_drive(uuid, drive, force).await })
            .await??;
        self.report(&uuid.to_string()).await
    }

    /// Removes a drive of a pool once what lives on it is on others, or lets one stay that was to be removed. Returns when
    /// that is decided, not when it is done.
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
        let (home, uuid) = (report.home, report.status.uuid);
        self.courier
            .call(home, move |home| async move { home.remove_drive(uuid, drive, removal).await })
            .await??;
        self.report(&uuid.to_string()).await
    }

    /// Takes a drive into a pool, as [`Self::add_drive`], and removes another one unless it is lost: what lived on that one is
    /// being rebuilt anyway.
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

    /// The identity of a member, named by its number, its name or as it was given.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn member_named(&self, pool: &str, name: &str) -> Result<DriveUuid, NodeError> {
        Ok(drive_named(&self.report(pool).await?, name)?.status.uuid)
    }

    /// Takes a drive back that a pool has lost. `at`: where it is; without that, where the pool has had it, or where
    /// `remembered` says that a drive of that identity was.
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
        let found = drive_named(&report, &name)?;
        let known = || found.facts.is_none().then(|| remembered(found.status.uuid)).flatten();
        let (at, drive) = (at.or_else(known), found.status.drive);
        let (home, uuid) = (report.home, report.status.uuid);
        self.courier.call(home, move |home| async move { home.return_drive(uuid, drive, at).await }).await?
    }

    /// Opens a pool that has halted anew, with those of the drives that are there by now. Until it is sure that there are enough,
    /// the pool stays as it is, and can be read.
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
        drive_named(&report, name)?;
        let (home, uuid) = (report.home, report.status.uuid);
        let reports = self.reports().await?;
        let others = reports.into_iter().filter(|report| report.status.uuid != uuid);
        let request = OpenRequest {
            pool: Some(uuid.to_string()),
            drives,
            names_taken: others.map(|report| report.status.name).collect(),
            // Half of them may be missing: nobody else can have gone on with those meanwhile.
            policy: OpenPolicy::Degraded,
            options: self.options.clone(),
            member_wait: Duration::ZERO,
        };
        self.courier.call(home, move |home| async move { home.reopen_pool(uuid, request).await }).await?
    }

    /// What has to be remembered of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn record(&self, pool: &str) -> Result<PoolRecord, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.record(uuid) }).await?
    }

    /// Changes what an operator has chosen for a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_pool(&self, pool: &str, change: SettingsChange) -> Result<PoolReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.set_pool(uuid, change).await }).await??;
        self.report(&uuid.to_string()).await
    }

    /// Begins a scrub of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn scrub(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.scrub(uuid, order) }).await??;
        self.report(&uuid.to_string()).await
    }

    /// Begins a rebalance of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn rebalance(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.rebalance(uuid, order).await }).await??;
        self.report(&uuid.to_string()).await
    }

    /// Closes a pool and lets go of its drives.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn close_pool(&self, pool: &str) -> Result<PoolUuid, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.close_pool(uuid).await }).await??;
        Ok(uuid)
    }

    /// Closes all pools, for the end of the daemon, side by side: one whose drives hang keeps no other from it. Returns those
    /// that could not be closed well.
    pub async fn close_all(&self) -> Vec<(String, NodeError)> {
        let reports = self.reports().await.unwrap_or_default();
        let closed = reports.into_iter().map(|report| async move {
            let closed = self.close_pool(&report.status.uuid.to_string()).await;
            closed.err().map(|error| (report.status.name, error))
        });
        join_all(closed).await.into_iter().flatten().collect()
    }

    /// Closes a pool and takes its label off its drives. What it held is lost.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn destroy_pool(&self, pool: &str) -> Result<PoolUuid, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.destroy_pool(uuid).await }).await??;
        Ok(uuid)
    }

    // --- drives ---------------------------------------------------------------------------------------------

    /// Looks what a drive is and holds.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn inspect_drive(&self, spec: String) -> Result<DriveReading, NodeError> {
        check_unused(&self.reports().await?, std::slice::from_ref(&spec))?;
        self.courier.call(ReactorIndex(0), move |home| async move { home.inspect_drive(spec).await }).await?
    }

    /// Makes sure that a drive can be taken into a pool later: a file that is not there is made, and it has to be blank, unless
    /// with `force`, which makes it so.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn prepare_spare(&self, pool: &str, spec: String, force: bool) -> Result<(), NodeError> {
        check_unused(&self.reports().await?, std::slice::from_ref(&spec))?;
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier
            .call(home, move |home| async move { home.prepare_spare(uuid, spec, force).await })
            .await?
    }

    /// Takes a pool's label off a drive; `force` also of a drive with other content.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn clear_label(&self, spec: String, force: bool) -> Result<DriveReading, NodeError> {
        check_unused(&self.reports().await?, std::slice::from_ref(&spec))?;
        let clear =
            move |home: std::rc::Rc<crate::home::Home<B>>| async move { home.clear_label(spec, force).await };
        self.courier.call(ReactorIndex(0), clear).await?
    }

    // --- volumes --------------------------------------------------------------------------------------------

    /// Makes a volume under a number that [`Table::claim_new`] gave.
    ///
    /// # Errors
    /// [`NodeError`]; the number is let go of.
    pub async fn create_volume(
        &self,
        pool: &str,
        nsid: Nsid,
        new: NewVolume,
    ) -> Result<VolumeReport, NodeError> {
        let made = self.create_volume_as(pool, nsid, new).await;
        made.inspect_err(|_| self.table.release(nsid))
    }

    async fn create_volume_as(
        &self,
        pool: &str,
        nsid: Nsid,
        new: NewVolume,
    ) -> Result<VolumeReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.create_volume(uuid, nsid, new).await }).await?
    }

    /// Makes a volume larger, or smaller with `force`.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn resize_volume(
        &self,
        pool: &str,
        name: String,
        size_bytes: u64,
        force: bool,
    ) -> Result<VolumeReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        let resize = move |home: std::rc::Rc<crate::home::Home<B>>| async move {
            home.resize_volume(uuid, name, size_bytes, force).await
        };
        self.courier.call(home, resize).await?
    }

    /// Gives a volume another name.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn rename_volume(
        &self,
        pool: &str,
        name: String,
        new: VolumeName,
    ) -> Result<VolumeReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.rename_volume(uuid, name, new).await }).await?
    }

    /// Changes who may see a volume.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn change_access(
        &self,
        pool: &str,
        name: String,
        change: AccessChange,
    ) -> Result<VolumeReport, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier
            .call(home, move |home| async move { home.change_access(uuid, name, change).await })
            .await?
    }

    /// Deletes a volume.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn delete_volume(&self, pool: &str, name: String) -> Result<(), NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        self.courier.call(home, move |home| async move { home.delete_volume(uuid, name).await }).await?
    }
}

/// The drive of a pool that is named by its number, its name or as it was given. One that came back has a record for each number
/// that it had, until what it missed under that is restored: all of its names mean the number that it has now.
fn drive_named<'a>(report: &'a PoolReport, name: &str) -> Result<&'a DriveReport, NodeError> {
    let is_named = |drive: &&DriveReport| {
        let number = drive.status.drive.0.to_string();
        let is_there = drive.facts.as_ref().is_some_and(|facts| is_at(&facts.spec, name));
        number == name || drive.name() == name || is_there
    };
    let no_such = || NodeError::NoSuchDrive { pool: report.status.name.clone(), drive: name.to_owned() };
    // The newest record comes last.
    let named = report.drives.iter().rfind(is_named).ok_or_else(no_such)?;
    let DriveCondition::Returned(now) = named.status.condition else { return Ok(named) };
    Ok(report.drives.iter().find(|drive| drive.status.drive == now).unwrap_or(named))
}

/// Refuses drives that a pool of this daemon has, whatever reactor it lives on.
fn check_unused(reports: &[PoolReport], specs: &[String]) -> Result<(), NodeError> {
    let wanted: BTreeSet<&str> = specs.iter().map(|spec| path_of(spec)).collect();
    for report in reports {
        let in_use = report.drives.iter().filter_map(|drive| drive.facts.as_ref());
        let own =
            |facts: &&crate::bay::DriveFacts| !facts.is_volatile && wanted.contains(path_of(&facts.spec));
        if let Some(facts) = in_use.into_iter().find(own) {
            let (spec, pool) = (facts.spec.clone(), report.status.name.clone());
            return Err(NodeError::DriveOfPool { spec, pool });
        }
    }
    Ok(())
}

/// A drive's text without its options: what two ways of naming one drive have in common.
pub fn path_of(spec: &str) -> &str {
    spec.split(',').next().unwrap_or(spec)
}

/// Whether `name` is where the drive is, with its options or without; of a file also its path alone.
pub fn is_at(spec: &str, name: &str) -> bool {
    let (path, name) = (path_of(spec), path_of(name));
    path == name || path.strip_prefix("file:") == Some(name)
}

#[cfg(test)]
mod tests;
