//! Volumes.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::{Answer, Node, find};
use crate::body::Body;
use crate::consent::Consent;
use crate::error::{ApiError, ErrorBody, ErrorKind};
use crate::types::{ChangeVolume, CreateVolume, NameHosts, Pool, Volume};

/// All volumes.
#[utoipa::path(get, path = "/volumes", responses((status = 200, body = Vec<Volume>)))]
pub(super) async fn volumes(State(node): Node) -> Answer<Vec<Volume>> {
    node.volumes().await.map(Json)
}

/// Makes a volume.
#[utoipa::path(post, path = "/volumes", request_body = CreateVolume,
    responses((status = 201, body = Volume), (status = "4XX", body = ErrorBody)))]
pub(super) async fn create_volume(
    State(node): Node,
    body: Body<CreateVolume>,
) -> Result<(StatusCode, Json<Volume>), ApiError> {
    let Body(request) = body;
    Ok((StatusCode::CREATED, Json(node.create_volume(request).await?)))
}

/// A volume.
#[utoipa::path(get, path = "/volumes/{pool}/{volume}", params(("pool" = String, Path), ("volume" = String, Path)),
    responses((status = 200, body = Volume), (status = 404, body = ErrorBody)))]
pub(super) async fn volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
) -> Answer<Volume> {
    let wanted = |found: &Volume| found.pool == pool && found.name == volume;
    let volumes = node.volumes().await?;
    if !volumes.iter().any(wanted) {
        check_shows_volumes(&pool, node.pools().await?)?;
    }
    find(volumes, "volume", &format!("{pool}/{volume}"), wanted)
}

/// Refuses to say that a volume does not exist while its pool is not open.
fn check_shows_volumes(name: &str, pools: Vec<Pool>) -> Result<(), ApiError> {
    let Some(pool) = pools.into_iter().find(|pool| pool.name == name) else { return Ok(()) };
    let is_closed = |state: &String| ["opening", "unavailable"].contains(&state.as_str());
    let Some(state) = pool.states.iter().find(|state| is_closed(state)) else { return Ok(()) };
    let why = pool.problem.unwrap_or_default();
    let message = format!("pool '{name}' is not open, so its volumes are not known: {why}");
    Err(ApiError::new(ErrorKind::Unavailable, &format!("pool_{state}"), message)
        .with_hint(format!("`ashlar pool show {name}` shows how far it is")))
}

/// Changes a volume: its size, its name, its write protection, or what hosts are told of it.
#[utoipa::path(patch, path = "/volumes/{pool}/{volume}", request_body = ChangeVolume,
    params(("pool" = String, Path), ("volume" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Volume), (status = "4XX", body = ErrorBody)))]
pub(super) async fn change_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    body: Body<ChangeVolume>,
) -> Answer<Volume> {
    let Body(request) = body;
    node.change_volume(pool, volume, request, consent).await.map(Json)
}

/// Erases all that a volume holds, and what was counted of it: from its beginning on nothing of
/// that can be read through Ashlar any more, also after a crash.
#[utoipa::path(post, path = "/volumes/{pool}/{volume}/wipe",
    params(("pool" = String, Path), ("volume" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Volume), (status = "4XX", body = ErrorBody)))]
pub(super) async fn wipe_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
) -> Answer<Volume> {
    node.wipe_volume(pool, volume, consent).await.map(Json)
}

/// Deletes a volume: hosts lose it at once.
#[utoipa::path(delete, path = "/volumes/{pool}/{volume}",
    params(("pool" = String, Path), ("volume" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 204), (status = "4XX", body = ErrorBody)))]
pub(super) async fn delete_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.delete_volume(pool, volume, consent).await.map(|()| StatusCode::NO_CONTENT)
}

/// Lets hosts see a volume.
#[utoipa::path(post, path = "/volumes/{pool}/{volume}/allow", request_body = NameHosts,
    params(("pool" = String, Path), ("volume" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Volume), (status = "4XX", body = ErrorBody)))]
pub(super) async fn allow(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    body: Body<NameHosts>,
) -> Answer<Volume> {
    let Body(request) = body;
    node.allow(pool, volume, request, consent).await.map(Json)
}

/// Lets hosts no longer see a volume.
#[utoipa::path(post, path = "/volumes/{pool}/{volume}/deny", request_body = NameHosts,
    params(("pool" = String, Path), ("volume" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Volume), (status = "4XX", body = ErrorBody)))]
pub(super) async fn deny(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    body: Body<NameHosts>,
) -> Answer<Volume> {
    let Body(request) = body;
    node.deny(pool, volume, request, consent).await.map(Json)
}
