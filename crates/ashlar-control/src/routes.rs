//! The API's paths: each a few lines from the wire to the [`NodeApi`], beside what is said of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRef, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};

use crate::access::{Accounts, Attempts, Buckets};
use crate::dashboard;
use crate::error::{ApiError, ErrorCode, PROBLEM_JSON};
use crate::node_api::NodeApi;
use crate::notifier::Notifier;
use crate::operation::{Operation, Route, document};
use crate::serve::SharedFacts;
use crate::watch::Watcher;
use idempotency::Answers;
use live::Looks;
use preconditions::PoolTurns;

mod accounts;
mod audit;
mod bounded;
mod drives;
mod etag;
mod events;
mod guard;
mod idempotency;
mod iostat;
mod jobs;
mod live;
mod members;
mod metrics;
mod node;
mod paging;
mod plans;
mod pools;
mod preconditions;
mod problems;
mod qos;
mod receivers;
mod volumes;
mod work;

/// What all paths begin with.
pub const API_ROOT: &str = "/api/v1";

const METRICS: &str = "/metrics";
const JSON: &str = "application/json";

type Node = State<Arc<dyn NodeApi>>;
type Answer<T> = Result<Json<T>, ApiError>;

/// What the handlers reach.
#[derive(Clone)]
pub(crate) struct Api {
    node: Arc<dyn NodeApi>,
    watcher: Arc<Watcher>,
    accounts: Arc<Accounts>,
    attempts: Arc<Attempts>,
    /// What those are answered who have not said who they are.
    unknown: Arc<Buckets>,
    network: SharedFacts,
    notifier: Arc<dyn Notifier>,
    turns: Arc<PoolTurns>,
    answers: Arc<Answers>,
    looks: Arc<Looks>,
}

impl FromRef<Api> for Arc<dyn NodeApi> {
    fn from_ref(api: &Api) -> Self {
        api.node.clone()
    }
}

impl FromRef<Api> for Arc<Accounts> {
    fn from_ref(api: &Api) -> Self {
        api.accounts.clone()
    }
}

impl FromRef<Api> for Arc<Looks> {
    fn from_ref(api: &Api) -> Self {
        api.looks.clone()
    }
}

impl FromRef<Api> for SharedFacts {
    fn from_ref(api: &Api) -> Self {
        api.network.clone()
    }
}

impl FromRef<Api> for Arc<dyn Notifier> {
    fn from_ref(api: &Api) -> Self {
        api.notifier.clone()
    }
}

impl FromRef<Api> for Arc<Watcher> {
    fn from_ref(api: &Api) -> Self {
        api.watcher.clone()
    }
}

/// Every operation, with what serves it.
fn routes() -> Vec<Route> {
    let all = [
        node::routes(),
        plans::routes(),
        pools::routes(),
        members::routes(),
        work::routes(),
        jobs::routes(),
        drives::routes(),
        volumes::routes(),
        qos::routes(),
        iostat::routes(),
        live::routes(),
        metrics::routes(),
        events::routes(),
        audit::routes(),
        accounts::routes(),
        problems::routes(),
        receivers::routes(),
    ];
    all.into_iter().flatten().collect()
}

/// Every operation.
pub fn operations() -> Vec<Operation> {
    routes().into_iter().map(|route| route.operation).collect()
}

/// The OpenAPI document of them.
pub fn openapi() -> serde_json::Value {
    serde_json::to_value(document(&operations())).expect("a document is plain data")
}

/// The HTTP routes of `node_api`, which `watcher` watches, and to which those who come by the
/// network are let in by `accounts`. Where they come to is said by `network`, and who is told of
/// events by `notifier`.
pub fn router(
    node_api: Arc<dyn NodeApi>,
    watcher: Arc<Watcher>,
    accounts: Arc<Accounts>,
    network: SharedFacts,
    notifier: Arc<dyn Notifier>,
) -> Router {
    let api = Api {
        node: node_api,
        watcher,
        accounts,
        attempts: Arc::default(),
        unknown: Arc::new(bounded::answers()),
        network,
        notifier,
        turns: Arc::default(),
        answers: Arc::default(),
        looks: Arc::default(),
    };
    let document = document(&operations()).to_json().expect("a document is plain data");
    let document = Bytes::from(document);
    let document = get(move || std::future::ready(([(CONTENT_TYPE, JSON)], document.clone())));
    let paths = by_path(routes(), &api);
    let router = dashboard::router().route(&format!("{API_ROOT}/openapi.json"), document);
    // Where every monitor looks for it.
    let metrics = paths.get(METRICS).cloned();
    let router = metrics.into_iter().fold(router, |router, it| router.route(METRICS, it));
    paths
        .into_iter()
        .fold(router, |router, (path, methods)| router.route(&format!("{API_ROOT}{path}"), methods))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(in_one_shape))
        .layer(axum::middleware::from_fn_with_state(api.clone(), bounded::answer))
        .with_state(api)
}

/// The methods of each path, guarded each by what is said of its operation.
fn by_path(routes: Vec<Route>, api: &Api) -> BTreeMap<&'static str, MethodRouter<Api>> {
    let mut paths = BTreeMap::<&str, MethodRouter<Api>>::new();
    for Route { operation, handler } in routes {
        let path = operation.path;
        let guarded = guard::guarded(handler, operation, api);
        let methods = paths.remove(path).unwrap_or_default();
        paths.insert(path, methods.merge(guarded));
    }
    paths
}

async fn unknown_path() -> ApiError {
    ApiError::new(ErrorCode::UnknownPath, "there is no such path")
        .with_hint(format!("{API_ROOT}/openapi.json lists what there is"))
}

async fn wrong_method(method: Method) -> ApiError {
    let why = format!("this path does not take {method}: the header Allow says what it takes");
    ApiError::new(ErrorCode::MethodNotAllowed, why)
        .with_hint(format!("{API_ROOT}/openapi.json lists what there is"))
}

/// Errors that the router itself answers with, as for a path that is no text, get the shape of all
/// others.
async fn in_one_shape(response: Response) -> Response {
    let is_problem = |value: &HeaderValue| value.as_bytes() == PROBLEM_JSON.as_bytes();
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if !is_error || response.headers().get(CONTENT_TYPE).is_some_and(is_problem) {
        return response;
    }
    let why = format!("the request is not understood ({})", response.status());
    ApiError::new(ErrorCode::InvalidRequest, why).into_response()
}

/// The one of `all` that is `wanted`; or that there is none of that `name`.
fn find<T>(
    all: Vec<T>,
    (code, kind): (ErrorCode, &str),
    name: &str,
    wanted: impl Fn(&T) -> bool,
) -> Answer<T> {
    let missing = || {
        let why =
            format!("there is no {kind} '{name}' here: `ashlar {kind} list` shows which there are");
        ApiError::new(code, why)
    };
    all.into_iter().find(wanted).map(Json).ok_or_else(missing)
}
