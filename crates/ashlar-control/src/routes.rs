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

use crate::access::{Accounts, Attempts};
use crate::error::{ApiError, ErrorCode, PROBLEM_JSON};
use crate::node_api::NodeApi;
use crate::operation::{Operation, Route, document};
use crate::serve::NetworkFacts;
use crate::watch::Watcher;

mod accounts;
mod audit;
mod drives;
mod events;
mod guard;
mod iostat;
mod jobs;
mod members;
mod node;
mod pools;
mod problems;
mod qos;
mod volumes;

/// What all paths begin with.
pub const API_ROOT: &str = "/api/v1";

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
    network: Arc<NetworkFacts>,
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

impl FromRef<Api> for Arc<NetworkFacts> {
    fn from_ref(api: &Api) -> Self {
        api.network.clone()
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
        pools::routes(),
        members::routes(),
        jobs::routes(),
        drives::routes(),
        volumes::routes(),
        qos::routes(),
        iostat::routes(),
        events::routes(),
        audit::routes(),
        accounts::routes(),
        problems::routes(),
    ];
    all.into_iter().flatten().collect()
}

/// Every operation.
pub fn operations() -> Vec<Operation> {
    routes().into_iter().map(|route| route.operation).collect()
}

/// The HTTP routes of `node_api`, which `watcher` watches, and to which those who come by the
/// network are let in by `accounts`. Where they come to is said by `network`.
pub fn router(
    node_api: Arc<dyn NodeApi>,
    watcher: Arc<Watcher>,
    accounts: Arc<Accounts>,
    network: NetworkFacts,
) -> Router {
    let (attempts, network) = (Arc::default(), Arc::new(network));
    let api = Api { node: node_api, watcher, accounts, attempts, network };
    let document = document(&operations()).to_json().expect("a document is plain data");
    let document = Bytes::from(document);
    let document = get(move || std::future::ready(([(CONTENT_TYPE, JSON)], document.clone())));
    let paths = by_path(routes(), &api);
    let router = Router::new().route(&format!("{API_ROOT}/openapi.json"), document);
    paths
        .into_iter()
        .fold(router, |router, (path, methods)| router.route(&format!("{API_ROOT}{path}"), methods))
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(in_one_shape))
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
