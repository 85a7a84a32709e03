//! What the daemon does when it is sent a signal: it ends in order, reads its configuration again,
//! or goes on.

use std::fs::{self, File};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{Daemon, Place};

/// What a program cannot catch, or is not to: KILL and STOP; what reports a fault of its own (ILL,
/// TRAP, ABRT, BUS, FPE, SEGV, SYS); and what the C library has for itself.
const NOT_CAUGHT: [u32; 11] = [9, 19, 4, 5, 6, 7, 8, 11, 31, 32, 33];
/// What does nothing, or only stops the process, where nobody catches it: CHLD, CONT, TSTP, TTIN,
/// TTOU, URG and WINCH.
const HARMLESS: [u32; 7] = [17, 18, 20, 21, 22, 23, 28];

fn send(daemon: &Daemon, signal: Signal) {
    let pid = Pid::from_raw(daemon.pid() as i32).expect("a process");
    kill_process(pid, signal).expect("it runs");
}

/// Signals that the process catches or ignores, as bits from 1 on.
fn handled(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let mask = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a mask");
        u64::from_str_radix(line.trim(), 16).expect("a mask")
    };
    mask("SigCgt:") | mask("SigIgn:")
}

/// What the daemon writes to this file as its log.
fn logging_to(place: &Place, configuration: &str) -> Command {
    let file = place.path("ashlar.toml");
    fs::write(&file, configuration).expect("room");
    let mut command = place.serve();
    command.arg("--config").arg(file).env_remove("RUST_LOG");
    command.stderr(File::create(place.path("log")).expect("room"));
    command
}

fn log(place: &Place) -> String {
    fs::read_to_string(place.path("log")).expect("a log")
}

/// Changes the configuration, and has the daemon read it again.
fn reload(place: &Place, daemon: &mut Daemon, configuration: &str) {
    fs::write(place.path("ashlar.toml"), configuration).expect("room");
    send(daemon, Signal::HUP);
    daemon.wait_for("READY=1");
}

fn log_says(place: &Place, what: &str) {
    place.wait_until(&format!("the log says '{what}'"), |place| log(place).contains(what));
}

#[test]
fn no_signal_that_can_be_caught_ends_the_daemon_without_order() {
    let place = Place::new();
    let daemon = place.start();
    let handled = handled(&daemon);
    let missed = (1..=64).filter(|number| handled & 1 << (number - 1) == 0);
    let missed: Vec<u32> =
        missed.filter(|it| !NOT_CAUGHT.contains(it) && !HARMLESS.contains(it)).collect();
    assert!(missed.is_empty(), "these end it: {missed:?}");
    daemon.terminate();
}

#[test]
fn signals_that_mean_nothing_are_logged_and_change_nothing() {
    let place = Place::new();
    let mut daemon = place.spawn(logging_to(&place, ""));
    daemon.wait_for("READY=1");
    for (signal, name) in [
        (Signal::USR1, "SIGUSR1"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::VTALARM, "SIGVTALRM"),
        (Signal::PROF, "SIGPROF"),
        (Signal::IO, "SIGIO"),
        (Signal::POWER, "SIGPWR"),
        (Signal::STKFLT, "SIGSTKFLT"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ] {
        send(&daemon, signal);
        log_says(&place, &format!("{name} is ignored"));
    }
    place.create_pool("tank", 0..3);
    daemon.terminate();
}

#[test]
fn a_daemon_ends_in_order_by_each_signal_that_asks_for_it() {
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        let place = Place::new();
        let daemon = place.start();
        place.create_pool("tank", 0..3);
        daemon.end_by(signal);
        // A pool that was closed is not recovered.
        let _daemon = place.start();
        assert_eq!(place.pool_states("tank")[0], "online");
    }
}

#[test]
fn a_daemon_that_is_told_to_reads_its_configuration_again() {
    let place = Place::new();
    let mut daemon = place.spawn(logging_to(&place, "log = 'info'"));
    daemon.wait_for("READY=1");
    reload(&place, &mut daemon, "log = 'debug'\nreactors = 2\n[limits]\nconnections_max = 77\n");
    log_says(&place, "log is 'debug' now");
    log_says(&place, "the next start takes: reactors, limits.connections_max");
    // Now it says more: of each connection that ends, for one.
    let port = place.json(&["status"])["portals"][0]["port"].as_u64().expect("a port") as u16;
    drop(std::net::TcpStream::connect(("127.0.0.1", port)).expect("it listens"));
    log_says(&place, "connection ends");
    assert_eq!(place.json(&["status"])["reactors"], 1);
    daemon.terminate();
}

#[test]
fn a_configuration_that_is_wrong_when_it_is_read_again_changes_nothing() {
    let place = Place::new();
    let mut daemon = place.spawn(logging_to(&place, "log = 'info'"));
    daemon.wait_for("READY=1");
    for (wrong, why) in
        [("log = 'loud=ly'", "'loud=ly' does not say what to log"), ("reactorz = 1", "reactorz")]
    {
        reload(&place, &mut daemon, wrong);
        log_says(&place, "the configuration cannot be read again, and stays as it was");
        log_says(&place, why);
    }
    fs::remove_file(place.path("ashlar.toml")).expect("it is there");
    send(&daemon, Signal::HUP);
    daemon.wait_for("READY=1");
    log_says(&place, "cannot read the configuration");
    reload(&place, &mut daemon, "log = 'info'");
    log_says(&place, "the configuration is as it was");
    daemon.terminate();
}

#[test]
fn a_configuration_that_is_read_again_is_in_the_audit_log_with_what_came_of_it() {
    let place = Place::new();
    let mut daemon = place.spawn(logging_to(&place, "log = 'info'"));
    daemon.wait_for("READY=1");
    reload(&place, &mut daemon, "log = 'debug'\nspin_us = 7\n");
    // A line that is wrong may be one with a secret.
    reload(&place, &mut daemon, "secret = 'swordfish");
    reload(&place, &mut daemon, "log = 'debug'\nspin_us = 7\n");
    let answer = place.get("/api/v1/audit?operation=reload_configuration");
    let (_, entries) = answer.split_once("\r\n\r\n").expect("a body");
    let entries: Vec<Value> = serde_json::from_str(entries).expect("a list");
    let results: Vec<_> = entries.iter().map(|it| it["result"].as_str().expect("it")).collect();
    assert_eq!(results, ["done", "refused", "done"], "{entries:?}");
    assert!(entries.iter().all(|it| it["caller"] == "signal SIGHUP" && it["role"] == "admin"));
    assert_eq!(entries[0]["request"], r#"{"taken":["log"],"next_start":["spin_us"]}"#);
    assert_eq!(entries[2]["request"], r#"{"taken":[],"next_start":["spin_us"]}"#);
    let told = place.json(&["events", "--kind", "change"]);
    assert_eq!(told[1]["severity"], "warning", "{told}");
    let everywhere = format!("{entries:?} {told}");
    assert!(everywhere.contains("see the daemon's log") && !everywhere.contains("swordfish"));
    daemon.terminate();
}

#[test]
fn a_daemon_that_still_starts_obeys_signals() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    fs::rename(place.image(0), place.path("away")).expect("it is there");
    let mut daemon = place.spawn(place.serve_waiting(3600));
    let hangup = 1_u64 << (Signal::HUP.as_raw() - 1);
    let last = 1_u64 << 63;
    place.wait_until("it listens for signals", |_| {
        handled(&daemon) & (hangup | last) == hangup | last
    });
    send(&daemon, Signal::HUP);
    send(&daemon, Signal::USR1);
    fs::rename(place.path("away"), place.image(0)).expect("it is there");
    daemon.wait_for("READY=1");
    daemon.end_by(Signal::QUIT);
}
