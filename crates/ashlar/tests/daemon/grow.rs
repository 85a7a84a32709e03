//! Drives that have become larger: the pool opens, and takes their room when it is asked to.

use std::fs;

use crate::hosts::{Load, Volume};
use crate::support::{Place, text};

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 4;
const DRIVE_BYTES: u64 = 48 << 20;
/// Blocks of the volume: 48 MiB.
const BLOCKS: u64 = 12288;

fn resize(place: &Place, index: usize, bytes: u64) {
    let file = fs::File::options().write(true).open(place.image(index)).expect("a file");
    file.set_len(bytes).expect("room");
}

fn figure(place: &Place, name: &str) -> u64 {
    let pool = place.json(&["pool", "show", "tank"]);
    pool["space"][name].as_u64().unwrap_or_else(|| panic!("{name} is not in {pool}"))
}

#[test]
fn drives_that_have_grown_are_used_after_pool_grow_while_hosts_go_on() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 41)], 1);
    load.await_rounds();
    let (raw, usable) = (figure(&place, "raw_bytes"), figure(&place, "usable_bytes"));
    let said = place.ok(&["pool", "grow", "tank"]);
    assert!(said.contains("has room that it does not use"), "{said}");
    (0..DRIVES).for_each(|index| resize(&place, index, 2 * DRIVE_BYTES + 777));
    place.wait_until("the room is seen", |place| {
        place.in_words(&["pool", "show", "tank"]).contains("48MiB more: `ashlar pool grow tank`")
    });
    let pool = place.json(&["pool", "grow", "tank"]);
    assert_eq!(pool["drives"][0]["unused_bytes"], 0, "{pool}");
    assert_eq!(figure(&place, "raw_bytes"), raw + DRIVES as u64 * DRIVE_BYTES);
    assert!(figure(&place, "usable_bytes") > usable + 2 * DRIVE_BYTES, "without a restart");
    load.await_rounds();
    let volume = load.join().0.pop().expect("the volume");
    daemon.terminate();
    let daemon = place.start();
    place.wait_until_opened();
    assert_eq!(figure(&place, "raw_bytes"), raw + DRIVES as u64 * DRIVE_BYTES, "it stays");
    let mut load = Load::start(&place, vec![volume], 2);
    load.await_rounds();
    load.join();
    daemon.terminate();
    // What is checked without a daemon is right, too.
    let drives: Vec<String> =
        (0..DRIVES).map(|index| place.image(index).display().to_string()).collect();
    place.ok(&[vec!["pool", "check"], drives.iter().map(String::as_str).collect()].concat());
}

#[test]
fn a_pool_opens_with_drives_that_grew_while_it_was_closed_and_not_with_what_shrank() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let raw = figure(&place, "raw_bytes");
    daemon.terminate();
    resize(&place, 1, DRIVE_BYTES + (8 << 20));
    let daemon = place.start();
    place.wait_until_opened();
    assert_eq!(place.pool_states("tank"), ["online"]);
    assert_eq!(figure(&place, "raw_bytes"), raw);
    let shown = place.in_words(&["drive", "show", "tank/drive-1"]);
    assert!(shown.contains("8MiB more: `ashlar pool grow tank`"), "{shown}");
    place.ok(&["pool", "grow", "tank"]);
    assert_eq!(figure(&place, "raw_bytes"), raw + (8 << 20));
    daemon.terminate();
    resize(&place, 1, DRIVE_BYTES);
    let daemon = place.start();
    place.wait_until_opened();
    assert!(place.has_lost("tank", 1), "what is not there any more is not believed");
    place.ok(&["pool", "grow", "tank"]);
    daemon.terminate();
    let refused = place.run(&["pool", "grow", "tank"]);
    assert!(!refused.status.success(), "{}", text(&refused.stderr));
}
