//! Long work on pools: begun and stopped.

use axum::Json;
use axum::extract::{Path, State};

use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node};
use crate::access::Role;
use crate::consent::Consent;
use crate::error::ErrorCode::{NoDriveDiscards, Stopping};
use crate::error::sets::{CLOSES_POOL, OPEN_POOL};
use crate::operation::Route;
use crate::query::Query;
use crate::types::{DriveErase, Pool};

pub(super) fn routes() -> Vec<Route> {
    stoppable().into_iter().chain(until_restart()).chain(erased()).collect()
}

fn stoppable() -> [Route; 4] {
    [
        Route::post("/pools/{pool}/scrub", "start_scrub", start_scrub)
            .changes(Role::Operator, "pool scrub")
            .text("Begins a scrub, unless one is under way. The pool's `jobs.scrub` tells how far it is.")
            .answers::<Pool>("The pool, with its scrub.")
            .fails(OPEN_POOL),
        Route::delete("/pools/{pool}/scrub", "stop_scrub", stop_scrub)
            .changes(Role::Operator, "pool scrub --stop")
            .text("Stops the scrub that is under way, if one is.")
            .answers::<Pool>("The pool, with its scrub.")
            .fails(OPEN_POOL),
        Route::post("/pools/{pool}/rebalance", "start_rebalance", start_rebalance)
            .changes(Role::Operator, "pool rebalance")
            .text("Begins to spread what lives over all drives, in stripes as wide as they allow, unless that goes on already. The pool's `jobs.rebalance` tells how far it is.")
            .answers::<Pool>("The pool, with its rebalance.")
            .fails(OPEN_POOL),
        Route::delete("/pools/{pool}/rebalance", "stop_rebalance", stop_rebalance)
            .changes(Role::Operator, "pool rebalance --stop")
            .text("Stops the rebalance that is under way, if one is. Everything stays where it is.")
            .answers::<Pool>("The pool.")
            .fails(OPEN_POOL),
    ]
}

/// What nobody remembers over a restart.
fn until_restart() -> [Route; 4] {
    [
        Route::post("/pools/{pool}/trim", "start_trim", start_trim)
            .changes(Role::Operator, "pool trim")
            .text("Begins to tell the drives of all space that is free, unless that goes on. The pool's `jobs.trim` tells how far it is. An error if none of them can be told. Who restarts the daemon has to ask again.")
            .answers::<Pool>("The pool, with its trim.")
            .fails(OPEN_POOL)
            .fails(&[NoDriveDiscards]),
        Route::delete("/pools/{pool}/trim", "stop_trim", stop_trim)
            .changes(Role::Operator, "pool trim --stop")
            .text("Stops the trim that is under way, if one is. Drives are told as ever of what is freed.")
            .answers::<Pool>("The pool, with its trim.")
            .fails(OPEN_POOL),
        Route::post("/pools/{pool}/verify", "start_verify", start_verify)
            .changes(Role::Operator, "pool verify")
            .text("Begins to prove the ledger, unless that goes on. Ashlar walks over all that the maps name, counts it anew and compares, while hosts go on. The pool's `jobs.verify` tells how far it is, and what it has found. Who restarts the daemon has to ask again.")
            .answers::<Pool>("The pool, with its proof.")
            .fails(OPEN_POOL),
        Route::delete("/pools/{pool}/verify", "stop_verify", stop_verify)
            .changes(Role::Operator, "pool verify --stop")
            .text("Stops the proof of the ledger that is under way, if one is. It has compared nothing then.")
            .answers::<Pool>("The pool, with its proof.")
            .fails(OPEN_POOL),
    ]
}

fn erased() -> [Route; 2] {
    [
        Route::post("/pools/{pool}/erase", "destroy_and_erase_pool", destroy_and_erase_pool)
            .changes(Role::Admin, "pool destroy --secure")
            .text("Closes a pool, takes its label off its drives, and begins to erase the drives. `/erases` tells how far that is.")
            .consent()
            .answers_list::<DriveErase>("The drives that are being erased.")
            .fails(OPEN_POOL)
            .fails(CLOSES_POOL),
        paged(Route::get("/erases", "list_erases", drive_erases), "pool_uuid/spec")
            .text("The drives that are being erased, and the last ones that were since the daemon was started.")
            .answers_list::<DriveErase>("These drives.")
            .fails(&[Stopping]),
    ]
}

async fn start_scrub(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_scrub(pool).await.map(Json)
}

async fn stop_scrub(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_scrub(pool).await.map(Json)
}

async fn start_rebalance(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_rebalance(pool).await.map(Json)
}

async fn stop_rebalance(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_rebalance(pool).await.map(Json)
}

async fn start_trim(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_trim(pool).await.map(Json)
}

async fn stop_trim(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_trim(pool).await.map(Json)
}

async fn start_verify(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.start_verify(pool).await.map(Json)
}

async fn stop_verify(State(node): Node, Path(pool): Path<String>) -> Answer<Pool> {
    node.stop_verify(pool).await.map(Json)
}

async fn destroy_and_erase_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Answer<Vec<DriveErase>> {
    node.destroy_and_erase_pool(pool, consent).await.map(Json)
}

async fn drive_erases(State(node): Node, Query(query): Query<PageQuery>) -> Page<DriveErase> {
    let key = |drive: &DriveErase| format!("{}/{}", drive.pool_uuid, drive.spec);
    page("/erases", node.drive_erases().await?, key, query)
}
