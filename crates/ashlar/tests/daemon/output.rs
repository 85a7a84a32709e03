//! What the command line prints where nobody reads it, or where it cannot be written.

use std::fs::File;
use std::io;
use std::process::{Command, Output, Stdio};

use crate::support::{Place, text};

const ASHLAR: &str = env!("CARGO_BIN_EXE_ashlar");
/// What can be asked without a daemon.
const WITHOUT_DAEMON: [&str; 6] = [
    "completions bash",
    "completions fish",
    "--help",
    "--version",
    "pool create --help",
    "help volume",
];
/// What prints something and changes nothing. One test does it beside a daemon with a pool and a
/// volume.
const WITH_DAEMON: [&str; 11] = [
    "status",
    "status --output json",
    "pool list",
    "pool show tank",
    "pool rebuild tank",
    "drive list --output json",
    "volume list",
    "volume show tank/v0",
    "host list",
    "events",
    "events --follow",
];

fn ashlar(place: &Place, line: &str) -> Command {
    let mut command = Command::new(ASHLAR);
    command.arg("--socket").arg(place.socket()).args(line.split(' ')).stdin(Stdio::null());
    command.env_remove("ASHLAR_SOCKET").stderr(Stdio::piped());
    command
}

/// A pipe whose reader has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("every Linux has it").into()
}

fn ended(command: &mut Command) -> Output {
    command.spawn().and_then(std::process::Child::wait_with_output).expect("the binary runs")
}

fn assert_quiet(place: &Place, line: &str) {
    let Output { status, stderr, .. } = ended(ashlar(place, line).stdout(closed_pipe()));
    assert!(status.success() && stderr.is_empty(), "{line}: {status}: {}", text(&stderr));
}

fn assert_failed(place: &Place, line: &str) {
    let Output { status, stderr, .. } = ended(ashlar(place, line).stdout(full()));
    let said = text(&stderr);
    assert_eq!(status.code(), Some(1), "{line}: {said}");
    assert!(
        said.contains("cannot write to standard output: No space left on device"),
        "{line}: {said}"
    );
}

fn with_volume(place: &Place) -> crate::support::Daemon {
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    daemon
}

#[test]
fn verbs_end_quietly_when_their_reader_has_gone() {
    let place = Place::new();
    WITHOUT_DAEMON.iter().for_each(|line| assert_quiet(&place, line));
    let _daemon = with_volume(&place);
    WITH_DAEMON.iter().for_each(|line| assert_quiet(&place, line));
    // What was asked for is done.
    assert_quiet(&place, "volume create tank/v1 --size 1GiB");
    assert!(place.ok(&["volume", "list"]).contains("tank/v1"));
}

#[test]
fn verbs_fail_when_what_they_print_cannot_be_written() {
    let place = Place::new();
    WITHOUT_DAEMON.iter().for_each(|line| assert_failed(&place, line));
    let _daemon = with_volume(&place);
    WITH_DAEMON.iter().for_each(|line| assert_failed(&place, line));
}

#[test]
fn errors_that_nobody_reads_are_errors_still() {
    let place = Place::new();
    let code = |line: &str, stderr: Stdio| {
        let mut command = ashlar(&place, line);
        command.stdout(Stdio::null()).stderr(stderr).status().expect("the binary runs").code()
    };
    for (line, expected) in [("status", 1), ("volume show", 2), ("pool --output json", 2)] {
        assert_eq!(code(line, closed_pipe()), Some(expected), "{line}");
        assert_eq!(code(line, full()), Some(expected), "{line}");
    }
}

#[test]
fn a_demonstration_that_nobody_watches_ends_and_leaves_its_pool_whole() {
    let place = Place::new();
    let state = place.path("demo");
    let line = format!("demo --listen 127.0.0.1:0 --discovery none --state {}", state.display());
    let watched = || {
        let output =
            ended(ashlar(&place, &format!("{line} --seconds 1 --once")).stdout(Stdio::piped()));
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    watched();
    assert_quiet(&place, &line);
    let again = watched();
    assert!(again.contains("Pool 'demo' of an earlier run: online"), "{again}");
    assert!(again.contains("The data of the last run are as they were"), "{again}");
}
