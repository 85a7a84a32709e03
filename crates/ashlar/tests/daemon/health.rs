//! What drives say of their health: here they are files, and say nothing. The scene `health` has
//! drives that do.

use crate::support::Place;

const SILENT: &str = "a file says nothing of its health";

#[test]
fn drives_that_are_files_have_no_figures_and_it_is_said_why() {
    let place = Place::new();
    let _daemon = place.start_with(&["--drive-poll-seconds", "1"]);
    place.create_pool("tank", 0..3);
    let drive = place.json(&["drive", "show", "-e", "tank/drive-1"]);
    let health = drive["health"].as_object().expect("an object");
    assert_eq!(health["absent"], SILENT);
    assert_eq!(health["warnings"], serde_json::json!([]));
    let is_figure = |name: &&String| !["absent", "warnings"].contains(&name.as_str());
    for figure in health.keys().filter(is_figure) {
        assert!(health[figure].is_null(), "{figure} is {}", health[figure]);
    }
    let pool = place.ok(&["pool", "show", "-e", "tank"]);
    let last = pool.lines().last().expect("a line");
    assert_eq!(last, format!("drive-0, drive-1, drive-2: {SILENT}"), "{pool}");
    let shown = place.in_words(&["drive", "show", "-e", "tank/0"]);
    assert!(shown.contains(&format!("says nothing {SILENT}")), "{shown}");
    assert!(shown.contains("temperature - "), "{shown}");
    let blank = std::fs::File::create(place.image(9));
    blank.and_then(|file| file.set_len(48 << 20)).expect("room");
    let no_member = place.in_words(&["drive", "show", "-e", &place.file(9)]);
    assert!(no_member.contains(&format!("says nothing {SILENT}")), "{no_member}");
    let not_asked = place.in_words(&["drive", "show", "tank/0"]);
    assert!(!not_asked.contains("temperature"), "{not_asked}");
}

#[test]
fn a_pool_that_nobody_has_written_to_has_no_write_amplification() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    let pool = place.json(&["pool", "show", "tank"]);
    let counters = pool["counters"].as_object().expect("an object");
    assert!(counters["write_amplification"].is_null(), "{counters:?}");
    assert!(counters["drive_written_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
}

#[test]
fn thresholds_and_the_time_between_questions_have_bounds_that_are_named() {
    let place = Place::new();
    for (option, value, bounds) in [
        ("--drive-poll-seconds", "0", "drive_poll_seconds is 0: it must be 1 to 86400"),
        ("--drive-hot-celsius", "500", "drive_hot_celsius is 500: it must be 1 to 120"),
        ("--drive-worn-percent", "0", "drive_worn_percent is 0: it must be 1 to 100"),
    ] {
        let mut command = place.serve();
        command.args([option, value]);
        let said = crate::support::refused(command);
        assert!(said.contains(bounds), "{said}");
    }
}
