//! The node behind the API.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use ashlar_control::types::{
    ChangePool, ChangeVolume, CreatePool, CreateVolume, DriveInfo, FailDrive, Host, ImportPool, NameDrive,
    NameHosts, NameSpare, Pool, PoolDrive, RemoveDrive, ReplaceDrive, ReturnDrive, Status, Volume,
};
use ashlar_control::{Answer, ApiError, Appliance, Consent, ErrorKind, HostVisits, SharedHostNqn};
use ashlar_target::nvme_tcp::{Portal, Target};
use ashlar_volume::Order;

use super::errors::api_error;
use super::memory::Memory;
use super::state::{PoolState, StateDir};
use super::{MachineNode, convert};

mod changes;
mod consent;
mod spares;
mod volumes;

/// A node as the API sees it. Clones are the same one.
#[derive(Clone)]
pub struct NodeAppliance {
    shared: Arc<Shared>,
}

/// A node, its target, and what it remembers.
struct Shared {
    node: MachineNode,
    target: Target,
    /// Held over every change to the pools, so that one follows another. Whoever only looks does not wait.
    changing: tokio::sync::Mutex<()>,
    memory: Mutex<Memory>,
    nqn: String,
    serial: String,
    reactors: usize,
    start: Instant,
}

impl NodeAppliance {
    /// The appliance of a node that serves. Pools of `unavailable` are not open, for the reason given with
    /// their UUID.
    pub fn new(
        node: MachineNode,
        target: Target,
        state: StateDir,
        unavailable: Vec<(String, String)>,
        reactors: usize,
    ) -> Self {
        let subsystem = state.node.subsystem();
        let (nqn, serial) = (subsystem.nqn, subsystem.serial);
        let memory = Mutex::new(Memory::new(state, unavailable));
        let changing = tokio::sync::Mutex::default();
        let start = Instant::now();
        let shared = Arc::new(Shared { node, target, changing, memory, nqn, serial, reactors, start });
        NodeAppliance { shared }
    }

    /// Where it listens.
    pub fn portals(&self) -> Vec<Portal> {
        self.shared.target.portals()
    }

    /// Goes on with what is to be remembered of removals that an earlier daemon began.
    pub async fn follow_removals(&self) {
        for report in self.shared.node.reports().await.unwrap_or_default() {
            tokio::spawn(self.shared.clone().forget_removed(report.status.uuid.to_string()));
        }
    }

    /// Takes spares for drives that pools lose, from now on.
    pub fn keep_pools_whole(&self) {
        tokio::spawn(self.shared.clone().keep_whole());
    }

    /// What hosts connect to.
    pub fn subsystem_nqn(&self) -> &str {
        &self.shared.nqn
    }

    /// Waits for the change to the pools that is under way, and keeps others from beginning while the guard
    /// lives.
    pub async fn end_changes(&self) -> impl Drop + use<'_> {
        self.shared.changing.lock().await
    }

    /// Runs a change to its end, also when the client that asked for it has gone: what is half done on the
    /// reactors and not remembered would be nobody's.
    fn change<T: Send + 'static, F>(&self, change: impl FnOnce(Arc<Shared>) -> F) -> Answer<'_, T>
    where
        F: Future<Output = Result<T, ApiError>> + Send + 'static,
    {
        let change = change(self.shared.clone());
        Box::pin(async move { tokio::spawn(change).await.unwrap_or_else(|_| Err(stopping())) })
    }
}

fn stopping() -> ApiError {
    ApiError::new(ErrorKind::Unavailable, "stopping", "the daemon is stopping")
}

impl Shared {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no holder of the lock panics")
    }

    async fn status(&self) -> Result<Status, ApiError> {
        let (pools, volumes) = self.read_pools().await?;
        let visits = self.target.visit_totals();
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            uptime_seconds: self.start.elapsed().as_secs(),
            reactors: self.reactors,
            subsystem_nqn: self.nqn.clone(),
            serial: self.serial.clone(),
            portals: self.target.portals().iter().map(convert::portal).collect(),
            hosts_connected: self.target.connected_hosts().iter().filter(|host| !host.is_discovery).count(),
            host_connects: visits.connects,
            host_disconnects: visits.disconnects,
            pools,
            volumes,
        })
    }

    async fn read_pools(&self) -> Result<(Vec<Pool>, Vec<Volume>), ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let memory = self.memory();
        let mut pools: Vec<Pool> = reports.iter().map(|report| convert::pool(report, &memory)).collect();
        pools.extend(memory.unavailable().map(|(pool, why)| convert::unavailable_pool(pool, why)));
        pools.sort_by(|one, other| one.name.cmp(&other.name));
        let volumes = reports.iter().flat_map(|report| &report.volumes).map(convert::volume).collect();
        Ok((pools, volumes))
    }

    /// Refuses what can be done to open pools only, for one that is not.
    fn check_available(&self, pool: &str) -> Result<(), ApiError> {
        let memory = self.memory();
        let named = |(known, _): &(&PoolState, &str)| known.name == pool || known.uuid == pool;
        let Some((found, why)) = memory.unavailable().find(named) else { return Ok(()) };
        let message = format!("pool '{}' is not open: {why}", found.name);
        Err(ApiError::new(ErrorKind::Unavailable, "pool_unavailable", message).with_hint(
            "ashlar pool import opens it once its drives are there; ashlar pool export forgets it",
        ))
    }

    async fn inspect_drive(&self, request: NameDrive) -> Result<DriveInfo, ApiError> {
        let reading = self.node.inspect_drive(request.drive).await.map_err(api_error)?;
        Ok(convert::drive_info(&reading))
    }
}

impl Appliance for NodeAppliance {
    fn status(&self) -> Answer<'_, Status> {
        Box::pin(self.shared.status())
    }

    fn hosts(&self) -> Answer<'_, Vec<Host>> {
        let hosts = self.shared.target.connected_hosts().iter().map(convert::host).collect();
        Box::pin(std::future::ready(Ok(hosts)))
    }

    fn take_host_visits(&self) -> Vec<HostVisits> {
        self.shared.target.take_visits().into_iter().map(convert::host_visits).collect()
    }

    fn shared_host_nqns(&self) -> Vec<SharedHostNqn> {
        self.shared.target.shared_nqns().into_iter().map(convert::shared_host_nqn).collect()
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

    fn export_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()> {
        self.change(move |node| async move { node.export_pool(pool, consent).await })
    }

    fn destroy_pool(&self, pool: String, consent: Consent) -> Answer<'_, ()> {
        self.change(move |node| async move { node.destroy_pool(pool, consent).await })
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

    fn remove_drive(&self, pool: String, request: RemoveDrive, consent: Consent) -> Answer<'_, Pool> {
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

    fn volumes(&self) -> Answer<'_, Vec<Volume>> {
        Box::pin(async { Ok(self.shared.read_pools().await?.1) })
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
        self.change(move |node| async move { node.change_volume(pool, volume, request, consent).await })
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

    fn deny(&self, pool: String, volume: String, request: NameHosts, consent: Consent) -> Answer<'_, Volume> {
        self.change(move |node| async move { node.deny(pool, volume, request, consent).await })
    }
}
