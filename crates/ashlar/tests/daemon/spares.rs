//! A pool that loses a drive takes a spare by itself, and is whole again under load.

use std::fs;

use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::Place;

const DRIVES: usize = 4;
/// Blocks of the volume: 24 MiB.
const BLOCKS: u64 = 6144;

fn shown(place: &Place) -> Value {
    place.json(&["pool", "show", "tank"])
}

fn spares(place: &Place) -> Vec<String> {
    let spares = shown(place)["spares"].as_array().expect("spares").clone();
    spares.iter().map(|spare| spare["spec"].as_str().expect("a drive").to_owned()).collect()
}

fn is_member(place: &Place, index: usize) -> bool {
    let drives = shown(place)["drives"].as_array().expect("drives").clone();
    drives
        .iter()
        .any(|drive| drive["spec"] == place.drive(index).as_str() && drive["states"][0] == "online")
}

fn is_named(place: &Place, name: &str) -> bool {
    let drives = shown(place)["drives"].as_array().expect("drives").clone();
    drives.iter().any(|drive| drive["name"] == name)
}

fn event_kinds(place: &Place) -> Vec<String> {
    let events = place.json(&["events"]).as_array().expect("events").clone();
    events.iter().map(|event| event["kind"].as_str().expect("a kind").to_owned()).collect()
}

#[test]
fn a_spare_is_taken_for_each_drive_that_is_lost() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    for index in [DRIVES, DRIVES + 1] {
        place.ok(&["pool", "spare", "add", "tank", &place.drive(index)]);
    }
    assert_eq!(spares(&place), [place.drive(DRIVES), place.drive(DRIVES + 1)]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 61)], 1);
    load.await_rounds();
    fs::remove_file(place.image(0)).expect("a file");
    place.wait_until("the first spare is taken", |place| is_member(place, DRIVES));
    assert_eq!(spares(&place), [place.drive(DRIVES + 1)]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.wait_until("the second spare is taken", |place| is_member(place, DRIVES + 1));
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(
        (spares(&place), place.pool_states("tank")),
        (Vec::new(), vec!["online".to_owned()])
    );
    let kinds = event_kinds(&place);
    assert_eq!(kinds.iter().filter(|kind| *kind == "spare_taken").count(), 2, "{kinds:?}");
    assert!(kinds.contains(&"spares_used_up".to_owned()), "{kinds:?}");
    let volumes = load.join().0;
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

/// A drive that had come back before passed for one that was added: the pool was not `reduced`, and
/// took no spare.
#[test]
fn a_spare_is_taken_for_what_is_restored_on_fewer_drives() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.ok(&["drive", "return", "tank/drive-1"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(place.pool_states("tank"), ["online"]);
    place.ok(&["drive", "fail", "tank/drive-2", "--yes"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(place.pool_states("tank"), ["online", "reduced"]);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(DRIVES)]);
    place.wait_until("the spare is taken", |place| is_member(place, DRIVES));
    assert_eq!(place.pool_states("tank"), ["online"]);
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    daemon.terminate();
}

/// As a kernel name does that another disk has after a restart.
#[test]
fn a_spare_whose_name_leads_to_another_drive_is_left_alone() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(DRIVES)]);
    let other = place.path("other.img");
    fs::File::create(&other)
        .unwrap()
        .set_len(place.image(DRIVES).metadata().unwrap().len())
        .unwrap();
    fs::rename(&other, place.image(DRIVES)).unwrap();
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    let problem = |place: &Place| shown(place)["spares"][0]["problem"].as_str().map(str::to_owned);
    place.wait_until("the spare is refused", |place| problem(place).is_some());
    let why = problem(&place).unwrap();
    assert!(why.contains("leads to another drive than the one that became a spare"), "{why}");
    assert!(!is_member(&place, DRIVES));
    assert!(
        fs::read(place.image(DRIVES)).unwrap().iter().all(|byte| *byte == 0),
        "nothing is written to it"
    );
    place.ok(&["pool", "spare", "remove", "tank", &place.drive(DRIVES)]);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(DRIVES)]);
    place.wait_until("the spare is taken", |place| is_member(place, DRIVES));
    daemon.terminate();
}

#[test]
fn a_drive_that_was_to_be_replaced_and_stays_is_not_taken_for_made_good() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(DRIVES)]);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 67)], 1);
    load.await_rounds();
    load.join();
    let made_good = |place: &Place| {
        let remembered = fs::read_to_string(place.path("node.toml")).expect("its state");
        !remembered.contains("made_good = []")
    };
    place.ok(&["pool", "replace", "tank", "drive-1", &place.drive(DRIVES + 1)]);
    // It may be no member by now, and is forgotten then.
    let is_noted = made_good(&place);
    assert!(is_noted || !is_named(&place, "drive-1"), "a drive has come for it");
    let cancelled = place.run(&["pool", "remove-drive", "tank", "drive-1", "--cancel"]);
    let stays = is_named(&place, "drive-1");
    assert_eq!(stays, cancelled.status.success(), "{}", crate::support::text(&cancelled.stderr));
    assert!(!stays || !made_good(&place), "it stays");
    place.wait_until("it is forgotten", |place| !made_good(place));
}

#[test]
fn spares_outlive_the_daemon_and_are_taken_by_the_next_one() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(3)]);
    daemon.kill();
    fs::remove_file(place.image(2)).expect("a file");
    let daemon = place.start_configured("member_wait_seconds = 0");
    place.wait_until("the spare is taken", |place| is_member(place, 3));
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    daemon.kill();
    let daemon = place.start();
    assert!(is_member(&place, 3), "{}", shown(&place));
    daemon.terminate();
}

#[test]
fn a_spare_that_cannot_be_taken_says_why_and_the_next_one_is() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    for index in [3, 4] {
        place.ok(&["pool", "spare", "add", "tank", &place.drive(index)]);
    }
    fs::remove_file(place.image(3)).expect("a file");
    fs::create_dir(place.image(3)).expect("a directory");
    place.ok(&["drive", "fail", "tank/drive-0", "--yes"]);
    place.wait_until("the other spare is taken", |place| is_member(place, 4));
    let problem = shown(&place)["spares"][0]["problem"].as_str().expect("a reason").to_owned();
    assert!(problem.contains("3.img"), "{problem}");
    assert!(event_kinds(&place).contains(&"spare_refused".to_owned()));
    place.ok(&["pool", "spare", "remove", "tank", &place.drive(3)]);
    assert_eq!(spares(&place), Vec::<String>::new());
    daemon.terminate();
}

#[test]
fn a_drive_that_waits_as_a_spare_is_taken_by_nothing_else() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["pool", "spare", "add", "tank", &place.drive(3)]);
    let (spare, fresh) = (place.file(3), [place.drive(4), place.drive(5)]);
    let create = ["--level", "5", "--drive", &spare, "--drive", &fresh[0], "--drive", &fresh[1]];
    for verb in [
        &[&["pool", "create", "other"][..], &create].concat()[..],
        &["pool", "add-drive", "tank", &spare, "--force"],
        &["pool", "replace", "tank", "drive-0", &spare],
        &["drive", "label-clear", &spare, "--force", "--yes"],
    ] {
        let said = place.refused(verb);
        for part in ["is a spare of pool 'tank'", "ashlar pool spare remove tank"] {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
    }
    let link = place.path("link.img");
    std::os::unix::fs::symlink(place.image(3), &link).expect("room");
    let link = format!("file:{}", link.display());
    for verb in [
        &["pool", "create", "other", "--level", "0", "--drive", &link][..],
        &["pool", "spare", "add", "tank", &link],
    ] {
        let said = place.refused(verb);
        assert!(said.contains("is a spare of pool 'tank'"), "{said}");
    }
    assert_eq!(spares(&place).len(), 1);
    place.ok(&["pool", "spare", "remove", "tank", &link]);
    place.ok(&["pool", "add-drive", "tank", &spare]);
}

#[test]
fn what_cannot_be_a_spare_is_refused_with_the_reason() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let said = place.refused(&["pool", "spare", "add", "tank", &place.drive(0)]);
    assert!(said.contains("tank"), "{said}");
    let small = format!("file:{},size=16MiB", place.image(7).display());
    let said = place.refused(&["pool", "spare", "add", "tank", &small]);
    assert!(said.contains("a drive of this pool needs at least"), "{said}");
    assert!(!place.image(7).exists(), "what was made for it is gone");
    place.ok(&["pool", "spare", "add", "tank", &place.drive(3)]);
    let said = place.refused(&["pool", "spare", "add", "tank", &place.drive(3)]);
    assert!(said.contains("is a spare of pool 'tank'"), "{said}");
    let said = place.refused(&["pool", "spare", "remove", "tank", &place.drive(4)]);
    assert!(said.contains("has no spare"), "{said}");
    place.create_pool("other", 8..11);
    place.ok(&["pool", "export", "other", "--yes"]);
    let said = place.refused(&["pool", "spare", "add", "tank", &place.file(8)]);
    assert!(said.contains("of the Ashlar pool 'other'"), "{said}");
    place.ok(&["pool", "spare", "add", "tank", &place.file(8), "--force"]);
    assert_eq!(spares(&place).len(), 2);
    let said = place.refused(&["pool", "spare", "add", "nowhere", &place.drive(6)]);
    assert!(said.contains("nowhere"), "{said}");
}

/// A spare that was a little smaller was refused, although it could come for any of the drives.
#[test]
fn a_drive_may_be_a_spare_if_it_may_come_for_another_one() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let a_little_smaller = (48 << 20) - 8192;
    for (index, bytes) in (10..).zip([16 << 20, 32 << 20, a_little_smaller, 48 << 20, 64 << 20]) {
        let drive = format!("file:{},size={bytes},sparse=on", place.image(index).display());
        let spare = place.run(&["pool", "spare", "add", "tank", &drive]);
        let is_spare = spare.status.success();
        if is_spare {
            place.ok(&["pool", "spare", "remove", "tank", &drive]);
        }
        let name = shown(&place)["drives"][0]["name"].as_str().expect("a name").to_owned();
        let replaced = place.run(&["pool", "replace", "tank", &name, &drive, "--wait"]);
        let (said, other) =
            (crate::support::text(&spare.stderr), crate::support::text(&replaced.stderr));
        assert_eq!(is_spare, replaced.status.success(), "{bytes}: {said} {other}");
        assert_eq!(is_spare, bytes > 32 << 20, "{bytes}: {said}");
        assert!(is_spare || (said == other && said.contains("needs at least")), "{said} {other}");
    }
    // And it does come.
    let drive = format!("file:{},size={a_little_smaller},sparse=on", place.image(20).display());
    place.ok(&["pool", "spare", "add", "tank", &drive]);
    fs::remove_file(place.image(14)).expect("the file of the newest drive");
    place.wait_until("the spare is taken", |place| spares(place).is_empty());
    place.wait_until("the pool is whole", |place| place.pool_states("tank") == ["online"]);
}
