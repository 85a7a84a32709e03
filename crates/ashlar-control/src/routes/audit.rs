//! Who has asked for which change.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use super::Answer;
use crate::access::Role;
use crate::error::{ApiError, ErrorCode};
use crate::log::Wanted;
use crate::log::query::{self as log, Span, limited};
use crate::operation::Route;
use crate::query::Query;
use crate::types::AuditEntry;
use crate::watch::Watcher;

pub(super) fn routes() -> Vec<Route> {
    let audit = Route::get("/audit", "list_audit", audit)
        .text("Every change that was asked for, the oldest first: by whom, and with what result.")
        .query::<u64>(
            "after",
            "Only entries with a greater number, the first ones of them; without it the last ones.",
        )
        .query::<String>("pool", "Only changes of this pool, by its name.")
        .query::<String>("operation", "Only this operation, by its identifier in this document.")
        .query::<String>("result", "Only those that were `done`, `refused` or `asked`.");
    vec![
        limited(Span::described(audit))
            .needs(Role::Operator)
            .answers_list::<AuditEntry>("The entries that are kept.")
            .fails(&[ErrorCode::LogUnreadable]),
    ]
}

/// Which entries are wanted.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AuditQuery {
    after: Option<u64>,
    limit: Option<usize>,
    pool: Option<String>,
    operation: Option<String>,
    result: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

impl AuditQuery {
    fn wanted(self) -> Result<Wanted<AuditEntry>, ApiError> {
        let AuditQuery { after, limit: wanted, pool, operation, result, since, until } = self;
        let (after, limit, span) =
            (log::after(after)?, log::limit(wanted)?, Span::of(since, until)?);
        let filter = move |entry: &AuditEntry| {
            let what = &entry.what;
            (pool.is_none() || pool == what.pool)
                && operation.as_ref().is_none_or(|wanted| *wanted == what.operation)
                && result.as_ref().is_none_or(|wanted| *wanted == what.result)
                && span.has(&entry.time)
        };
        Ok(Wanted { after, before: u64::MAX, limit, filter: Arc::new(filter) })
    }
}

async fn audit(
    State(watcher): State<Arc<Watcher>>,
    Query(query): Query<AuditQuery>,
) -> Answer<Vec<AuditEntry>> {
    watcher.audit.list(query.wanted()?).await.map(Json).map_err(|error| {
        let why = format!("the audit log cannot be read: {error}");
        ApiError::new(ErrorCode::LogUnreadable, why)
            .with_hint("the newest entries are in memory: ask for fewer, or with `after`")
    })
}
