//! The offline checker on the drives of pools that a daemon has made.

use std::fs;

use serde_json::Value;

use crate::support::{Place, spoil, text};

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

/// A pool of three drives with a volume, which is closed.
fn closed_pool(place: &Place) -> Vec<String> {
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "20GiB"]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    (0..3).map(|number| place.file(number)).collect()
}

fn check<'a>(drives: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    let drives = drives.iter().map(String::as_str);
    ["pool", "check"].into_iter().chain(drives).chain(more.iter().copied()).collect()
}

#[test]
fn a_good_pool_is_good_and_stays_as_it_is() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    let before: Vec<Vec<u8>> =
        (0..3).map(|number| fs::read(place.image(number)).unwrap()).collect();
    let said = place.ok(&check(&drives, &[]));
    assert_says(&said, &["pool 'tank'", "closed in order", "drive 2, member", "nothing is wrong"]);
    let report = place.json(&check(&drives, &[]));
    assert_eq!((&report["good"], &report["pool"]), (&true.into(), &"tank".into()));
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!(report["volumes"], 1);
    assert!(report["batches"].as_u64().unwrap() > 0);
    let paths: Vec<String> =
        (0..3).map(|number| place.image(number).display().to_string()).collect();
    place.ok(&check(&paths, &["--memory", "16MiB"]));
    let after: Vec<Vec<u8>> = (0..3).map(|number| fs::read(place.image(number)).unwrap()).collect();
    assert!(before == after, "the checker has written");
}

#[test]
fn sectors_that_are_wrong_are_named_with_their_drive() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    // Behind the first chunks' begin, on one drive.
    spoil(&place.image(1), 1 << 20, 64 << 10);
    let output = place.run(&check(&drives, &["--output", "json"]));
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let on_it = |finding: &Value| finding["drive"] == "drive-1" && finding["lost"] == false;
    assert!(!findings.is_empty() && findings.iter().all(on_it), "{report:#}");
    let error: Value = serde_json::from_slice(&output.stderr).expect("JSON");
    assert_says(
        error["error"].as_str().unwrap(),
        &["pool 'tank'", "wrong", "1.img", "nothing is lost"],
    );
    assert_eq!(error["code"], "check_found");
    assert_says(error["hint"].as_str().unwrap(), &["ashlar pool scrub tank"]);
    let output = place.run(&check(&drives, &[]));
    assert_eq!(output.status.code(), Some(1));
    let image = place.image(1).display().to_string();
    assert_says(&text(&output.stdout), &[&image, "(drive 1) at 10", "parity"]);
}

#[test]
fn a_drive_that_is_missing_is_named() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    let output = place.run(&check(&drives[..2], &[]));
    assert_eq!(output.status.code(), Some(1));
    assert_says(&text(&output.stdout), &["drive 2: the drive is missing", "sectors were restored"]);
    assert_says(&text(&output.stderr), &["nothing is lost", "give drive-2 to the check, too"]);
}

/// Of a pool that lacked more, everything was called lost, in thousands of lines.
#[test]
fn without_more_drives_than_the_level_survives_nothing_is_said_of_the_data() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    let refused = place.refused(&check(&drives[..1], &[]));
    assert_says(
        &refused,
        &["2 of 3 drives are missing", "drive 1, drive 2", "Give these drives, too"],
    );
    let json = place.refused(&check(&drives[..1], &["--output", "json"]));
    assert_says(&json, &["\"code\":\"too_many_missing\""]);
}

#[test]
fn a_drive_that_was_cut_short_is_told_with_the_ways_out() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    let image = std::fs::File::options().write(true).open(place.image(1)).unwrap();
    image.set_len(image.metadata().unwrap().len() / 2).unwrap();
    let output = place.run(&check(&drives, &[]));
    assert_eq!(output.status.code(), Some(1));
    assert_says(&text(&output.stdout), &["1.img", "was cut short"]);
    assert_says(
        &text(&output.stderr),
        &["give", "1.img its size back", "pool replace tank drive-1 NEW"],
    );
}

#[test]
fn a_pool_that_is_open_is_refused_with_its_holder() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    let daemon = place.start();
    let import =
        ["pool", "import", "--drive", &drives[0], "--drive", &drives[1], "--drive", &drives[2]];
    place.ok(&import);
    let refused = place.refused(&check(&drives, &[]));
    assert_says(&refused, &["0.img", "in use", &format!("process {}", daemon.pid())]);
    let json = place.refused(&check(&drives, &["--output", "json"]));
    assert_says(&json, &["\"code\":\"drive_in_use\""]);
    // It has gone without closing the pool: nobody sends heartbeats any more.
    daemon.kill();
    let said = place.ok(&check(&drives, &[]));
    assert_says(&said, &["not closed", "nothing is wrong"]);
}

#[test]
fn what_is_no_drive_is_refused_by_its_name() {
    let place = Place::by_hand();
    let drives = closed_pool(&place);
    fs::write(place.image(7), vec![0; 32 << 20]).expect("there is room");
    let blank = place.refused(&check(&[drives[0].clone(), place.file(7)], &[]));
    assert_says(&blank, &["7.img", "no Ashlar superblock", "leave it out"]);
    fs::write(place.image(8), "a text").expect("there is room");
    assert_says(&place.refused(&check(&[place.file(8)], &[])), &["8.img"]);
    assert_says(&place.refused(&check(&[place.file(9)], &[])), &["9.img", "no such file"]);
    assert_says(&place.refused(&check(&["mem:1GiB".to_owned()], &[])), &["mem:1GiB", "memory"]);
}
