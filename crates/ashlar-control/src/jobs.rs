//! The long work of all pools, in one shape. Pure: it reads what pools say of themselves, and owns
//! nothing.

use std::collections::BTreeMap;

use ashlar_block::ByteSize;

use crate::progress_text::Span;
use crate::types::{
    DataMove, DriveErase, Job, JobKind, Pool, PoolDrive, Progress, Scrub, Trim, Verify,
};

#[cfg(test)]
mod tests;

const RUNNING: &str = "running";
const WAITING: &str = "waiting";
const FINISHED: &str = "finished";
const STOPPED: &str = "stopped";
const FAILED: &str = "failed";

/// All jobs, by pool and kind: those that go on, and the last ones that have ended.
pub(crate) fn jobs(pools: &[Pool], erases: &[DriveErase]) -> Vec<Job> {
    let mut all: Vec<Job> = pools.iter().flat_map(of_pool).collect();
    let mut erased = BTreeMap::<&str, Vec<&DriveErase>>::new();
    for erase in erases {
        erased.entry(&erase.pool_uuid).or_default().push(erase);
    }
    all.extend(erased.values().filter_map(|drives| of_erase(drives)));
    all.sort_by(|one, other| one.id.cmp(&other.id));
    all
}

/// Those of a pool.
fn of_pool(pool: &Pool) -> Vec<Job> {
    let Some(jobs) = &pool.jobs else { return Vec::new() };
    let moved = jobs.rebuild.map(|progress| of_moving(pool, moving(pool), &progress));
    let spread = jobs.rebalance.map(|progress| of_moving(pool, JobKind::Rebalance, &progress));
    let moving: Vec<Job> = moved.into_iter().chain(spread).collect();
    let goes_on = |kind: JobKind| moving.iter().any(|job| job.kind == kind);
    let ended = jobs.moves.iter().filter(|one| !one.is(RUNNING) && !goes_on(one.kind));
    let ended: Vec<Job> = ended.map(|one| of_moved(pool, one)).collect();
    let scrub = jobs.scrub.as_ref().map(|scrub| of_scrub(pool, scrub));
    let trim = jobs.trim.as_ref().map(|trim| of_trim(pool, trim));
    let verify = jobs.verify.as_ref().map(|verify| of_verify(pool, verify));
    let others = [scrub, trim, verify].into_iter().flatten();
    moving.into_iter().chain(ended).chain(others).collect()
}

/// Why data is moved that is not being spread.
fn moving(pool: &Pool) -> JobKind {
    match is(&pool.states, "degraded") {
        true => JobKind::Rebuild,
        false => JobKind::Evacuation,
    }
}

fn is(states: &[String], state: &str) -> bool {
    states.iter().any(|is| is == state)
}

/// A job of which no more is known than whose it is.
fn job(pool: &Pool, kind: JobKind, state: &str) -> Job {
    Job {
        id: format!("{}/{}", pool.name, kind.word()),
        kind,
        pool: pool.name.clone(),
        pool_uuid: pool.uuid.clone(),
        drives: Vec::new(),
        states: vec![state.to_owned()],
        done_percent: 0.0,
        done_bytes: None,
        left_bytes: None,
        eta_seconds: None,
        started_at: None,
        finished_at: None,
        problem: None,
        result: None,
        can_stop: false,
    }
}

fn of_moving(pool: &Pool, kind: JobKind, progress: &Progress) -> Job {
    let obstacle = progress.obstacle.map(|obstacle| obstacle.text().to_owned());
    let problem = pool.problem.clone().or(obstacle);
    let noted = pool.data_move(kind).filter(|noted| noted.is(RUNNING));
    Job {
        drives: pool.drives.iter().filter(|drive| is_cause(kind, drive)).map(named).collect(),
        done_percent: progress.done_percent,
        done_bytes: noted.map(|noted| noted.moved_bytes),
        started_at: noted.and_then(|noted| noted.started_at.clone()),
        left_bytes: Some(progress.left_bytes),
        eta_seconds: progress.eta_seconds,
        can_stop: kind != JobKind::Rebuild,
        problem: problem.clone(),
        ..job(pool, kind, if problem.is_some() { WAITING } else { RUNNING })
    }
}

/// One that has ended.
fn of_moved(pool: &Pool, moved: &DataMove) -> Job {
    let took = moved.took_seconds.map(|took| format!(" in {}", Span(took))).unwrap_or_default();
    let result = match moved.moved_bytes {
        0 => "nothing was moved".to_owned(),
        bytes => format!("{} were written to other drives{took}", ByteSize(bytes)),
    };
    Job {
        drives: moved.drives.clone(),
        states: moved.states.clone(),
        done_percent: moved.done_percent,
        done_bytes: Some(moved.moved_bytes),
        started_at: moved.started_at.clone(),
        finished_at: moved.finished_at.clone(),
        problem: moved.problem.clone(),
        result: Some(result),
        ..job(pool, moved.kind, FINISHED)
    }
}

/// Whether data is moved because of this drive.
fn is_cause(kind: JobKind, drive: &PoolDrive) -> bool {
    match kind {
        JobKind::Rebuild => {
            ["failed", "absent", "returned"].iter().any(|state| is(&drive.states, state))
        }
        JobKind::Evacuation => is(&drive.states, "evacuating"),
        _ => false,
    }
}

fn named(drive: &PoolDrive) -> String {
    drive.name.clone()
}

fn of_scrub(pool: &Pool, scrub: &Scrub) -> Job {
    let state = match () {
        () if scrub.is("running") => RUNNING,
        () if scrub.is("stopped") => STOPPED,
        () => FINISHED,
    };
    let Scrub { wrong, unreadable, repaired, unrepaired, .. } = scrub;
    let result = match wrong + unreadable + unrepaired {
        0 if state == FINISHED => "nothing was wrong".to_owned(),
        0 => "nothing was wrong in what was read so far".to_owned(),
        _ => format!(
            "sectors: {wrong} wrong, {unreadable} unreadable, {repaired} repaired, {unrepaired} not \
             repaired"
        ),
    };
    Job {
        drives: scrub.drives.iter().map(|drive| drive.name.clone()).collect(),
        done_percent: scrub.done_percent,
        done_bytes: Some(scrub.checked_bytes),
        left_bytes: scrub.left_bytes,
        eta_seconds: scrub.eta_seconds,
        started_at: Some(scrub.started_at.clone()),
        finished_at: scrub.finished_at.clone(),
        result: Some(result),
        can_stop: state == RUNNING,
        ..job(pool, JobKind::Scrub, state)
    }
}

fn of_trim(pool: &Pool, trim: &Trim) -> Job {
    let state = match () {
        () if trim.is("running") => RUNNING,
        () if trim.is("stopped") => STOPPED,
        () => FINISHED,
    };
    let refused =
        (trim.refusals > 0).then(|| format!("drives have refused {} times", trim.refusals));
    let skipped = (!trim.skipped_drives.is_empty())
        .then(|| format!("these take no discards: {}", trim.skipped_drives.join(", ")));
    let said: Vec<String> = refused.into_iter().chain(skipped).collect();
    Job {
        done_percent: trim.done_percent,
        done_bytes: Some(trim.free_bytes - trim.left_bytes),
        left_bytes: (state == RUNNING).then_some(trim.left_bytes),
        eta_seconds: trim.eta_seconds,
        started_at: Some(trim.started_at.clone()),
        finished_at: trim.finished_at.clone(),
        result: (!said.is_empty()).then(|| said.join("; ")),
        can_stop: state == RUNNING,
        ..job(pool, JobKind::Trim, state)
    }
}

fn of_verify(pool: &Pool, verify: &Verify) -> Job {
    let differs = || match verify.differences.len() {
        0 => "each figure is what is there".to_owned(),
        _ => verify.differences.join("; "),
    };
    let (state, result) = match () {
        () if verify.is("running") => (RUNNING, None),
        () if verify.is("stopped") => (STOPPED, None),
        () if verify.problem.is_some() => (FAILED, None),
        () => (FINISHED, Some(differs())),
    };
    Job {
        done_percent: verify.done_percent,
        eta_seconds: verify.eta_seconds,
        started_at: Some(verify.started_at.clone()),
        finished_at: verify.finished_at.clone(),
        problem: verify.problem.clone(),
        result,
        can_stop: state == RUNNING,
        ..job(pool, JobKind::Verify, state)
    }
}

/// The erase of the drives of one pool. None: there are no drives.
fn of_erase(drives: &[&DriveErase]) -> Option<Job> {
    let first = drives.first()?;
    let pool = Pool { name: first.pool.clone(), uuid: first.pool_uuid.clone(), ..Pool::default() };
    let all: u64 = drives.iter().filter_map(|drive| drive.size_bytes).sum();
    let done: u64 = drives.iter().map(|drive| drive.done_bytes).sum();
    let problem = |drive: &&&DriveErase| drive.is("failed") || drive.is("missing");
    let problems: Vec<String> = drives.iter().filter(problem).map(|drive| why(drive)).collect();
    let state = match () {
        () if drives.iter().any(|drive| drive.is("running")) => RUNNING,
        () if problems.is_empty() => FINISHED,
        () => FAILED,
    };
    let percent = if all == 0 { 100.0 } else { done as f64 / all as f64 * 100.0 };
    Some(Job {
        id: format!("{}/{}", pool.uuid, JobKind::Erase.word()),
        drives: drives.iter().map(|drive| drive.spec.clone()).collect(),
        done_percent: (percent * 10.0).floor() / 10.0,
        done_bytes: Some(done),
        left_bytes: (state == RUNNING).then(|| all.saturating_sub(done)),
        problem: (!problems.is_empty()).then(|| problems.join("; ")),
        ..job(&pool, JobKind::Erase, state)
    })
}

fn why(erase: &DriveErase) -> String {
    let why = erase.problem.as_deref().unwrap_or("it was not there");
    format!("{}: {why}", erase.spec)
}
