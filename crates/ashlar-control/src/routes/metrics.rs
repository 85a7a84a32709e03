//! What a monitor scrapes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::response::IntoResponse;

use super::Node;
use super::node::whole_status;
use crate::error::ApiError;
use crate::error::ErrorCode::Stopping;
use crate::jobs::jobs;
use crate::metrics::Snapshot;
use crate::notifier::Notifier;
use crate::operation::Route;
use crate::types::IoScope;
use crate::watch::Watcher;

/// As the specification of OpenMetrics 1.0 has it, which is answered to who asks for that.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const OPEN_METRICS_NAME: &str = "application/openmetrics-text";
/// The format before that, which everybody understands.
const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/metrics", "get_metrics", metrics)
            .text("The figures of pools, volumes, drives, hosts, threads and receivers of events, for Prometheus and its heirs: in its text format, or as OpenMetrics if `Accept` names `application/openmetrics-text`. The same is at `/metrics`, without what all other paths begin with.")
            .answers_text("The metrics.", CLASSIC)
            .fails(&[Stopping]),
    ]
}

async fn metrics(
    State(node): Node,
    State(watcher): State<Arc<Watcher>>,
    State(notifier): State<Arc<dyn Notifier>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let all = IoScope { names: Vec::new(), drives: true };
    let status = whole_status(&*node, &watcher).await?;
    let jobs = jobs(&status.pools, &node.drive_erases().await?);
    let (iostat, hosts) = (node.iostat(all).await?, node.hosts().await?);
    let process = node.process().await?;
    let (host_figures, receivers) = (node.host_figures(), notifier.receivers());
    let snapshot = Snapshot { status, iostat, hosts, host_figures, jobs, receivers, process };
    let (kind, text) = match wants_open_metrics(&headers) {
        true => (OPEN_METRICS, snapshot.text()),
        false => (CLASSIC, snapshot.classic_text()),
    };
    Ok(([(CONTENT_TYPE, kind), (VARY, ACCEPT.as_str())], text))
}

/// Whether the client names it, and not only to say that it does not understand it.
fn wants_open_metrics(headers: &HeaderMap) -> bool {
    let named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
        parts.next().is_some_and(|name| name == OPEN_METRICS_NAME)
            && !parts.any(|part| matches!(part.as_str(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

#[cfg(test)]
mod tests;
