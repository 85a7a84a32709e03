//! The node behind the API.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ashlar_control::types::{
    ChangePool, ChangeVolume, CreatePool, CreateVolume, DriveErase, DriveInfo, FailDrive,
    FindPools, Host, ImportPool, ImportablePool, IoScope, IoStat, Latency, NameDrive, NameHosts,
    NameSpare, Pool, PoolDrive, ProcessFigures, RemoveDrive, RenamePool, ReplaceDrive, ReturnDrive,
    SetCapacity, Status, Volume,
};
use ashlar_control::{
    Answer, ApiError, Consent, HostVisits, NodeApi, SharedHostNqn, Warning, alerts,
};
use ashlar_node::MachineNode;
use ashlar_target::nvme_tcp::{Portal, Target};
use ashlar_volume::{Order, PoolReport, SubsystemInfo};
use futures_util::future::BoxFuture;

use super::apart::apart;
use super::convert::Known;
use super::deaths::Deaths;
use super::errors::api_error;
use super::finder::{Finder, Wanted};
use super::forecast::Forecast;
use super::health::Healths;
use super::memory::Memory;
use super::state::{PoolState, StateDir};
use super::stops::Stops;
use super::turns::{Over, Turns};
use super::{Config, convert, visits};
pub use namespaces::Remembered;
use opening::Openers;

mod activity;
mod changes;
mod consent;
mod erases;
mod health;
mod importable;
mod labels;
mod namespaces;
mod naming;
mod opening;
mod qos;
mod remembering;
mod returning;
mod spares;
mod stopped;
mod volumes;

/// A node as the API sees it. Clones are the same one.
#[derive(Clone)]
pub struct ServedNode {
    shared: Arc<Shared>,
}

/// A node, its target, and what it remembers.
struct Shared {
    node: MachineNode,
    target: Target,
    /// Kept over every change to the pools, so that one follows another.
    changing: Turns,
    /// Held while it is noted what a pool consists of, by those as well who change nothing of that.
    remembering: tokio::sync::Mutex<()>,
    memory: Mutex<Memory>,
    /// Held while its file is written, which may hang: by threads for that alone.
    remembered: Mutex<Remembered>,
    finder: Finder,
    healths: Healths,
    openers: Openers,
    forecast: Mutex<Forecast>,
    deaths: Deaths,
    stops: Stops,
    /// How long a pool that is opened waits for members that it counts on.
    member_wait: Duration,
    nqn: String,
    serial: String,
    reactors: usize,
    /// Another one after each start.
    instance: String,
    start: Instant,
}

impl ServedNode {
    /// The API of a node that serves, and none of whose pools is open yet.
    pub fn new(
        node: MachineNode,
        target: Target,
        state: StateDir,
        remembered: Remembered,
        finder: Finder,
        stops: Stops,
        config: &Config,
    ) -> Self {
        let SubsystemInfo { nqn, serial, .. } = state.node.subsystem();
        let directories = config.drive_directories.clone();
        let tell = {
            let finder = finder.clone();
            move |pools| finder.want(Wanted { pools, directories: directories.clone() })
        };
        let deaths = stopped::deaths(config);
        let mut memory = Memory::new(state, tell);
        stopped::keep_closed(&deaths, &mut memory);
        let shared = Shared {
            node,
            target,
            changing: Turns::default(),
            remembering: tokio::sync::Mutex::default(),
            memory: Mutex::new(memory),
            remembered: Mutex::new(remembered),
            finder,
            healths: Healths::new(config.health),
            openers: Openers::default(),
            forecast: Mutex::default(),
            deaths,
            stops,
            member_wait: config.member_wait,
            nqn,
            serial,
            reactors: config.reactors,
            instance: format!("{}-{}", std::process::id(), ashlar_reactor::now().0),
            start: Instant::now(),
        };
        ServedNode { shared: Arc::new(shared) }
    }

    /// Where it listens.
    pub fn portals(&self) -> Vec<Portal> {
        self.shared.target.portals()
    }

    /// Opens the node's pools, hears of those that are stopped, takes back drives that were away,
    /// unless nobody wants that, takes spares for drives that are lost, and asks drives for their
    /// health: from now on.
    pub fn keep_pools(&self, auto_rejoin: bool) {
        tokio::spawn(self.shared.clone().keep_remembering());
        tokio::spawn(self.shared.clone().keep_namespaces());
        tokio::spawn(self.shared.clone().keep_stopped());
        self.shared.begin_opening_all();
        tokio::spawn(self.shared.clone().keep_returning(auto_rejoin));
        tokio::spawn(self.shared.clone().keep_whole());
        tokio::spawn(self.shared.clone().keep_asking());
    }

    /// Returns once each pool is open or could not be opened.
    pub async fn opened(&self) {
        self.shared.opened().await;
    }

    /// Opens no pool any more. Returns once none is being opened.
    pub async fn stop_opening(&self) {
        self.shared.stop_opening_all().await;
    }

    /// Remembers what is to be, at the end of the daemon. What cannot be is in the log.
    pub async fn remember_at_end(&self) {
        self.shared.remember_at_end().await;
    }

    /// The pools are about to be closed, for the daemon ends as it should: hosts keep what they see
    /// now, and a pool that is being opened still is not suspected.
    pub async fn prepare_end(&self) {
        let shared = self.shared.clone();
        let work = move || {
            shared.deaths.clear_marks();
            shared.remember_namespaces_at_end();
        };
        if let Ok(done) = apart("remember", work) {
            let _ = done.await;
        }
    }

    /// What hosts connect to.
    pub fn subsystem_nqn(&self) -> &str {
        &self.shared.nqn
    }

    /// Lets no change to the pools begin any more, and waits for the one that is under way.
    pub async fn end_changes(&self) {
        self.shared.changing.end().await;
    }

    /// Runs a change to its end, also when the client that asked for it has gone: what is half done
    /// on the reactors and not remembered would be nobody's.
    fn change<T: Send + 'static, F>(&self, change: impl FnOnce(Arc<Shared>) -> F) -> Answer<'_, T>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
    {
        let change = change(self.shared.clone());
        Box::pin(async move { tokio::spawn(change).await.unwrap_or_else(|_| Err(Over.into())) })
    }
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no holder of the lock panics")
    }

    fn remembered(&self) -> MutexGuard<'_, Remembered> {
        self.remembered.lock().expect("no holder of the lock panics")
    }

    async fn status(&self) -> Result<Status, ApiError> {
        let (pools, volumes) = self.read_pools().await?;
        let visits = self.target.visit_totals();
        let warnings = self.warnings();
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.start.elapsed().as_secs(),
            reactors: self.reactors,
            subsystem_nqn: self.nqn.clone(),
            serial: self.serial.clone(),
            portals: self.target.portals().iter().map(convert::portal).collect(),
            hosts_connected: self
                .target
                .connected_hosts()
                .iter()
                .filter(|host| !host.is_discovery)
                .count(),
            host_connects: visits.connects,
            host_disconnects: visits.disconnects,
            alerts: alerts(&pools, &warnings),
            warnings: warnings.into_iter().map(|warning| warning.message).collect(),
            pools,
            volumes,
        })
    }

    async fn read_pools(&self) -> Result<(Vec<Pool>, Vec<Volume>), ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let memory = self.memory();
        let mut pools: Vec<Pool> =
            reports.iter().map(|report| self.pool_with(report, &memory)).collect();
        self.forecast
            .lock()
            .expect("no holder of the lock panics")
            .keep(|pool| reports.iter().any(|report| report.status.uuid == pool));
        // One that has just been opened may not be remembered as that yet.
        let is_closed = |pool: &PoolState| {
            reports.iter().all(|report| report.status.uuid.to_string() != pool.uuid)
        };
        let closed = memory.unavailable().filter(|(pool, _)| is_closed(pool));
        pools.extend(closed.map(|(pool, why)| convert::unavailable_pool(pool, why)));
        let is_new = |pool: &&PoolState| is_closed(pool) && memory.not_open(&pool.uuid).is_none();
        let stopped = memory.pools().iter().filter(is_new);
        pools
            .extend(stopped.filter_map(|pool| {
                Some(convert::unavailable_pool(pool, &self.why_stopped(pool)?))
            }));
        pools.sort_by(|one, other| one.name.cmp(&other.name));
        let volumes =
            reports.iter().flat_map(|report| &report.volumes).map(convert::volume).collect();
        Ok((pools, volumes))
    }

    /// An open pool as the API shows it.
    fn pool(&self, report: &PoolReport) -> Pool {
        self.pool_with(report, &self.memory())
    }

    fn pool_with(&self, report: &PoolReport, memory: &Memory) -> Pool {
        let snapshot = self.finder.snapshot();
        let places = snapshot.pools.get(&report.status.uuid.to_string());
        let known = Known { memory, places, healths: &self.healths };
        convert::pool(report, &known, self.full_in_seconds(report))
    }

    /// How long it is until the pool is full, if anybody can say.
    fn full_in_seconds(&self, report: &PoolReport) -> Option<u64> {
        let status = &report.status;
        if report.read_only().is_some() {
            return None;
        }
        let room_bytes = status.space.safe_to_write;
        let mut forecast = self.forecast.lock().expect("no holder of the lock panics");
        let (now, live_bytes) = (self.start.elapsed(), status.space.live);
        let left = forecast.time_to_full(status.uuid, now, live_bytes, room_bytes)?;
        Some(left.as_secs())
    }

    async fn inspect_drive(&self, request: NameDrive) -> Result<DriveInfo, ApiError> {
        self.check_not_opening(std::slice::from_ref(&request.drive))?;
        let reading = self.node.inspect_drive(request.drive).await.map_err(api_error)?;
        let said = self.health_of(&reading.facts).await;
        Ok(convert::drive_with_health(&reading, said))
    }
}

impl NodeApi for ServedNode {
    fn status(&self) -> Answer<'_, Status> {
        Box::pin(self.shared.status())
    }

    fn hosts(&self) -> Answer<'_, Vec<Host>> {
        let hosts = self.shared.target.connected_hosts().iter().map(convert::host).collect();
        Box::pin(std::future::ready(Ok(hosts)))
    }

    fn take_host_visits(&self) -> HostVisits {
        visits::host_visits(self.shared.target.take_visits())
    }

    fn host_visits_have_come(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shared.target.visits_have_come())
    }

    fn shared_host_nqns(&self) -> Vec<SharedHostNqn> {
        self.shared.target.shared_nqns().into_iter().map(convert::shared_host_nqn).collect()
    }

    fn warnings(&self) -> Vec<Warning> {
        self.shared.warnings()
    }

    fn pools(&self) -> Answer<'_, Vec<Pool>> {
        Box::pin(async { Ok(self.shared.read_pools().await?.0) })
    }

    fn create_pool(&self, request: CreatePool) -> Answer<'_, Pool> {
        self.change(|node| async move { node.create_pool(request).await })
    }

    fn import_pool(&self, request: ImportPool) -> Answer<'_, Pool> {
        self.change(|node| async move { node.import_pool(request).await })
    }

    fn process(&self) -> Answer<'_, ProcessFigures> {
        Box::pin(std::future::ready(Ok(super::process::figures())))
    }

    fn find_pools(&self, request: FindPools) -> Answer<'_, Vec<ImportablePool>> {
        Box::pin(self.shared.find_pools(request))
    }

    fn export_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()> {
        self.change(move |node| async move { node.export_pool(pool, consent).await })
    }

    fn destroy_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()> {
        self.change(move |node| async move { node.destroy_pool(pool, consent).await })
    }

    fn destroy_and_erase_pool(
        &self,
        pool: String,
        consent: Consent,
    ) -> Answer<'_, Vec<DriveErase>> {
        self.change(move |node| async move { node.destroy_and_erase_pool(pool, consent).await })
    }

    fn drive_erases(&self) -> Answer<'_, Vec<DriveErase>> {
        Box::pin(self.shared.drive_erases())
    }

    fn rename_pool(&self, pool: String, request: RenamePool) -> Answer<'_, Pool> {
        self.change(|node| async move { node.rename_pool(pool, request).await })
    }

    fn change_pool(&self, pool: String, request: ChangePool) -> Answer<'_, Pool> {
        self.change(|node| async move { node.change_pool(pool, request).await })
    }

    fn start_scrub(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.scrub(pool, Order::Start).await })
    }

    fn stop_scrub(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.scrub(pool, Order::Stop).await })
    }

    fn grow(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.grow(pool).await })
    }

    fn trim(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.trim(pool).await })
    }

    fn verify(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.verify(pool).await })
    }

    fn set_capacity(&self, pool: String, request: SetCapacity) -> Answer<'_, Pool> {
        self.change(|node| async move { node.set_capacity(pool, request).await })
    }

    fn release_reserve(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.release_reserve(pool).await })
    }

    fn start_rebalance(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.rebalance(pool, Order::Start).await })
    }

    fn stop_rebalance(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.rebalance(pool, Order::Stop).await })
    }

    fn add_drive(&self, pool: String, request: NameDrive) -> Answer<'_, Pool> {
        self.change(|node| async move { node.add_drive(pool, request).await })
    }

    fn add_spare(&self, pool: String, request: NameDrive) -> Answer<'_, Pool> {
        self.change(|node| async move { node.add_spare(pool, request).await })
    }

    fn remove_spare(&self, pool: String, request: NameSpare) -> Answer<'_, Pool> {
        self.change(|node| async move { node.remove_spare(pool, request).await })
    }

    fn fail_drive(&self, pool: String, request: FailDrive, consent: Consent) -> Answer<'_, Pool> {
        self.change(move |node| async move { node.fail_drive(pool, request, consent).await })
    }

    fn remove_drive(
        &self,
        pool: String,
        request: RemoveDrive,
        consent: Consent,
    ) -> Answer<'_, Pool> {
        self.change(move |node| async move { node.remove_drive(pool, request, consent).await })
    }

    fn return_drive(&self, pool: String, request: ReturnDrive) -> Answer<'_, Pool> {
        self.change(|node| async move { node.return_drive(pool, request).await })
    }

    fn replace_drive(&self, pool: String, request: ReplaceDrive) -> Answer<'_, Pool> {
        self.change(|node| async move { node.replace_drive(pool, request).await })
    }

    fn drives(&self) -> Answer<'_, Vec<PoolDrive>> {
        Box::pin(async {
            let (pools, _) = self.shared.read_pools().await?;
            Ok(pools.into_iter().flat_map(|pool| pool.drives).collect())
        })
    }

    fn inspect_drive(&self, request: NameDrive) -> Answer<'_, DriveInfo> {
        Box::pin(self.shared.inspect_drive(request))
    }

    fn clear_label(&self, request: NameDrive, consent: Consent) -> Answer<'_, DriveInfo> {
        self.change(move |node| async move { node.clear_label(request, consent).await })
    }

    fn restore_label(&self, request: NameDrive, consent: Consent) -> Answer<'_, DriveInfo> {
        self.change(move |node| async move { node.restore_label(request, consent).await })
    }

    fn volumes(&self) -> Answer<'_, Vec<Volume>> {
        Box::pin(async { Ok(self.shared.read_pools().await?.1) })
    }

    fn iostat(&self, scope: IoScope) -> Answer<'_, IoStat> {
        Box::pin(self.shared.iostat(scope))
    }

    fn volume_latency(&self, pool: String, volume: String) -> Answer<'_, Latency> {
        Box::pin(self.shared.volume_latency(pool, volume))
    }

    fn drive_latency(&self, pool: String, drive: String) -> Answer<'_, Latency> {
        Box::pin(self.shared.drive_latency(pool, drive))
    }

    fn create_volume(&self, request: CreateVolume) -> Answer<'_, Volume> {
        self.change(|node| async move { node.create_volume(request).await })
    }

    fn change_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangeVolume,
        consent: Consent,
    ) -> Answer<'_, Volume> {
        self.change(
            move |node| async move { node.change_volume(pool, volume, request, consent).await },
        )
    }

    fn wipe_volume(&self, pool: String, volume: String, consent: Consent) -> Answer<'_, Volume> {
        self.change(move |node| async move { node.wipe_volume(pool, volume, consent).await })
    }

    fn delete_volume(&self, pool: String, volume: String, consent: Consent) -> Answer<'_, ()> {
        self.change(move |node| async move { node.delete_volume(pool, volume, consent).await })
    }

    fn allow(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Answer<'_, Volume> {
        self.change(move |node| async move { node.allow(pool, volume, request, consent).await })
    }

    fn deny(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Answer<'_, Volume> {
        self.change(move |node| async move { node.deny(pool, volume, request, consent).await })
    }
}
