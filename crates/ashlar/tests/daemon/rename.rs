//! Pools get other names: while they are open, and where two have one name.

use std::fs;

use crate::hosts::{Load, Volume};
use crate::support::Place;

/// Blocks of the volume: 16 MiB.
const BLOCKS: u64 = 4096;

fn uuid(place: &Place, pool: &str) -> String {
    place.json(&["pool", "show", pool])["uuid"].as_str().expect("a UUID").to_owned()
}

fn names(place: &Place) -> Vec<String> {
    let pools = place.json(&["pool", "list"]);
    pools
        .as_array()
        .expect("pools")
        .iter()
        .map(|pool| pool["name"].as_str().expect("a name").to_owned())
        .collect()
}

#[test]
fn a_pool_gets_another_name_under_load_and_keeps_it() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    let before = uuid(&place, "tank");
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 201)], 1);
    load.await_rounds();
    place.ok(&["pool", "rename", "tank", "dozer"]);
    load.await_rounds();
    let volumes = load.join().0;
    assert_eq!((names(&place), uuid(&place, "dozer")), (vec!["dozer".to_owned()], before.clone()));
    assert!(place.refused(&["pool", "show", "tank"]).contains("there is no pool 'tank'"));
    place.ok(&["volume", "show", "dozer/v0"]);
    daemon.kill();
    let daemon = place.start();
    assert_eq!((names(&place), uuid(&place, "dozer")), (vec!["dozer".to_owned()], before.clone()));
    // The old name is free, and the new one goes with the drives.
    place.create_pool("tank", 4..7);
    place.ok(&["pool", "export", "dozer", "--yes"]);
    place.ok(&["pool", "import", "dozer", "--drive", &place.path("").display().to_string()]);
    assert_eq!(
        (names(&place), uuid(&place, "dozer")),
        (vec!["dozer".to_owned(), "tank".to_owned()], before)
    );
    drop(volumes);
    daemon.terminate();
}

#[test]
fn a_drive_that_was_away_during_a_rename_comes_back_under_the_new_name() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    fs::copy(place.image(1), place.aside(1)).expect("room");
    fs::remove_file(place.image(1)).expect("a file");
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
    place.ok(&["pool", "rename", "tank", "dozer"]);
    fs::rename(place.aside(1), place.image(1)).expect("a file");
    place.wait_until("it is back", |place| place.pool_states("dozer") == ["online"]);
    place.ok(&["pool", "export", "dozer", "--yes"]);
    let said = place.ok(&["drive", "show", &place.file(1)]);
    assert!(said.contains("of the Ashlar pool 'dozer'"), "{said}");
    daemon.terminate();
}

#[test]
fn of_two_pools_of_one_name_one_is_imported_under_another() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    let first = uuid(&place, "tank");
    place.ok(&["pool", "export", "tank", "--yes"]);
    place.create_pool("tank", 3..6);
    let drives: Vec<String> =
        (0..3).flat_map(|index| ["--drive".to_owned(), place.file(index)]).collect();
    let drives: Vec<&str> = drives.iter().map(String::as_str).collect();
    let said = place.refused(&[&["pool", "import"][..], &drives].concat());
    assert!(said.contains("--name") && said.contains("pool rename"), "{said}");
    let said = place.refused(&[&["pool", "import", "--name", "tank"][..], &drives].concat());
    assert!(said.contains("--name"), "{said}");
    place.ok(&[&["pool", "import", "tank", "--name", "dozer"][..], &drives].concat());
    assert_eq!(uuid(&place, "dozer"), first);
    daemon.kill();
    let daemon = place.start();
    assert_eq!(names(&place), ["dozer", "tank"]);
    // Where both are given, the UUID tells which is meant.
    let second = uuid(&place, "tank");
    place.ok(&["pool", "rename", &first, "spare"]);
    place.ok(&["pool", "rename", "spare", "dozer"]);
    place.ok(&["pool", "export", &second, "--yes"]);
    place.ok(&["pool", "rename", "dozer", "tank"]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let directory = place.path("").display().to_string();
    let said = place.refused(&["pool", "import", "tank", "--drive", &directory]);
    assert!(said.contains(&first) && said.contains(&second), "{said}");
    place.ok(&["pool", "import", &second, "--drive", &directory, "--name", "dozer"]);
    place.ok(&["pool", "import", &first, "--drive", &directory]);
    assert_eq!((uuid(&place, "dozer"), uuid(&place, "tank")), (second, first));
    daemon.terminate();
}

#[test]
fn what_cannot_be_a_name_or_is_one_already_is_refused_and_changes_nothing() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.create_pool("dozer", 3..6);
    for (name, why) in [("dozer", "dozer"), ("a/b", "cannot be a name"), ("", "cannot be a name")] {
        let said = place.refused(&["pool", "rename", "tank", name]);
        assert!(said.contains(why), "{said}");
    }
    let said = place.refused(&["pool", "rename", "nowhere", "elsewhere"]);
    assert!(said.contains("nowhere"), "{said}");
    assert_eq!(names(&place), ["dozer", "tank"]);
    // A pool that is not open keeps its name, too.
    daemon.terminate();
    (3..6).for_each(|index| fs::rename(place.image(index), place.aside(index)).expect("a file"));
    let daemon = place.start();
    let said = place.refused(&["pool", "rename", "tank", "dozer"]);
    assert!(said.contains("dozer"), "{said}");
    let said = place.refused(&["pool", "rename", "dozer", "elsewhere"]);
    assert!(said.contains("is not open"), "{said}");
    daemon.terminate();
}

#[test]
fn which_of_two_pools_of_one_name_is_imported_is_said_by_its_uuid() {
    let place = Place::new();
    let _daemon = place.start();
    let mut uuids = Vec::new();
    for drives in [0..3, 3..6] {
        place.create_pool("tank", drives);
        uuids.push(uuid(&place, "tank"));
        place.ok(&["pool", "export", "tank", "--yes"]);
    }
    let directory = place.path("").display().to_string();
    for pool in [&[][..], &["tank"]] {
        let said = place.refused(&[&["pool", "import"], pool, &["--drive", &directory]].concat());
        assert!(said.contains("name one of them by its UUID"), "{said}");
        assert!(uuids.iter().all(|uuid| said.contains(uuid.as_str())), "{said}");
    }
    place.ok(&["pool", "import", &uuids[1], "--drive", &directory]);
    assert_eq!(uuid(&place, "tank"), uuids[1]);
}
