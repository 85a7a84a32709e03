//! Drives that change their names and places, come late, go and come back: the daemon finds them by their labels.

#[allow(dead_code, reason = "each test uses a part of what they share")]
mod hosts;
#[allow(dead_code, reason = "each test uses a part of what they share")]
mod support;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use ashlar_bench::initiator::Controller;
use ashlar_reactor::{Config, run};
use hosts::{Load, Volume};
use serde_json::Value;
use support::{Place, skip};

const DRIVES: usize = 5;
/// Blocks of the volume: 24 MiB.
const BLOCKS: u64 = 6144;
const DRIVE_BYTES: u64 = 48 << 20;
/// The feature that says which events a host is told of, and its bit for namespaces that come and go.
const ASYNC_EVENTS: u8 = 0x0b;
const NAMESPACE_NOTICES: u32 = 1 << 8;

fn shown(place: &Place, pool: &str) -> Value {
    place.json(&["pool", "show", pool])
}

fn is(place: &Place, pool: &str, state: &str) -> bool {
    place.pool_states(pool).iter().any(|is| is == state)
}

fn problem(place: &Place, pool: &str) -> String {
    shown(place, pool)["problem"].as_str().unwrap_or_default().to_owned()
}

/// Whether the pool has lost the drive of that name: numbers stay, places in the list do not.
fn has_lost(place: &Place, name: &str) -> bool {
    let shown = shown(place, "tank");
    let mut drives = shown["drives"].as_array().expect("drives").iter();
    let drive = drives.find(|drive| drive["name"] == name).expect("a member");
    drive["states"][0] != "online"
}

/// Where the pool's drives are that work, in the order of their numbers.
fn places(place: &Place, pool: &str) -> Vec<String> {
    let shown = shown(place, pool);
    let works = |drive: &&Value| drive["states"][0] == "online";
    // Of one that has just come back it is not known for a moment.
    let spec = |drive: &Value| Some(drive["spec"].as_str()?.split(',').next()?.to_owned());
    shown["drives"].as_array().expect("drives").iter().filter(works).filter_map(spec).collect()
}

fn events(place: &Place, kind: &str) -> Vec<String> {
    let events = place.json(&["events"]).as_array().expect("events").clone();
    let of_kind = events.iter().filter(|event| event["kind"] == kind);
    of_kind.map(|event| event["message"].as_str().expect("a text").to_owned()).collect()
}

/// A pool with a volume that a host has filled.
fn filled(place: &Place, pool: &str, drives: std::ops::Range<usize>, seed: u64) -> Vec<Volume> {
    place.create_pool(pool, drives);
    fill(place, pool, seed)
}

fn fill(place: &Place, pool: &str, seed: u64) -> Vec<Volume> {
    let name = format!("{pool}/v0");
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", &name, "--size", &size, "--allow", "any"]);
    let mut load = Load::start(place, vec![Volume::new(&name, BLOCKS, seed)], seed);
    load.await_rounds();
    load.join().0
}

/// Checks all that the volumes hold, and loads them once more.
fn checked(place: &Place, volumes: Vec<Volume>, seed: u64) -> Vec<Volume> {
    let mut load = Load::start(place, volumes, seed);
    load.await_rounds();
    load.join().0
}

fn move_all(place: &Place, moves: &[(&str, &str)]) {
    for (from, to) in moves {
        let to = place.path(to);
        fs::create_dir_all(to.parent().expect("a directory")).expect("room");
        fs::rename(place.path(from), to).expect("a file");
    }
}

#[test]
fn drives_are_found_whatever_they_are_called() {
    let place = Place::new();
    let daemon = place.start();
    let mut volumes = filled(&place, "tank", 0..DRIVES, 71);
    daemon.terminate();
    let changes: [&[(&str, &str)]; 3] = [
        // Shifted by one, as when a disk is missing at the controller's first port.
        &[("4.img", "5.img"), ("3.img", "4.img"), ("2.img", "3.img"), ("1.img", "2.img"), ("0.img", "1.img")],
        // Each in another's place.
        &[("1.img", "x"), ("3.img", "1.img"), ("5.img", "3.img"), ("2.img", "5.img"), ("x", "2.img")],
        // All of them renamed.
        &[("1.img", "a"), ("2.img", "b"), ("3.img", "c"), ("4.img", "d"), ("5.img", "e")],
    ];
    for (seed, moves) in (72..).zip(changes) {
        move_all(&place, moves);
        let daemon = place.start();
        assert_eq!(place.pool_states("tank"), ["online"]);
        assert_eq!(shown(&place, "tank")["drives"].as_array().map(Vec::len), Some(DRIVES), "none was added");
        volumes = checked(&place, volumes, seed);
        daemon.kill();
    }
    let _daemon = place.start();
    let letters: Vec<String> = places(&place, "tank")
        .iter()
        .filter_map(|spec| spec.get(spec.len() - 1..))
        .map(str::to_owned)
        .collect();
    assert_eq!(letters.iter().collect::<std::collections::BTreeSet<_>>().len(), DRIVES, "{letters:?}");
    checked(&place, volumes, 79);
}

#[test]
fn drives_are_found_in_another_directory_that_is_known_and_in_one_that_the_configuration_names() {
    let place = Place::new();
    let configured = format!("drive_directories = ['{}']", place.path("shelf").display());
    let in_b = |index: usize| {
        format!("file:{},size=48MiB,sparse=on", place.path(&format!("b/{index}.img")).display())
    };
    fs::create_dir(place.path("b")).expect("room");
    let daemon = place.start_configured(&configured);
    let drives = [place.drive(0), place.drive(1), in_b(2), in_b(3)];
    let drives = drives.iter().flat_map(|drive| ["--drive", drive.as_str()]);
    place.ok(&["pool", "create", "tank", "--level", "5"].into_iter().chain(drives).collect::<Vec<_>>());
    let volumes = fill(&place, "tank", 81);
    daemon.terminate();
    move_all(&place, &[("0.img", "b/zero.img"), ("b/2.img", "two.img"), ("b/3.img", "shelf/3.img")]);
    let daemon = place.start_configured(&configured);
    assert_eq!(place.pool_states("tank"), ["online"]);
    let found = places(&place, "tank");
    for (at, name) in ["b/zero.img", "1.img", "two.img", "shelf/3.img"].iter().enumerate() {
        assert_eq!(found[at], format!("file:{}", place.path(name).display()));
    }
    let volumes = checked(&place, volumes, 82);
    daemon.kill();
    // Where they are now is remembered: no configuration is needed for that.
    let _daemon = place.start();
    assert_eq!((place.pool_states("tank"), places(&place, "tank")), (vec!["online".to_owned()], found));
    checked(&place, volumes, 83);
}

#[test]
fn a_pool_opens_once_enough_of_its_drives_have_come_and_takes_in_those_that_come_later() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 91);
    daemon.terminate();
    for index in [0, 2, 4] {
        fs::rename(place.image(index), place.aside(index)).expect("a file");
    }
    let daemon = place.start();
    assert!(is(&place, "tank", "unavailable"), "{:?}", place.pool_states("tank"));
    assert!(problem(&place, "tank").contains("3 of 5 drives are missing"), "{}", problem(&place, "tank"));
    fs::rename(place.aside(0), place.path("first.img")).expect("a file");
    fs::rename(place.aside(2), place.image(2)).expect("a file");
    place.wait_until("the pool opens", |place| {
        !is(place, "tank", "unavailable") && !is(place, "tank", "opening")
    });
    let volumes = checked(&place, volumes, 92);
    fs::rename(place.aside(4), place.path("last.img")).expect("a file");
    place.wait_until("all are back", |place| {
        place.pool_states("tank") == ["online"] && places(place, "tank").len() == DRIVES
    });
    let volumes = checked(&place, volumes, 93);
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    checked(&place, volumes, 94);
}

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
    command.stderr(std::process::Stdio::inherit());
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    place.wait_until("the whole pool is open", |place| place.pool_states("whole") == ["online"]);
    place.wait_until("the other one waits", |place| problem(place, "late") == "waiting for drive-1");
    assert_eq!(place.pool_states("late"), ["opening"]);
    assert!(place.ok(&["status"]).contains("late: waiting for drive-1"), "{}", place.ok(&["status"]));
    let whole = checked(&place, whole, 103);
    let said = place.refused(&["volume", "create", "late/v1", "--size", "1MiB"]);
    assert!(said.contains("pool 'late' is not open: waiting for drive-1"), "{said}");

    // A host that is there before sees the namespace appear.
    let options = hosts::options(&place);
    let (aside, image) = (place.aside(1), place.image(1));
    let seen = run(Config::default(), async move {
        let controller = Controller::connect(options).await.expect("a host connects");
        let before = controller.namespaces().await.expect("a list");
        controller.set_feature(ASYNC_EVENTS, 0, NAMESPACE_NOTICES).await.expect("it may ask for events");
        fs::rename(aside, image).expect("a file");
        controller.next_event().await.expect("an answer").expect("an event");
        let after = controller.namespaces().await.expect("a list");
        controller.disconnect().await;
        (before.len(), after.len())
    });
    assert_eq!(seen.expect("it runs"), (1, 2));
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
        let drives = ["--drive", first, "--drive", &fresh[0], "--drive", &fresh[1]].map(str::to_owned);
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
        assert!(said.contains("in use by pool 'tank', which is being opened: waiting for drive-1"), "{said}");
    }
    // Whoever does not want to wait says so.
    let directory = place.path("").display().to_string();
    let said = place.refused(&["pool", "import", "tank", "--drive", &directory]);
    assert!(said.contains("--degraded"), "{said}");
    place.wait_until("the pool waits again", |place| problem(place, "tank") == "waiting for drive-1");
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
    place.ok(&["pool", "export", "tank"]);
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
    fs::rename(place.aside(1), place.image(1)).expect("a file");
    place.ok(&["pool", "import", "tank", "--drive", &place.path("").display().to_string()]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    daemon.terminate();
}

#[test]
fn a_drive_that_was_away_for_a_while_comes_back_under_another_name_and_is_needed_then() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 121);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let mut load = Load::start(&place, volumes, 122);
    load.await_rounds();
    pull(&place, 1);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
    load.await_rounds();
    fs::rename(place.aside(1), place.path("elsewhere.img")).expect("a file");
    place.wait_until("it is back", |place| {
        places(place, "tank").contains(&format!("file:{}", place.path("elsewhere.img").display()))
    });
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.wait_until("all is restored", |place| place.pool_states("tank") == ["online"]);
    load.await_rounds();
    pull(&place, 0);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 0));
    load.await_rounds();
    let volumes = load.join().0;
    daemon.kill();
    let _daemon = place.start();
    checked(&place, volumes, 123);
}

/// Takes a drive away, with what it held then.
fn pull(place: &Place, index: usize) {
    fs::copy(place.image(index), place.aside(index)).expect("room");
    fs::remove_file(place.image(index)).expect("a file");
}

#[test]
fn a_drive_that_somebody_has_failed_stays_away_over_restarts_until_it_is_asked_for() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 131);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    // So that it is noticed if the drive comes back: the next one that is away does, and later.
    pull(&place, 2);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 2));
    fs::rename(place.aside(2), place.image(2)).expect("a file");
    place.wait_until("the other one is back", |place| {
        !place.has_lost("tank", 2) && !is(place, "tank", "read-only")
    });
    assert!(place.has_lost("tank", 1), "{}", shown(&place, "tank"));
    daemon.kill();
    let daemon = place.start();
    assert!(place.has_lost("tank", 1));
    let volumes = checked(&place, volumes, 132);
    place.ok(&["drive", "return", "tank/drive-1"]);
    place.wait_until("all is restored", |place| place.pool_states("tank") == ["online"]);
    checked(&place, volumes, 133);
    daemon.terminate();
}

#[test]
fn a_foreign_disk_in_a_members_place_is_neither_taken_nor_written_to() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 141);
    daemon.terminate();
    let foreign = vec![0x5a; DRIVE_BYTES as usize];
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    fs::write(place.image(1), &foreign).expect("room");
    let daemon = place.start();
    assert!(place.has_lost("tank", 1));
    let said = place.ok(&["pool", "show", "tank"]);
    assert!(said.contains("1.img holds data of an unknown kind"), "{said}");
    let volumes = checked(&place, volumes, 142);
    // The member comes back elsewhere, and the disk stays what it is.
    fs::rename(place.aside(1), place.path("moved.img")).expect("a file");
    place.wait_until("the member is back", |place| place.pool_states("tank") == ["online"]);
    let volumes = checked(&place, volumes, 143);
    // The same of one that is put there while the pool is open.
    pull(&place, 3);
    fs::write(place.image(3), &foreign).expect("room");
    place.wait_until("the loss is noticed", |place| has_lost(place, "drive-3"));
    place.wait_until("what is there is said", |place| {
        place.ok(&["pool", "show", "tank"]).contains("3.img holds data of an unknown kind")
    });
    daemon.terminate();
    for index in [1, 3] {
        assert!(fs::read(place.image(index)).expect("a file") == foreign, "{index}.img was written to");
    }
    let _daemon = place.start();
    checked(&place, volumes, 144);
}

#[test]
fn a_drive_that_is_refused_is_told_of_once() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let _daemon = place.start();
    assert!(place.has_lost("tank", 1));
    // It has the label, and not the room that the label speaks of.
    File::options().write(true).open(place.aside(1)).and_then(|file| file.set_len(20 << 20)).expect("a file");
    fs::rename(place.aside(1), place.path("cut.img")).expect("a file");
    place.wait_until("it is refused", |place| !events(place, "drive_refused").is_empty());
    let said = place.ok(&["pool", "show", "tank"]);
    for part in ["is there again at", "cut.img", "is not taken back", "20MiB"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    // Another one that comes back is looked for all the same; by then the first was looked at often.
    pull(&place, 2);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 2));
    fs::rename(place.aside(2), place.image(2)).expect("a file");
    place.wait_until("it is back", |place| !place.has_lost("tank", 2));
    assert_eq!(events(&place, "drive_refused").len(), 1, "{:?}", events(&place, "drive_refused"));
}

#[test]
fn of_a_drive_and_a_copy_of_it_the_one_that_is_where_it_was_is_taken() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 151);
    daemon.terminate();
    fs::copy(place.image(1), place.path("backup.img")).expect("room");
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert!(places(&place, "tank").contains(&place.file(1)));
    let volumes = checked(&place, volumes, 152);
    daemon.terminate();
    // Where neither is, nobody can tell.
    fs::rename(place.image(1), place.path("moved.img")).expect("a file");
    let _daemon = place.start();
    assert!(place.has_lost("tank", 1));
    let said = place.ok(&["pool", "show", "tank"]);
    for part in ["backup.img", "moved.img", "one is a copy of the other"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    let volumes = checked(&place, volumes, 153);
    fs::remove_file(place.path("backup.img")).expect("a file");
    place.wait_until("the other one is taken back", |place| place.pool_states("tank") == ["online"]);
    checked(&place, volumes, 154);
}

#[test]
fn a_pool_that_has_lost_too_many_drives_goes_on_by_itself_when_they_are_back() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 161);
    let held: Vec<File> = [0, 1].map(|index| File::open(place.image(index)).expect("a file")).into();
    daemon
        .stop_while(|| [0, 1].iter().for_each(|index| fs::remove_file(place.image(*index)).expect("a file")));
    place.wait_until("the pool takes no writes", |place| is(place, "tank", "read-only"));
    for (index, mut file) in (0..).zip(held) {
        std::io::copy(&mut file, &mut File::create(place.aside(index)).expect("room")).expect("room");
    }
    fs::rename(place.aside(1), place.path("one.img")).expect("a file");
    place.wait_until("it takes writes", |place| {
        !is(place, "tank", "read-only") && !is(place, "tank", "opening")
    });
    let volumes = checked(&place, volumes, 162);
    fs::rename(place.aside(0), place.path("zero.img")).expect("a file");
    place.wait_until("all are back", |place| place.pool_states("tank") == ["online"]);
    checked(&place, volumes, 163);
    daemon.terminate();
}

// --- block devices ------------------------------------------------------------------------------------------------

/// A file as a block device.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(path).output().ok()?;
        let name = String::from_utf8(made.stdout).expect("a name").trim().to_owned();
        made.status.success().then_some(Loop(name))
    }

    /// What a device is to whoever has it open when it is pulled: one without a size. What it held is kept aside.
    fn pull(&self, place: &Place, index: usize) {
        fs::copy(place.image(index), place.aside(index)).expect("room");
        File::options()
            .write(true)
            .open(place.image(index))
            .and_then(|file| file.set_len(0))
            .expect("a file");
        let pulled = Command::new("losetup").args(["--set-capacity", &self.0]).status();
        assert!(pulled.expect("losetup runs").success());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// A name of a device as udev gives it.
struct ById(PathBuf);

impl ById {
    fn of(device: &Loop, index: usize) -> Option<Self> {
        let directory = Path::new("/dev/disk/by-id");
        fs::create_dir_all(directory).ok()?;
        let name = format!("wwn-0x{:012x}{index:04x}", std::process::id());
        let kernel = Path::new(&device.0).file_name().expect("a name");
        std::os::unix::fs::symlink(Path::new("../..").join(kernel), directory.join(&name)).ok()?;
        Some(ById(directory.join(name)))
    }
}

impl Drop for ById {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn make_images(place: &Place) {
    for index in 0..DRIVES {
        File::create(place.image(index)).and_then(|file| file.set_len(DRIVE_BYTES)).expect("room");
    }
}

/// The images as block devices, in this order. `None`: this machine has no loop devices.
fn loops(place: &Place, order: [usize; DRIVES]) -> Option<Vec<Loop>> {
    order.iter().map(|index| Loop::over(&place.image(*index))).collect()
}

fn create_on(place: &Place, loops: &[Loop]) -> Vec<Volume> {
    let drives = loops.iter().flat_map(|device| ["--drive", device.0.as_str()]);
    place.ok(&["pool", "create", "tank", "--level", "5"].into_iter().chain(drives).collect::<Vec<_>>());
    fill(place, "tank", 171)
}

/// A daemon with a pool on block devices, which are gone once it has ended. `None`: this machine has none.
fn pool_on_loops(place: &Place) -> Option<Vec<Volume>> {
    make_images(place);
    let Some(devices) = loops(place, [0, 1, 2, 3, 4]) else {
        skip("there are no loop devices");
        return None;
    };
    let daemon = place.start();
    let volumes = create_on(place, &devices);
    daemon.terminate();
    Some(volumes)
}

#[test]
fn block_devices_are_found_in_any_order_and_beside_a_foreign_one() {
    let place = Place::new();
    let Some(mut volumes) = pool_on_loops(&place) else { return };
    let foreign = place.path("foreign");
    fs::write(&foreign, vec![0x5a; DRIVE_BYTES as usize]).expect("room");
    for (seed, order) in (172..).zip([[4, 3, 2, 1, 0], [1, 2, 3, 4, 0]]) {
        // It may get the name that a member had, and shifts the others.
        let beside = Loop::over(&foreign).expect("a loop device");
        let devices = loops(&place, order).expect("loop devices");
        let daemon = place.start();
        assert_eq!(place.pool_states("tank"), ["online"], "{}", shown(&place, "tank"));
        let mut found = places(&place, "tank");
        let mut there: Vec<String> = devices.iter().map(|device| device.0.clone()).collect();
        found.sort();
        there.sort();
        assert_eq!(found, there);
        volumes = checked(&place, volumes, seed);
        daemon.kill();
        drop(beside);
    }
    assert!(fs::read(&foreign).expect("a file").iter().all(|byte| *byte == 0x5a), "it was written to");
}

#[test]
fn block_devices_that_come_late_or_come_back_are_taken_in() {
    let place = Place::new();
    let Some(volumes) = pool_on_loops(&place) else { return };
    let mut devices: Vec<Loop> =
        [0, 1, 2].map(|index| Loop::over(&place.image(index)).expect("a loop device")).into();
    let daemon = place.start();
    assert!(is(&place, "tank", "unavailable"), "{:?}", place.pool_states("tank"));
    devices.push(Loop::over(&place.image(4)).expect("a loop device"));
    place.wait_until("the pool opens", |place| {
        !is(place, "tank", "unavailable") && !is(place, "tank", "opening")
    });
    devices.push(Loop::over(&place.image(3)).expect("a loop device"));
    place.wait_until("all are there", |place| place.pool_states("tank") == ["online"]);
    let volumes = checked(&place, volumes, 182);
    devices[1].pull(&place, 1);
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
    let volumes = checked(&place, volumes, 183);
    let back = Loop::over(&place.aside(1)).expect("a loop device");
    place.wait_until("it is back", |place| place.pool_states("tank") == ["online"]);
    assert!(places(&place, "tank").contains(&back.0), "{}", shown(&place, "tank"));
    let volumes = checked(&place, volumes, 184);
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    checked(&place, volumes, 185);
    daemon.terminate();
}

#[test]
fn block_devices_are_remembered_and_shown_by_names_that_outlive_a_restart() {
    let place = Place::new();
    make_images(&place);
    let Some(devices) = loops(&place, [0, 1, 2, 3, 4]) else { return skip("there are no loop devices") };
    let name = |(index, device)| ById::of(device, index);
    let Some(names) = (0..).zip(&devices).map(name).collect::<Option<Vec<ById>>>() else {
        return skip("no names can be given below /dev/disk/by-id");
    };
    let daemon = place.start();
    let volumes = create_on(&place, &devices);
    let by_id: Vec<String> = names.iter().map(|name| name.0.display().to_string()).collect();
    assert_eq!(places(&place, "tank"), by_id);
    let shown = shown(&place, "tank");
    for (index, device) in devices.iter().enumerate() {
        let drive = &shown["drives"][index];
        assert_eq!(
            (&drive["by_id"], &drive["spec"]),
            (&by_id[index].clone().into(), &by_id[index].clone().into())
        );
        assert_eq!(drive["kernel_name"], device.0.trim_start_matches("/dev/"));
    }
    let text = place.ok(&["drive", "list"]);
    let short = names[0].0.file_name().and_then(|name| name.to_str()).expect("a name");
    assert!(text.contains(short) && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let remembered = fs::read_to_string(place.path("node.toml")).expect("its state");
    assert!(by_id.iter().all(|name| remembered.contains(name.as_str())), "{remembered}");
    daemon.terminate();
    drop((names, devices));
    // Other devices, other names: the label tells.
    let devices = loops(&place, [2, 3, 4, 0, 1]).expect("loop devices");
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    checked(&place, volumes, 192);
    daemon.terminate();
    drop(devices);
}
