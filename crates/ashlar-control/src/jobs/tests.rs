use super::*;
use crate::types::{Obstacle, PoolJobs};

fn pool(states: &[&str], jobs: PoolJobs) -> Pool {
    Pool {
        name: "tank".to_owned(),
        uuid: "u".to_owned(),
        states: states.iter().map(|state| (*state).to_owned()).collect(),
        jobs: Some(jobs),
        ..Pool::default()
    }
}

fn drive(name: &str, state: &str) -> PoolDrive {
    PoolDrive { name: name.to_owned(), states: vec![state.to_owned()], ..PoolDrive::default() }
}

fn only(pool: Pool) -> Job {
    let mut all = jobs(&[pool], &[]);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn what_is_moved_is_a_rebuild_of_what_was_lost_or_an_evacuation_that_may_be_stopped() {
    let progress = Progress { done_percent: 25.0, left_bytes: 3 << 30, ..Progress::default() };
    let moving = || PoolJobs { rebuild: Some(progress), ..PoolJobs::default() };
    let drives = || vec![drive("drive-0", "online"), drive("drive-1", "absent")];
    let lost = only(Pool { drives: drives(), ..pool(&["degraded"], moving()) });
    assert_eq!((&*lost.id, &lost.drives[..]), ("tank/rebuild", &["drive-1".to_owned()][..]));
    assert!(lost.is("running") && !lost.can_stop, "{lost:?}");
    let drives = vec![drive("drive-0", "evacuating"), drive("drive-1", "online")];
    let leaving = only(Pool { drives, ..pool(&["online", "evacuating"], moving()) });
    assert_eq!(
        (&*leaving.id, &leaving.drives[..]),
        ("tank/evacuation", &["drive-0".to_owned()][..])
    );
    assert!(leaving.can_stop && leaving.left_bytes == Some(3 << 30), "{leaving:?}");
}

fn moved(kind: JobKind, state: &str) -> DataMove {
    DataMove {
        kind,
        states: vec![state.to_owned()],
        drives: vec!["drive-1".to_owned()],
        done_percent: 40.0,
        started_at: Some("2026-01-01T00:00:00Z".to_owned()),
        finished_at: (state != "running").then(|| "2026-01-01T00:02:05Z".to_owned()),
        took_seconds: (state != "running").then_some(125),
        moved_bytes: 3 << 30,
        problem: (state == "failed").then(|| "drive 1 was lost".to_owned()),
    }
}

#[test]
fn what_was_moved_stays_a_job_that_says_how_it_ended_what_it_did_and_how_long_it_took() {
    for state in ["finished", "stopped", "failed"] {
        let moves = vec![moved(JobKind::Evacuation, state)];
        let job = only(pool(&["online"], PoolJobs { moves, ..PoolJobs::default() }));
        assert!(job.is(state) && !job.goes_on() && !job.can_stop, "{job:?}");
        assert_eq!((&*job.id, job.done_bytes), ("tank/evacuation", Some(3 << 30)));
        assert_eq!(job.result.as_deref(), Some("3GiB were written to other drives in 2m 5s"));
        assert_eq!(job.problem.is_some(), state == "failed");
        assert_eq!((job.drives.len(), job.finished_at.is_some()), (1, true));
    }
}

#[test]
fn a_move_that_goes_on_is_told_instead_of_the_last_one_of_its_kind_and_others_stay() {
    let progress = Progress { done_percent: 25.0, left_bytes: 3 << 30, ..Progress::default() };
    let of = |state| {
        let moves = vec![moved(JobKind::Rebuild, state), moved(JobKind::Rebalance, "stopped")];
        let jobs = PoolJobs { rebuild: Some(progress), moves, ..PoolJobs::default() };
        let all = super::jobs(&[pool(&["degraded"], jobs)], &[]);
        let ids: Vec<&str> = all.iter().map(|job| &*job.id).collect();
        assert_eq!(ids, ["tank/rebalance", "tank/rebuild"]);
        all[1].clone()
    };
    let begun = of("running");
    assert!(begun.is("running") && begun.finished_at.is_none(), "{begun:?}");
    assert_eq!((begun.done_bytes, begun.started_at.is_some()), (Some(3 << 30), true));
    // What the pool notes may be that of the one before still.
    let unknown = of("finished");
    assert!(unknown.is("running") && unknown.started_at.is_none(), "{unknown:?}");
}

#[test]
fn a_job_that_does_not_go_on_waits_and_says_for_what() {
    let stuck = Progress { obstacle: Some(Obstacle::NoRoom), ..Progress::default() };
    let spread = PoolJobs { rebalance: Some(stuck), ..PoolJobs::default() };
    let job = only(pool(&["online"], spread));
    assert!(job.is("waiting") && job.goes_on(), "{job:?}");
    assert!(job.problem.expect("a reason").contains("no room"));
    let read_only = Pool {
        problem: Some("1 of 3 drives is left".to_owned()),
        ..pool(
            &["online"],
            PoolJobs { rebalance: Some(Progress::default()), ..PoolJobs::default() },
        )
    };
    assert_eq!(only(read_only).problem.as_deref(), Some("1 of 3 drives is left"));
}

#[test]
fn a_scrub_that_has_ended_says_what_it_has_found_and_cannot_be_stopped() {
    let scrub = Scrub {
        states: vec!["finished".to_owned()],
        finished_at: Some("2026-01-01T00:00:00Z".to_owned()),
        wrong: 7,
        repaired: 7,
        ..Scrub::default()
    };
    let job = only(pool(&["online"], PoolJobs { scrub: Some(scrub), ..PoolJobs::default() }));
    assert!(job.is("finished") && !job.goes_on() && !job.can_stop, "{job:?}");
    assert!(job.result.expect("a result").contains("7 wrong, 0 unreadable, 7 repaired"));
}

#[test]
fn a_proof_that_finds_a_difference_is_finished_and_one_that_cannot_be_done_has_failed() {
    let of = |verify: Verify| {
        only(pool(&["online"], PoolJobs { verify: Some(verify), ..PoolJobs::default() }))
    };
    let wrong = Verify {
        states: vec!["wrong".to_owned()],
        differences: vec!["stored: 1".to_owned()],
        ..Verify::default()
    };
    let wrong = of(wrong);
    assert!(wrong.is("finished") && wrong.result.as_deref() == Some("stored: 1"), "{wrong:?}");
    let failed = Verify {
        states: vec!["failed".to_owned()],
        problem: Some("a page cannot be read".to_owned()),
        ..Verify::default()
    };
    assert!(of(failed).is("failed"));
}

#[test]
fn a_trim_and_a_proof_may_be_stopped_while_they_go_on_and_say_that_they_were() {
    for state in ["running", "stopped"] {
        let states = || vec![state.to_owned()];
        let trim = Trim { states: states(), free_bytes: 8, left_bytes: 6, ..Trim::default() };
        let verify = Verify { states: states(), ..Verify::default() };
        let of = PoolJobs { trim: Some(trim), verify: Some(verify), ..PoolJobs::default() };
        let all = jobs(&[pool(&["online"], of)], &[]);
        assert_eq!(all.len(), 2);
        for job in all {
            assert_eq!((job.is(state), job.can_stop), (true, state == "running"), "{job:?}");
            let told = (job.kind == JobKind::Trim).then_some(2);
            assert_eq!((job.done_bytes, job.result.as_deref()), (told, None), "{job:?}");
        }
    }
}

#[test]
fn the_drives_of_a_pool_are_erased_by_one_job_and_that_fails_with_any_of_them() {
    let erase = |spec: &str, state: &str, done_bytes| DriveErase {
        spec: spec.to_owned(),
        pool: "tank".to_owned(),
        pool_uuid: "u".to_owned(),
        states: vec![state.to_owned()],
        size_bytes: Some(100),
        done_bytes,
        ..DriveErase::default()
    };
    let of = |drives: &[DriveErase]| jobs(&[], drives).remove(0);
    let running = of(&[erase("a", "finished", 100), erase("b", "running", 50)]);
    assert_eq!(
        (&*running.id, running.done_percent, running.left_bytes),
        ("u/erase", 75.0, Some(50))
    );
    assert!(running.is("running"));
    let failed = of(&[erase("a", "finished", 100), erase("b", "missing", 0)]);
    assert!(failed.is("failed"), "{failed:?}");
    assert_eq!(failed.problem.as_deref(), Some("b: it was not there"));
    assert!(of(&[erase("a", "finished", 100)]).is("finished"));
}

#[test]
fn a_pool_that_is_not_open_has_no_jobs() {
    assert!(jobs(&[Pool::default()], &[]).is_empty());
}
