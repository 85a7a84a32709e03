use ashlar_control::types::JobKind;

use super::*;

fn scrub(state: &str) -> Job {
    Job {
        id: "tank/scrub".to_owned(),
        kind: JobKind::Scrub,
        pool: "tank".to_owned(),
        pool_uuid: "u".to_owned(),
        drives: Vec::new(),
        states: vec![state.to_owned()],
        done_percent: 12.5,
        done_bytes: None,
        left_bytes: Some(3 << 30),
        eta_seconds: Some(70),
        started_at: Some("2026-01-01T00:00:00Z".to_owned()),
        finished_at: None,
        problem: None,
        result: Some("nothing was wrong".to_owned()),
        can_stop: true,
    }
}

#[test]
fn a_job_that_goes_on_says_how_far_it_is_and_one_that_has_ended_what_it_came_to() {
    let running = jobs(&[scrub("running")]);
    assert!(running.contains("12.5 %") && running.contains("3GiB left, 1m 10s to go"), "{running}");
    let ended = Job { finished_at: Some("2026-01-01T01:00:00Z".to_owned()), ..scrub("finished") };
    let said = jobs(std::slice::from_ref(&ended));
    assert!(!said.contains("left,") && said.contains("tank/scrub: nothing was wrong"), "{said}");
    let sheet = job(&ended);
    assert!(
        sheet.contains("2026-01-01T01:00:00Z") && sheet.contains("nothing was wrong"),
        "{sheet}"
    );
}

#[test]
fn an_erase_is_named_in_full_for_whoever_is_to_stop_it() {
    let id = format!("{}/erase", "0123456789abcdef0123456789abcdef0123");
    let erase = Job { id: id.clone(), kind: JobKind::Erase, result: None, ..scrub("running") };
    let said = jobs(&[erase]);
    assert!(said.contains(&format!("{id}: of pool tank")), "{said}");
}

#[test]
fn jobs_fit_a_terminal_however_much_there_is_to_say() {
    let long = Job {
        id: format!("{}/rebuild", "n".repeat(64)),
        problem: Some("there is no room: delete or trim data, or add a drive ".repeat(4)),
        finished_at: Some("2026-01-01T01:00:00Z".to_owned()),
        ..scrub("waiting")
    };
    for line in jobs(&[long]).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
