//! What a monitor scrapes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

use super::Node;
use super::node::whole_status;
use crate::error::ApiError;
use crate::error::ErrorCode::Stopping;
use crate::jobs::jobs;
use crate::metrics::Snapshot;
use crate::operation::Route;
use crate::types::IoScope;
use crate::watch::Watcher;

/// As the specification of OpenMetrics 1.0 has it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/metrics", "get_metrics", metrics)
            .text("The figures of pools, volumes, drives, hosts and threads as OpenMetrics, for Prometheus and its heirs. The same is at `/metrics`, without what all other paths begin with.")
            .answers_text("The metrics.", OPEN_METRICS)
            .fails(&[Stopping]),
    ]
}

async fn metrics(
    State(node): Node,
    State(watcher): State<Arc<Watcher>>,
) -> Result<impl IntoResponse, ApiError> {
    let all = IoScope { names: Vec::new(), drives: true };
    let status = whole_status(&*node, &watcher).await?;
    let jobs = jobs(&status.pools, &node.drive_erases().await?);
    let (iostat, hosts) = (node.iostat(all).await?, node.hosts().await?);
    let process = node.process().await?;
    let text = Snapshot { status, iostat, hosts, jobs, process }.text();
    Ok(([(CONTENT_TYPE, OPEN_METRICS)], text))
}
