//! A node: its reactors and the pools on them, as the control plane sees them. Usable on any
//! thread.

pub(crate) mod activity;
mod members;
mod plans;
mod qos;
mod volumes;

use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ashlar_block::PoolUuid;
use ashlar_block::place::path_of;
use ashlar_store::format::superblock::Superblock;
use ashlar_store::{OpenPolicy, Options, WantedCapacity};
use futures_util::future::join_all;

use crate::dispatcher::{Dispatcher, Gone};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::reactor_pools::{
    DriveErase, DriveReading, Given, KnownPool, OpenRequest, Opening, ReactorPools,
};
use crate::report::{HeldDrive, Order, PoolRecord, PoolReport, SettingsChange};
use crate::table::{ReactorIndex, Table};

/// All pools of a daemon. Clones are the same node.
///
/// Pools are made, opened and closed one at a time, but for those that are opened at the start: the
/// caller sees to it. Volumes may be changed by several at once.
pub struct Node<B: DriveProvider, C: Dispatcher<B>> {
    table: Arc<Table>,
    dispatcher: C,
    options: Options,
    provider: std::marker::PhantomData<fn() -> B>,
}

impl<B: DriveProvider, C: Dispatcher<B>> Clone for Node<B, C> {
    fn clone(&self) -> Self {
        let (table, dispatcher, options) =
            (self.table.clone(), self.dispatcher.clone(), self.options.clone());
        Node { table, dispatcher, options, provider: self.provider }
    }
}

/// A pool and where it lives.
#[derive(Clone, Copy, Debug)]
struct Located {
    home: ReactorIndex,
    uuid: PoolUuid,
}

impl Located {
    fn of(report: &PoolReport) -> Self {
        Located { home: report.home, uuid: report.status.uuid }
    }
}

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// The node that `dispatcher` reaches. Its pools are opened with `options`.
    pub fn new(table: Arc<Table>, dispatcher: C, options: Options) -> Self {
        Node { table, dispatcher, options, provider: std::marker::PhantomData }
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
        for reactor in 0..self.dispatcher.reactors() {
            all.extend(
                self.dispatcher
                    .call(ReactorIndex(reactor), |home| async move { home.reports() })
                    .await?,
            );
        }
        all.sort_by(|one, other| one.status.name.cmp(&other.status.name));
        Ok(all)
    }

    /// All drives that its pools have open.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn held(&self) -> Result<Vec<HeldDrive>, Gone> {
        let mut all = Vec::new();
        for reactor in 0..self.dispatcher.reactors() {
            all.extend(
                self.dispatcher
                    .call(ReactorIndex(reactor), |home| async move { home.held() })
                    .await?,
            );
        }
        Ok(all)
    }

    /// A pool by its name or UUID.
    ///
    /// # Errors
    /// [`NodeError::NoSuchPool`].
    pub async fn report(&self, pool: &str) -> Result<PoolReport, NodeError> {
        let reports = self.reports().await?;
        let named = |report: &PoolReport| {
            report.status.name == pool || report.status.uuid.to_string() == pool
        };
        reports.into_iter().find(named).ok_or_else(|| NodeError::NoSuchPool(pool.to_owned()))
    }

    async fn locate(&self, pool: &str) -> Result<Located, NodeError> {
        Ok(Located::of(&self.report(pool).await?))
    }

    /// Has work of a pool done where it lives, under its fuse.
    async fn at_pool<M, F, T>(&self, at: Located, make: M) -> Result<T, NodeError>
    where
        M: FnOnce(Rc<ReactorPools<B>>, PoolUuid) -> F + Send + 'static,
        F: Future<Output = Result<T, NodeError>> + 'static,
        T: Send + 'static,
    {
        let Located { home, uuid } = at;
        let call = self.dispatcher.call(home, move |home| async move {
            let work = make(home.clone(), uuid);
            home.guarded(uuid, work).await
        });
        call.await?
    }

    /// The reactor with the fewest pools.
    fn least_loaded(&self, reports: &[PoolReport]) -> ReactorIndex {
        let pools_on =
            |reactor: &usize| reports.iter().filter(|report| report.home.0 == *reactor).count();
        ReactorIndex((0..self.dispatcher.reactors()).min_by_key(pools_on).unwrap_or(0))
    }

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
        let (home, request) = self.new_pool(new, drives, force).await?;
        self.dispatcher
            .call(home, move |home| async move { home.create_pool(request).await })
            .await?
    }

    /// Opens the pool that drives belong to: `pool` by name or UUID, if they belong to several. Not
    /// under the name of another one of those that are `closed`.
    ///
    /// # Errors
    /// [`NodeError`]; nothing is open then.
    pub async fn open_pool(
        &self,
        pool: Option<String>,
        given: impl Into<Given>,
        policy: OpenPolicy,
        closed: Vec<KnownPool>,
    ) -> Result<PoolRecord, NodeError> {
        let Given { drives, skipped_drives, rename } = given.into();
        let reports = self.reports().await?;
        let names_taken = reports.iter().map(|report| report.status.name.clone()).collect();
        let home = self.least_loaded(&reports);
        let options = self.options.clone();
        let (member_wait, seek, opening) = (Duration::ZERO, false, Opening::default());
        let request = OpenRequest {
            name: pool.clone(),
            pool,
            drives,
            seek,
            skipped_drives,
            rename,
            names_taken,
            closed,
            policy,
            options,
            member_wait,
            opening,
        };
        self.dispatcher.call(home, move |home| async move { home.open_pool(request).await }).await?
    }

    /// Opens the pool of that place among those that the node has, wherever its drives are: they
    /// are sought by their labels. Several pools may be opened at a time. Of two that have one name
    /// the first one is opened.
    ///
    /// # Errors
    /// [`NodeError`]; nothing is open then.
    pub async fn open_known(
        &self,
        pools: &[KnownPool],
        at: usize,
        member_wait: Duration,
        opening: Opening,
    ) -> Result<PoolRecord, NodeError> {
        let is_other = |report: &PoolReport| report.status.uuid.to_string() != pools[at].uuid;
        let others = self.reports().await?.into_iter().filter(is_other);
        let request = OpenRequest {
            pool: Some(pools[at].uuid.clone()),
            name: Some(pools[at].name.clone()),
            drives: Vec::new(),
            seek: true,
            skipped_drives: Vec::new(),
            rename: None,
            names_taken: others.map(|report| report.status.name).collect(),
            closed: pools[..at].to_vec(),
            policy: OpenPolicy::Most,
            options: self.options.clone(),
            member_wait,
            opening,
        };
        let home = ReactorIndex(at % self.dispatcher.reactors());
        self.dispatcher.call(home, move |home| async move { home.open_pool(request).await }).await?
    }

    /// What has to be remembered of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn record(&self, pool: &str) -> Result<PoolRecord, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.record(uuid) }).await
    }

    /// Gives a pool another name, which no other pool may have, nor one of those that are `closed`.
    ///
    /// # Errors
    /// [`NodeError`]; it has its old name then.
    pub async fn rename_pool(
        &self,
        pool: &str,
        name: String,
        closed: Vec<KnownPool>,
    ) -> Result<PoolRecord, NodeError> {
        let Located { home, uuid } = self.locate(pool).await?;
        let open = self.reports().await?;
        let mut others = open.iter().filter(|other| other.status.uuid != uuid);
        let is_taken = others.any(|other| other.status.name == name)
            || closed.iter().any(|other| other.name == name && other.uuid != uuid.to_string());
        if is_taken {
            return Err(NodeError::PoolExists(name));
        }
        self.dispatcher
            .call(home, move |home| async move { home.rename_pool(uuid, &name).await })
            .await?
    }

    /// Changes what an operator has chosen for a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_pool(
        &self,
        pool: &str,
        change: SettingsChange,
    ) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.set_pool(uuid, change).await })
            .await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Begins a scrub of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn scrub(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.scrub(uuid, order).await }).await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Begins to tell the drives of a pool of all space that is free, or stops that.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn trim(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.trim(uuid, order).await }).await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Begins to prove the ledger of a pool, or stops that.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn verify(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.verify(uuid, order).await }).await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Takes the room of drives that have become larger into a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn grow(&self, pool: &str) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, |home, uuid| async move { home.grow(uuid).await }).await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Formats more or less of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_capacity(
        &self,
        pool: &str,
        wanted: WantedCapacity,
        is_forced: bool,
    ) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move {
            home.set_capacity(uuid, wanted, is_forced).await
        })
        .await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Lets hosts have what was kept for when the pool is full.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn release_reserve(&self, pool: &str) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.release_reserve(uuid).await }).await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Begins a rebalance of a pool, or stops the one that is under way.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn rebalance(&self, pool: &str, order: Order) -> Result<PoolReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.rebalance(uuid, order).await })
            .await?;
        self.report(&at.uuid.to_string()).await
    }

    /// Closes a pool and lets go of its drives.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn close_pool(&self, pool: &str) -> Result<PoolUuid, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.close_pool(uuid).await }).await?;
        Ok(at.uuid)
    }

    /// Closes all pools, for the end of the daemon, side by side: one whose drives hang keeps no
    /// other from it. Returns those that could not be closed well.
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
        let at = self.locate(pool).await?;
        self.at_pool(at, |home, uuid| async move { home.destroy_pool(uuid, false).await }).await?;
        Ok(at.uuid)
    }

    /// The same, and begins to erase the drives.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn destroy_and_erase_pool(&self, pool: &str) -> Result<PoolUuid, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, |home, uuid| async move { home.destroy_pool(uuid, true).await }).await?;
        Ok(at.uuid)
    }

    /// The drives that are being erased, and the last ones that were.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn drive_erases(&self) -> Result<Vec<DriveErase>, Gone> {
        let mut all = Vec::new();
        for reactor in 0..self.dispatcher.reactors() {
            let of_reactor = |home: Rc<ReactorPools<B>>| async move { home.drive_erases() };
            all.extend(self.dispatcher.call(ReactorIndex(reactor), of_reactor).await?);
        }
        Ok(all)
    }

    /// Looks what a drive is and holds.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn inspect_drive(&self, spec: String) -> Result<DriveReading, NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        self.dispatcher
            .call(ReactorIndex(0), move |home| async move { home.inspect_drive(spec).await })
            .await?
    }

    /// Makes sure that a drive can be taken into a pool later: a file that is not there is made,
    /// and it has to be blank, unless with `force`, which makes it so.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn prepare_spare(
        &self,
        pool: &str,
        spec: String,
        force: bool,
    ) -> Result<(), NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.prepare_spare(uuid, spec, force).await },
        )
        .await
    }

    /// Takes a pool's label off a drive; `force` also of a drive with other content.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn clear_label(&self, spec: String, force: bool) -> Result<DriveReading, NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        let clear = move |home: std::rc::Rc<crate::reactor_pools::ReactorPools<B>>| async move {
            home.clear_label(spec, force).await
        };
        self.dispatcher.call(ReactorIndex(0), clear).await?
    }

    /// What a drive holds whose label was overwritten, and the label that it would get back.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn restorable_label(
        &self,
        spec: String,
    ) -> Result<(DriveReading, Superblock), NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        self.dispatcher
            .call(ReactorIndex(0), move |home| async move { home.restorable_label(spec).await })
            .await?
    }

    /// Gives a drive its label back. Returns what is on the drive then.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn restore_label(&self, spec: String) -> Result<DriveReading, NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        self.dispatcher
            .call(ReactorIndex(0), move |home| async move { home.restore_label(spec).await })
            .await?
    }
}

/// Refuses drives that a pool of this daemon has, whatever reactor it lives on.
fn check_unused(held: &[HeldDrive], specs: &[String]) -> Result<(), NodeError> {
    let is_wanted =
        |held: &&HeldDrive| specs.iter().any(|spec| path_of(spec) == path_of(&held.spec));
    // Memory is made anew for each that asks for it.
    let lasts =
        |held: &&HeldDrive| !held.spec.starts_with("mem:") && !held.spec.starts_with("null:");
    held.iter().filter(lasts).find(is_wanted).map_or(Ok(()), |held| Err(held.refuses(&held.spec)))
}
