use super::*;
use crate::types::{PoolCounters, PoolJobs, Verify};

fn pool(blocks_unrecovered: u64, jobs: PoolJobs) -> Pool {
    let counters = PoolCounters { blocks_unrecovered, ..PoolCounters::default() };
    Pool { counters: Some(counters), jobs: Some(jobs), ..Pool::default() }
}

fn scrub(started_at: &str, state: &str, unrepaired: u64) -> PoolJobs {
    let (states, started_at) = (vec![state.to_owned()], started_at.to_owned());
    let scrub = Scrub { states, started_at, unrepaired, ..Scrub::default() };
    PoolJobs { scrub: Some(scrub), ..PoolJobs::default() }
}

fn verify(state: &str, differences: &[&str]) -> PoolJobs {
    let differences = differences.iter().map(|it| (*it).to_owned()).collect();
    let verify = Verify { states: vec![state.to_owned()], differences, ..Verify::default() };
    PoolJobs { verify: Some(verify), ..PoolJobs::default() }
}

/// What stands after each of the looks.
fn each<T>(looks: impl IntoIterator<Item = Pool>, of: impl Fn(&Standing) -> T) -> Vec<T> {
    let mut standing = Standing::default();
    let mut look = |pool: Pool| {
        standing = standing.after(&pool);
        of(&standing)
    };
    looks.into_iter().map(&mut look).collect()
}

#[test]
fn what_a_scrub_could_not_repair_stands_until_one_has_ended_that_finds_none() {
    let looks = [
        scrub("a", "running", 0),
        scrub("a", "running", 2),
        scrub("a", "finished", 3),
        scrub("b", "running", 0),
        scrub("b", "stopped", 0),
        scrub("c", "running", 0),
        scrub("c", "finished", 0),
    ];
    let looks = looks.map(|jobs| pool(0, jobs));
    assert_eq!(each(looks, |it| it.unrepaired), [0, 2, 3, 3, 3, 3, 0]);
}

#[test]
fn what_a_proof_has_found_stands_until_one_has_ended_that_finds_nothing() {
    let looks = [
        PoolJobs::default(),
        verify("wrong", &["live"]),
        verify("running", &[]),
        verify("failed", &[]),
        verify("wrong", &["live", "free"]),
        verify("proven", &[]),
    ];
    let looks = looks.map(|jobs| pool(0, jobs));
    assert_eq!(each(looks, |it| it.differences.len()), [0, 1, 1, 1, 2, 0]);
}

#[test]
fn what_could_not_be_read_stands_until_a_scrub_that_began_after_it_has_found_all_right() {
    let looks = [
        pool(0, scrub("a", "finished", 0)),
        pool(5, scrub("a", "finished", 0)),
        pool(5, scrub("b", "running", 0)),
        pool(6, scrub("b", "running", 0)),
        pool(6, scrub("b", "finished", 0)),
        pool(6, scrub("c", "running", 0)),
        pool(6, scrub("c", "finished", 1)),
        pool(6, scrub("d", "stopped", 0)),
        pool(6, scrub("e", "finished", 0)),
        pool(7, scrub("e", "finished", 0)),
    ];
    assert_eq!(each(looks, Standing::unreadable), [0, 5, 5, 6, 1, 1, 1, 1, 0, 1]);
}

#[test]
fn what_could_not_be_read_before_the_daemon_looked_is_no_scrubs_that_has_ended() {
    assert_eq!(each([pool(5, scrub("a", "finished", 0))], Standing::unreadable), [5]);
}

#[test]
fn what_could_not_be_read_is_forgotten_once_the_pool_is_opened_anew() {
    let closed = Pool::default();
    let looks = [
        pool(5, scrub("a", "running", 0)),
        closed,
        pool(0, scrub("a", "running", 0)),
        pool(2, scrub("a", "running", 0)),
        pool(2, scrub("a", "finished", 0)),
    ];
    assert_eq!(each(looks, Standing::unreadable), [5, 0, 0, 2, 2]);
}
