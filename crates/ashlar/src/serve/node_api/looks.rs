//! How the node is, as the API shows it. Nothing changes.

use ashlar_control::types::{DriveInfo, NameDrive, Pool, Status, Volume};
use ashlar_control::{ApiError, Look};
use ashlar_volume::PoolReport;

use super::super::convert::{self, Known};
use super::super::errors::api_error;
use super::super::memory::Memory;
use super::super::state::PoolState;
use super::Shared;

impl Shared {
    pub(super) async fn status(&self) -> Result<Status, ApiError> {
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
            alerts: Vec::new(),
            warnings: warnings.into_iter().map(|warning| warning.message).collect(),
            pools,
            volumes,
        })
    }

    pub(super) async fn read_pools(&self) -> Result<(Vec<Pool>, Vec<Volume>), ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let volumes =
            reports.iter().flat_map(|report| &report.volumes).map(convert::volume).collect();
        Ok((self.pools_of(&reports), volumes))
    }

    /// What the watcher looks at.
    pub(super) async fn look(&self) -> Result<Look, ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let known = |report: &PoolReport| (report.status.uuid.to_string(), report.occurrence);
        let known = reports.iter().map(known).collect();
        let (pools, erases) = (self.pools_of(&reports), self.drive_erases().await?);
        Ok(Look { pools, known, erases })
    }

    /// All pools, of which these are open.
    fn pools_of(&self, reports: &[PoolReport]) -> Vec<Pool> {
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
        pools
    }

    /// An open pool as the API shows it.
    pub(super) fn pool(&self, report: &PoolReport) -> Pool {
        self.pool_with(report, &self.memory())
    }

    pub(super) fn pool_with(&self, report: &PoolReport, memory: &Memory) -> Pool {
        let snapshot = self.finder.snapshot();
        let places = snapshot.pools.get(&report.status.uuid.to_string());
        let known = Known { memory, places, healths: &self.healths };
        convert::pool(report, &known, self.full_in_seconds(report))
    }

    /// How long it is until the pool is full, if anybody can say.
    pub(super) fn full_in_seconds(&self, report: &PoolReport) -> Option<u64> {
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

    pub(super) async fn inspect_drive(&self, request: NameDrive) -> Result<DriveInfo, ApiError> {
        self.check_not_opening(std::slice::from_ref(&request.drive))?;
        let reading = self.node.inspect_drive(request.drive).await.map_err(api_error)?;
        let said = self.health_of(&reading.facts).await;
        Ok(convert::drive_with_health(&reading, said))
    }
}
