//! Verbs beside a daemon that does not answer.

use std::os::unix::net::{UnixListener, UnixStream};

use crate::support::{Daemon, Place};

/// Something of each kind: what only asks, and what changes something.
const QUESTIONS: [&str; 10] = [
    "status",
    "pool list",
    "pool show tank",
    "drive list",
    "drive show /nowhere",
    "volume list",
    "host list",
    "events",
    "events --follow",
    "pool rebuild tank --wait",
];
const CHANGES: [&str; 5] = [
    "pool create spare --level 0 --drive file:/nowhere/0.img,size=64MiB",
    "pool import tank --drive /nowhere",
    "pool export tank",
    "volume create tank/v1 --size 1GiB",
    "volume delete tank/v0 --yes",
];

fn refused(place: &Place, line: &str, timeout: &str) -> String {
    let arguments: Vec<&str> = line.split(' ').chain(["--timeout", timeout]).collect();
    place.refused(&arguments)
}

fn assert_says(said: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(said.contains(part), "'{part}' is not in: {said}"));
}

/// How the process is: proc_pid_stat(5).
fn stat(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there")
}

fn with_volume(place: &Place) -> Daemon {
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    daemon
}

#[test]
fn every_verb_names_a_daemon_that_is_stopped_and_what_lets_it_go_on() {
    let place = Place::new();
    let daemon = with_volume(&place);
    let (socket, pid) = (place.socket(), daemon.pid());
    let who = format!(
        "the daemon at {}, process {pid} (ashlar), has not answered for 200ms",
        socket.display()
    );
    let way_out = format!("kill -CONT {pid}");
    daemon.stop_while(|| {
        // A signal takes effect when the process would run.
        place.wait_until("it is stopped", |_| stat(pid).contains(") T "));
        for line in QUESTIONS {
            let said = refused(&place, line, "200ms");
            assert_says(&said, &[&who, &way_out]);
            assert!(!said.contains("it may be doing"), "{line}: {said}");
        }
        for line in CHANGES {
            assert_says(&refused(&place, line, "200ms"), &[&who, "it may be doing", &way_out]);
        }
        let json = refused(&place, "status --output json", "200ms");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["code"], "no_answer");
        assert_says(json["hint"].as_str().expect("a hint"), &[&way_out]);
    });
    // It does now what it was asked for before, or has done it.
    place.ok(&["status", "--timeout", "5m"]);
    daemon.terminate();
}

#[test]
fn something_else_that_listens_and_says_nothing_is_named() {
    let place = Place::new();
    let _listener = UnixListener::bind(place.socket()).expect("nobody is there");
    let pid = std::process::id().to_string();
    for line in ["status", "pool export tank"] {
        assert_says(
            &refused(&place, line, "100ms"),
            &["process", &pid, "has not answered", "--socket"],
        );
    }
}

#[test]
fn a_daemon_that_takes_no_more_clients_does_not_answer() {
    let place = Place::new();
    let listener = UnixListener::bind(place.socket()).expect("nobody is there");
    // Room for one client that waits.
    rustix::net::listen(&listener, 0).expect("a socket");
    let _waits = UnixStream::connect(place.socket()).expect("there is room");
    assert_says(
        &refused(&place, "status", "100ms"),
        &["the daemon at", "has not answered for 100ms"],
    );
}

#[test]
fn a_time_to_wait_that_is_none_is_refused_with_those_that_are() {
    let place = Place::new();
    for wrong in ["soon", "0", "-1", "1parsec"] {
        assert_says(
            &place.refused(&["status", &format!("--timeout={wrong}")]),
            &["--timeout", "write 30s"],
        );
    }
    let _daemon = place.start();
    for right in ["7", "1m 30s", "off"] {
        place.ok(&["status", "--timeout", right]);
    }
}
