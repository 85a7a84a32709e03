//! Long work of whatever kind, in one list.

use axum::Json;
use axum::extract::{Path, State};

use super::paging::{Page, PageQuery, page, paged};
use super::{Answer, Node};
use crate::access::Role;
use crate::consent::Consent;
use crate::error::ApiError;
use crate::error::ErrorCode::{CannotRemove, CannotStop, NoSuchDrive, NoSuchJob, Stopping};
use crate::error::sets::OPEN_POOL;
use crate::jobs::jobs;
use crate::node_api::NodeApi;
use crate::operation::Route;
use crate::query::Query;
use crate::types::{Job, JobKind, RemoveDrive};

pub(super) fn routes() -> Vec<Route> {
    let listed = Route::get("/jobs", "list_jobs", list)
        .text("Long work of all pools, by pool and kind: what goes on, and the last of each kind that has ended.")
        .answers_list::<Job>("All jobs.")
        .fails(&[Stopping]);
    vec![
        paged(listed, "id"),
        Route::get("/jobs/{pool}/{kind}", "get_job", job)
            .text("A job: how far it is, or what it has come to.")
            .answers::<Job>("The job.")
            .fails(&[NoSuchJob, Stopping]),
        Route::delete("/jobs/{pool}/{kind}", "stop_job", stop)
            .changes(Role::Operator, "job stop")
            .text("Stops a job that goes on, and answers it as it is then. What it has done stays done. One that has ended stays as it is. A rebuild and an erase cannot be stopped.")
            .answers::<Job>("The job as it was when it was stopped.")
            .fails(&[CannotStop, NoSuchJob, Stopping])
            .fails(OPEN_POOL)
            .fails(&[NoSuchDrive, CannotRemove]),
    ]
}

pub(super) async fn all_jobs(node: &dyn NodeApi) -> Result<Vec<Job>, ApiError> {
    Ok(jobs(&node.pools().await?, &node.drive_erases().await?))
}

async fn list(State(node): Node, Query(query): Query<PageQuery>) -> Page<Job> {
    page("/jobs", all_jobs(&*node).await?, |job| job.id.clone(), query)
}

async fn job(State(node): Node, Path((pool, kind)): Path<(String, String)>) -> Answer<Job> {
    find(&*node, &pool, &kind).await.map(Json)
}

async fn find(node: &dyn NodeApi, pool: &str, kind: &str) -> Result<Job, ApiError> {
    let is_it = |job: &Job| {
        job.kind.word() == kind
            && (job.pool_uuid == pool || (job.pool == pool && job.kind != JobKind::Erase))
    };
    let missing = || {
        ApiError::new(NoSuchJob, format!("there is no job '{pool}/{kind}'"))
            .with_hint("`ashlar job list` shows which there are")
    };
    all_jobs(node).await?.into_iter().find(is_it).ok_or_else(missing)
}

async fn stop(State(node): Node, Path((pool, kind)): Path<(String, String)>) -> Answer<Job> {
    let job = find(&*node, &pool, &kind).await?;
    if !job.goes_on() {
        return Ok(Json(job));
    }
    match job.kind {
        JobKind::Scrub => drop(node.stop_scrub(job.pool_uuid.clone()).await?),
        JobKind::Rebalance => drop(node.stop_rebalance(job.pool_uuid.clone()).await?),
        JobKind::Trim => drop(node.stop_trim(job.pool_uuid.clone()).await?),
        JobKind::Verify => drop(node.stop_verify(job.pool_uuid.clone()).await?),
        JobKind::Evacuation => keep_drives(&*node, &job).await?,
        JobKind::Rebuild => return Err(cannot_stop_rebuild(&job)),
        JobKind::Erase => return Err(cannot_stop_erase(&job)),
    }
    // It may be gone, with its pool.
    let after = find(&*node, &pool, &kind).await.ok();
    let stopped = Job { states: vec!["stopped".to_owned()], can_stop: false, ..job };
    Ok(Json(after.filter(|after| !after.goes_on()).unwrap_or(stopped)))
}

/// Lets each drive stay that is being removed.
async fn keep_drives(node: &dyn NodeApi, job: &Job) -> Result<(), ApiError> {
    for drive in &job.drives {
        let request = RemoveDrive { drive: drive.clone(), cancel: true };
        node.remove_drive(job.pool_uuid.clone(), request, Consent::Given).await?;
    }
    Ok(())
}

fn cannot_stop_rebuild(job: &Job) -> ApiError {
    let why = "data would stay without redundancy";
    let pool = &job.pool;
    let hint = format!("`ashlar pool set {pool} recon-prio=1` lets it take the least of the time");
    cannot_stop(job, why, &hint)
}

fn cannot_stop_erase(job: &Job) -> ApiError {
    // Who destroys a pool securely relies on it that nothing can be read afterwards.
    let why = "its drives are erased in part, hold no pool any more, and might be read";
    cannot_stop(job, why, "wait until it is done")
}

fn cannot_stop(job: &Job, why: &str, hint: &str) -> ApiError {
    let (kind, pool) = (job.kind.word(), &job.pool);
    ApiError::new(CannotStop, format!("the {kind} of pool '{pool}' cannot be stopped: {why}"))
        .with_hint(hint)
}
