//! Drives that change their names and places, come late, go and come back: the daemon finds them by
//! their labels.

mod devices;
mod keeping;
mod waiting;

use std::fs::{self, File};

use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::Place;

const DRIVES: usize = 5;
/// Blocks of the volume: 24 MiB.
const BLOCKS: u64 = 6144;
const DRIVE_BYTES: u64 = 48 << 20;

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
        &[
            ("4.img", "5.img"),
            ("3.img", "4.img"),
            ("2.img", "3.img"),
            ("1.img", "2.img"),
            ("0.img", "1.img"),
        ],
        // Each in another's place.
        &[
            ("1.img", "x"),
            ("3.img", "1.img"),
            ("5.img", "3.img"),
            ("2.img", "5.img"),
            ("x", "2.img"),
        ],
        // All of them renamed.
        &[("1.img", "a"), ("2.img", "b"), ("3.img", "c"), ("4.img", "d"), ("5.img", "e")],
    ];
    for (seed, moves) in (72..).zip(changes) {
        move_all(&place, moves);
        let daemon = place.start();
        assert_eq!(place.pool_states("tank"), ["online"]);
        assert_eq!(
            shown(&place, "tank")["drives"].as_array().map(Vec::len),
            Some(DRIVES),
            "none was added"
        );
        volumes = checked(&place, volumes, seed);
        daemon.kill();
    }
    let _daemon = place.start();
    let letters: Vec<String> = places(&place, "tank")
        .iter()
        .filter_map(|spec| spec.get(spec.len() - 1..))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        letters.iter().collect::<std::collections::BTreeSet<_>>().len(),
        DRIVES,
        "{letters:?}"
    );
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
    place.ok(&["pool", "create", "tank", "--level", "5"]
        .into_iter()
        .chain(drives)
        .collect::<Vec<_>>());
    let volumes = fill(&place, "tank", 81);
    daemon.terminate();
    move_all(
        &place,
        &[("0.img", "b/zero.img"), ("b/2.img", "two.img"), ("b/3.img", "shelf/3.img")],
    );
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
    assert_eq!(
        (place.pool_states("tank"), places(&place, "tank")),
        (vec!["online".to_owned()], found)
    );
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
    assert!(
        problem(&place, "tank").contains("3 of 5 drives are missing"),
        "{}",
        problem(&place, "tank")
    );
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
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    // So that it is noticed if the drive comes back: the next one that is away does, and later.
    pull(&place, 2);
    place.wait_until("the loss is noticed", |place| has_lost(place, "drive-2"));
    fs::rename(place.aside(2), place.image(2)).expect("a file");
    place.wait_until("the other one is back", |place| {
        places(place, "tank").contains(&place.file(2))
    });
    assert!(has_lost(&place, "drive-1"), "{}", shown(&place, "tank"));
    daemon.kill();
    let daemon = place.start();
    assert!(has_lost(&place, "drive-1"));
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
    let said = place.in_words(&["pool", "show", "tank"]);
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
        place.in_words(&["pool", "show", "tank"]).contains("3.img holds data of an unknown kind")
    });
    daemon.terminate();
    for index in [1, 3] {
        assert!(
            fs::read(place.image(index)).expect("a file") == foreign,
            "{index}.img was written to"
        );
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
    File::options()
        .write(true)
        .open(place.aside(1))
        .and_then(|file| file.set_len(20 << 20))
        .expect("a file");
    fs::rename(place.aside(1), place.path("cut.img")).expect("a file");
    place.wait_until("it is refused", |place| !events(place, "drive_refused").is_empty());
    let said = place.in_words(&["pool", "show", "tank"]);
    for part in ["is back at", "cut.img", "the pool refuses it", "20MiB"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    // Another one that comes back is looked for all the same; by then the first was looked at
    // often.
    pull(&place, 2);
    place.wait_until("the loss is noticed", |place| has_lost(place, "drive-2"));
    fs::rename(place.aside(2), place.image(2)).expect("a file");
    place.wait_until("it is back", |place| places(place, "tank").contains(&place.file(2)));
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
    let said = place.in_words(&["pool", "show", "tank"]);
    for part in ["backup.img", "moved.img", "one is a copy of the other"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    let volumes = checked(&place, volumes, 153);
    fs::remove_file(place.path("backup.img")).expect("a file");
    place
        .wait_until("the other one is taken back", |place| place.pool_states("tank") == ["online"]);
    checked(&place, volumes, 154);
}

// The pool was opened as it had been when the copies were made, and hosts read zeros.
#[test]
fn old_copies_where_drives_were_are_not_taken_while_newer_ones_are_elsewhere() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 155);
    daemon.terminate();
    let old = |index: usize| place.path(&format!("old-{index}"));
    for index in 0..DRIVES {
        fs::copy(place.image(index), old(index)).expect("room");
    }
    let daemon = place.start();
    let volumes = checked(&place, volumes, 156);
    daemon.terminate();
    for index in 0..DRIVES {
        fs::rename(place.image(index), place.path(&format!("moved-{index}.img"))).expect("a file");
        fs::rename(old(index), place.image(index)).expect("a file");
    }
    let _daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["unavailable"]);
    for part in ["0.img is where drive-0 was", "older copy", "moved-0.img"] {
        assert!(
            problem(&place, "tank").contains(part),
            "'{part}' is not in: {}",
            problem(&place, "tank")
        );
    }
    let said = place.refused(&["pool", "import", "tank"]);
    assert!(said.contains("older copy"), "{said}");
    (0..DRIVES).for_each(|index| fs::remove_file(place.image(index)).expect("a file"));
    place.wait_until("the others are found", |place| place.pool_states("tank") == ["online"]);
    checked(&place, volumes, 157);
}

#[test]
fn a_pool_that_has_lost_too_many_drives_goes_on_by_itself_when_they_are_back() {
    let place = Place::new();
    let daemon = place.start();
    let volumes = filled(&place, "tank", 0..DRIVES, 161);
    let held: Vec<File> =
        [0, 1].map(|index| File::open(place.image(index)).expect("a file")).into();
    daemon.stop_while(|| {
        [0, 1].iter().for_each(|index| fs::remove_file(place.image(*index)).expect("a file"))
    });
    place.wait_until("the pool takes no writes", |place| is(place, "tank", "read-only"));
    for (index, mut file) in (0..).zip(held) {
        std::io::copy(&mut file, &mut File::create(place.aside(index)).expect("room"))
            .expect("room");
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
