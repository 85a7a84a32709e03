//! What taking drives would come to: it is said, and nothing is changed.

use serde_json::{Value, json};

use crate::support::Place;

fn with_drives<'a>(arguments: &[&'a str], drives: &'a [String]) -> Vec<&'a str> {
    arguments.iter().copied().chain(drives.iter().map(String::as_str)).collect()
}

#[test]
fn a_dry_run_of_a_new_pool_says_what_is_made_then_and_makes_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    let drives = place.drives(0..4);
    let create = with_drives(&["pool", "create", "tank", "--level", "6"], &drives);
    let plan = place.json(&[&create[..], &["--dry-run"]].concat());
    assert!((0..4).all(|number| !place.image(number).exists()), "a file was left");
    assert_eq!(place.json(&["pool", "list"]), json!([]));
    let said = place.in_words(&[&create[..], &["--dry-run"]].concat());
    assert!(said.contains("pool 'tank' would be made: level 6 over 4 drives"), "{said}");
    assert!(said.ends_with("This was a dry run: nothing has changed."), "{said}");
    let made = place.json(&create);
    for figure in ["raw_bytes", "usable_bytes", "limit_bytes"] {
        assert_eq!(plan[figure], made["space"][figure], "{figure}");
    }
    assert_eq!((&plan["level"], &plan["chunk_bytes"]), (&made["level"], &json!(1 << 20)));
    let again = place.refused(&[&create[..], &["--dry-run"]].concat());
    assert!(again.contains("tank"), "{again}");
}

#[test]
fn a_dry_run_refuses_what_would_be_refused_and_forces_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let drives: Vec<String> = (0..3).map(|number| place.file(number)).collect();
    let named: Vec<String> =
        drives.iter().flat_map(|drive| ["--drive".to_owned(), drive.clone()]).collect();
    let create = with_drives(&["pool", "create", "new", "--level", "5", "--dry-run"], &named);
    let refused = place.refused(&create);
    assert!(refused.contains("pool 'tank'"), "{refused}");
    let plan = place.json(&[&create[..], &["--force"]].concat());
    let holds: Vec<&Value> =
        plan["drives"].as_array().unwrap().iter().map(|it| &it["pool"]).collect();
    assert_eq!(holds, ["tank", "tank", "tank"]);
    place.ok(&with_drives(&["pool", "import"], &named));
    assert_eq!(place.pool_states("tank"), ["online"]);
    for wrong in [&["--level", "9"][..], &["--level", "5", "--chunk-size", "3KiB"]] {
        let fresh = place.drives(3..6);
        let arguments = [&["pool", "create", "new", "--dry-run"], wrong].concat();
        place.refused(&with_drives(&arguments, &fresh));
    }
}

#[test]
fn a_dry_run_of_another_drive_says_what_it_brings_and_takes_none() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let members = || {
        let drives = place.json(&["pool", "show", "tank"])["drives"].clone();
        drives.as_array().unwrap().iter().map(|drive| drive["uuid"].clone()).collect::<Vec<_>>()
    };
    let (before, more) = (members(), place.drive(3));
    let raw_bytes = place.json(&["pool", "show", "tank"])["space"]["raw_bytes"].as_u64().unwrap();
    let add = ["pool", "add-drive", "tank", &more];
    let plan = place.json(&[&add[..], &["--dry-run"]].concat());
    assert_eq!(plan["raw_bytes"].as_u64().unwrap() * 3, raw_bytes);
    let replace = ["pool", "replace", "tank", "drive-1", &more, "--dry-run"];
    assert_eq!(place.json(&replace)["replaces"], "drive-1");
    let spare = place.in_words(&["pool", "spare", "add", "tank", &more, "--dry-run"]);
    assert!(spare.contains("pool 'tank' would take"), "{spare}");
    let unknown = ["pool", "replace", "tank", "drive-9", &more, "--dry-run"];
    assert!(place.refused(&unknown).contains("drive-9"));
    let own = ["pool", "add-drive", "tank", &place.file(1), "--dry-run"];
    assert!(place.refused(&own).contains("tank"));
    assert_eq!(members(), before);
    assert!(!place.image(3).exists());
    let said = place.json(&["audit"]);
    let commands = said.as_array().unwrap().iter().map(|entry| entry["command"].clone());
    assert_eq!(commands.collect::<Vec<_>>(), ["pool create"]);
    place.ok(&add);
}

#[test]
fn a_drive_in_no_slot_cannot_be_located_and_the_way_out_is_said() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    assert_eq!(place.json(&["drive", "show", "tank/drive-1"])["slot"], Value::Null);
    let member = place.refused(&["drive", "locate", "tank/drive-1"]);
    assert!(member.contains("tank/drive-1") && member.contains("modprobe ses"), "{member}");
    let file = place.refused(&["drive", "locate", place.image(7).to_str().unwrap()]);
    assert!(file.contains("7.img"), "{file}");
    let none = place.refused(&["drive", "locate", "tank/drive-7", "--off"]);
    assert!(none.contains("drive-7"), "{none}");
}

/// The tip to look in a directory opened what was there.
#[test]
fn a_dry_run_of_an_import_lists_what_a_directory_has_and_opens_nothing() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let directory = place.path("");
    let look = ["pool", "import", "--drive", directory.to_str().expect("a name"), "--dry-run"];
    assert_eq!(place.json(&look), json!([]), "what is open is none");
    assert!(place.in_words(&look).contains("`ashlar pool list` has those that are open"));
    place.ok(&["pool", "export", "tank", "--yes"]);
    let found = place.json(&look);
    assert_eq!((&found[0]["name"], &found[1]), (&json!("tank"), &Value::Null));
    assert_eq!(found[0]["drives"].as_array().map(Vec::len), Some(3));
    assert_eq!(place.json(&[&look[..], &["tank"]].concat()), found);
    assert!(place.refused(&[&look[..], &["dozer"]].concat()).contains("no pool 'dozer'"));
    assert_eq!(place.json(&["pool", "list"]), json!([]), "nothing was opened");
}
