//! What would come of it if drives were taken. Nothing changes.

use axum::Json;
use axum::extract::{Path, State};

use super::{Answer, Node};
use crate::access::Role;
use crate::body::Body;
use crate::error::ErrorCode::{
    CannotAdd, CannotCreate, InvalidChunk, InvalidLevel, InvalidName, NoRoom, NoSuchDrive,
    PoolExists, StateNotWritten, Stopping,
};
use crate::error::sets::{OPEN_POOL, TAKES_DRIVES};
use crate::operation::Route;
use crate::types::{CreatePool, DrivePlan, PlanDrive, PoolPlan};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::post("/plan-pool", "plan_pool", plan_pool)
            .needs(Role::Operator)
            .text("What a POST of the same to `/pools` would make, or why it would be refused. Nothing changes: a file that is not there is made and removed again.")
            .takes::<CreatePool>()
            .answers::<PoolPlan>("The pool that would be made.")
            .fails(TAKES_DRIVES)
            .fails(&[CannotCreate, InvalidChunk, InvalidLevel, InvalidName, NoRoom, PoolExists, StateNotWritten, Stopping]),
        Route::post("/pools/{pool}/plan-drive", "plan_drive", plan_drive)
            .needs(Role::Operator)
            .text("What would come of it if the pool took a drive, more or instead of another one, or why it would not. Nothing changes.")
            .takes::<PlanDrive>()
            .answers::<DrivePlan>("The drive and what it would bring.")
            .fails(OPEN_POOL)
            .fails(TAKES_DRIVES)
            .fails(&[CannotAdd, NoSuchDrive]),
    ]
}

async fn plan_pool(State(node): Node, Body(request): Body<CreatePool>) -> Answer<PoolPlan> {
    node.plan_pool(request).await.map(Json)
}

async fn plan_drive(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<PlanDrive>,
) -> Answer<DrivePlan> {
    node.plan_drive(pool, request).await.map(Json)
}
