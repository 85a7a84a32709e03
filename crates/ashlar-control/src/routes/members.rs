//! Drives and spares of a pool: taken in, given up, replaced.

use axum::Json;
use axum::extract::{Extension, Path, State};
use serde_json::Value;

use super::{Answer, Node};
use crate::access::{Caller, Role};
use crate::body::Body;
use crate::consent::Consent;
use crate::error::ErrorCode::{
    CannotAdd, CannotFail, CannotRemove, CannotReplace, CannotReturn, DrivePathUnknown, NoDrives,
    NoMembers, NoSuchDrive, NoSuchSpare,
};
use crate::error::sets::{DRIVES, OPEN_POOL, OPENS_POOL, TAKES_DRIVES};
use crate::operation::Route;
use crate::types::{FailDrive, NameDrive, NameSpare, Pool, RemoveDrive, ReplaceDrive, ReturnDrive};

const THE_POOL: &str = "The pool as it is now.";

pub(super) fn routes() -> Vec<Route> {
    taken().into_iter().chain(given_up_or_back()).collect()
}

fn taken() -> [Route; 3] {
    [
        Route::post("/pools/{pool}/drives", "add_drive", add_drive)
            .changes(Role::Admin, "pool add-drive")
            .text("Takes a drive into a pool: what it held is lost.")
            .takes::<NameDrive>()
            .idempotent()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(TAKES_DRIVES)
            .fails(&[CannotAdd]),
        Route::post("/pools/{pool}/spares", "add_spare", add_spare)
            .changes(Role::Admin, "pool spare add")
            .text("Gives a pool a spare: a drive that is taken once one is lost.")
            .takes::<NameDrive>()
            .idempotent()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(TAKES_DRIVES)
            .fails(&[CannotAdd]),
        Route::post("/pools/{pool}/remove-spare", "remove_spare", remove_spare)
            .changes(Role::Operator, "pool spare remove")
            .text("Takes a spare from a pool; the drive is nobody's then.")
            .takes::<NameSpare>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[NoSuchSpare]),
    ]
}

fn given_up_or_back() -> [Route; 4] {
    [
        Route::post("/pools/{pool}/fail-drive", "fail_drive", fail_drive)
            .changes(Role::Operator, "drive fail")
            .text("Gives a drive of a pool up as if it had been pulled; what lives on it is rebuilt on the others.")
            .takes::<FailDrive>()
            .consent()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[NoSuchDrive, CannotFail]),
        Route::post("/pools/{pool}/remove-drive", "remove_drive", remove_drive)
            .changes_by(Role::Operator, removal)
            .text("Removes a drive of a pool once what lives on it is on others.")
            .takes::<RemoveDrive>()
            .consent()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(&[NoSuchDrive, CannotRemove]),
        Route::post("/pools/{pool}/return-drive", "return_drive", return_drive)
            .changes(Role::Operator, "drive return")
            .text("Takes a drive back that a pool has lost: what it has missed is restored.")
            .takes::<ReturnDrive>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(DRIVES)
            .fails(OPENS_POOL)
            .fails(&[NoSuchDrive, CannotReturn, CannotAdd, DrivePathUnknown, NoDrives, NoMembers]),
        Route::post("/pools/{pool}/replace-drive", "replace_drive", replace_drive)
            .changes(Role::Admin, "pool replace")
            .text("Takes a drive into a pool instead of another one: what the new one held is lost.")
            .takes::<ReplaceDrive>()
            .answers::<Pool>(THE_POOL)
            .fails(OPEN_POOL)
            .fails(TAKES_DRIVES)
            .fails(&[NoSuchDrive, CannotAdd, CannotReplace]),
    ]
}

fn removal(asked: &Value) -> &'static str {
    if asked["cancel"] == true { "pool remove-drive --cancel" } else { "pool remove-drive" }
}

async fn add_drive(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<NameDrive>,
) -> Answer<Pool> {
    node.add_drive(pool, request).await.map(Json)
}

async fn add_spare(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<NameDrive>,
) -> Answer<Pool> {
    node.add_spare(pool, request).await.map(Json)
}

async fn remove_spare(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<NameSpare>,
) -> Answer<Pool> {
    node.remove_spare(pool, request).await.map(Json)
}

async fn fail_drive(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
    Extension(caller): Extension<Caller>,
    Body(request): Body<FailDrive>,
) -> Answer<Pool> {
    if request.force {
        caller.check_may_lose_data("giving a drive up without which data cannot be read")?;
    }
    node.fail_drive(pool, request, consent).await.map(Json)
}

async fn remove_drive(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
    Body(request): Body<RemoveDrive>,
) -> Answer<Pool> {
    node.remove_drive(pool, request, consent).await.map(Json)
}

async fn return_drive(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<ReturnDrive>,
) -> Answer<Pool> {
    node.return_drive(pool, request).await.map(Json)
}

async fn replace_drive(
    State(node): Node,
    Path(pool): Path<String>,
    Body(request): Body<ReplaceDrive>,
) -> Answer<Pool> {
    node.replace_drive(pool, request).await.map(Json)
}
