//! How drives are named: by whatever `pool show` lists, and whatever their paths hold.

use std::fs;

use serde_json::Value;

use crate::support::Place;

const DRIVES: usize = 5;

fn drives(place: &Place) -> Vec<Value> {
    place.json(&["pool", "show", "tank"])["drives"].as_array().expect("drives").clone()
}

/// A pool on files that have these names within the place.
fn create_on(place: &Place, names: &[&str]) {
    let spec = |name: &&str| {
        format!(
            "file:{},size=48MiB,sparse=on",
            place.path(name).display().to_string().replace(',', "\\,")
        )
    };
    let drives: Vec<String> = names.iter().map(spec).collect();
    let drives: Vec<&str> = drives.iter().flat_map(|drive| ["--drive", drive]).collect();
    place.ok(&[&["pool", "create", "tank", "--level", "5"][..], &drives].concat());
}

/// Where the member is, or was last.
fn where_is(place: &Place, name: &str) -> String {
    let drives = drives(place);
    let drive = drives.iter().find(|drive| drive["name"] == name).expect("a member");
    drive["spec"].as_str().expect("a place").to_owned()
}

fn are_online(place: &Place) -> usize {
    drives(place).iter().filter(|drive| drive["states"][0] == "online").count()
}

#[test]
fn a_drive_that_is_lost_comes_back_by_the_place_that_pool_show_lists() {
    for (is_restarted, prefix) in [(false, ""), (true, ""), (true, "file:")] {
        let place = Place::by_hand();
        let mut daemon = place.start();
        place.create_pool("tank", 0..DRIVES);
        fs::copy(place.image(1), place.aside(1)).expect("room");
        fs::remove_file(place.image(1)).expect("a file");
        place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
        if is_restarted {
            daemon.terminate();
            daemon = place.start();
        }
        assert!(
            ashlar_volume::is_at(&where_is(&place, "drive-1"), &place.file(1)),
            "{:?}",
            drives(&place)
        );
        fs::rename(place.aside(1), place.image(1)).expect("a file");
        place.ok(&["drive", "return", &format!("tank/{prefix}{}", place.image(1).display())]);
        place.wait_until("it is back", |place| place.pool_states("tank") == ["online"]);
        assert_eq!(are_online(&place), DRIVES);
        daemon.terminate();
    }
}

#[test]
fn a_member_is_named_with_its_pool_or_without_and_by_any_path_that_leads_to_it() {
    let place = Place::by_hand();
    let _daemon = place.start();
    place.create_pool("tank", 0..9);
    std::os::unix::fs::symlink(place.image(1), place.path("link")).expect("room");
    let link = format!("file:{}", place.path("link").display());
    let path = |index| place.image(index).display().to_string();
    for name in ["tank/drive-0", &link, &path(2), &format!("tank/{}", path(3))] {
        place.ok(&["pool", "remove-drive", "tank", name, "--wait", "--yes"]);
    }
    place.ok(&["pool", "replace", "tank", "tank/drive-4", &place.drive(9), "--wait"]);
    place.ok(&["drive", "fail", &format!("tank/{}", path(5)), "--yes"]);
    let of_online = |drive: &Value| drive["states"][0] == "online";
    let left: Vec<Value> =
        drives(&place).into_iter().filter(of_online).map(|drive| drive["name"].clone()).collect();
    assert_eq!(left, ["drive-6", "drive-7", "drive-8", "drive-9"]);
    for nobody in ["dozer/drive-6", "tank/drive-66", "tank/tank/drive-6"] {
        let said = place.refused(&["pool", "remove-drive", "tank", nobody, "--yes"]);
        assert!(said.contains("pool 'tank' has no drive"), "{said}");
    }
}

/// The way from a drive that is made, over restarts, moves and imports, to one that comes back.
fn lives_with(name: &str, other: &str) {
    let place = Place::new();
    let daemon = place.start();
    fs::create_dir(place.path(name).parent().expect("a directory")).expect("room");
    create_on(&place, &["0.img", name, "2.img"]);
    assert!(!place.ok(&["pool", "show", "tank"]).contains('\u{1b}'));
    let table = place.ok(&["drive", "list"]);
    let drives = table.lines().filter(|line| line.trim_start().starts_with("drive-"));
    assert_eq!(drives.count(), 3, "{table}");
    assert!(
        !table.contains('\u{1b}') && table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    daemon.terminate();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    // Found by its label under another name, which is as bad.
    daemon.terminate();
    fs::rename(place.path(name), place.path(other)).expect("a file");
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    let spec = where_is(&place, "drive-1");
    assert_ne!(spec, where_is(&place, "drive-0"));
    place.ok(&["drive", "show", &spec]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let said = place.ok(&["drive", "show", &spec]);
    assert!(said.contains("of the Ashlar pool 'tank'") && !said.contains('\u{1b}'), "{said}");
    let directory = place.path(other).parent().expect("a directory").display().to_string();
    place.ok(&[
        "pool",
        "import",
        "tank",
        "--drive",
        &directory,
        "--drive",
        &place.path("").display().to_string(),
    ]);
    // It goes, is told of, and comes back.
    fs::copy(place.path(other), place.aside(1)).expect("room");
    fs::remove_file(place.path(other)).expect("a file");
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", 1));
    for verb in [&["drive", "show", &spec][..], &["pool", "add-drive", "tank", &spec]] {
        let output = place.run(verb);
        let printed = crate::support::text(&output.stdout) + &crate::support::text(&output.stderr);
        assert!(!printed.contains('\u{1b}') && !printed.contains("\nbad"), "{printed}");
    }
    fs::rename(place.aside(1), place.path(other)).expect("a file");
    place.wait_until("it is back", |place| place.pool_states("tank") == ["online"]);
    daemon.terminate();
}

#[test]
fn a_comma_or_a_backslash_in_a_path_is_a_part_of_it() {
    lives_with("a,b/1,size=1.img", "a,b/,\\,.img");
}

#[test]
fn control_characters_in_a_path_work_and_are_shown_as_numbers() {
    lives_with("a\u{1b}[31m/1\nbad.img", "a\u{1b}[31m/\r\u{9b}2J\u{202e}.img");
}

#[test]
fn what_a_client_sends_is_not_printed_raw_in_what_is_said_of_it() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let evil = "/dev/\u{1b}[2J\nbad";
    let verbs: [&[&str]; 5] = [
        &["pool", "add-drive", "tank", evil],
        &["pool", "remove-drive", "tank", evil, "--yes"],
        &["drive", "show", evil],
        &["drive", "return", &format!("tank/{evil}")],
        &["pool", "import", "--drive", evil],
    ];
    for verb in verbs {
        let said = place.refused(verb);
        assert!(
            !said.contains('\u{1b}') && !said.contains("\nbad") && said.contains("\\x1b[2J\\nbad"),
            "{said:?}"
        );
    }
}
