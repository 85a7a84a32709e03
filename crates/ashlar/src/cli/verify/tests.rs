use ashlar_control::types::{PoolJobs, VerifiedFigure};

use super::*;

fn pool(verify: Verify) -> Pool {
    let jobs = PoolJobs { verify: Some(verify), ..PoolJobs::default() };
    Pool { name: "tank".to_owned(), jobs: Some(jobs), ..Pool::default() }
}

fn ended(state: &str, found_bytes: u64) -> Verify {
    let figure = VerifiedFigure { name: "written".to_owned(), counted_bytes: 4096, found_bytes };
    Verify {
        states: vec![state.to_owned()],
        figures: vec![figure],
        volumes_compared: 3,
        ..Verify::default()
    }
}

#[test]
fn a_proof_says_each_figure_and_whether_it_is_what_is_there() {
    let proven = pool(ended("proven", 4096));
    let said = said(&proven);
    assert!(
        said.contains("the ledger is what is there: 1 figures, and those of 3 volumes"),
        "{said}"
    );
    assert!(said.contains("written"), "{said}");
    assert!(said.contains("same"), "{said}");
    check(&proven).expect("nothing differs");
}

#[test]
fn a_figure_that_differs_is_an_error_that_says_where() {
    let mut wrong = ended("wrong", 8192);
    wrong.differences = vec!["written: 4096 bytes are counted, 8192 are there".to_owned()];
    let wrong = pool(wrong);
    assert!(said(&wrong).contains("DIFFERS"));
    let why = check(&wrong).expect_err("it differs").to_string();
    assert!(why.contains("8192 are there"), "{why}");
}

#[test]
fn a_proof_that_could_not_be_done_says_why() {
    let failed = Verify { problem: Some("a drive is away".to_owned()), ..ended("failed", 4096) };
    let why = check(&pool(failed)).expect_err("it failed").to_string();
    assert!(why.contains("could not be proved: a drive is away"), "{why}");
}

#[test]
fn a_daemon_that_was_restarted_has_ended_the_proof() {
    let why = is_ended(&Pool { name: "tank".to_owned(), ..Pool::default() });
    let why = why.expect_err("nobody goes on").to_string();
    assert!(why.contains("`ashlar pool verify tank` begins a new one"), "{why}");
}

#[test]
fn a_proof_that_was_stopped_has_proved_nothing() {
    let stopped = Verify { states: vec!["stopped".to_owned()], ..Verify::default() };
    let stopped = pool(Verify { done_percent: 12.5, ..stopped });
    assert_eq!(said(&stopped), "pool 'tank': a proof of the ledger was stopped at 12.5 %");
    let why = check(&stopped).expect_err("nothing is proved").to_string();
    assert!(why.contains("was stopped"), "{why}");
}
