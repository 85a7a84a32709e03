//! What is done around each operation: who asks, and may they? A change is told of, and looked
//! after.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{RawPathParams, Request};
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::MethodRouter;
use blake3::Hash;
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use super::Api;
use super::bounded::Known;
use super::idempotency::Key;
use crate::access::leave::Leave;
use crate::access::{Caller, Entrance, Shown};
use crate::changes::deed;
use crate::error::{ApiError, ErrorCode, Problem, settled};
use crate::operation::Operation;
use crate::serve::Guest;
use crate::types::{Deed, Pool};

/// Largest body of a request, in bytes.
const BODY_BYTES_MAX: usize = 2 << 20;
/// How long it is waited for.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// The handler of an operation, with what is done before and after it.
pub(super) fn guarded(
    handler: MethodRouter<Api>,
    operation: Operation,
    api: &Api,
) -> MethodRouter<Api> {
    let (operation, api) = (Arc::new(operation), api.clone());
    handler.route_layer(from_fn(move |params: RawPathParams, request: Request, next: Next| {
        let (operation, api) = (operation.clone(), api.clone());
        async move {
            let response = serve(&operation, api, &params, request, next).await;
            check_is_declared(&operation, &response);
            response
        }
    }))
}

async fn serve(
    operation: &Operation,
    api: Api,
    params: &RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let caller = match caller(&api, &request) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    if let Some(guest) = request.extensions().get::<Guest>() {
        guest.is_known_now();
    }
    let mut response = serve_known(operation, api, params, caller, request, next).await;
    response.extensions_mut().insert(Known);
    response
}

async fn serve_known(
    operation: &Operation,
    api: Api,
    params: &RawPathParams,
    caller: Caller,
    mut request: Request,
    next: Next,
) -> Response {
    let named: Vec<(&str, &str)> = params.iter().collect();
    let refused = |refusal| refused(operation, &api, &named, &caller, refusal);
    if let Err(refusal) = caller.check(operation) {
        return refused(refusal);
    }
    let checked = check_query(operation, &request);
    if let Err(refusal) = checked.and_then(|()| check_headers(operation, &request)) {
        return refused(refusal);
    }
    let shown = caller.account.as_ref().and_then(|_| bearer(&request)).map(Arc::from);
    request.extensions_mut().insert(Leave { accounts: api.accounts.clone(), shown });
    request.extensions_mut().insert(caller.clone());
    if operation.method == Method::GET {
        return next.run(request).await;
    }
    let (request, body) = match whole(request).await {
        Ok(whole) => whole,
        Err(refusal) => return refused(refusal),
    };
    if !operation.is_change() {
        return next.run(request).await;
    }
    match Asked::new(operation, &named, &caller, request, &body) {
        Ok(asked) => changed(api, asked, next).await,
        Err(refusal) => refused(refusal),
    }
}

/// What whoever asks for that in vain is answered. A change is written down without its body: what
/// was to be done is of no account, and may be long.
fn refused(
    operation: &Operation,
    api: &Api,
    named: &[(&str, &str)],
    caller: &Caller,
    refusal: ApiError,
) -> Response {
    let response = refusal.into_response();
    if operation.is_change() {
        let deed = deed(operation, named, &Bytes::new(), caller);
        api.watcher.tell_refused(&caller.name(), deed.answered(&response));
    }
    response
}

/// A change that is asked for.
struct Asked {
    /// The parameters of its path.
    named: Vec<(String, String)>,
    /// Who asks, whatever process or port they come from.
    caller: String,
    deed: Deed,
    request: Request,
    /// The client's key, and a hash of what it asks for with that.
    key: Option<(Key, Hash)>,
}

impl Asked {
    /// # Errors
    /// When its key is none.
    fn new(
        operation: &Operation,
        named: &[(&str, &str)],
        caller: &Caller,
        request: Request,
        body: &Bytes,
    ) -> Result<Self, ApiError> {
        let key = match operation.is_idempotent() {
            true => Key::of(request.headers(), caller)?,
            false => None,
        };
        let path = request.uri().path().as_bytes();
        let said = [operation.id.as_bytes(), path, body.as_ref()];
        let mut hasher = blake3::Hasher::new();
        // None of the first two has such a byte, and so no part can be taken for another.
        said.iter().for_each(|part| _ = hasher.update(part).update(&[0]));
        let said = hasher.finalize();
        let deed = deed(operation, named, body, caller);
        let named = named.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned()));
        // What is made in a pool that the body names takes its turn there as well.
        let of_body = deed.pool.clone().filter(|_| operation.path == "/volumes");
        let named = named.chain(of_body.map(|pool| ("pool".to_owned(), pool))).collect();
        let key = key.map(|key| (key, said));
        Ok(Asked { named, caller: caller.name(), deed, request, key })
    }
}

/// What comes of a change. A client that goes meanwhile takes nothing back: what it has asked for
/// is done, and written down.
async fn changed(api: Api, asked: Asked, next: Next) -> Response {
    let change = tokio::spawn(async move {
        let Asked { named, caller, deed, request, key } = asked;
        let make = || made(&api, &named, (&caller, deed), request, next);
        match key {
            Some((key, said)) => {
                let answer = api.answers.once(key, said, Instant::now(), make).await;
                answer.unwrap_or_else(IntoResponse::into_response)
            }
            None => make().await,
        }
    });
    change.await.unwrap_or_else(|_| {
        ApiError::new(ErrorCode::Stopping, "the daemon has ended before that was done")
            .into_response()
    })
}

async fn made(
    api: &Api,
    named: &[(String, String)],
    (caller, deed): (&str, Deed),
    request: Request,
    next: Next,
) -> Response {
    // Before it is done: it may give the pool another name, or end it.
    let pool = deed.pool.as_deref().and_then(|pool| api.watcher.pool_called(pool));
    let response = match api.turns.turn(&*api.node, named, request.headers()).await {
        Ok(_turn) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let drive = named.iter().find(|(name, _)| name == "drive").map(|(_, drive)| drive.as_str());
    let response = settled(response, deed.pool.as_deref(), drive);
    let (response, opened) = match deed.opens_pool() && response.status().is_success() {
        true => pool_of_answer(response).await,
        false => (response, None),
    };
    let deed = deed.of_pool(opened.or(pool)).answered(&response);
    api.watcher.tell_change(caller, deed).await;
    // Whoever has made a change finds its events.
    api.watcher.look().await;
    response
}

/// The name and the UUID of the pool that an answer tells of.
async fn pool_of_answer(response: Response) -> (Response, Option<(String, String)>) {
    let (parts, body) = response.into_parts();
    // It was made here, of what is in memory.
    let Ok(body) = to_bytes(body, usize::MAX).await else {
        return (Response::from_parts(parts, Body::empty()), None);
    };
    let pool: Option<Pool> = serde_json::from_slice(&body).ok();
    (Response::from_parts(parts, body.into()), pool.map(|pool| (pool.name, pool.uuid)))
}

/// The request once its body is there, and the body.
async fn whole(request: Request) -> Result<(Request, Bytes), ApiError> {
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_WAIT, to_bytes(body, BODY_BYTES_MAX)).await;
    let read =
        read.map_err(|_| ApiError::new(ErrorCode::InvalidBody, "the body does not come in time"))?;
    let body = read.map_err(|error| unread(&error))?;
    Ok((Request::from_parts(parts, body.clone().into()), body))
}

/// Who asks.
///
/// # Errors
/// When whoever comes by the network does not say it, or not rightly.
fn caller(api: &Api, request: &Request) -> Result<Caller, ApiError> {
    let address = match request.extensions().get() {
        Some(Entrance::Socket { uid, pid, role }) => {
            return Ok(Caller { uid: Some(*uid), pid: *pid, role: *role, ..Caller::default() });
        }
        Some(Entrance::Network(address)) => *address,
        None => {
            return Err(ApiError::new(ErrorCode::Unauthenticated, "nobody knows who asks"));
        }
    };
    let now = Instant::now();
    let may_try = api.attempts.may_try(address.ip(), now);
    // A token that is known costs next to nothing to look up: its owner is let in, whoever else
    // fails from there.
    let shown = bearer(request).map(|shown| match may_try {
        true => api.accounts.who_shows(shown),
        false => api.accounts.look_up(shown),
    });
    if let Some(Shown::Known(account, role)) = shown {
        let (account, address) = (Some(account), Some(address));
        return Ok(Caller { account, address, role, ..Caller::default() });
    }
    if !may_try {
        let why = format!("{} has failed too often to say who it is", address.ip());
        return Err(ApiError::new(ErrorCode::TooManyAttempts, why).with_hint("wait for a minute"));
    }
    // Nobody tries to guess by a token that was good once.
    if shown == Some(Shown::Unknown) && api.attempts.has_failed(address.ip(), now) {
        api.watcher.tell_kept_out(address.ip(), now);
    }
    Err(unknown(shown.is_some()))
}

/// Nobody knows who asks, by a token or without one.
fn unknown(shows_token: bool) -> ApiError {
    let why = match shows_token {
        true => "the token is not known, or does not hold any more",
        false => "the request shows no token",
    };
    ApiError::new(ErrorCode::Unauthenticated, why).with_hint(
        "send the header 'Authorization: Bearer TOKEN'; `ashlar token create` on the appliance \
         makes one",
    )
}

/// What is shown (RFC 6750, section 2.1).
pub(super) fn bearer(request: &Request) -> Option<&str> {
    let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, shown) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| shown.trim())
}

/// A parameter that is written wrong would otherwise count as one that was left out.
fn check_query(operation: &Operation, request: &Request) -> Result<(), ApiError> {
    let query = request.uri().query().unwrap_or_default();
    let mut names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    let Some(unknown) = names.find(|name| !name.is_empty() && !operation.takes_query(name)) else {
        return Ok(());
    };
    let known: Vec<&str> = operation.query_names().collect();
    let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
    let why = format!("'{unknown}' is not understood: the query may have {known}");
    Err(ApiError::new(ErrorCode::InvalidQuery, why))
}

/// A precondition that nobody looks at would count as one that holds, and a key that nobody keeps
/// as one by which nothing is made twice.
fn check_headers(operation: &Operation, request: &Request) -> Result<(), ApiError> {
    let taken =
        [("If-Match", operation.takes_if_match()), ("Idempotency-Key", operation.is_idempotent())];
    let is_there = |name: &str| operation.is_change() && request.headers().contains_key(name);
    match taken.iter().find(|(name, is_taken)| !is_taken && is_there(name)) {
        Some((name, _)) => {
            let why = format!("{} does not take {name}", operation.id);
            Err(ApiError::new(ErrorCode::InvalidRequest, why).with_hint("leave the header out"))
        }
        None => Ok(()),
    }
}

fn unread(error: &axum::Error) -> ApiError {
    let is_too_large = error.source().is_some_and(|source| source.is::<LengthLimitError>());
    match is_too_large {
        true => ApiError::new(ErrorCode::BodyTooLarge, "the body has more than 2MiB"),
        false => ApiError::new(ErrorCode::InvalidBody, "the body is cut off"),
    }
}

/// The headers of answers that the document names.
const NAMED_HEADERS: [&str; 3] = ["etag", "link", "idempotency-replayed"];

/// The document has to name each error and each such header that is answered: clients are made from
/// it.
fn check_is_declared(operation: &Operation, response: &Response) {
    let unnamed = NAMED_HEADERS
        .iter()
        .find(|it| response.headers().contains_key(**it) && !operation.may_answer_header(it));
    debug_assert_eq!(unnamed, None, "{} answers it, and the document lacks it", operation.id);
    let code = response.extensions().get::<Problem>().and_then(Problem::known_code);
    if let Some(code) = code.filter(|code| !operation.may_fail_with(*code)) {
        let (id, code) = (operation.id, code.word());
        debug_assert!(false, "{id} answers {code}, which the API's document does not name");
        tracing::warn!("{id} answers {code}, which the API's document does not name");
    }
}
