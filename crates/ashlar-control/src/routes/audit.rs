//! Who has asked for which change.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use super::{Answer, operations};
use crate::access::Role;
use crate::changes::{RELOAD, RESULTS};
use crate::error::{ApiError, ErrorCode};
use crate::log::query::{self as log, Span, limited};
use crate::log::{Reader, Wanted};
use crate::operation::Route;
use crate::query::Query;
use crate::types::{AuditEntry, Deed};
use crate::watch::Watcher;

pub(super) fn routes() -> Vec<Route> {
    let audit = Route::get("/audit", "list_audit", audit)
        .text("Every change that was asked for, the oldest first: by whom, and with what result.")
        .query::<u64>(
            "after",
            "Only entries with a greater number, the first ones of them; without it the last ones.",
        )
        .query::<String>("pool", "Only changes of this pool, by its name or UUID; also those under a name that it had before.")
        .query::<String>("operation", "Only this operation, by its identifier in this document, or `reload_configuration`.")
        .query::<String>("result", "Only those that were `done`, `failed`, `refused` or `asked`.");
    vec![
        limited(Span::described(audit))
            .needs(Role::Operator)
            .answers_list::<AuditEntry>("The entries that are kept.")
            .fails(&[ErrorCode::LogUnreadable]),
    ]
}

/// Which entries are wanted.
#[derive(PartialEq, Default, Deserialize)]
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
    fn wanted(self, watcher: &Watcher) -> Result<Wanted<AuditEntry>, ApiError> {
        if let Some(operation) = &self.operation
            && operation != RELOAD
            && !operations().iter().any(|known| known.id == *operation && known.is_change())
        {
            return Err(log::invalid(format!("there is no change '{operation}' in this document")));
        }
        if let Some(result) = &self.result
            && !RESULTS.contains(&result.as_str())
        {
            let all = RESULTS.join(", ");
            return Err(log::invalid(format!("result={result} cannot be: choose one of {all}")));
        }
        let of_all = AuditQuery { after: self.after, limit: self.limit, ..Self::default() };
        let or_recent = self == of_all;
        let AuditQuery { after, limit: wanted, pool, operation, result, since, until } = self;
        let (after, limit, span) =
            (log::after(after)?, log::limit(wanted)?, Span::of(since, until)?);
        let known = pool.as_deref().and_then(|pool| watcher.pool_called(pool));
        let filter = move |entry: &AuditEntry| {
            let what = &entry.what;
            pool.as_ref().is_none_or(|pool| is_of_pool(what, pool, known.as_ref()))
                && operation.as_ref().is_none_or(|wanted| *wanted == what.operation)
                && result.as_ref().is_none_or(|wanted| *wanted == what.result)
                && span.has(&entry.time)
        };
        Ok(Wanted { after, before: u64::MAX, limit, filter: Arc::new(filter), or_recent })
    }
}

/// Whether it is of the pool that is `asked` for, whose name and UUID are `known` if there is one.
/// A name may be that of another pool by now. Entries of earlier releases have it alone.
fn is_of_pool(what: &Deed, asked: &str, known: Option<&(String, String)>) -> bool {
    let is = |it: &Option<String>, wanted: &str| it.as_deref() == Some(wanted);
    match known {
        Some((name, uuid)) if what.pool_uuid.is_none() => {
            is(&what.pool, name) || is(&what.pool, uuid)
        }
        Some((_, uuid)) => is(&what.pool_uuid, uuid),
        None => is(&what.pool, asked) || is(&what.pool_uuid, asked),
    }
}

async fn audit(
    State(watcher): State<Arc<Watcher>>,
    Query(query): Query<AuditQuery>,
) -> Answer<Vec<AuditEntry>> {
    watcher.audit.list(query.wanted(&watcher)?, Reader::Question).await.map(Json).map_err(|error| {
        let why = format!("the audit log cannot be read: {error}");
        ApiError::new(ErrorCode::LogUnreadable, why).with_hint(
            "the newest entries are in memory: ask for them alone, without a filter, or come again",
        )
    })
}
