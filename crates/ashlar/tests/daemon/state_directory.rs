//! The state directory cannot be written, at the start or later: the node serves, says what is not
//! remembered and how to repair it, refuses only what must be remembered, and remembers all as soon
//! as it can.

use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use crate::disks::SmallDisk;
use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place, refused, skip};

/// Size of the file system that the state directory is on.
const STATE_KIBIBYTES: u32 = 128;
/// Blocks of a volume: 8 MiB.
const BLOCKS: u64 = 2048;

fn serve(place: &Place, state: &Path) -> std::process::Command {
    let mut command = place.serve_on(state, 0);
    command.arg("--socket").arg(place.socket());
    command
}

fn start(place: &Place, state: &Path) -> Daemon {
    place.start_as(serve(place, state))
}

/// Commands look for the socket beside the directory, and are led to the one in it.
fn socket_in(place: &Place, state: &Path) {
    std::os::unix::fs::symlink(state.join("ashlar.sock"), place.socket()).expect("room");
}

/// A place whose state directory is a file system of its own. `None` where mounting is not
/// permitted.
fn with_disk() -> Option<(Place, SmallDisk)> {
    let place = Place::new();
    let disk = SmallDisk::mount(place.path("state"), STATE_KIBIBYTES);
    if disk.is_none() {
        skip("mounting a file system is not permitted here");
    }
    Some((place, disk?))
}

fn warnings(place: &Place) -> Vec<String> {
    let status = place.json(&["status"]);
    let all = status["warnings"].as_array().expect("a list").iter();
    all.map(|warning| warning.as_str().expect("a text").to_owned()).collect()
}

/// What is said of the file. That the logs, in the same directory, are not written is said as well
/// once they are to be.
fn warning(place: &Place) -> String {
    let mut all = warnings(place);
    all.retain(|warning| !warning.contains("are not written down, and are lost with the daemon"));
    assert_eq!(all.len(), 1, "{all:?}");
    all.into_iter().next().expect("one")
}

/// The texts of events of this kind, the newest last.
fn told(place: &Place, kind: &str) -> Vec<String> {
    let events = place.json(&["events"]);
    let events = events.as_array().expect("events").iter().filter(|event| event["kind"] == kind);
    events.map(|event| event["message"].as_str().expect("a text").to_owned()).collect()
}

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

fn identity(place: &Place) -> (String, String) {
    let status = place.json(&["status"]);
    let text = |name: &str| status[name].as_str().expect("a text").to_owned();
    (text("subsystem_nqn"), text("serial"))
}

fn nsid(place: &Place, volume: &str) -> u64 {
    place.json(&["volume", "show", volume])["nsid"].as_u64().expect("a number")
}

fn create_volume(name: &str) -> [&str; 7] {
    ["volume", "create", name, "--size", "8388608", "--allow", "any"]
}

/// A pool with a volume that holds something.
fn filled(place: &Place) -> Vec<Volume> {
    place.create_pool("tank", 0..3);
    place.ok(&create_volume("tank/v0"));
    checked(place, vec![Volume::new("tank/v0", BLOCKS, 7)])
}

/// Checks all that the volumes hold, and loads them once more.
fn checked(place: &Place, volumes: Vec<Volume>) -> Vec<Volume> {
    let mut load = Load::start(place, volumes, 8);
    load.await_rounds();
    load.join().0
}

/// What must be remembered is refused, says why and how it is repaired, and has changed nothing.
fn assert_new_ones_are_refused(place: &Place, reason: &[&str]) {
    let said = place.refused(&create_volume("tank/new"));
    assert_says(&said, reason);
    assert_says(&said, &["makes no volume", "namespace number"]);
    place.refused(&["volume", "show", "tank/new"]);
    let drives = place.drives(20..23);
    let create = ["pool", "create", "new", "--level", "5"].into_iter();
    let said = place.refused(&create.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    assert_says(&said, reason);
    assert_says(&said, &["makes no pool"]);
    assert!(!place.image(20).exists(), "no drive was made");
    place.refused(&["pool", "show", "new"]);
}

/// Everything else goes on.
fn change_what_may_change(place: &Place) {
    place.ok(&["pool", "set", "tank", "scrub-prio=7"]);
    let said = place.ok(&["pool", "add-drive", "tank", &place.drive(3)]);
    assert_says(&said, &["is a member of pool 'tank' now"]);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(4)]);
    place.ok(&["volume", "rename", "tank/v0", "v1"]);
    place.ok(&["pool", "rename", "tank", "dozer"]);
    place.ok(&["pool", "export", "old", "--yes"]);
}

/// All of that is there after a start.
fn assert_changed(place: &Place) {
    let pool = place.json(&["pool", "show", "dozer"]);
    assert_eq!(pool["drives"].as_array().map(Vec::len), Some(4), "{pool}");
    assert_eq!(pool["spares"].as_array().map(Vec::len), Some(1), "{pool}");
    assert_eq!(place.json(&["pool", "list"]).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_node_starts_with_a_full_state_directory_and_remembers_all_once_there_is_room() {
    let Some((place, disk)) = with_disk() else { return };
    let daemon = start(&place, &disk.0);
    let (volumes, identity_before) = (filled(&place), identity(&place));
    place.create_pool("old", 10..13);
    assert_eq!(warnings(&place), [""; 0]);
    daemon.terminate();
    disk.fill();
    let daemon = start(&place, &disk.0);
    assert_eq!(identity(&place), identity_before);
    let volumes = checked(&place, volumes);
    let reason = ["node.toml: No space left", "make room on the file system of"];
    assert_says(&warning(&place), &reason);
    assert_says(&warning(&place), &["the file still describes the node completely"]);
    assert_eq!(told(&place, "state_not_written"), [warning(&place)]);
    assert_says(&place.in_words(&["status"]), &["warning: cannot write", "make room"]);
    assert_new_ones_are_refused(&place, &reason);
    change_what_may_change(&place);
    assert_says(
        &warning(&place),
        &[
            "that pool 'tank' is called 'dozer' now",
            "which drives pool 'dozer' has now",
            "which spares pool 'dozer' has now",
            "that pool 'old' is no longer one of this node",
        ],
    );
    assert_says(
        &place.in_words(&["pool", "show", "dozer"]),
        &["which drives pool 'dozer' has now"],
    );
    disk.clear();
    // With the next change: a volume that is new.
    place.ok(&create_volume("dozer/v2"));
    assert_eq!(warnings(&place), [""; 0]);
    assert_eq!(told(&place, "state_written").len(), 1);
    daemon.kill();
    let _daemon = start(&place, &disk.0);
    assert_changed(&place);
    assert_eq!(identity(&place), identity_before);
    let renamed = |volume: Volume| Volume { name: "dozer/v1".to_owned(), ..volume };
    checked(&place, volumes.into_iter().map(renamed).collect());
}

#[test]
fn a_state_directory_that_fills_up_later_refuses_new_volumes_and_is_written_by_itself_once_there_is_room()
 {
    let Some((place, disk)) = with_disk() else { return };
    let daemon = start(&place, &disk.0);
    let volumes = filled(&place);
    place.create_pool("old", 10..13);
    let drives: Vec<String> =
        (10..13).flat_map(|nth| ["--drive".to_owned(), place.file(nth)]).collect();
    let import: Vec<&str> =
        ["pool", "import"].into_iter().chain(drives.iter().map(String::as_str)).collect();
    place.ok(&["pool", "export", "old", "--yes"]);
    let mut load = Load::start(&place, volumes, 9);
    disk.fill();
    let reason = ["node.toml: No space left", "make room on the file system of"];
    assert_new_ones_are_refused(&place, &reason);
    let said = place.refused(&import);
    assert_says(&said, &reason);
    assert_says(&said, &["opens no pool that is new here"]);
    place.ok(&["pool", "add-drive", "tank", &place.drive(3)]);
    assert_says(&warning(&place), &["which drives pool 'tank' has now"]);
    load.await_rounds();
    disk.clear();
    place.wait_until("what was not remembered is", |place| warnings(place).is_empty());
    assert_says(&told(&place, "state_not_written")[0], &["No space left"]);
    assert_eq!(told(&place, "state_written").len(), 1);
    let volumes = load.join().0;
    daemon.kill();
    let _daemon = start(&place, &disk.0);
    assert_eq!(place.json(&["pool", "show", "tank"])["drives"].as_array().map(Vec::len), Some(4));
    // No number was lost by what was refused.
    place.ok(&create_volume("tank/v1"));
    assert_eq!((nsid(&place, "tank/v0"), nsid(&place, "tank/v1")), (1, 2));
    place.ok(&import);
    checked(&place, volumes);
}

#[test]
fn a_node_starts_with_a_read_only_state_directory_which_one_daemon_has_and_is_repaired_by_a_remount()
 {
    let Some((place, disk)) = with_disk() else { return };
    let daemon = start(&place, &disk.0);
    let (volumes, identity_before) = (filled(&place), identity(&place));
    place.create_pool("old", 10..13);
    daemon.terminate();
    fs::remove_file(disk.0.join("lock")).expect("it is there");
    disk.remount("ro");
    let daemon = start(&place, &disk.0);
    assert_eq!(identity(&place), identity_before);
    let said = refused(serve(&place, &disk.0));
    assert_says(&said, &["in use by another daemon"]);
    let reason = ["node.toml: Read-only file system", "remount,rw"];
    assert_says(&warning(&place), &reason);
    assert_new_ones_are_refused(&place, &reason);
    change_what_may_change(&place);
    disk.remount("rw");
    place.wait_until("what was not remembered is", |place| warnings(place).is_empty());
    // It becomes so later, too.
    disk.remount("ro");
    place.ok(&["pool", "spare", "remove", "dozer", &place.file(4)]);
    assert_says(&warning(&place), &["Read-only file system", "which spares pool 'dozer' has now"]);
    disk.remount("rw");
    // With the next change.
    place.ok(&["pool", "spare", "add", "dozer", &place.drive(4)]);
    assert_eq!(warnings(&place), [""; 0]);
    daemon.kill();
    let _daemon = start(&place, &disk.0);
    assert_changed(&place);
    let renamed = |volume: Volume| Volume { name: "dozer/v1".to_owned(), ..volume };
    checked(&place, volumes.into_iter().map(renamed).collect());
}

#[test]
fn a_node_that_has_no_identity_yet_does_not_start_where_none_can_be_written() {
    let Some((place, disk)) = with_disk() else { return };
    disk.fill();
    let said = refused(serve(&place, &disk.0));
    assert_says(&said, &["has no node.toml", "No space left", "make room", "--state"]);
    disk.clear();
    disk.remount("ro");
    let said = refused(serve(&place, &disk.0));
    assert_says(&said, &["has no node.toml", "Read-only file system", "remount,rw", "--state"]);
    let said = refused(serve(&place, &disk.0.join("deeper")));
    assert_says(&said, &["cannot make the state directory", "Read-only file system", "remount,rw"]);
    disk.remount("rw");
    start(&place, &disk.0).terminate();
}

#[test]
fn a_node_whose_socket_is_in_a_read_only_state_directory_serves_and_answers_commands_later() {
    let Some((place, disk)) = with_disk() else { return };
    start(&place, &disk.0).terminate();
    disk.remount("ro");
    socket_in(&place, &disk.0);
    let mut daemon = place.spawn(place.serve_on(&disk.0, 0));
    daemon.wait_for("READY=1");
    assert!(!place.run(&["status"]).status.success());
    disk.remount("rw");
    place.wait_until("commands are answered", |place| place.run(&["status"]).status.success());
    place.wait_until("what was not remembered is", |place| warnings(place).is_empty());
    assert_eq!(told(&place, "state_not_written").len(), 1);
    daemon.terminate();
}

#[test]
fn a_pool_that_is_known_is_imported_while_the_state_directory_cannot_be_written() {
    let Some((place, disk)) = with_disk() else { return };
    let daemon = start(&place, &disk.0);
    let volumes = filled(&place);
    daemon.terminate();
    disk.fill();
    fs::rename(place.image(0), place.aside(0)).expect("a file");
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let _daemon = start(&place, &disk.0);
    assert_eq!(place.pool_states("tank"), ["unavailable"]);
    let at = |index: usize| format!("file:{}", place.aside(index).display());
    let drives = [at(0), at(1), place.file(2)];
    let drives = drives.iter().flat_map(|drive| ["--drive", drive.as_str()]);
    let said = place.ok(&["pool", "import", "tank"].into_iter().chain(drives).collect::<Vec<_>>());
    assert_says(
        &said,
        &["pool 'tank' is opened", "note: a start of the daemon would not know which drives"],
    );
    checked(&place, volumes);
}

#[test]
fn a_state_directory_that_is_removed_is_made_again_and_the_socket_in_it() {
    let place = Place::new();
    let state = place.path("state");
    socket_in(&place, &state);
    let daemon = place.start_as(place.serve_on(&state, 0));
    let (volumes, identity_before) = (filled(&place), identity(&place));
    // At once, whatever the daemon writes there meanwhile.
    fs::rename(&state, place.path("aside")).expect("it is there");
    place.wait_until("nobody writes there any more", |place| {
        fs::remove_dir_all(place.path("aside")).is_ok()
    });
    place.wait_until("commands are answered", |place| place.run(&["status"]).status.success());
    place.ok(&["pool", "add-drive", "tank", &place.drive(3)]);
    assert_eq!(warnings(&place), [""; 0]);
    let said = refused(serve(&place, &state));
    assert_says(&said, &["in use by another daemon", &format!("process {}", daemon.pid())]);
    daemon.kill();
    let _daemon = place.start_as(place.serve_on(&state, 0));
    assert_eq!(identity(&place), identity_before);
    checked(&place, volumes);
}

#[test]
fn a_file_that_somebody_removes_is_written_again_without_a_change() {
    let place = Place::new();
    let daemon = place.start();
    let identity_before = identity(&place);
    fs::remove_file(place.path("node.toml")).expect("it is there");
    place.wait_until("it is there again", |place| place.path("node.toml").exists());
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(identity(&place), identity_before);
}

#[test]
fn what_was_not_remembered_is_written_at_the_end_of_the_daemon() {
    let Some((place, disk)) = with_disk() else { return };
    let daemon = start(&place, &disk.0);
    place.create_pool("tank", 0..3);
    disk.fill();
    place.ok(&["pool", "rename", "tank", "dozer"]);
    assert_says(&warning(&place), &["that pool 'tank' is called 'dozer' now"]);
    disk.clear();
    daemon.terminate();
    let remembered = fs::read_to_string(disk.0.join("node.toml")).expect("a file");
    assert_says(&remembered, &["dozer"]);
}

#[test]
fn ends_that_cannot_be_noted_are_told_of_before_and_in_the_last_words() {
    let place = Place::new();
    let deaths = place.path("deaths");
    fs::create_dir(&deaths).expect("room");
    let mut command = place.serve();
    command.arg("--inject-panics").arg(place.path("panics"));
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    assert_says(
        &warning(&place),
        &["cannot write", "deaths", "no start would leave that pool closed", "take the"],
    );
    assert_eq!(told(&place, "state_not_written"), [warning(&place)]);
    place.create_pool("ill", 0..3);
    let text = format!("twice {}\n", place.image(0).display());
    fs::write(place.path("panics.new"), text).expect("room");
    fs::rename(place.path("panics.new"), place.path("panics")).expect("a file");
    place.run(&["pool", "set", "ill", "scrub-prio=7"]);
    let mut log = String::new();
    let mut stderr = daemon.stderr();
    assert_eq!(daemon.wait().signal(), Some(6), "aborted");
    stderr.read_to_string(&mut log).expect("a text");
    assert_says(&log, &["that cannot be noted in", "opens the pool as if nothing had happened"]);
    fs::remove_dir(&deaths).expect("it is empty");
    let _daemon = place.start();
    assert_eq!(warnings(&place), [""; 0]);
}
