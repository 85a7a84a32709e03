//! Lists that can grow, page by page: `limit` says how many, `after` after which one; the header
//! `Link` leads to the next page (RFC 8288).

use axum::Json;
use axum::http::header::LINK;
use axum::http::{HeaderMap, HeaderValue};
use serde::Deserialize;

use super::API_ROOT;
use crate::error::{ApiError, ErrorCode};
use crate::operation::Route;

#[cfg(test)]
mod tests;

/// Most entries of a page that somebody asks for.
const LIMIT_MAX: usize = 10_000;

/// Which part of a list is wanted. Nothing given: all of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
pub(super) struct PageQuery {
    pub limit: Option<usize>,
    pub after: Option<String>,
}

/// A page, and where the next one is.
pub(super) type Page<T> = Result<(HeaderMap, Json<Vec<T>>), ApiError>;

/// What the document says of a list that is answered so. `key`: what `after` names, for people.
pub(super) fn paged(route: Route, key: &'static str) -> Route {
    let after = match key {
        "id" => "Only what comes after the one with this id.",
        "name" => "Only what comes after the one of this name.",
        "pool/name" => "Only what comes after this one: POOL/NAME.",
        "pool_uuid/spec" => {
            "Only what comes after this one: the UUID of its pool, a slash, and `spec`."
        }
        _ => "Only what comes after the one with this number.",
    };
    route
        .query::<u16>(
            "limit",
            "So many at most, up to 10000. The header Link leads to the next ones.",
        )
        .query::<String>("after", after)
        .answers_header("Link", "Where the next page is (RFC 8288); absent: this is the last one.")
}

/// The wanted part of `all`, in the order of their keys, which differ. `path`: where that list is,
/// with what else its query says.
///
/// # Errors
/// When so many cannot be asked for.
pub(super) fn page<T>(
    path: &str,
    mut all: Vec<T>,
    key: impl Fn(&T) -> String,
    query: PageQuery,
) -> Page<T> {
    let limit = query.limit.unwrap_or(usize::MAX);
    if limit == 0 || query.limit.is_some_and(|limit| limit > LIMIT_MAX) {
        let why = format!("limit={limit} cannot be: choose 1 to {LIMIT_MAX}");
        return Err(ApiError::new(ErrorCode::InvalidQuery, why));
    }
    // What is answered as a whole keeps the order of its owner: drive-2 comes before drive-10.
    if query != PageQuery::default() {
        all.sort_by_cached_key(&key);
    }
    if let Some(after) = &query.after {
        all.retain(|one| key(one) > *after);
    }
    let is_more = all.len() > limit;
    all.truncate(limit);
    let last = all.last().filter(|_| is_more).map(&key);
    let mut headers = HeaderMap::new();
    headers.extend(last.map(|last| (LINK, next(path, limit, &last))));
    Ok((headers, Json(all)))
}

fn next(path: &str, limit: usize, after: &str) -> HeaderValue {
    let query = serde_urlencoded::to_string([("limit", &*limit.to_string()), ("after", after)])
        .expect("text can be encoded");
    let and = if path.contains('?') { '&' } else { '?' };
    let link = format!("<{API_ROOT}{path}{and}{query}>; rel=\"next\"");
    HeaderValue::from_str(&link).expect("what is encoded is ASCII")
}
