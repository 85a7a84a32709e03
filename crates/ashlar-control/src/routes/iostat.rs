//! What goes on, and how long it takes.

use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;

use super::{Answer, Node};
use crate::error::ErrorCode::{
    DriveAbsent, NoSuchDrive, NoSuchName, NoSuchVolume, PoolOpening, PoolStopped, PoolUnavailable,
    Stopping,
};
use crate::error::sets::OPEN_POOL;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{IoScope, IoStat, Latency};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/iostat", "get_iostat", iostat)
            .text("What goes on in pools, volumes and drives. Counts since the daemon started, of which two answers give what came between.")
            .query::<String>("of", "The names or UUIDs of pools (`tank`, with its volumes), volumes (`tank/v0`) and drives (`tank/drive-2`), with commas between them; without it all pools are meant. A UUID that nothing has is left out.")
            .query::<bool>("drives", "Also the drives of the pools.")
            .answers::<IoStat>("The counts.")
            .fails(&[NoSuchName, PoolOpening, PoolUnavailable, PoolStopped, Stopping]),
        Route::get("/volumes/{pool}/{volume}/latency", "get_volume_latency", volume_latency)
            .text("How long commands of hosts for a volume took, by kind and size.")
            .answers::<Latency>("The latencies.")
            .fails(OPEN_POOL)
            .fails(&[NoSuchVolume]),
        Route::get("/pools/{pool}/drives/{drive}/latency", "get_drive_latency", drive_latency)
            .text("How long operations of a drive took, by kind and size.")
            .answers::<Latency>("The latencies.")
            .fails(OPEN_POOL)
            .fails(&[NoSuchDrive, DriveAbsent]),
    ]
}

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    of: String,
    #[serde(default)]
    drives: bool,
}

impl From<Wanted> for IoScope {
    fn from(wanted: Wanted) -> Self {
        let names = wanted.of.split(',').filter(|name| !name.is_empty());
        IoScope { names: names.map(str::to_owned).collect(), drives: wanted.drives }
    }
}

async fn iostat(State(node): Node, Query(wanted): Query<Wanted>) -> Answer<IoStat> {
    node.iostat(wanted.into()).await.map(Json)
}

async fn volume_latency(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
) -> Answer<Latency> {
    node.volume_latency(pool, volume).await.map(Json)
}

async fn drive_latency(
    State(node): Node,
    Path((pool, drive)): Path<(String, String)>,
) -> Answer<Latency> {
    node.drive_latency(pool, drive).await.map(Json)
}
