//! Which events a client wants.

use std::sync::Arc;

use serde::Deserialize;

use super::EventKind;
use crate::error::ApiError;
use crate::log::Wanted;
use crate::log::query::{Span, after, invalid, limit};
use crate::operation::Route;
use crate::types::{Event, Severity};

/// The query of a request for events.
#[derive(Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EventQuery {
    after: Option<u64>,
    limit: Option<usize>,
    severity: Severity,
    kind: Option<String>,
    pool: Option<String>,
    volume: Option<String>,
    drive: Option<String>,
    host: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

/// An event is wanted if it is as bad as that, about all that is named, and of that time.
struct Filter {
    severity: Severity,
    kinds: Vec<String>,
    pool: Option<String>,
    volume: Option<String>,
    drive: Option<String>,
    host: Option<String>,
    span: Span,
}

/// What the document says of it, but for the limit.
pub(crate) fn filtered(route: Route) -> Route {
    Span::described(route)
        .query::<u64>(
            "after",
            "Only events with a greater number, the first ones of them; without it the last ones.",
        )
        .query::<Severity>("severity", "Only events that are at least as bad.")
        .query::<String>("kind", "Only events of these kinds, with commas between them.")
        .query::<String>("pool", "Only events about this pool, by its name or UUID.")
        .query::<String>("volume", "Only events about a volume of this name.")
        .query::<String>("drive", "Only events about a drive of this name.")
        .query::<String>("host", "Only events about this host, by its NQN.")
}

impl EventQuery {
    /// Where a stream begins.
    pub fn start(&self) -> Option<u64> {
        self.after
    }

    /// The same with the name of its pool, which events have, in place of its UUID.
    pub fn by_names(self, called: impl Fn(&str) -> Option<(String, String)>) -> Self {
        let named = self.pool.as_deref().and_then(called).map(|(name, _)| name);
        EventQuery { pool: named.or(self.pool), ..self }
    }

    /// # Errors
    /// What of it is wrong.
    pub fn wanted(self) -> Result<Wanted<Event>, ApiError> {
        let (after, limit) = (after(self.after)?, limit(self.limit)?);
        let of_all = EventQuery { after: self.after, limit: self.limit, ..Self::default() };
        let or_recent = self == of_all;
        let filter = Filter::of(self)?;
        let filter = Arc::new(move |event: &Event| filter.wants(event));
        Ok(Wanted { after, before: u64::MAX, limit, filter, or_recent })
    }
}

impl Filter {
    fn of(query: EventQuery) -> Result<Self, ApiError> {
        let EventQuery { severity, kind, pool, volume, drive, host, since, until, .. } = query;
        let kinds: Vec<String> =
            kind.iter().flat_map(|kinds| kinds.split(',')).map(str::to_owned).collect();
        if let Some(unknown) = kinds.iter().find(|kind| EventKind::of_word(kind).is_none()) {
            let why = format!("there is no kind '{unknown}' of events");
            return Err(invalid(why).with_hint(
                "docs/events.md lists which there are, and so does /api/v1/event-kinds",
            ));
        }
        let span = Span::of(since, until)?;
        Ok(Filter { severity, kinds, pool, volume, drive, host, span })
    }

    fn wants(&self, event: &Event) -> bool {
        let what = &event.what;
        let is =
            |wanted: &Option<String>, named: &Option<String>| wanted.is_none() || wanted == named;
        what.severity >= self.severity
            && (self.kinds.is_empty() || self.kinds.contains(&what.kind))
            && is(&self.pool, &what.pool)
            && is(&self.volume, &what.volume)
            && is(&self.drive, &what.drive)
            && (is(&self.host, &what.host)
                || what.hosts.iter().any(|it| Some(it) == self.host.as_ref()))
            && self.span.has(&event.time)
    }
}

#[cfg(test)]
mod tests;
