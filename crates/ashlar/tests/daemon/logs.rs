//! What the daemon writes down of what has happened, and who may ask it for what.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;

use ashlar_control::types::{AuditEntry, Event, Severity};

use crate::support::{NOBODY, Place, refused, skip};

fn events(place: &Place, asked: &[&str]) -> Vec<Event> {
    serde_json::from_value(place.json(&[&["events"], asked].concat())).expect("events")
}

fn audit(place: &Place, asked: &[&str]) -> Vec<AuditEntry> {
    serde_json::from_value(place.json(&[&["audit"], asked].concat())).expect("entries")
}

/// Waits until what was told is on the disk: a daemon that is killed has not waited for that.
fn wait_until_kept(place: &Place, log: &str, said: &str) {
    place.wait_until("it is written down", |place| {
        let files = fs::read_dir(place.path(log)).into_iter().flatten();
        let mut texts = files.filter_map(|file| fs::read_to_string(file.ok()?.path()).ok());
        texts.any(|text| text.contains(said))
    });
}

#[test]
fn events_outlive_the_daemon_and_are_found_by_what_they_are_about() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    let before = events(&place, &["--pool", "tank", "--kind", "drive_state"]);
    let failed = &before[0].what;
    assert_eq!((failed.severity, failed.drive.as_deref()), (Severity::Error, Some("drive-1")));
    assert!(failed.hint.as_deref().is_some_and(|hint| hint.contains("replace tank drive-1")));
    wait_until_kept(&place, "events", "drive_state");
    daemon.kill();
    let _daemon = place.start();
    let after = events(&place, &["--pool", "tank", "--kind", "drive_state", "--until", "0s"]);
    assert_eq!(after[0], before[0]);
    assert!(events(&place, &["--pool", "dozer"]).is_empty());
    assert_eq!(events(&place, &["--limit", "1"]).len(), 1);
    let errors = events(&place, &["--severity", "error"]);
    assert!(errors.contains(&before[0]), "{errors:?}");
    assert!(errors.iter().all(|event| event.what.severity == Severity::Error));
    let text = place.ok(&["events", "--kind", "drive_state"]);
    assert!(text.contains("to do: replace it"), "{text}");
}

#[test]
fn every_change_is_in_the_audit_log_with_who_has_asked_and_what_came_of_it() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    place.refused(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    place.refused(&["volume", "delete", "tank/v0"]);
    let told = |entries: &[AuditEntry]| -> Vec<String> {
        let tell = |entry: &AuditEntry| {
            let what = &entry.what;
            format!("{} {} {}", what.operation, what.result, what.code.as_deref().unwrap_or("-"))
        };
        entries.iter().map(tell).collect()
    };
    let before = audit(&place, &[]);
    let expected = [
        "create_pool done -",
        "create_volume done -",
        "create_volume refused volume_exists",
        "delete_volume asked confirmation_needed",
    ];
    assert_eq!(told(&before), expected);
    let me = rustix::process::getuid().as_raw();
    assert!(before.iter().all(|entry| entry.what.uid == Some(me) && entry.what.pid > Some(0)));
    assert!(before[1].what.request.contains("\"size_bytes\":16777216"), "{before:?}");
    wait_until_kept(&place, "audit", "delete_volume");
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(audit(&place, &[]), before);
    assert_eq!(told(&audit(&place, &["--result", "refused"])), expected[2..3]);
    let text = place.ok(&["audit"]);
    assert!(text.contains("refused  volume create tank/v0"), "{text}");
}

/// The entry was still on its way to the disk when the change was answered.
#[test]
fn a_change_that_was_answered_is_in_the_audit_log_whatever_ends_the_daemon_then() {
    let place = Place::new();
    for round in 0..4 {
        let daemon = place.start();
        place.ok(&["token", "create", &format!("t{round}"), "--role", "viewer"]);
        daemon.kill();
        let files = fs::read_dir(place.path("audit")).expect("a change was made");
        let texts = files.map(|file| fs::read_to_string(file.expect("it").path()).expect("text"));
        let lines: usize = texts.map(|text| text.matches("create_token").count()).sum();
        assert_eq!(lines, round + 1);
    }
}

/// Ctrl-C at a command ended its connection, and with it the part that wrote down what it had done.
#[test]
fn a_change_is_in_the_audit_log_although_its_client_has_gone() {
    let place = Place::new();
    let _daemon = place.start();
    let drives: Vec<String> = (0..3).map(|index| place.drive(index)).collect();
    let body = serde_json::json!({ "name": "tank", "level": "5", "drives": drives }).to_string();
    let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    let mut client = UnixStream::connect(place.socket()).expect("it listens");
    let request = format!("POST /api/v1/pools HTTP/1.1\r\nhost: ashlar\r\n{head}\r\n\r\n{body}");
    client.write_all(request.as_bytes()).expect("it listens");
    place.wait_until("the first drive is made", |place| place.image(0).exists());
    drop(client);
    place.wait_until("it is written down", |place| {
        audit(place, &[]).iter().any(|entry| entry.what.operation == "create_pool")
    });
}

#[test]
fn what_loses_data_needs_the_admin_whatever_it_is_called() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a socket to a group, and try as another user");
    }
    let place = Place::new();
    let _daemon = place.start_with(&["--socket-group", "daemon"]);
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "32MiB"]);
    let gid = fs::metadata(place.socket()).expect("a socket").gid();
    let member = |arguments: &[&str]| as_member(&place, gid, arguments);
    let grown = member(&["volume", "resize", "tank/v0", "--size", "64MiB"]).status();
    assert!(grown.expect("it runs").success());
    let said = refused(member(&["volume", "resize", "tank/v0", "--size", "16MiB", "--yes"]));
    assert!(said.contains("making a volume smaller needs admin"), "{said}");
    let said = refused(member(&["drive", "fail", "tank/drive-1", "--force", "--yes"]));
    assert!(said.contains("without which data cannot be read needs admin"), "{said}");
}

#[test]
fn a_state_directory_that_takes_nothing_more_keeps_no_log_says_so_and_all_is_there_later() {
    let place = Place::new();
    fs::write(place.path("events"), "in its way").expect("room");
    let _daemon = place.start();
    place.wait_until("it is told", |place| {
        events(place, &[]).iter().any(|event| event.what.kind == "events_not_kept")
    });
    let recent = events(&place, &[]);
    let what = &recent.iter().find(|it| it.what.kind == "events_not_kept").expect("it").what;
    assert!(what.cause.as_deref().is_some_and(|why| why.contains("/events:")), "{what:?}");
    assert!(place.in_words(&["status"]).contains("events are not written down"));
    // Whoever asks for something is not told that there was nothing.
    let why = place.refused(&["events", "--kind", "pool_opened"]);
    assert!(why.contains("cannot be read"), "{why}");
    fs::remove_file(place.path("events")).expect("it goes");
    place.wait_until("it is over", |place| !events(place, &["--kind", "events_kept"]).is_empty());
    assert!(!place.in_words(&["status"]).contains("events are not written down"));
    // What came before is there as well.
    wait_until_kept(&place, "events", "daemon_started");
    wait_until_kept(&place, "events", "events_kept");
}

/// A copy of the program that anybody may run, as a user whose group that is.
fn as_member(place: &Place, gid: u32, arguments: &[&str]) -> Command {
    let binary = place.path("binary");
    if !binary.exists() {
        // By a process of its own: what this one has open for writing, others may inherit, and then
        // it cannot be run.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_ashlar")).arg(&binary).status();
        assert!(copied.expect("it runs").success());
        fs::set_permissions(place.path(""), Permissions::from_mode(0o755)).expect("it is ours");
    }
    let mut command = Command::new(binary);
    command.arg("--socket").arg(place.socket()).args(arguments);
    command.uid(NOBODY).gid(gid).current_dir("/");
    command
}

#[test]
fn members_of_the_sockets_group_may_do_what_its_role_may() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can give a socket to a group, and try as another user");
    }
    // Every machine has it, and nobody is in it.
    const GROUP: &str = "daemon";
    let place = Place::new();
    let daemon = place.start_with(&["--socket-group", GROUP]);
    let found = fs::metadata(place.socket()).expect("a socket");
    assert_eq!(found.permissions().mode() & 0o777, 0o660);
    let gid = found.gid();
    assert_ne!(gid, 0);
    place.create_pool("tank", 0..3);
    let member = |arguments: &[&str]| as_member(&place, gid, arguments);
    let listed = member(&["pool", "list"]).output().expect("it runs");
    assert!(listed.status.success(), "{listed:?}");
    let create = member(&["volume", "create", "tank/v0", "--size", "16MiB"]).status();
    assert!(create.expect("it runs").success());
    let said = refused(member(&["pool", "destroy", "tank", "--yes"]));
    assert!(said.contains("role operator, and destroy_pool needs admin"), "{said}");
    let refusal = audit(&place, &["--result", "refused"]).pop().expect("an entry").what;
    assert_eq!((refusal.uid, refusal.code.as_deref()), (Some(NOBODY), Some("forbidden")));
    let said = refused(as_member(&place, NOBODY, &["status"]));
    assert!(said.contains("permission denied"), "{said}");
    daemon.terminate();
    let viewers = format!("socket_group = '{GROUP}'\nsocket_group_role = 'viewer'\n");
    let _daemon = place.start_configured(&viewers);
    let said = refused(as_member(&place, gid, &["volume", "delete", "tank/v0", "--yes"]));
    assert!(said.contains("has the role viewer"), "{said}");
}

#[test]
fn a_group_that_is_not_there_is_named() {
    let place = Place::new();
    let mut serve = place.serve();
    serve.args(["--socket-group", "no-such-group"]);
    let said = refused(serve);
    assert!(said.contains("no group 'no-such-group'") && said.contains("groupadd"), "{said}");
}
