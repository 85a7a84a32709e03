//! Drives are told which of their space is free: files become smaller, and so do the files below
//! loop devices.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::hosts::{Load, Volume};
use crate::loops::Loop;
use crate::support::{Daemon, Place, skip};

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 4;
/// Blocks of the volume: 48 MiB.
const BLOCKS: u64 = 12288;
/// What the load has surely written and deleted, however slow the machine is.
const LOAD_BYTES_MIN: u64 = 1 << 20;

/// Bytes that the drives' files take of their file system.
fn taken(place: &Place) -> u64 {
    let blocks = |index| fs::metadata(place.image(index)).expect("a file").blocks();
    (0..DRIVES).map(blocks).sum::<u64>() * 512
}

/// Writes for a while, and deletes what was written.
fn write_and_delete(place: &Place, seed: u64) {
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, seed)], 1);
    load.await_rounds();
    load.join();
    place.ok(&["volume", "delete", "tank/v0", "--yes"]);
    place.wait_until("its blocks are gone", |place| {
        let pool = place.json(&["pool", "show", "tank"]);
        pool["space"]["physical_used_bytes"].as_u64().is_some_and(|bytes| bytes < 4 << 20)
    });
    // What it leaves empty is free with a root, and this writes one.
    place.ok(&["volume", "create", "tank/x", "--size", "1MiB"]);
    place.ok(&["volume", "delete", "tank/x", "--yes"]);
}

fn trimmed_bytes(place: &Place) -> u64 {
    place.json(&["pool", "show", "tank"])["counters"]["trimmed_bytes"].as_u64().expect("a count")
}

#[test]
fn files_become_smaller_by_a_trim_and_by_themselves_unless_that_is_off() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let said = place.ok(&["pool", "set", "tank", "autotrim=off"]);
    assert!(said.contains("autotrim=off"), "{said}");
    write_and_delete(&place, 31);
    assert_eq!(trimmed_bytes(&place), 0, "nobody has asked for it");
    // It is the pool's own.
    daemon.terminate();
    let _daemon = place.start();
    place.wait_until_opened();
    assert_eq!(place.json(&["pool", "show", "tank"])["settings"]["autotrim"], false);
    let full = taken(&place);
    let pool = place.json(&["pool", "trim", "tank", "--wait"]);
    let trim = &pool["jobs"]["trim"];
    assert_eq!(
        (&trim["states"][0], &trim["done_percent"]),
        (&"finished".into(), &100.0.into()),
        "{trim}"
    );
    assert!(trim["free_bytes"].as_u64().is_some_and(|bytes| bytes > 64 << 20), "{trim}");
    assert!(taken(&place) + LOAD_BYTES_MIN < full, "of {full} bytes: {}", taken(&place));
    assert!(place.in_words(&["pool", "show", "tank"]).contains("know of"), "it is shown");
    assert!(place.in_words(&["events"]).contains("trim_finished"));
    // Once more is no error.
    place.ok(&["pool", "trim", "tank", "--wait"]);
    place.ok(&["pool", "set", "tank", "autotrim=on"]);
    let before = trimmed_bytes(&place);
    write_and_delete(&place, 32);
    place.wait_until("drives are told by themselves", |place| {
        trimmed_bytes(place) > before + (1 << 20)
    });
}

#[test]
fn loop_devices_are_told_too() {
    let place = Place::new();
    let Some((_daemon, drives)) = pool_on_loops(&place) else {
        return skip("there are no loop devices");
    };
    place.ok(&["pool", "set", "tank", "autotrim=off"]);
    write_and_delete(&place, 33);
    let full = taken(&place);
    let trim = place.json(&["pool", "trim", "tank", "--wait"])["jobs"]["trim"].clone();
    assert_eq!((&trim["states"][0], &trim["refusals"]), (&"finished".into(), &0.into()), "{trim}");
    assert_eq!(trim["skipped_drives"], serde_json::json!([]), "{trim}");
    let taken = taken(&place);
    assert!(taken + LOAD_BYTES_MIN < full, "of {full} bytes of {} drives: {taken}", drives.len());
}

fn pool_on_loops(place: &Place) -> Option<(Daemon, Vec<Loop>)> {
    let files: Vec<PathBuf> = (0..DRIVES).map(|index| place.image(index)).collect();
    for file in &files {
        fs::File::create(file).and_then(|file| file.set_len(48 << 20)).expect("room");
    }
    let drives = files.iter().map(|file| Loop::over(file)).collect::<Option<Vec<_>>>()?;
    let daemon = place.start();
    let words = ["pool", "create", "tank", "--level", "5"].into_iter();
    let drives_given = drives.iter().flat_map(|drive| ["--drive", drive.0.as_str()]);
    place.ok(&words.chain(drives_given).collect::<Vec<_>>());
    Some((daemon, drives))
}

#[test]
fn what_no_setting_of_trims_can_be_is_refused() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    assert!(place.refused(&["pool", "set", "tank", "autotrim=yes"]).contains("choose on or off"));
    assert!(place.refused(&["pool", "trim", "dozer"]).contains("no pool 'dozer'"));
}
