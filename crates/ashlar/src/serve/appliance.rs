//! The node behind the API.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

use ashlar_control::types::{
    ChangeVolume, CreatePool, CreateVolume, DriveInfo, Host, ImportPool, NameDrive, NameHosts, Pool,
    PoolDrive, Status, Volume,
};
use ashlar_control::{Answer, ApiError, Appliance, ErrorKind};
use ashlar_store::OpenPolicy;
use ashlar_target::nvme_tcp::{Portal, Target};
use ashlar_volume::{NodeError, PoolRecord};

use super::errors::api_error;
use super::state::{PoolState, StateDir};
use super::{MachineNode, convert, requests};

/// A node, its target, and what it remembers.
pub struct NodeAppliance {
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

/// What is remembered, and what is missing of it.
struct Memory {
    state: StateDir,
    /// Why a pool is not open, by UUID.
    unavailable: BTreeMap<String, String>,
}

impl Memory {
    fn pool(&self, uuid: &str) -> Option<&PoolState> {
        self.state.node.pools.iter().find(|pool| pool.uuid == uuid)
    }

    fn unavailable_pool(&self, name: &str) -> Option<&PoolState> {
        let named = |pool: &&PoolState| pool.name == name || pool.uuid == name;
        self.state.node.pools.iter().filter(|pool| self.unavailable.contains_key(&pool.uuid)).find(named)
    }

    /// Remembers a pool. It is open all the same if that fails: the error says what is to be done.
    fn remember(&mut self, record: &PoolRecord) -> Result<(), ApiError> {
        let pool = PoolState::of(record);
        self.unavailable.remove(&pool.uuid);
        let changed = self.state.change(|node| {
            node.pools.retain(|known| known.uuid != pool.uuid);
            node.pools.push(pool);
        });
        let name = &record.name;
        changed.map_err(|error| {
            not_remembered(&format!("pool '{name}' is open, but will not be at the next start"), &error)
        })
    }

    fn forget(&mut self, uuid: &str) -> Result<(), ApiError> {
        self.unavailable.remove(uuid);
        let changed = self.state.change(|node| node.pools.retain(|known| known.uuid != uuid));
        changed.map_err(|error| {
            not_remembered("the pool is closed, but will be looked for at the next start", &error)
        })
    }
}

fn not_remembered(what: &str, error: &anyhow::Error) -> ApiError {
    ApiError::new(ErrorKind::Internal, "state_not_written", format!("{what}: {error:#}"))
}

impl NodeAppliance {
    /// The appliance of a node that serves.
    pub fn new(
        node: MachineNode,
        target: Target,
        state: StateDir,
        unavailable: Vec<(String, String)>,
        reactors: usize,
    ) -> Self {
        let subsystem = state.node.subsystem();
        let memory = Mutex::new(Memory { state, unavailable: unavailable.into_iter().collect() });
        let (nqn, serial) = (subsystem.nqn, subsystem.serial);
        let changing = tokio::sync::Mutex::default();
        NodeAppliance { node, target, changing, memory, nqn, serial, reactors, start: Instant::now() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("no holder of the lock panics")
    }

    /// Where it listens.
    pub fn portals(&self) -> Vec<Portal> {
        self.target.portals()
    }

    /// What hosts connect to.
    pub fn subsystem_nqn(&self) -> &str {
        &self.nqn
    }

    async fn read_pools(&self) -> Result<(Vec<Pool>, Vec<Volume>), ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let memory = self.memory();
        let remembered = |uuid: String| memory.pool(&uuid);
        let mut pools: Vec<Pool> = reports
            .iter()
            .map(|report| convert::pool(report, remembered(report.status.uuid.to_string())))
            .collect();
        for (uuid, why) in &memory.unavailable {
            pools.extend(memory.pool(uuid).map(|pool| convert::unavailable_pool(pool, why)));
        }
        pools.sort_by(|one, other| one.name.cmp(&other.name));
        let volumes = reports.iter().flat_map(|report| &report.volumes).map(convert::volume).collect();
        Ok((pools, volumes))
    }

    async fn pool_of(&self, record: &PoolRecord) -> Result<Pool, ApiError> {
        let report = self.node.report(&record.uuid.to_string()).await.map_err(api_error)?;
        Ok(convert::pool(&report, self.memory().pool(&record.uuid.to_string())))
    }

    /// Refuses what can be done to open pools only, for one that is not.
    fn check_available(&self, pool: &str) -> Result<(), ApiError> {
        let memory = self.memory();
        let Some(found) = memory.unavailable_pool(pool) else { return Ok(()) };
        let why = memory.unavailable.get(&found.uuid).map_or("", String::as_str);
        let message = format!("pool '{}' is not open: {why}", found.name);
        Err(ApiError::new(ErrorKind::Unavailable, "pool_unavailable", message).with_hint(
            "ashlar pool import opens it once its drives are there; ashlar pool export forgets it",
        ))
    }

    /// Numbers that were given out are never given out again, also after a restart.
    fn remember_nsids(&self) -> Result<(), ApiError> {
        let high = self.node.table().nsid_high();
        let mut memory = self.memory();
        if memory.state.node.nsid_high >= high {
            return Ok(());
        }
        let changed = memory.state.change(|node| node.nsid_high = high);
        changed.map_err(|error| not_remembered("the volume is there, but its number is not noted", &error))
    }

    /// Of drives in directories, those that belong to pools.
    async fn members_among(&self, drives: &[String]) -> Result<Vec<String>, ApiError> {
        let (expanded, looked) = requests::expand_directories(drives)?;
        if !looked {
            return Ok(expanded);
        }
        let mut members = Vec::new();
        for drive in expanded {
            let reading = self.node.inspect_drive(drive.clone()).await;
            if drives.contains(&drive) || reading.is_ok_and(|r| convert::drive_info(&r).state == "member") {
                members.push(drive);
            }
        }
        Ok(members)
    }
}

/// `Box::pin` of an async block, which is what most methods are.
macro_rules! answer {
    ($($body:tt)*) => { Box::pin(async move { $($body)* }) };
}

impl Appliance for NodeAppliance {
    fn status(&self) -> Answer<'_, Status> {
        answer! {
            let (pools, volumes) = self.read_pools().await?;
            Ok(Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                uptime_seconds: self.start.elapsed().as_secs(),
                reactors: self.reactors,
                subsystem_nqn: self.nqn.clone(),
                serial: self.serial.clone(),
                portals: self.target.portals().iter().map(convert::portal).collect(),
                hosts_connected: self.target.connected_hosts().iter().filter(|host| !host.is_discovery).count(),
                pools,
                volumes,
            })
        }
    }

    fn hosts(&self) -> Answer<'_, Vec<Host>> {
        answer! { Ok(self.target.connected_hosts().iter().map(convert::host).collect()) }
    }

    fn pools(&self) -> Answer<'_, Vec<Pool>> {
        answer! { Ok(self.read_pools().await?.0) }
    }

    fn create_pool(&self, request: CreatePool) -> Answer<'_, Pool> {
        answer! {
            let new = requests::new_pool(&request)?;
            let _changing = self.changing.lock().await;
            if self.memory().unavailable_pool(&new.name).is_some() {
                return Err(api_error(NodeError::PoolExists(new.name)));
            }
            let record = self.node.create_pool(new, request.drives, request.force).await.map_err(api_error)?;
            self.memory().remember(&record)?;
            self.pool_of(&record).await
        }
    }

    fn import_pool(&self, request: ImportPool) -> Answer<'_, Pool> {
        answer! {
            let _changing = self.changing.lock().await;
            let drives = self.members_among(&request.drives).await?;
            let policy = OpenPolicy { degraded: request.degraded };
            let record = self.node.open_pool(request.pool, drives, policy).await.map_err(api_error)?;
            self.memory().remember(&record)?;
            self.pool_of(&record).await
        }
    }

    fn export_pool(&self, pool: String) -> Answer<'_, ()> {
        answer! {
            let _changing = self.changing.lock().await;
            let unavailable = self.memory().unavailable_pool(&pool).map(|pool| pool.uuid.clone());
            if let Some(uuid) = unavailable {
                return self.memory().forget(&uuid);
            }
            let uuid = self.node.close_pool(&pool).await.map_err(api_error)?;
            self.memory().forget(&uuid.to_string())
        }
    }

    fn destroy_pool(&self, pool: String) -> Answer<'_, ()> {
        answer! {
            let _changing = self.changing.lock().await;
            self.check_available(&pool)?;
            let uuid = self.node.report(&pool).await.map_err(api_error)?.status.uuid;
            let destroyed = self.node.destroy_pool(&pool).await.map_err(api_error);
            self.memory().forget(&uuid.to_string())?;
            destroyed.map(drop)
        }
    }

    fn drives(&self) -> Answer<'_, Vec<PoolDrive>> {
        answer! { Ok(self.read_pools().await?.0.into_iter().flat_map(|pool| pool.drives).collect()) }
    }

    fn inspect_drive(&self, request: NameDrive) -> Answer<'_, DriveInfo> {
        answer! {
            let reading = self.node.inspect_drive(request.drive).await.map_err(api_error)?;
            Ok(convert::drive_info(&reading))
        }
    }

    fn clear_label(&self, request: NameDrive) -> Answer<'_, DriveInfo> {
        answer! {
            let reading = self.node.clear_label(request.drive, request.force).await.map_err(api_error)?;
            Ok(convert::drive_info(&reading))
        }
    }

    fn volumes(&self) -> Answer<'_, Vec<Volume>> {
        answer! { Ok(self.read_pools().await?.1) }
    }

    fn create_volume(&self, request: CreateVolume) -> Answer<'_, Volume> {
        answer! {
            let new = requests::new_volume(&request)?;
            self.check_available(&request.pool)?;
            let report = self.node.create_volume(&request.pool, new).await.map_err(api_error)?;
            self.remember_nsids()?;
            Ok(convert::volume(&report))
        }
    }

    fn change_volume(&self, pool: String, volume: String, request: ChangeVolume) -> Answer<'_, Volume> {
        answer! {
            let new_name = request.name.as_deref().map(str::parse).transpose();
            let new_name = new_name.map_err(|error| api_error(NodeError::Name(error)))?;
            self.check_available(&pool)?;
            let mut report = None;
            if let Some(bytes) = request.size_bytes {
                let resized = self.node.resize_volume(&pool, volume.clone(), bytes, request.force).await;
                report = Some(resized.map_err(api_error)?);
            }
            if let Some(name) = new_name {
                report = Some(self.node.rename_volume(&pool, volume, name).await.map_err(api_error)?);
            }
            let nothing = || ApiError::new(ErrorKind::Invalid, "nothing_to_change", "neither name nor size is given");
            report.as_ref().map(convert::volume).ok_or_else(nothing)
        }
    }

    fn delete_volume(&self, pool: String, volume: String) -> Answer<'_, ()> {
        answer! {
            self.check_available(&pool)?;
            self.node.delete_volume(&pool, volume).await.map_err(api_error)
        }
    }

    fn allow(&self, pool: String, volume: String, request: NameHosts) -> Answer<'_, Volume> {
        answer! {
            let change = requests::allow(&request.hosts)?;
            self.check_available(&pool)?;
            let report = self.node.change_access(&pool, volume, change).await.map_err(api_error)?;
            Ok(convert::volume(&report))
        }
    }

    fn deny(&self, pool: String, volume: String, request: NameHosts) -> Answer<'_, Volume> {
        answer! {
            let change = requests::deny(&request.hosts)?;
            self.check_available(&pool)?;
            let report = self.node.change_access(&pool, volume, change).await.map_err(api_error)?;
            Ok(convert::volume(&report))
        }
    }
}
