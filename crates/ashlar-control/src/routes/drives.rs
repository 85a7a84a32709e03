//! Drives, whether pools have them or not.

use axum::Json;
use axum::extract::State;

use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node};
use crate::access::Role;
use crate::body::Body;
use crate::consent::Consent;
use crate::error::ErrorCode::{
    DirectoryUnreadable, DriveHangs, DriveHoldsData, DriveUnusable, IsSpare, LightFails, NoLabel,
    NoSlot, NoSuchDrive, Stopping,
};
use crate::error::sets::DRIVES;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{DriveInfo, DriveLight, FindDrives, LocateDrive, NameDrive, PoolDrive};

pub(super) fn routes() -> Vec<Route> {
    vec![
        paged(Route::get("/drives", "list_drives", drives), "pool/name")
            .text("The drives of all pools.")
            .answers_list::<PoolDrive>("All members of all pools.")
            .fails(&[Stopping]),
        Route::post("/drives/inspect", "inspect_drive", inspect_drive)
            .text("Looks what a drive is and holds. Nothing changes.")
            .needs(Role::Operator)
            .takes::<NameDrive>()
            .answers::<DriveInfo>("What it is.")
            .fails(DRIVES)
            .fails(&[Stopping]),
        unused_drives(),
        Route::post("/drives/locate", "locate_drive", locate_drive)
            .changes(Role::Operator, "drive locate")
            .text("Switches the light of a drive's slot on or off, so that people find the drive. Of a lost drive that of the slot that it was in last.")
            .takes::<LocateDrive>()
            .answers::<DriveLight>("Where it is.")
            .fails(&[NoSuchDrive, DriveUnusable, DriveHangs, NoSlot, LightFails, Stopping]),
        Route::post("/drives/label-clear", "clear_label", clear_label)
            .changes(Role::Admin, "drive label-clear")
            .text("Takes a pool's label off a drive.")
            .takes::<NameDrive>()
            .consent()
            .answers::<DriveInfo>("What the drive held.")
            .fails(DRIVES)
            .fails(&[DriveHoldsData, IsSpare, NoLabel, Stopping]),
        Route::post("/drives/label-restore", "restore_label", restore_label)
            .changes(Role::Admin, "drive label-restore")
            .text("Writes a drive's label anew from the copy inside it, where both at its ends were overwritten.")
            .takes::<NameDrive>()
            .consent()
            .answers::<DriveInfo>("What the drive holds then.")
            .fails(DRIVES)
            .fails(&[IsSpare, Stopping]),
    ]
}

fn unused_drives() -> Route {
    Route::post("/unused-drives", "find_drives", find_drives)
            .needs(Role::Operator)
            .text("The drives that no pool here has, and what they hold. Nothing changes. Drives that something else has open are left out.")
            .takes::<FindDrives>()
            .answers_list::<DriveInfo>("These drives, without what they say of their health.")
            .fails(&[DirectoryUnreadable, Stopping])
}

async fn drives(State(node): Node, Query(query): Query<PageQuery>) -> Page<PoolDrive> {
    let key = |drive: &PoolDrive| format!("{}/{}", drive.pool, drive.name);
    page("/drives", node.drives().await?, key, query)
}

async fn inspect_drive(State(node): Node, Body(request): Body<NameDrive>) -> Answer<DriveInfo> {
    node.inspect_drive(request).await.map(Json)
}

async fn locate_drive(State(node): Node, Body(request): Body<LocateDrive>) -> Answer<DriveLight> {
    node.locate_drive(request).await.map(Json)
}

async fn find_drives(State(node): Node, Body(request): Body<FindDrives>) -> Answer<Vec<DriveInfo>> {
    node.find_drives(request).await.map(Json)
}

async fn clear_label(
    State(node): Node,
    consent: Consent,
    Body(request): Body<NameDrive>,
) -> Answer<DriveInfo> {
    node.clear_label(request, consent).await.map(Json)
}

async fn restore_label(
    State(node): Node,
    consent: Consent,
    Body(request): Body<NameDrive>,
) -> Answer<DriveInfo> {
    node.restore_label(request, consent).await.map(Json)
}
