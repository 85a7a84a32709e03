//! The node behind the API.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ashlar_control::types::{
    ChangePool, ChangeVolume, CreatePool, CreateVolume, DriveErase, DriveInfo, DriveLight,
    DrivePlan, FailDrive, FindDrives, FindPools, Host, HostFigures, ImportPool, ImportablePool,
    IoScope, IoStat, Latency, LocateDrive, NameDrive, NameHosts, NameSpare, PlanDrive, Pool,
    PoolDrive, PoolPlan, ProcessFigures, RemoveDrive, RenamePool, ReplaceDrive, ReturnDrive,
    SetCapacity, Status, Volume,
};
use ashlar_control::{
    Answer, ApiError, Consent, HostVisits, Look, NodeApi, Occurrences, SharedHostNqn, Warning,
};
use ashlar_node::MachineNode;
use ashlar_target::nvme_tcp::{Portal, Target};
use ashlar_volume::{Order, SubsystemInfo};
use futures_util::future::BoxFuture;

use super::apart::apart;
use super::deaths::Deaths;
use super::finder::{Finder, Wanted};
use super::forecast::Forecast;
use super::health::Healths;
use super::memory::Memory;
use super::state::StateDir;
use super::stops::Stops;
use super::turns::{Over, Turns};
use super::{Config, convert, occurrences, visits};
pub use namespaces::Remembered;
use opening::Openers;

mod activity;
mod changes;
mod consent;
mod erases;
mod health;
mod importable;
mod labels;
mod lights;
mod looks;
mod namespaces;
mod naming;
mod opening;
mod plans;
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
    reactors_spin: bool,
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
        let tell = {
            let (finder, directories) = (finder.clone(), config.drive_directories.clone());
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
            reactors_spin: !config.spin.is_zero(),
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
}

impl NodeApi for ServedNode {
    fn status(&self) -> Answer<'_, Status> {
        Box::pin(self.shared.status())
    }

    fn hosts(&self) -> Answer<'_, Vec<Host>> {
        let hosts = self.shared.target.connected_hosts().iter().map(convert::host).collect();
        Box::pin(std::future::ready(Ok(hosts)))
    }

    fn host_figures(&self) -> Vec<HostFigures> {
        self.shared.target.host_counts().iter().map(convert::host_figures).collect()
    }

    fn take_host_visits(&self) -> HostVisits {
        visits::host_visits(self.shared.target.take_visits())
    }

    fn host_visits_have_come(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shared.target.visits_have_come())
    }

    fn look(&self) -> Answer<'_, Look> {
        Box::pin(self.shared.look())
    }

    fn take_occurrences(&self) -> Occurrences {
        occurrences::occurrences(self.shared.node.table().occurrences().take())
    }

    fn occurrences_have_come(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.shared.node.table().occurrences().have_come())
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

    fn plan_pool(&self, request: CreatePool) -> Answer<'_, PoolPlan> {
        self.change(|node| async move { node.plan_pool(request).await })
    }

    fn import_pool(&self, request: ImportPool) -> Answer<'_, Pool> {
        self.change(|node| async move { node.import_pool(request).await })
    }

    fn process(&self) -> Answer<'_, ProcessFigures> {
        Box::pin(self.shared.process())
    }

    fn find_pools(&self, request: FindPools) -> Answer<'_, Vec<ImportablePool>> {
        Box::pin(self.shared.find_pools(request))
    }

    fn find_drives(&self, request: FindDrives) -> Answer<'_, Vec<DriveInfo>> {
        Box::pin(self.shared.find_drives(request))
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

    fn start_trim(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.trim(pool, Order::Start).await })
    }

    fn stop_trim(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.trim(pool, Order::Stop).await })
    }

    fn start_verify(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.verify(pool, Order::Start).await })
    }

    fn stop_verify(&self, pool: String) -> Answer<'_, Pool> {
        self.change(|node| async move { node.verify(pool, Order::Stop).await })
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

    fn plan_drive(&self, pool: String, request: PlanDrive) -> Answer<'_, DrivePlan> {
        self.change(|node| async move { node.plan_drive(pool, request).await })
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

    fn locate_drive(&self, request: LocateDrive) -> Answer<'_, DriveLight> {
        self.change(|node| async move { node.locate_drive(request).await })
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
