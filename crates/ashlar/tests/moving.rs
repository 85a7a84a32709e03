//! A pool's drives move to another machine: in any order, whether it was exported or its machine died.

#[allow(dead_code, reason = "each test uses a part of what they share")]
mod hosts;
#[allow(dead_code, reason = "each test uses a part of what they share")]
mod support;

use std::fs;

use hosts::{Load, Volume};
use support::{Daemon, Place};

const DRIVES: usize = 5;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;

/// A pool with a volume that a host has filled, on a machine that runs.
fn filled(seed: u64) -> (Place, Daemon, Vec<Volume>) {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, seed)], seed);
    load.await_rounds();
    let volumes = load.join().0;
    (place, daemon, volumes)
}

/// Moves a drive's file from machine to machine, into another slot: the order is turned around.
fn carry(index: usize, from: &Place, to: &Place) {
    fs::rename(from.image(index), to.image(DRIVES - 1 - index)).expect("a file");
}

fn directory(place: &Place) -> String {
    place.path("").display().to_string()
}

#[test]
fn an_exported_pool_is_imported_by_another_machine_in_any_order_once_all_drives_are_there() {
    let (here, _here, volumes) = filled(41);
    here.ok(&["pool", "export", "tank"]);
    let there = Place::new();
    let daemon = there.start();
    (1..DRIVES).for_each(|index| carry(index, &here, &there));
    let drives = directory(&there);
    let import = ["pool", "import", "--drive", &drives];
    let said = there.refused(&import);
    for part in ["of 5 drives", "drive 0", "--degraded"] {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
    assert_eq!(there.json(&["pool", "list"]), serde_json::json!([]));
    carry(0, &here, &there);
    there.ok(&import);
    assert_eq!(there.pool_states("tank"), ["online"]);
    let volumes = Load::start(&there, volumes, 42).join().0;
    // It is the new machine's from now on, also after a restart.
    daemon.terminate();
    let _daemon = there.start();
    assert_eq!(there.pool_states("tank"), ["online"]);
    Load::start(&there, volumes, 43).join();
}

/// Whoever took the wrong one of the two for the drive would go on from what was true when the copy was made.
#[test]
fn a_pool_with_a_copy_of_a_drive_is_imported_once_the_copy_is_taken_away() {
    let (here, _here, volumes) = filled(53);
    here.ok(&["pool", "export", "tank"]);
    let there = Place::new();
    let _there = there.start();
    (0..DRIVES).for_each(|index| carry(index, &here, &there));
    let copy = there.image(DRIVES);
    fs::copy(there.image(DRIVES - 1 - 2), &copy).expect("room");
    let drives = directory(&there);
    for degraded in [&[][..], &["--degraded"]] {
        let said = there.refused(&[&["pool", "import", "--drive", &drives], degraded].concat());
        assert!(said.contains("two drives both claim to be drive 2 of the pool"), "{said}");
        assert_eq!(there.json(&["pool", "list"]), serde_json::json!([]));
    }
    fs::remove_file(copy).expect("a file");
    there.ok(&["pool", "import", "--drive", &drives]);
    assert_eq!(there.pool_states("tank"), ["online"]);
    Load::start(&there, volumes, 54).join();
}

#[test]
fn what_is_left_of_a_dead_machines_pool_is_imported_when_that_is_said_and_what_was_forgotten_is_stale() {
    let (here, daemon, volumes) = filled(43);
    daemon.kill();
    let there = Place::new();
    let _there = there.start();
    (1..DRIVES).for_each(|index| carry(index, &here, &there));
    let drives = directory(&there);
    there.refused(&["pool", "import", "--drive", &drives]);
    there.ok(&["pool", "import", "--drive", &drives, "--degraded"]);
    Load::start(&there, volumes, 44).join();
    // The drive that was forgotten is no pool for the machine that comes back.
    let here_again = here.start();
    let pool = here.json(&["pool", "list"])[0].clone();
    assert_eq!(pool["states"][0], "unavailable");
    here.ok(&["pool", "export", "tank"]);
    let said = here.refused(&["pool", "import", "--drive", &here.file(0), "--degraded"]);
    assert!(said.contains("4 of 5 drives are missing"), "{said}");
    drop(here_again);
}

#[test]
fn a_pool_that_one_machine_has_open_is_not_imported_by_another() {
    let (here, _here, volumes) = filled(47);
    let there = Place::new();
    let _there = there.start();
    let drives = directory(&here);
    for degraded in [&[][..], &["--degraded"]] {
        let said = there.refused(&[&["pool", "import", "--drive", &drives], degraded].concat());
        assert!(said.contains("in use"), "{said}");
    }
    assert_eq!(here.pool_states("tank"), ["online"]);
    Load::start(&here, volumes, 48).join();
}
