//! The daemon itself, and who is connected to it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node};
use crate::alerts::alerts;
use crate::error::ApiError;
use crate::error::ErrorCode::Stopping;
use crate::node_api::NodeApi;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{Host, Pool, Status, Version};
use crate::watch::Watcher;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/version", "get_version", version)
            .text("The daemon's version.")
            .answers::<Version>("Of Ashlar, and of this API."),
        Route::get("/status", "get_status", status)
            .text("Everything at a glance.")
            .answers::<Status>("The node with its pools and volumes.")
            .fails(&[Stopping]),
        paged(Route::get("/hosts", "list_hosts", hosts), "number")
            .text("The hosts that are connected.")
            .answers_list::<Host>("Each controller of each host.")
            .fails(&[Stopping]),
    ]
}

async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), api: "v1".to_owned() })
}

async fn status(State(node): Node, State(watcher): State<Arc<Watcher>>) -> Answer<Status> {
    whole_status(&*node, &watcher).await.map(Json)
}

/// What the node says, with what else is not well.
pub(super) async fn whole_status(
    node: &dyn NodeApi,
    watcher: &Watcher,
) -> Result<Status, ApiError> {
    let mut status = node.status().await?;
    status.warnings.extend(watcher.warnings());
    let standing = |pool: &Pool| watcher.standing(pool);
    status.alerts = alerts(&status.pools, standing, &status.warnings);
    Ok(status)
}

async fn hosts(State(node): Node, Query(query): Query<PageQuery>) -> Page<Host> {
    let key = |host: &Host| format!("{:05}", host.controller_id);
    page("/hosts", node.hosts().await?, key, query)
}
