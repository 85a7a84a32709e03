//! Pools that wait for drives.

use std::fs;
use std::process::Stdio;

use ashlar_load::initiator::Controller;
use ashlar_reactor::{Config, run};

use super::{checked, filled, problem, shown};

use crate::support::Place;

/// The feature that says which events a host is told of, and its bit for namespaces that come and
/// go.
const ASYNC_EVENTS: u8 = 0x0b;
const NAMESPACE_NOTICES: u32 = 1 << 8;

/// For forty seconds there was no port: all pools waited for one.
#[test]
fn a_pool_that_waits_for_a_drive_keeps_neither_hosts_nor_other_pools_waiting() {
    let place = Place::new();
    let daemon = place.start();
    let late = filled(&place, "late", 0..3, 101);
    let whole = filled(&place, "whole", 3..6, 102);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let mut command = place.serve_waiting(3600);
    command.stderr(Stdio::inherit());
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    place.wait_until("the whole pool is open", |place| place.pool_states("whole") == ["online"]);
    place
        .wait_until("the other one waits", |place| problem(place, "late") == "waiting for drive-1");
    assert_eq!(place.pool_states("late"), ["opening"]);
    assert!(
        place.in_words(&["status"]).contains("late: waiting for drive-1"),
        "{}",
        place.ok(&["status"])
    );
    let whole = checked(&place, whole, 103);
    let said = place.refused(&["volume", "create", "late/v1", "--size", "1MiB"]);
    assert!(said.contains("pool 'late' is not open: waiting for drive-1"), "{said}");

    // A host that connects meanwhile keeps the namespace, and is told when it is ready.
    let options = crate::hosts::options(&place);
    let (aside, image) = (place.aside(1), place.image(1));
    let seen = run(Config::default(), async move {
        let controller = Controller::connect(options).await.expect("a host connects");
        let before = controller.namespaces().await.expect("a list");
        controller
            .set_feature(ASYNC_EVENTS, 0, NAMESPACE_NOTICES)
            .await
            .expect("it may ask for events");
        fs::rename(aside, image).expect("a file");
        controller.next_event().await.expect("an answer").expect("an event");
        let after = controller.namespaces().await.expect("a list");
        controller.disconnect().await;
        (before.len(), after.len())
    });
    assert_eq!(seen.expect("it runs"), (2, 2));
    place.wait_until_opened();
    assert_eq!(place.pool_states("late"), ["online"]);
    checked(&place, late, 104);
    checked(&place, whole, 105);
    daemon.terminate();
}

#[test]
fn a_daemon_that_is_stopped_while_a_pool_waits_ends_at_once_and_loses_nothing() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..3, 111);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let mut daemon = place.spawn(place.serve_waiting(3600));
    daemon.wait_for("READY=1");
    place.wait_until("the pool waits", |place| problem(place, "tank") == "waiting for drive-1");
    daemon.terminate();
    fs::rename(place.aside(1), place.image(1)).expect("a file");
    let _daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert_eq!(shown(&place, "tank")["counters"]["unclean_starts"], 0);
    checked(&place, volumes, 112);
}

#[test]
fn what_is_asked_of_a_pool_that_waits_is_done_or_refused_with_the_reason() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let mut daemon = place.spawn(place.serve_waiting(3600));
    daemon.wait_for("READY=1");
    place.wait_until("the pool waits", |place| problem(place, "tank") == "waiting for drive-1");
    // Its drives and its name are taken.
    let (own, fresh) = (place.file(0), [place.drive(7), place.drive(8)]);
    let with = |name: &'static str, first: &'static str| {
        let drives =
            ["--drive", first, "--drive", &fresh[0], "--drive", &fresh[1]].map(str::to_owned);
        ["pool", "create", name, "--level", "5"]
            .map(str::to_owned)
            .into_iter()
            .chain(drives)
            .collect::<Vec<_>>()
    };
    let own: &'static str = own.leak();
    for verb in [with("other", own), with("tank", place.drive(9).leak())] {
        let verb: Vec<&str> = verb.iter().map(String::as_str).chain(["--force"]).collect();
        let said = place.refused(&verb);
        assert!(said.contains("pool 'tank'"), "{said}");
    }
    for verb in [&["drive", "show", own][..], &["drive", "label-clear", own, "--yes"]] {
        let said = place.refused(verb);
        assert!(
            said.contains("in use by pool 'tank', which is being opened: waiting for drive-1"),
            "{said}"
        );
    }
    // Whoever does not want to wait says so.
    let directory = place.path("").display().to_string();
    let said = place.refused(&["pool", "import", "tank", "--drive", &directory]);
    assert!(said.contains("--degraded"), "{said}");
    place.wait_until("the pool waits again", |place| {
        problem(place, "tank") == "waiting for drive-1"
    });
    place.ok(&["pool", "import", "tank", "--drive", &directory, "--degraded"]);
    assert!(place.has_lost("tank", 1));
    fs::rename(place.aside(1), place.path("late.img")).expect("a file");
    place.wait_until("it is back", |place| place.pool_states("tank") == ["online"]);
    daemon.terminate();
}

#[test]
fn a_pool_that_waits_can_be_forgotten() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let mut daemon = place.spawn(place.serve_waiting(3600));
    daemon.wait_for("READY=1");
    place.wait_until("the pool waits", |place| problem(place, "tank") == "waiting for drive-1");
    place.ok(&["pool", "export", "tank", "--yes"]);
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
    fs::rename(place.aside(1), place.image(1)).expect("a file");
    place.ok(&["pool", "import", "tank", "--drive", &place.path("").display().to_string()]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    daemon.terminate();
}
