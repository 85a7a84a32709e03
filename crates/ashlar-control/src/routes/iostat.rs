//! What goes on, and how long it takes.

use axum::Json;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use super::{Answer, Node};
use crate::error::ErrorBody;
use crate::types::{IoScope, IoStat, Latency};

/// What is asked for.
#[derive(Deserialize)]
pub(super) struct Wanted {
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

/// What goes on in pools, volumes and drives: counts since the daemon started, of which two answers
/// give what came between. `of` has the names or UUIDs of pools (`tank`, with its volumes), volumes
/// (`tank/v0`) and drives (`tank/drive-2`), with commas between them; without it all pools are
/// meant. A UUID that nothing has is left out. `drives=true`: also the drives of the pools.
#[utoipa::path(get, path = "/iostat",
    params(("of" = Option<String>, Query), ("drives" = Option<bool>, Query)),
    responses((status = 200, body = IoStat), (status = "4XX", body = ErrorBody)))]
pub(super) async fn iostat(State(node): Node, Query(wanted): Query<Wanted>) -> Answer<IoStat> {
    node.iostat(wanted.into()).await.map(Json)
}

/// How long commands of hosts for a volume took, by kind and size.
#[utoipa::path(get, path = "/volumes/{pool}/{volume}/latency",
    params(("pool" = String, Path), ("volume" = String, Path)),
    responses((status = 200, body = Latency), (status = "4XX", body = ErrorBody)))]
pub(super) async fn volume_latency(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
) -> Answer<Latency> {
    node.volume_latency(pool, volume).await.map(Json)
}

/// How long operations of a drive took, by kind and size. `drive` is its name in the pool, as
/// `drive-2`.
#[utoipa::path(get, path = "/pools/{pool}/drives/{drive}/latency",
    params(("pool" = String, Path), ("drive" = String, Path)),
    responses((status = 200, body = Latency), (status = "4XX", body = ErrorBody)))]
pub(super) async fn drive_latency(
    State(node): Node,
    Path((pool, drive)): Path<(String, String)>,
) -> Answer<Latency> {
    node.drive_latency(pool, drive).await.map(Json)
}
