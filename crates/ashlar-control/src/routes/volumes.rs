//! Volumes.

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::etag::{Tagged, WithTag, tagged_volume};
use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node, find};
use crate::access::{Caller, Role};
use crate::body::Body;
use crate::consent::Consent;
use crate::error::ErrorCode::{
    CannotChangeAccess, InvalidAtomic, InvalidCompression, InvalidHost, InvalidLbaSize,
    InvalidName, InvalidSize, NoNamespaceNumber, NoSuchPolicy, NoSuchPool, NoSuchVolume, NoZstd,
    NothingToChange, OverPromised, PoolOpening, PoolReadOnly, PoolUnavailable, StateNotWritten,
    Stopping, TooManyHosts, VolumeExists, WriteProtected,
};
use crate::error::sets::{OPEN_POOL, VOLUME};
use crate::error::{ApiError, ErrorCode};
use crate::node_api::NodeApi;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{ChangeVolume, CreateVolume, NameHosts, Pool, Volume};

/// Of what can be chosen when a volume is made, and changed later.
const SETTINGS: &[ErrorCode] =
    &[InvalidName, InvalidSize, InvalidCompression, NoZstd, OverPromised, VolumeExists];

const THE_VOLUME: &str = "The volume as it is now.";

pub(super) fn routes() -> Vec<Route> {
    made_and_changed().into_iter().chain(others()).collect()
}

fn made_and_changed() -> [Route; 4] {
    [
        paged(Route::get("/volumes", "list_volumes", volumes), "pool/name")
            .text("All volumes of all pools that are open.")
            .query::<String>("pool", "Only the volumes of this pool, by its name or UUID.")
            .answers_list::<Volume>("All volumes.")
            .fails(&[NoSuchPool, Stopping]),
        Route::post("/volumes", "create_volume", create_volume)
            .changes(Role::Operator, "volume create")
            .text("Makes a volume.")
            .takes::<CreateVolume>()
            .idempotent()
            .makes::<Volume>("The volume that was made.")
            .tagged()
            .fails(OPEN_POOL)
            .fails(SETTINGS)
            .fails(&[InvalidHost, InvalidLbaSize, NoNamespaceNumber, StateNotWritten, TooManyHosts]),
        Route::get("/volumes/{pool}/{volume}", "get_volume", volume)
            .text("A volume.")
            .answers::<Volume>(THE_VOLUME)
            .tagged()
            .fails(&[NoSuchPool, NoSuchVolume, PoolOpening, PoolUnavailable, Stopping]),
        Route::patch("/volumes/{pool}/{volume}", "change_volume", change_volume)
            .changes_by(Role::Operator, change)
            .text("Changes a volume: its size, its name, its write protection, its policy, or what hosts are told of it. What the request leaves out stays as it is.")
            .takes::<ChangeVolume>()
            .consent()
            .answers::<Volume>(THE_VOLUME)
            .tagged()
            .fails(OPEN_POOL)
            .fails(VOLUME)
            .fails(SETTINGS)
            .fails(&[InvalidAtomic, NoSuchPolicy, NothingToChange, PoolReadOnly, WriteProtected]),
    ]
}

fn others() -> [Route; 4] {
    [
        Route::delete("/volumes/{pool}/{volume}", "delete_volume", delete_volume)
            .changes(Role::Admin, "volume delete")
            .text("Deletes a volume: hosts lose it at once.")
            .consent()
            .fails(OPEN_POOL)
            .fails(VOLUME),
        Route::post("/volumes/{pool}/{volume}/wipe", "wipe_volume", wipe_volume)
            .changes(Role::Admin, "volume wipe")
            .text("Erases all that a volume holds, and what was counted of it. From its beginning on nothing of that can be read through Ashlar any more, also after a crash.")
            .consent()
            .answers::<Volume>(THE_VOLUME)
            .fails(OPEN_POOL)
            .fails(VOLUME)
            .fails(&[PoolReadOnly, WriteProtected]),
        Route::post("/volumes/{pool}/{volume}/allow", "allow_hosts", allow)
            .changes(Role::Operator, "volume allow")
            .text("Lets hosts see a volume.")
            .takes::<NameHosts>()
            .consent()
            .answers::<Volume>(THE_VOLUME)
            .fails(OPEN_POOL)
            .fails(VOLUME)
            .fails(&[CannotChangeAccess, InvalidHost, TooManyHosts]),
        Route::post("/volumes/{pool}/{volume}/deny", "deny_hosts", deny)
            .changes(Role::Operator, "volume deny")
            .text("Lets hosts no longer see a volume.")
            .takes::<NameHosts>()
            .consent()
            .answers::<Volume>(THE_VOLUME)
            .fails(OPEN_POOL)
            .fails(VOLUME)
            .fails(&[CannotChangeAccess, InvalidHost, TooManyHosts]),
    ]
}

fn change(asked: &Value) -> &'static str {
    match () {
        () if asked["size_bytes"].is_u64() => "volume resize",
        () if asked["name"].is_string() => "volume rename",
        () => "volume set",
    }
}

/// Which volumes are wanted.
#[derive(Deserialize)]
struct VolumesQuery {
    pool: Option<String>,
    limit: Option<usize>,
    after: Option<String>,
}

async fn volumes(State(node): Node, Query(query): Query<VolumesQuery>) -> Page<Volume> {
    let VolumesQuery { pool, limit, after } = query;
    let mut all = node.volumes().await?;
    let path = match &pool {
        Some(pool) => {
            let of = pool_called(&*node, pool).await?;
            all.retain(|volume| volume.pool == of.name);
            let query = serde_urlencoded::to_string([("pool", pool)]).expect("text can be encoded");
            format!("/volumes?{query}")
        }
        None => "/volumes".to_owned(),
    };
    let key = |volume: &Volume| format!("{}/{}", volume.pool, volume.name);
    page(&path, all, key, PageQuery { limit, after })
}

async fn create_volume(
    State(node): Node,
    Body(request): Body<CreateVolume>,
) -> Result<(StatusCode, WithTag<Volume>), ApiError> {
    let made = node.create_volume(request).await?;
    Ok((StatusCode::CREATED, tagged_volume(made)))
}

async fn volume(State(node): Node, Path((pool, volume)): Path<(String, String)>) -> Tagged<Volume> {
    let pool = pool_called(&*node, &pool).await?;
    check_shows_volumes(&pool)?;
    let wanted = |found: &Volume| found.pool == pool.name && found.name == volume;
    let name = format!("{}/{volume}", pool.name);
    let Json(found) = find(node.volumes().await?, (NoSuchVolume, "volume"), &name, wanted)?;
    Ok(tagged_volume(found))
}

/// The pool with that name or UUID.
async fn pool_called(node: &dyn NodeApi, called: &str) -> Result<Pool, ApiError> {
    let is_meant = |found: &Pool| found.name == called || found.uuid == called;
    find(node.pools().await?, (NoSuchPool, "pool"), called, is_meant).map(|Json(pool)| pool)
}

/// Refuses to say that a volume does not exist while its pool is not open.
fn check_shows_volumes(pool: &Pool) -> Result<(), ApiError> {
    let closed = |state: &String| match state.as_str() {
        "opening" => Some(PoolOpening),
        "unavailable" => Some(PoolUnavailable),
        _ => None,
    };
    let Some(code): Option<ErrorCode> = pool.states.iter().find_map(closed) else { return Ok(()) };
    let (name, why) = (&pool.name, pool.problem.as_deref().unwrap_or_default());
    let message = format!("pool '{name}' is not open, so its volumes are not known: {why}");
    Err(ApiError::new(code, message)
        .with_hint(format!("`ashlar pool show {name}` shows how far it is")))
}

async fn change_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    Extension(caller): Extension<Caller>,
    Body(request): Body<ChangeVolume>,
) -> Tagged<Volume> {
    let of = pool_called(&*node, &pool).await?;
    let volumes = node.volumes().await?;
    let is_it = |found: &&Volume| found.pool == of.name && found.name == volume;
    let before = volumes.iter().find(is_it).map_or(u64::MAX, |volume| volume.size_bytes);
    // Of one that is named otherwise nobody can say whether it shrinks.
    if request.size_bytes.is_some_and(|size| size < before) {
        caller.check_may_lose_data("making a volume smaller")?;
    }
    // The size may be another one by now.
    let may_lose = caller.check_may_lose_data("making a volume smaller").is_ok();
    let consent = if may_lose { consent } else { consent.to_keep() };
    node.change_volume(pool, volume, request, consent).await.map(tagged_volume)
}

async fn wipe_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
) -> Answer<Volume> {
    node.wipe_volume(pool, volume, consent).await.map(Json)
}

async fn delete_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.delete_volume(pool, volume, consent).await.map(|()| StatusCode::NO_CONTENT)
}

async fn allow(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    Body(request): Body<NameHosts>,
) -> Answer<Volume> {
    node.allow(pool, volume, request, consent).await.map(Json)
}

async fn deny(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    consent: Consent,
    Body(request): Body<NameHosts>,
) -> Answer<Volume> {
    node.deny(pool, volume, request, consent).await.map(Json)
}
