//! Drives that are not there: late ones, lost ones, too many.

use std::fs;
use std::io::{BufRead, BufReader};

use crate::support::Place;

fn states(place: &Place) -> Vec<String> {
    place.pool_states("tank")
}

fn take_away(place: &Place, index: usize) {
    fs::rename(place.image(index), place.aside(index)).unwrap();
}

fn bring_back(place: &Place, index: usize) {
    fs::rename(place.aside(index), place.image(index)).unwrap();
}

#[test]
fn a_drive_that_is_late_is_waited_for_and_stays_a_member() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    take_away(&place, 1);
    let mut daemon = place.spawn(place.serve_waiting(600));
    let mut said = BufReader::new(daemon.stderr()).lines();
    let waits = |line: &String| line.contains("late") && line.contains("1.img");
    assert!(
        said.by_ref().map(Result::unwrap).any(|line| waits(&line)),
        "it says what it waits for"
    );
    bring_back(&place, 1);
    daemon.wait_for("READY=1");
    place.wait_until_opened();
    assert_eq!(states(&place), ["online"]);
}

#[test]
fn a_drive_that_the_pool_has_given_up_is_not_waited_for() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    take_away(&place, 1);
    let daemon = place.start();
    assert!(place.has_lost("tank", 1));
    daemon.terminate();
    let mut daemon = place.spawn(place.serve_waiting(3600));
    daemon.wait_for("READY=1");
    place.wait_until_opened();
    assert!(place.has_lost("tank", 1));
}

#[test]
fn where_too_many_drives_are_missing_each_is_named_with_the_reason() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    daemon.terminate();
    take_away(&place, 1);
    fs::write(place.image(3), [0; 4096]).unwrap();
    let _daemon = place.start();
    let pool = place.json(&["pool", "list"])[0].clone();
    assert_eq!(pool["states"][0], "unavailable");
    for unknown in ["level", "space", "settings", "counters", "jobs"] {
        assert_eq!(pool.get(unknown), Some(&serde_json::Value::Null), "{unknown}");
    }
    let problem = pool["problem"].as_str().unwrap();
    for part in [
        "2 of 4 drives are missing",
        "1.img: there is no such file",
        "3.img holds too little to be a drive",
    ] {
        assert!(problem.contains(part), "'{part}' is not in: {problem}");
    }
}

#[test]
fn who_waits_for_a_pool_that_is_not_open_is_told_so() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon.terminate();
    for index in [0, 1] {
        fs::remove_file(place.image(index)).unwrap();
    }
    let _daemon = place.start();
    for verb in [&["pool", "rebuild", "tank", "--wait"][..], &["pool", "rebuild", "tank"]] {
        let said = place.refused(verb);
        for part in
            ["pool 'tank' is not open", "1.img: there is no such file", "ashlar pool import"]
        {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
    }
}

#[test]
fn a_mirror_of_two_that_has_lost_one_says_that_it_takes_no_writes() {
    let place = Place::new();
    let _daemon = place.start();
    let drives = place.drives(0..2);
    let create = ["pool", "create", "tank", "--level", "1"].into_iter();
    place.ok(&create.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    assert_ne!(place.json(&["pool", "show", "tank"])["space"]["safe_to_write_bytes"], 0);
    fs::remove_file(place.image(1)).unwrap();
    place.wait_until("the loss is noticed", |place| states(place).contains(&"degraded".to_owned()));
    let pool = place.json(&["pool", "show", "tank"]);
    assert_eq!(
        states(&place),
        ["degraded", "need-rebuild", "read-only"],
        "trimming would not help"
    );
    assert_eq!(pool["space"]["safe_to_write_bytes"], 0);
    let problem = pool["problem"].as_str().unwrap();
    assert!(problem.contains("1 of 2 drives are left, and new data needs 2"), "{problem}");
    assert!(place.ok(&["status"]).contains("read-only"));
    assert!(place.refused(&["pool", "rebuild", "tank"]).contains("1 of 2 drives are left"));
}

/// It was taken for the whole drive, and online.
#[test]
fn a_drive_that_was_cut_is_told_from_the_drive_that_it_was() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    place.ok(&["pool", "export", "tank", "--yes"]);
    fs::File::options().write(true).open(place.image(1)).unwrap().set_len(20 << 20).unwrap();
    let directory = place.path("").display().to_string();
    let import = ["pool", "import", "tank", "--drive", &directory];
    let said = place.refused(&import);
    let cut = "1.img has 20MiB, but was 48MiB as drive-1 of pool 'tank'";
    assert!(said.contains(cut) && said.contains("--degraded"), "{said}");
    place.ok(&[&import[..], &["--degraded"]].concat());
    assert!(place.has_lost("tank", 1));
    assert!(
        place.in_words(&["pool", "show", "tank"]).contains(cut),
        "it is said as long as it is so"
    );
    let said = place.refused(&["drive", "return", "tank/drive-1", "--at", &place.file(1)]);
    assert!(said.contains(cut) && said.contains("ashlar pool replace"), "{said}");
    place.ok(&["pool", "replace", "tank", "drive-1", &place.drive(4)]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    // A larger device begins with the same drive.
    place.ok(&["pool", "export", "tank", "--yes"]);
    fs::File::options().write(true).open(place.image(2)).unwrap().set_len(64 << 20).unwrap();
    place.ok(&import);
    assert_eq!(states(&place), ["online"]);
    daemon.terminate();
}

/// It said that no drives were given that might be those that are missing.
#[test]
fn what_is_missing_in_a_directory_is_named_with_the_reason() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..4);
    place.ok(&["pool", "export", "tank", "--yes"]);
    let cut = |index, bytes| {
        fs::File::options().write(true).open(place.image(index)).unwrap().set_len(bytes).unwrap()
    };
    cut(2, 10 << 20);
    cut(3, 0);
    let (directory, first) = (place.path("").display().to_string(), place.file(0));
    for drives in [&["--drive", &directory][..], &["--drive", &first, "--drive", &directory]] {
        let said = place.refused(&[&["pool", "import", "tank"], drives].concat());
        for part in ["2 of 4 drives are missing", "2.img", "3.img"] {
            assert!(said.contains(part), "'{part}' is not in: {said}");
        }
        assert!(!said.contains("0.img") && !said.contains("No drives were given"), "{said}");
    }
    daemon.terminate();
}

/// Starts a daemon by `act` and ends it. Returns what it has logged.
fn logged(place: &Place, act: impl FnOnce(&Place)) -> String {
    let mut command = place.serve();
    command.env("RUST_LOG", "info").env("NO_COLOR", "1");
    let mut daemon = place.spawn(command);
    let mut stderr = daemon.stderr();
    let reader = std::thread::spawn(move || std::io::read_to_string(&mut stderr).expect("a log"));
    daemon.wait_for("READY=1");
    place.wait_until_opened();
    act(place);
    daemon.terminate();
    reader.join().expect("it reads")
}

/// The lines about an open pool, and whether they are warnings.
fn openings(log: &str) -> Vec<(bool, String)> {
    let about = log.lines().filter(|line| line.contains("the pool is open"));
    about.map(|line| (line.contains(" WARN "), line.to_owned())).collect()
}

/// The only warning about an open pool, in which nothing has a name that only programs know.
fn warned(log: &str) -> String {
    for internal in ["DriveId", "missing=", "drive 1"] {
        assert!(!log.contains(internal), "'{internal}' is in: {log}");
    }
    let warnings = openings(log).into_iter().filter(|(is_warning, _)| *is_warning);
    let warnings: Vec<String> = warnings.map(|(_, line)| line).collect();
    let [line] = &warnings[..] else { panic!("one warning is wanted: {log}") };
    line.clone()
}

#[test]
fn a_pool_that_opens_without_a_drive_is_a_warning_with_its_path() {
    let place = Place::by_hand();
    let log = logged(&place, |place| drop(place.create_pool("tank", 0..4)));
    assert!(openings(&log).iter().all(|(is_warning, _)| !is_warning), "{log}");
    fs::rename(place.image(1), place.aside(1)).expect("a file");
    let said = warned(&logged(&place, |_| ()));
    let lacks = format!("the pool is open without drive-1 ({}", place.file(1));
    assert!(said.contains(&lacks), "{said}");
}

#[test]
fn a_pool_that_is_imported_without_drives_is_a_warning_with_their_names() {
    let place = Place::by_hand();
    let imported = logged(&place, |place| {
        place.create_pool("tank", 0..5);
        place.ok(&["pool", "export", "tank", "--yes"]);
        fs::rename(place.image(1), place.aside(1)).expect("a file");
        let directory = place.path("").display().to_string();
        place.ok(&["pool", "import", "tank", "--drive", &directory, "--degraded"]);
    });
    assert!(warned(&imported).contains("the pool is open without drive-1"), "{imported}");
}
