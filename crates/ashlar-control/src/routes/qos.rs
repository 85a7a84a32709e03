//! Policies: what volumes may take of their pool.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;

use super::etag::{Tagged, WithTag, tagged_policy, tagged_volume};
use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node, find};
use crate::access::Role;
use crate::body::Body;
use crate::error::ErrorCode::{
    InvalidPolicy, NoSuchPolicy, NoSuchPool, NothingToChange, PolicyExists, PolicyInUse, Stopping,
    TooManyPolicies,
};
use crate::error::sets::{OPEN_POOL, VOLUME};
use crate::error::{ApiError, ErrorCode};
use crate::operation::Route;
use crate::query::Query;
use crate::types::{ChangePolicy, ChooseDefaultPolicy, CreatePolicy, Pool, QosPolicy, Volume};

const THE_POLICY: &str = "The policy as it is now.";

pub(super) fn routes() -> Vec<Route> {
    looked_at().into_iter().chain(changed()).chain(chosen()).collect()
}

fn looked_at() -> [Route; 2] {
    [
        paged(Route::get("/qos", "list_policies", policies), "pool/name")
            .text("The policies of all pools that are open.")
            .answers_list::<QosPolicy>("All policies.")
            .fails(&[Stopping]),
        Route::get("/pools/{pool}/qos/{policy}", "get_policy", policy)
            .text("A policy of a pool.")
            .answers::<QosPolicy>(THE_POLICY)
            .tagged()
            .fails(&[NoSuchPolicy, NoSuchPool, Stopping]),
    ]
}

fn changed() -> [Route; 3] {
    [
        Route::post("/pools/{pool}/qos", "create_policy", create)
            .changes(Role::Operator, "qos create")
            .text("Makes a policy of a pool. No volume has it yet.")
            .takes::<CreatePolicy>()
            .idempotent()
            .makes::<QosPolicy>("The policy that was made.")
            .tagged()
            .fails(OPEN_POOL)
            .fails(&[InvalidPolicy, PolicyExists, TooManyPolicies]),
        Route::patch("/pools/{pool}/qos/{policy}", "change_policy", change)
            .changes(Role::Operator, "qos set")
            .text("Changes a policy. Its volumes are held to it at once; what the request leaves out stays as it is.")
            .takes::<ChangePolicy>()
            .answers::<QosPolicy>(THE_POLICY)
            .tagged()
            .fails(OPEN_POOL)
            .fails(&[InvalidPolicy, NoSuchPolicy, NothingToChange]),
        Route::delete("/pools/{pool}/qos/{policy}", "delete_policy", delete)
            .changes(Role::Operator, "qos delete")
            .text("Deletes a policy that no volume names, and that is not the default of its pool.")
            .fails(OPEN_POOL)
            .fails(&[NoSuchPolicy, PolicyInUse]),
    ]
}

fn chosen() -> [Route; 2] {
    [
        Route::post("/pools/{pool}/qos-default", "choose_default_policy", choose_default)
            .changes(Role::Operator, "qos default")
            .text("Says which policy counts for volumes of the pool of which nothing is said. They are held to it at once.")
            .takes::<ChooseDefaultPolicy>()
            .answers_list::<QosPolicy>("The policies of the pool.")
            .fails(OPEN_POOL)
            .fails(&[NoSuchPolicy]),
        Route::patch("/volumes/{pool}/{volume}/qos", "limit_volume", limit_volume)
            .changes(Role::Operator, "qos limit")
            .text("Gives a volume a policy of its own: the one that counts for it now, with these changes.")
            .takes::<ChangePolicy>()
            .answers::<Volume>("The volume as it is now.")
            .tagged()
            .fails(OPEN_POOL)
            .fails(VOLUME)
            .fails(&[InvalidPolicy, NothingToChange]),
    ]
}

async fn policies(State(node): Node, Query(query): Query<PageQuery>) -> Page<QosPolicy> {
    let key = |policy: &QosPolicy| format!("{}/{}", policy.pool, policy.name);
    page("/qos", node.policies().await?, key, query)
}

async fn policy(
    State(node): Node,
    Path((pool, policy)): Path<(String, String)>,
) -> Tagged<QosPolicy> {
    let is_meant = |found: &Pool| found.name == pool || found.uuid == pool;
    let Json(Pool { name: pool, .. }) =
        find(node.pools().await?, (NoSuchPool, "pool"), &pool, is_meant)?;
    let all = node.policies().await?;
    let missing = || {
        let why = format!(
            "pool '{pool}' has no policy '{policy}': `ashlar qos list {pool}` shows which there are"
        );
        ApiError::new(ErrorCode::NoSuchPolicy, why)
    };
    let found = all.into_iter().find(|it| it.pool == pool && it.name == policy);
    found.ok_or_else(missing).map(tagged_policy)
}

async fn create(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<CreatePolicy>,
) -> Result<(StatusCode, WithTag<QosPolicy>), ApiError> {
    Ok((StatusCode::CREATED, tagged_policy(node.create_policy(pool, request).await?)))
}

async fn change(
    State(node): Node,
    Path((pool, policy)): Path<(String, String)>,
    Body(request): Body<ChangePolicy>,
) -> Tagged<QosPolicy> {
    check_changes(&request)?;
    node.change_policy(pool, policy, request).await.map(tagged_policy)
}

fn check_changes(request: &ChangePolicy) -> Result<(), ApiError> {
    let nothing = || ApiError::new(NothingToChange, "no limit, burst or weight is given");
    if *request == ChangePolicy::default() { Err(nothing()) } else { Ok(()) }
}

async fn delete(
    State(node): Node,
    Path((pool, policy)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    node.delete_policy(pool, policy).await.map(|()| StatusCode::NO_CONTENT)
}

async fn choose_default(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<ChooseDefaultPolicy>,
) -> Answer<Vec<QosPolicy>> {
    node.choose_default_policy(pool, request).await.map(Json)
}

async fn limit_volume(
    State(node): Node,
    Path((pool, volume)): Path<(String, String)>,
    Body(request): Body<ChangePolicy>,
) -> Tagged<Volume> {
    check_changes(&request)?;
    node.limit_volume(pool, volume, request).await.map(tagged_volume)
}
