//! The API's paths: each a few lines from the wire to the [`NodeApi`].

use std::sync::Arc;

use axum::Json;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::body::Body;
use crate::consent::Consent;
use crate::error::{ApiError, ErrorBody, ErrorKind};
use crate::node_api::NodeApi;
use crate::types::{
    ChangePool, CreatePool, DriveInfo, FailDrive, Host, ImportPool, NameDrive, NameSpare, Pool,
    PoolDrive, RemoveDrive, RenamePool, ReplaceDrive, ReturnDrive, SetCapacity, Status, Version,
};

use crate::watch::Watcher;

mod erases;
mod events;
mod iostat;
mod volumes;

/// What all paths begin with.
pub const API_ROOT: &str = "/api/v1";

type Node = State<Arc<dyn NodeApi>>;
type Answer<T> = Result<Json<T>, ApiError>;

#[derive(OpenApi)]
#[openapi(info(
    title = "Ashlar",
    description = "Compressed, parity-protected thin volumes over NVMe/TCP. Every error has the body \
                   {code, message, hint}. A request that destroys data, cuts hosts off or leaves a pool \
                   with fewer drives is refused with confirmation_needed and what it costs, unless its \
                   query is confirm=true."
))]
struct Document;

/// The HTTP routes of `node_api`, which `watcher` watches.
pub fn router(node_api: Arc<dyn NodeApi>, watcher: Arc<Watcher>) -> Router {
    let look = axum::middleware::from_fn_with_state(watcher.clone(), events::look_after_change);
    let (router, document) = routes(watcher);
    let document = get(move || std::future::ready(Json(document.clone())));
    router
        .route(&format!("{API_ROOT}/openapi.json"), document)
        .fallback(unknown_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::map_response(in_one_shape))
        .layer(look)
        .with_state(node_api)
}

/// All paths, and what is said of them.
fn routes(watcher: Arc<Watcher>) -> (Router<Arc<dyn NodeApi>>, utoipa::openapi::OpenApi) {
    let paths = of_node().merge(of_pools()).merge(of_events().with_state(watcher));
    OpenApiRouter::with_openapi(Document::openapi()).nest(API_ROOT, paths).split_for_parts()
}

/// What is said of all paths.
#[cfg(test)]
pub(crate) fn document() -> utoipa::openapi::OpenApi {
    let paths = of_node().merge(of_pools());
    let mut document =
        OpenApiRouter::with_openapi(Document::openapi()).nest(API_ROOT, paths).split_for_parts().1;
    document.merge(OpenApiRouter::new().nest(API_ROOT, of_events()).split_for_parts().1);
    document
}

fn of_events() -> OpenApiRouter<Arc<Watcher>> {
    OpenApiRouter::new().routes(routes!(events::events)).routes(routes!(events::follow_events))
}

fn of_node() -> OpenApiRouter<Arc<dyn NodeApi>> {
    OpenApiRouter::new()
        .routes(routes!(version))
        .routes(routes!(status))
        .routes(routes!(hosts))
        .routes(routes!(drives))
        .routes(routes!(inspect_drive))
        .routes(routes!(clear_label))
        .routes(routes!(restore_label))
        .routes(routes!(volumes::volumes, volumes::create_volume))
        .routes(routes!(volumes::volume, volumes::change_volume, volumes::delete_volume))
        .routes(routes!(volumes::wipe_volume))
        .routes(routes!(volumes::allow))
        .routes(routes!(volumes::deny))
        .routes(routes!(iostat::iostat))
        .routes(routes!(iostat::volume_latency))
        .routes(routes!(iostat::drive_latency))
}

fn of_pools() -> OpenApiRouter<Arc<dyn NodeApi>> {
    OpenApiRouter::new()
        .routes(routes!(pools, create_pool))
        .routes(routes!(import_pool))
        .routes(routes!(pool, change_pool, destroy_pool))
        .routes(routes!(erases::destroy_and_erase_pool))
        .routes(routes!(erases::drive_erases))
        .routes(routes!(export_pool))
        .routes(routes!(rename_pool))
        .routes(routes!(start_scrub, stop_scrub))
        .routes(routes!(start_rebalance, stop_rebalance))
        .routes(routes!(set_capacity))
        .routes(routes!(release_reserve))
        .routes(routes!(trim))
        .routes(routes!(verify))
        .routes(routes!(grow))
        .routes(routes!(add_drive))
        .routes(routes!(add_spare))
        .routes(routes!(remove_spare))
        .routes(routes!(fail_drive))
        .routes(routes!(remove_drive))
        .routes(routes!(return_drive))
        .routes(routes!(replace_drive))
}

async fn unknown_path() -> ApiError {
    ApiError::new(ErrorKind::NotFound, "unknown_path", "there is no such path")
        .with_hint(format!("{API_ROOT}/openapi.json lists what there is"))
}

async fn wrong_method(method: Method) -> ApiError {
    let why = format!("this path does not take {method}: the header Allow says what it takes");
    ApiError::new(ErrorKind::WrongMethod, "method_not_allowed", why)
        .with_hint(format!("{API_ROOT}/openapi.json lists what there is"))
}

/// Errors that the router itself answers with, as for a path that is no text, get the shape of all
/// others.
async fn in_one_shape(response: Response) -> Response {
    let is_json = |value: &HeaderValue| value.as_bytes().starts_with(b"application/json");
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    if !is_error || response.headers().get(CONTENT_TYPE).is_some_and(is_json) {
        return response;
    }
    let why = format!("the request is not understood ({})", response.status());
    ApiError::new(ErrorKind::Invalid, "invalid_request", why).into_response()
}

fn find<T>(all: Vec<T>, kind: &str, name: &str, wanted: impl Fn(&T) -> bool) -> Answer<T> {
    let missing = || {
        let why =
            format!("there is no {kind} '{name}' here: `ashlar {kind} list` shows which there are");
        ApiError::new(ErrorKind::NotFound, &format!("no_such_{kind}"), why)
    };
    all.into_iter().find(wanted).map(Json).ok_or_else(missing)
}

/// The daemon's version.
#[utoipa::path(get, path = "/version", responses((status = 200, body = Version)))]
async fn version() -> Json<Version> {
    Json(Version { version: env!("CARGO_PKG_VERSION").to_owned(), api: "v1".to_owned() })
}

/// Everything at a glance.
#[utoipa::path(get, path = "/status", responses((status = 200, body = Status)))]
async fn status(State(node): Node) -> Answer<Status> {
    node.status().await.map(Json)
}

/// The hosts that are connected.
#[utoipa::path(get, path = "/hosts", responses((status = 200, body = Vec<Host>)))]
async fn hosts(State(node): Node) -> Answer<Vec<Host>> {
    node.hosts().await.map(Json)
}

/// All pools.
#[utoipa::path(get, path = "/pools", responses((status = 200, body = Vec<Pool>)))]
async fn pools(State(node): Node) -> Answer<Vec<Pool>> {
    node.pools().await.map(Json)
}

/// Makes a pool.
#[utoipa::path(post, path = "/pools", request_body = CreatePool,
    responses((status = 201, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn create_pool(
    State(node): Node,
    body: Body<CreatePool>,
) -> Result<(StatusCode, Json<Pool>), ApiError> {
    let Body(request) = body;
    Ok((StatusCode::CREATED, Json(node.create_pool(request).await?)))
}

/// Opens a pool that is on drives.
#[utoipa::path(post, path = "/import-pool", request_body = ImportPool,
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn import_pool(State(node): Node, body: Body<ImportPool>) -> Answer<Pool> {
    let Body(request) = body;
    node.import_pool(request).await.map(Json)
}

/// A pool, by name or UUID.
#[utoipa::path(get, path = "/pools/{pool}", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = 404, body = ErrorBody)))]
async fn pool(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    find(node.pools().await?, "pool", &pool, |found| found.name == pool || found.uuid == pool)
}

/// Changes what an operator has chosen for a pool.
#[utoipa::path(patch, path = "/pools/{pool}", request_body = ChangePool, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn change_pool(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<ChangePool>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.change_pool(pool, request).await.map(Json)
}

/// Closes a pool and takes its label off its drives: what it held is lost.
#[utoipa::path(delete, path = "/pools/{pool}", params(("pool" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 204), (status = "4XX", body = ErrorBody)))]
async fn destroy_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.destroy_pool(pool, consent).await.map(|()| StatusCode::NO_CONTENT)
}

/// Closes a pool and forgets it; its drives can go elsewhere.
#[utoipa::path(post, path = "/pools/{pool}/export", params(("pool" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 204), (status = "4XX", body = ErrorBody)))]
async fn export_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.export_pool(pool, consent).await.map(|()| StatusCode::NO_CONTENT)
}

/// Begins a scrub, unless one is under way: the pool's `scrub` tells how far it is.
#[utoipa::path(post, path = "/pools/{pool}/scrub", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn start_scrub(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_scrub(pool).await.map(Json)
}

/// Stops the scrub that is under way, if one is.
#[utoipa::path(delete, path = "/pools/{pool}/scrub", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn stop_scrub(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_scrub(pool).await.map(Json)
}

/// Takes the room of drives that have become larger into the pool: its drives' `unused_bytes` tell
/// how much that is. It is there when this is answered; where no drive has grown, nothing changes.
#[utoipa::path(post, path = "/pools/{pool}/grow", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn grow(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.grow(pool).await.map(Json)
}

/// Begins to tell the drives of all space that is free, unless that goes on: the pool's `trim`
/// tells how far it is. An error if none of them can be told. Who restarts the daemon has to ask
/// again.
#[utoipa::path(post, path = "/pools/{pool}/trim", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn trim(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.trim(pool).await.map(Json)
}

/// Begins to prove the ledger, unless that goes on: Ashlar walks over all that the maps name,
/// counts it anew and compares, while hosts go on. The pool's `verify` tells how far it is, and
/// what it has found. Who restarts the daemon has to ask again.
#[utoipa::path(post, path = "/pools/{pool}/verify", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn verify(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.verify(pool).await.map(Json)
}

/// Begins to spread what lives over all drives, in stripes as wide as they allow, unless that goes
/// on already: the pool's `rebalance` tells how far it is.
#[utoipa::path(post, path = "/pools/{pool}/rebalance", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn start_rebalance(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_rebalance(pool).await.map(Json)
}

/// Stops the rebalance that is under way, if one is: everything stays where it is.
#[utoipa::path(delete, path = "/pools/{pool}/rebalance", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn stop_rebalance(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_rebalance(pool).await.map(Json)
}

/// Formats more or less of a pool: what volumes together may be promised, from one to four times
/// what it is provisioned with.
#[utoipa::path(post, path = "/pools/{pool}/set-capacity", request_body = SetCapacity, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn set_capacity(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<SetCapacity>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.set_capacity(pool, request).await.map(Json)
}

/// Lets hosts have what was kept for when the pool is full (`reserve_bytes`), until so much has
/// been given back that it can be kept again.
#[utoipa::path(post, path = "/pools/{pool}/release-reserve", params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn release_reserve(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.release_reserve(pool).await.map(Json)
}

/// Takes a drive into a pool: what it held is lost.
#[utoipa::path(post, path = "/pools/{pool}/drives", request_body = NameDrive, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn add_drive(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<NameDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.add_drive(pool, request).await.map(Json)
}

/// Gives a pool a spare: a drive that is taken once one is lost.
#[utoipa::path(post, path = "/pools/{pool}/spares", request_body = NameDrive, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn add_spare(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<NameDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.add_spare(pool, request).await.map(Json)
}

/// Takes a spare from a pool; the drive is nobody's then.
#[utoipa::path(post, path = "/pools/{pool}/remove-spare", request_body = NameSpare, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn remove_spare(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<NameSpare>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.remove_spare(pool, request).await.map(Json)
}

/// Gives a drive of a pool up as if it had been pulled; what lives on it is rebuilt on the others.
#[utoipa::path(post, path = "/pools/{pool}/fail-drive", request_body = FailDrive, params(("pool" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn fail_drive(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
    body: Body<FailDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.fail_drive(pool, request, consent).await.map(Json)
}

/// Removes a drive of a pool once what lives on it is on others.
#[utoipa::path(post, path = "/pools/{pool}/remove-drive", request_body = RemoveDrive, params(("pool" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn remove_drive(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
    body: Body<RemoveDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.remove_drive(pool, request, consent).await.map(Json)
}

/// Takes a drive back that a pool has lost: what it has missed is restored.
#[utoipa::path(post, path = "/pools/{pool}/return-drive", request_body = ReturnDrive, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn return_drive(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<ReturnDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.return_drive(pool, request).await.map(Json)
}

/// Gives a pool another name. Hosts see its volumes all the while.
#[utoipa::path(post, path = "/pools/{pool}/rename", request_body = RenamePool, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn rename_pool(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<RenamePool>,
) -> Answer<Pool> {
    node.rename_pool(pool, request).await.map(Json)
}

/// Takes a drive into a pool instead of another one.
#[utoipa::path(post, path = "/pools/{pool}/replace-drive", request_body = ReplaceDrive, params(("pool" = String, Path)),
    responses((status = 200, body = Pool), (status = "4XX", body = ErrorBody)))]
async fn replace_drive(
    State(node): Node,
    Path(pool): Path<String>,
    body: Body<ReplaceDrive>,
) -> Answer<Pool> {
    let Body(request) = body;
    node.replace_drive(pool, request).await.map(Json)
}

/// The drives of all pools.
#[utoipa::path(get, path = "/drives", responses((status = 200, body = Vec<PoolDrive>)))]
async fn drives(State(node): Node) -> Answer<Vec<PoolDrive>> {
    node.drives().await.map(Json)
}

/// Looks what a drive is and holds.
#[utoipa::path(post, path = "/drives/inspect", request_body = NameDrive,
    responses((status = 200, body = DriveInfo), (status = "4XX", body = ErrorBody)))]
async fn inspect_drive(State(node): Node, body: Body<NameDrive>) -> Answer<DriveInfo> {
    let Body(request) = body;
    node.inspect_drive(request).await.map(Json)
}

/// Takes a pool's label off a drive. Answers what it held.
#[utoipa::path(post, path = "/drives/label-clear", request_body = NameDrive, params(("confirm" = Option<bool>, Query)),
    responses((status = 200, body = DriveInfo), (status = "4XX", body = ErrorBody)))]
async fn clear_label(
    State(node): Node,
    consent: Consent,
    body: Body<NameDrive>,
) -> Answer<DriveInfo> {
    let Body(request) = body;
    node.clear_label(request, consent).await.map(Json)
}

/// Writes a drive's label anew from the copy inside it, where both at its ends were overwritten.
/// Answers what the drive holds then.
#[utoipa::path(post, path = "/drives/label-restore", request_body = NameDrive, params(("confirm" = Option<bool>, Query)),
    responses((status = 200, body = DriveInfo), (status = "4XX", body = ErrorBody)))]
async fn restore_label(
    State(node): Node,
    consent: Consent,
    body: Body<NameDrive>,
) -> Answer<DriveInfo> {
    let Body(request) = body;
    node.restore_label(request, consent).await.map(Json)
}
