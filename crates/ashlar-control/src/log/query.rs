//! What a query for entries of any log may say: how many, and of which time.

use std::time::{Duration, SystemTime};

use humantime::{format_rfc3339_millis, parse_rfc3339_weak};

use crate::error::{ApiError, ErrorCode};
use crate::operation::Route;

/// Entries in one answer, where nobody says how many, and at most.
const LIMIT_USUAL: usize = 1000;
const LIMIT_MAX: usize = 10_000;

/// A time from which on, and one before which; as entries have them, where the earlier is the
/// lesser text.
#[derive(Default)]
pub(crate) struct Span {
    since: Option<String>,
    until: Option<String>,
}

impl Span {
    /// # Errors
    /// What is no time.
    pub fn of(since: Option<String>, until: Option<String>) -> Result<Self, ApiError> {
        Ok(Span { since: time("since", since)?, until: time("until", until)? })
    }

    pub fn has(&self, time: &str) -> bool {
        self.since.as_deref().is_none_or(|since| time >= since)
            && self.until.as_deref().is_none_or(|until| time < until)
    }

    /// What the document says of it.
    pub fn described(route: Route) -> Route {
        route
            .query::<String>("since", "Only what is of this time or later, as of RFC 3339.")
            .query::<String>("until", "Only what is before this time, as of RFC 3339.")
    }
}

/// How many entries are wanted.
///
/// # Errors
/// When so many cannot be.
pub(crate) fn limit(wanted: Option<usize>) -> Result<usize, ApiError> {
    let limit = wanted.unwrap_or(LIMIT_USUAL);
    if (1..=LIMIT_MAX).contains(&limit) {
        return Ok(limit);
    }
    Err(invalid(format!("limit={limit} cannot be: choose 1 to {LIMIT_MAX}")))
}

/// After which number. The document has numbers of 63 bits, as most languages do.
///
/// # Errors
/// When it is larger.
pub(crate) fn after(number: Option<u64>) -> Result<Option<u64>, ApiError> {
    match number.filter(|number| i64::try_from(*number).is_err()) {
        Some(number) => Err(invalid(format!("after={number} cannot be: it is too large"))),
        None => Ok(number),
    }
}

/// What the document says of the limit.
pub(crate) fn limited(route: Route) -> Route {
    route.query::<u16>("limit", "So many at most: 1000 if it is not given, 10000 at most.")
}

fn time(name: &str, said: Option<String>) -> Result<Option<String>, ApiError> {
    let plain = |time: SystemTime| format_rfc3339_millis(time).to_string();
    let parse = |said: String| {
        parse(&said).map(plain).ok_or_else(|| {
            invalid(format!("{name}={said} is no time: write it as 2026-01-31T12:00:00Z"))
        })
    };
    said.map(parse).transpose()
}

/// A time as of RFC 3339, with an offset or without, which counts as Z.
fn parse(said: &str) -> Option<SystemTime> {
    // The date has hyphens, too. In a query that is not encoded a plus is a space.
    let clock = said.find(['T', 't', ' ']).map_or(said.len(), |at| at + 1);
    let Some(at) = said[clock..].find(['+', '-', ' ']) else {
        return parse_rfc3339_weak(said).ok();
    };
    let (local, offset) = said.split_at(clock + at);
    let (hours, minutes) = offset[1..].split_once(':')?;
    let number = |text: &str, most: u64| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|number| is_number && *number <= most)
    };
    let offset_by = Duration::from_secs(number(hours, 23)? * 3600 + number(minutes, 59)? * 60);
    let local = parse_rfc3339_weak(&format!("{local}Z")).ok()?;
    match offset.starts_with('-') {
        true => local.checked_add(offset_by),
        false => local.checked_sub(offset_by),
    }
}

#[cfg(test)]
mod tests;

/// A query that is refused.
pub(crate) fn invalid(why: String) -> ApiError {
    ApiError::new(ErrorCode::InvalidQuery, why)
}
