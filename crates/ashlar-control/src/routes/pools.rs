//! Pools: made, opened, changed, closed.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::ETAG;

use super::etag::{ETag, Tagged};
use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node, find};
use crate::access::Role;
use crate::body::Body;
use crate::consent::Consent;
use crate::error::ApiError;
use crate::error::ErrorCode::{
    BelowPromised, CannotCreate, CannotGrow, CapacityNotSafe, DirectoryUnreadable, InvalidCapacity,
    InvalidChunk, InvalidLevel, InvalidName, InvalidSetting, NoMembers, NoSuchPool, PoolExists,
    PoolInMemory, SeveralPools, StateNotWritten, Stopping,
};
use crate::error::sets::{CLOSES_POOL, OPEN_POOL, OPENS_POOL, TAKES_DRIVES};
use crate::operation::Route;
use crate::query::Query;
use crate::types::{
    ChangePool, CreatePool, FindPools, ImportPool, ImportablePool, Pool, RenamePool, SetCapacity,
};

const THE_POOL: &str = "The pool as it is now.";

pub(super) fn routes() -> Vec<Route> {
    let looked_at = [
        paged(Route::get("/pools", "list_pools", pools), "name")
            .text("All pools, those that could not be opened included.")
            .answers_list::<Pool>("All pools.")
            .fails(&[Stopping]),
        Route::post("/importable-pools", "find_pools", find_pools)
            .needs(Role::Operator)
            .text("The pools that are on drives and not open here, which `/import-pool` could open. Nothing changes. Drives that something else has open are left out.")
            .takes::<FindPools>()
            .answers_list::<ImportablePool>("These pools, by name.")
            .fails(&[DirectoryUnreadable, Stopping]),
        Route::get("/pools/{pool}", "get_pool", pool)
            .text("A pool, by name or UUID.")
            .answers::<Pool>(THE_POOL)
            .tagged()
            .fails(&[NoSuchPool, Stopping]),
    ];
    looked_at.into_iter().chain(begun_and_ended()).chain(changed()).collect()
}

fn begun_and_ended() -> [Route; 4] {
    [
        Route::post("/pools", "create_pool", create_pool)
            .changes(Role::Admin, "pool create")
            .text("Makes a pool. What its drives held is lost; those that hold something are refused, unless `force`.")
            .takes::<CreatePool>()
            .idempotent()
            .makes::<Pool>("The pool that was made.")
            .fails(TAKES_DRIVES)
            .fails(OPENS_POOL)
            .fails(&[CannotCreate, InvalidName, InvalidLevel, InvalidChunk, StateNotWritten]),
        Route::post("/import-pool", "import_pool", import_pool)
            .changes(Role::Admin, "pool import")
            .text("Opens a pool that is on drives.")
            .takes::<ImportPool>()
            .idempotent()
            .answers::<Pool>(THE_POOL)
            .fails(TAKES_DRIVES)
            .fails(OPENS_POOL)
            .fails(&[DirectoryUnreadable, InvalidName, NoMembers, SeveralPools, StateNotWritten]),
        Route::delete("/pools/{pool}", "destroy_pool", destroy_pool)
            .changes(Role::Admin, "pool destroy")
            .text("Closes a pool and takes its label off its drives: what it held is lost.")
            .consent()
            .fails(OPEN_POOL)
            .fails(CLOSES_POOL),
        Route::post("/pools/{pool}/export", "export_pool", export_pool)
            .changes(Role::Admin, "pool export")
            .text("Closes a pool and forgets it; its drives can go elsewhere.")
            .consent()
            .fails(OPEN_POOL)
            .fails(CLOSES_POOL)
            .fails(&[PoolInMemory]),
    ]
}

fn changed() -> [Route; 5] {
    [
        Route::patch("/pools/{pool}", "change_pool", change_pool)
            .changes(Role::Operator, "pool set")
            .text("Changes what an operator has chosen for a pool. What the request leaves out stays as it is.")
            .takes::<ChangePool>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[InvalidSetting]),
        Route::post("/pools/{pool}/rename", "rename_pool", rename_pool)
            .changes(Role::Admin, "pool rename")
            .text("Gives a pool another name. Hosts see its volumes all the while.")
            .takes::<RenamePool>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[InvalidName, PoolExists]),
        Route::post("/pools/{pool}/set-capacity", "set_capacity", set_capacity)
            .changes(Role::Operator, "pool set-capacity")
            .text("Formats more or less of a pool: what volumes together may be promised, from one to four times what it is provisioned with.")
            .takes::<SetCapacity>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[InvalidCapacity, BelowPromised, CapacityNotSafe]),
        Route::post("/pools/{pool}/release-reserve", "release_reserve", release_reserve)
            .changes(Role::Operator, "pool release-reserve")
            .text("Lets hosts have what was kept for when the pool is full (`space.reserve_bytes`), until so much has been given back that it can be kept again.")
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL),
        Route::post("/pools/{pool}/grow", "grow_pool", grow)
            .changes(Role::Operator, "pool grow")
            .text("Takes the room of drives that have become larger into the pool. Its drives' `unused_bytes` tell how much that is. It is there when this is answered; where no drive has grown, nothing changes.")
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[CannotGrow]),
    ]
}

async fn pools(State(node): Node, Query(query): Query<PageQuery>) -> Page<Pool> {
    page("/pools", node.pools().await?, |pool| pool.name.clone(), query)
}

async fn pool(State(node): Node, Path(pool): Path<String>) -> Tagged<Pool> {
    let wanted = |found: &Pool| found.name == pool || found.uuid == pool;
    let found = find(node.pools().await?, (NoSuchPool, "pool"), &pool, wanted)?;
    let tag = ETag::of_pool(&found, &node.policies().await?);
    Ok(([(ETAG, tag.header())], found))
}

async fn create_pool(
    State(node): Node,
    Body(request): Body<CreatePool>,
) -> Result<(StatusCode, Json<Pool>), ApiError> {
    Ok((StatusCode::CREATED, Json(node.create_pool(request).await?)))
}

async fn import_pool(State(node): Node, Body(request): Body<ImportPool>) -> Answer<Pool> {
    node.import_pool(request).await.map(Json)
}

async fn find_pools(
    State(node): Node,
    Body(request): Body<FindPools>,
) -> Answer<Vec<ImportablePool>> {
    node.find_pools(request).await.map(Json)
}

async fn destroy_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.destroy_pool(pool, consent).await.map(|()| StatusCode::NO_CONTENT)
}

async fn export_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Result<StatusCode, ApiError> {
    node.export_pool(pool, consent).await.map(|()| StatusCode::NO_CONTENT)
}

async fn change_pool(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<ChangePool>,
) -> Answer<Pool> {
    node.change_pool(pool, request).await.map(Json)
}

async fn rename_pool(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<RenamePool>,
) -> Answer<Pool> {
    node.rename_pool(pool, request).await.map(Json)
}

async fn set_capacity(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<SetCapacity>,
) -> Answer<Pool> {
    node.set_capacity(pool, request).await.map(Json)
}

async fn release_reserve(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.release_reserve(pool).await.map(Json)
}

async fn grow(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.grow(pool).await.map(Json)
}
