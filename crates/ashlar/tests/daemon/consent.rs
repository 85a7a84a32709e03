//! What destroys data, cuts hosts off or takes drives from a pool is not done unasked: one rule for
//! the command line and the API.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::hosts::{Load, Volume};
use crate::support::{Place, skip, text};

/// The host of [`crate::hosts::options`].
const HOST: &str = "nqn.2014-08.org.example:host";
const OTHER: &str = "nqn.2014-08.org.example:other";
const BLOCKS: u64 = 4096;

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

fn volume_of(place: &Place, name: &str) {
    place.ok(&["volume", "create", name, "--size", &(BLOCKS * 4096).to_string(), "--allow", "any"]);
}

/// All that a test may have changed.
fn everything(place: &Place) -> serde_json::Value {
    let volumes = place.json(&["volume", "list"]);
    let drives = place.json(&["pool", "show", "tank"])["drives"].clone();
    serde_json::json!({ "volumes": volumes, "drives": drives })
}

#[test]
fn what_costs_something_is_refused_without_yes_and_changes_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..4);
    place.create_pool("spare", 4..7);
    place.ok(&["pool", "export", "spare", "--yes"]);
    volume_of(&place, "tank/v0");
    let free = place.file(4);
    let before = everything(&place);
    let verbs: [(&[&str], &[&str]); 8] = [
        (&["pool", "destroy", "tank"], &["loses everything", "v0"]),
        (&["pool", "export", "tank"], &["takes its volumes from all hosts"]),
        (&["pool", "remove-drive", "tank", "drive-1"], &["less room", "drive-1", "1.img"]),
        (&["drive", "fail", "tank/drive-1"], &["do without drive-1", "less redundancy"]),
        (&["drive", "fail", "tank/drive-1", "--force"], &["do without drive-1"]),
        (&["drive", "label-clear", &free], &["4.img", "pool 'spare'", "without its label"]),
        (&["volume", "delete", "tank/v0"], &["loses all that it holds"]),
        (&["volume", "resize", "tank/v0", "--size", "4MiB"], &["from 16MiB to 4MiB", "is lost"]),
    ];
    for (verb, costs) in verbs {
        let said = place.refused(verb);
        assert_says(&said, &[costs, &["--yes"]].concat());
        let said = place.refused(&[verb, &["--output", "json"]].concat());
        let refused: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        assert_eq!(refused["code"], "confirmation_needed", "{verb:?}");
        assert_eq!(everything(&place), before, "{verb:?}");
    }
    assert_says(&place.ok(&["drive", "show", &free]), &["pool 'spare'"]);
    for (verb, _) in [verbs[7], verbs[6], verbs[5], verbs[3], verbs[1]] {
        place.ok(&[verb, &["--yes"]].concat());
    }
}

#[test]
fn clients_of_the_api_get_a_stable_code_until_they_confirm() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..4);
    volume_of(&place, "tank/v0");
    let requests = [
        ("POST", "/api/v1/pools/tank/fail-drive", r#"{"drive":"drive-1"}"#),
        ("PATCH", "/api/v1/volumes/tank/v0", r#"{"size_bytes":4096}"#),
        ("DELETE", "/api/v1/volumes/tank/v0", ""),
        ("DELETE", "/api/v1/pools/tank", ""),
    ];
    for (method, path, body) in requests {
        let refused = place.request(method, path, body);
        assert_says(&refused, &["409", r#""code":"confirmation_needed""#, "confirm=true"]);
        let refused = place.request(method, &format!("{path}?force=true"), body);
        assert_says(&refused, &["400", "invalid_query", "'force' is not understood"]);
    }
    for (method, path, body) in requests {
        let done = place.request(method, &format!("{path}?confirm=true"), body);
        assert_says(&done, &["HTTP/1.1 20"]);
    }
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
}

#[test]
fn hosts_that_use_a_volume_are_named_and_keep_it_until_somebody_says_yes() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    volume_of(&place, "tank/v0");
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 3)], 1);
    load.await_rounds();
    for verb in [
        &["volume", "delete", "tank/v0"][..],
        &["volume", "deny", "tank/v0", "any"],
        &["volume", "deny", "tank/v0", "all"],
        &["volume", "allow", "tank/v0", OTHER, "--only"],
        &["volume", "resize", "tank/v0", "--size", "4MiB"],
        &["pool", "export", "tank"],
        &["pool", "destroy", "tank"],
        &["drive", "fail", "tank/drive-0"],
    ] {
        assert_says(&place.refused(verb), &[HOST, "I/O is running", "--yes"]);
    }
    // Who may see it already is not taken for the only one.
    let said = place.refused(&["volume", "allow", "tank/v0", OTHER]);
    assert_says(&said, &["every host may see it already", "--only"]);
    load.await_rounds();
    // The host itself keeps it: nobody has to be asked.
    place.ok(&["volume", "allow", "tank/v0", HOST, "--only"]);
    place.ok(&["volume", "allow", "tank/v0", OTHER]);
    place.ok(&["volume", "deny", "tank/v0", OTHER]);
    load.await_rounds();
    assert_says(&place.refused(&["volume", "deny", "tank/v0", HOST]), &[HOST, "I/O is running"]);
    load.await_rounds();
    load.join();
    place.wait_until("the host has gone", |place| {
        place.json(&["host", "list"]) == serde_json::json!([])
    });
    place.ok(&["volume", "deny", "tank/v0", HOST]);
    assert_says(
        &place.refused(&["volume", "delete", "tank/v0"]),
        &["No host that may see it is connected"],
    );
}

#[test]
fn a_list_of_hosts_is_not_lost_unasked() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place
        .ok(&["volume", "create", "tank/v0", "--size", "16MiB", "--allow", HOST, "--allow", OTHER]);
    let access = |place: &Place| place.json(&["volume", "show", "tank/v0"])["access"].clone();
    assert_says(&place.refused(&["volume", "allow", "tank/v0", "any"]), &[HOST, OTHER, "--yes"]);
    assert_says(
        &place.refused(&["volume", "deny", "tank/v0", "any"]),
        &["to a list of them", "all"],
    );
    assert_eq!(access(&place)["hosts"], serde_json::json!([HOST, OTHER]));
    place.ok(&["volume", "allow", "tank/v0", "any", "--yes"]);
    assert_eq!(access(&place), serde_json::json!({ "allow_any": true, "hosts": [] }));
    place.ok(&["volume", "deny", "tank/v0", "any"]);
    assert_eq!(access(&place), serde_json::json!({ "allow_any": false, "hosts": [] }));
    place.ok(&["volume", "allow", "tank/v0", "any"]);
}

/// Runs a verb at a terminal where somebody types `answer`. `None`: this machine has no `script`.
fn at_a_terminal(place: &Place, verb: &str, answer: &str) -> Option<String> {
    let (ashlar, socket) = (env!("CARGO_BIN_EXE_ashlar"), place.socket().display().to_string());
    let line = format!("{ashlar} --socket {socket} {verb}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut typed = child.stdin.take().expect("it was piped");
    typed.write_all(format!("{answer}\n").as_bytes()).expect("it reads");
    let said = child.wait_with_output().expect("it ends");
    drop(typed);
    Some(text(&said.stdout))
}

#[test]
fn at_a_terminal_it_is_asked_and_only_yes_goes_on() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    volume_of(&place, "tank/v0");
    let Some(said) = at_a_terminal(&place, "volume delete tank/v0", "n") else {
        return skip("there is no script(1) to make a terminal");
    };
    assert_says(&said, &["loses all that it holds", "Go on? [y/N]", "nothing was done"]);
    place.ok(&["volume", "show", "tank/v0"]);
    let said = at_a_terminal(&place, "volume delete tank/v0", "y").expect("as before");
    assert_says(&said, &["Go on? [y/N]", "is deleted"]);
    let said = at_a_terminal(&place, "pool export tank", "y").expect("as before");
    assert_says(&said, &["Go on? [y/N]", "closed and forgotten"]);
}

#[test]
fn what_would_be_refused_anyway_is_refused_before_anybody_is_asked() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    volume_of(&place, "tank/v0");
    place.ok(&["volume", "set", "tank/v0", "--write-protect", "on"]);
    place.ok(&["drive", "fail", &place.file(2), "--yes"]);
    let drives = place.drives(3..5);
    let flat = ["pool", "create", "flat", "--level", "0"].into_iter();
    place.ok(&flat.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    let verbs: [(&[&str], &str); 4] = [
        (
            &["volume", "resize", "tank/v0", "--size", "4MiB"],
            "is write protected, and to shrink it would lose data",
        ),
        (&["volume", "resize", "tank/v0", "--size", "1000000"], "not a multiple of 4KiB"),
        (&["drive", "fail", "flat/drive-1"], "without flat/drive-1 data cannot be read"),
        (&["pool", "remove-drive", "tank", "drive-1"], "drives would be left"),
    ];
    for (verb, why) in verbs {
        let said = place.refused(verb);
        assert_says(&said, &[why]);
        assert!(!said.contains("--yes"), "{said}");
    }
}
