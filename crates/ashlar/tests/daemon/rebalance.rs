//! A pool gets more drives, and what it holds is spread over all of them while hosts are at work.

use std::fs;

use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives that the pool begins with, of 48 MiB each.
const DRIVES: usize = 3;
/// Drives that it has in the end.
const DRIVES_MORE: usize = 5;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;

/// A pool of level 5 that has got more drives since its volume was written.
fn widened(place: &Place, seed: u64) -> (Daemon, Vec<Volume>) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, seed)], 1);
    load.await_rounds();
    let volumes = load.join().0;
    for drive in DRIVES..DRIVES_MORE {
        place.ok(&["pool", "add-drive", "tank", &place.drive(drive)]);
    }
    (daemon, volumes)
}

fn states(pool: &Value) -> Vec<&str> {
    pool["states"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|state| state.as_str().expect("a word"))
        .collect()
}

#[test]
fn what_a_pool_holds_is_spread_over_drives_that_were_added_under_load() {
    let place = Place::new();
    let (daemon, volumes) = widened(&place, 51);
    let mut load = Load::start(&place, volumes, 2);
    load.await_rounds();
    let collected =
        |pool: &Value| pool["counters"]["segments_collected"].as_u64().expect("a count");
    let before = collected(&place.json(&["pool", "show", "tank"]));
    let done = place.json(&["pool", "rebalance", "tank", "--wait"]);
    assert_eq!(
        (states(&done), &done["jobs"]["rebalance"]),
        (vec!["online"], &Value::Null),
        "{done}"
    );
    assert!(collected(&done) > before, "segments of three columns are written anew: {done}");
    load.await_rounds();
    let volumes = load.join().0;
    let told = place.ok(&["events"]);
    assert!(told.contains("the rebalance of pool 'tank' has begun"), "{told}");
    assert!(told.contains("the rebalance of pool 'tank' has ended"), "{told}");
    // Any one of them may go.
    fs::remove_file(place.image(0)).expect("a file");
    Load::start(&place, volumes, 3).join();
    daemon.terminate();
}

#[test]
fn a_rebalance_survives_a_kill_and_is_stopped_on_demand() {
    let place = Place::new();
    let (daemon, volumes) = widened(&place, 53);
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    // With a hundredth of the time it takes minutes.
    let begun = place.json(&["pool", "rebalance", "tank"]);
    assert_eq!(states(&begun), ["online", "rebalancing"], "{begun}");
    assert!(begun["jobs"]["rebalance"]["left_bytes"].as_u64().expect("a count") > 0, "{begun}");
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online", "rebalancing"]);
    let text = place.ok(&["pool", "show", "tank"]);
    assert!(text.contains("% rebalanced, "), "{text}");
    let text = place.ok(&["pool", "rebalance", "tank", "--stop"]);
    assert_eq!(text.trim(), "pool 'tank' is online: no rebalance is under way");
    daemon.kill();
    let daemon = place.start();
    assert_eq!(place.pool_states("tank"), ["online"]);
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_rebalance_of_what_there_is_not_is_refused() {
    let place = Place::new();
    let _daemon = place.start();
    let said = place.refused(&["pool", "rebalance", "tank"]);
    assert!(said.contains("tank"), "{said}");
    place.create_pool("tank", 0..DRIVES);
    let said = place.refused(&["pool", "rebalance", "tank", "--stop", "--wait"]);
    assert!(said.contains("--stop"), "{said}");
    let done = place.json(&["pool", "rebalance", "tank", "--wait"]);
    assert_eq!(states(&done), ["online"], "there is nothing to be spread");
}
