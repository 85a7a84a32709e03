//! What goes on, and how long it takes.

use ashlar_block::is_uuid;
use ashlar_control::types::{IoScope, IoStat, Latency, ProcessFigures, ReactorFigures};
use ashlar_control::{ApiError, ErrorCode};
use ashlar_volume::Scope;

use super::super::convert::activity as convert;
use super::super::errors::api_error;
use super::super::process;
use super::Shared;
use super::opening::not_open;

impl Shared {
    pub(super) async fn iostat(&self, wanted: IoScope) -> Result<IoStat, ApiError> {
        let scope = Scope { names: wanted.names.into_iter().collect(), drives: wanted.drives };
        let found =
            self.node.activity(scope.clone()).await.map_err(|gone| api_error(gone.into()))?;
        // What had a UUID may have gone since somebody asked first.
        if let Some(name) = scope.missing(&found).into_iter().find(|name| !is_uuid(name)) {
            return Err(self.no_such(name));
        }
        let told = convert::iostat(&found);
        let (instance, uptime_seconds) =
            (self.instance.clone(), self.start.elapsed().as_secs_f64());
        let (threads, reactors_spin) = (process::threads(), self.reactors_spin);
        Ok(IoStat { instance, uptime_seconds, threads, reactors_spin, ..told })
    }

    pub(super) async fn process(&self) -> Result<ProcessFigures, ApiError> {
        let all = self.node.reactor_stats().await.map_err(|gone| api_error(gone.into()))?;
        let of = |stats: &ashlar_node::ReactorStats| ReactorFigures {
            tasks: stats.tasks,
            ready_tasks: stats.ready_tasks,
            operations_in_flight: stats.operations_in_flight,
            turns: stats.turns,
        };
        Ok(ProcessFigures { reactors: all.iter().map(of).collect(), ..process::figures() })
    }

    /// Why nothing of that name is found.
    fn no_such(&self, name: &str) -> ApiError {
        let pool = name.split('/').next().unwrap_or(name);
        if let Some((pool, why)) = self.why_not_open(pool) {
            return not_open(&pool, &why);
        }
        let why = format!("there is no pool, volume or drive '{name}' here");
        let hint = "write POOL, POOL/VOLUME or POOL/DRIVE: `ashlar status` shows which there are";
        ApiError::new(ErrorCode::NoSuchName, why).with_hint(hint.to_owned())
    }

    pub(super) async fn volume_latency(
        &self,
        pool: String,
        volume: String,
    ) -> Result<Latency, ApiError> {
        self.check_available(&pool).await?;
        let report = self.volume_report(&pool, &volume).await?;
        let measured = self.node.volume_measured(report.uuid).await;
        let measured = measured.map_err(|gone| api_error(gone.into()))?;
        let instance = self.instance.clone();
        Ok(Latency {
            pool: report.pool,
            name: report.name,
            instance,
            ..convert::latency(&measured)
        })
    }

    pub(super) async fn drive_latency(
        &self,
        pool: String,
        drive: String,
    ) -> Result<Latency, ApiError> {
        self.check_available(&pool).await?;
        let found = self.node.drive_named(&pool, &drive).await.map_err(api_error)?;
        let name = found.name();
        let measured = self.node.drive_measured(&pool, name.clone()).await.map_err(api_error)?;
        let told = convert::latency(&measured.ok_or_else(|| not_there(&pool, &name))?);
        Ok(Latency { pool, name, instance: self.instance.clone(), ..told })
    }
}

/// What is said of a drive that the pool has not open: what it has done is not known.
fn not_there(pool: &str, drive: &str) -> ApiError {
    let why = format!("drive '{drive}' of pool '{pool}' is not there");
    ApiError::new(ErrorCode::DriveAbsent, why)
        .with_hint(format!("`ashlar pool show {pool}` shows how its drives are"))
}
