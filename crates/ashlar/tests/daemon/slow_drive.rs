//! A drive that is much slower than its peers, and a rebuild that is held to what hosts wait: by
//! the daemon, on modelled drives.

use std::fs;

use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// The one that is slow, or lost.
const BAD: usize = 3;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;

/// As a drive that tries again and again to read what it can hardly read any more.
const SLOW_PROFILE: &str = "rotational = false\nparallel = 8\nread-us = 30000\nwrite-us = 100\nflush-us = 100\n\
                            read-mb-per-s = 500\nwrite-mb-per-s = 500\nwrite-cache-mib = 16\nrandom-write-cost = 1.0\n";

/// A pool of level 5 whose drives are like these models, with a volume in it.
fn pool_of(place: &Place, model: impl Fn(usize) -> String) -> Daemon {
    let daemon = place.start();
    let drives =
        (0..DRIVES).map(|drive| format!("--drive={},model={}", place.drive(drive), model(drive)));
    let create =
        ["pool", "create", "tank", "--level", "5"].map(str::to_owned).into_iter().chain(drives);
    place.ok(&create.collect::<Vec<_>>().iter().map(String::as_str).collect::<Vec<_>>());
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    daemon
}

fn bytes_left(pool: &Value) -> Option<u64> {
    pool["jobs"]["rebuild"]["left_bytes"].as_u64()
}

#[test]
fn a_drive_that_is_much_slower_than_its_peers_is_named_and_read_around() {
    let place = Place::new();
    let profile = place.path("slow.toml");
    fs::write(&profile, SLOW_PROFILE).expect("room");
    let slow = profile.display().to_string();
    let daemon =
        pool_of(&place, |drive| if drive == BAD { slow.clone() } else { "nvme-gen4".to_owned() });
    let load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 61)], 1);
    let is_slow = |place: &Place, drive| {
        place.drive_states("tank", drive).iter().any(|state| state == "slow")
    };
    place.wait_until("the slow drive is named", |place| is_slow(place, BAD));
    assert!((0..DRIVES).all(|drive| drive == BAD || !is_slow(&place, drive)));
    let spared = |place: &Place| {
        place.json(&["pool", "show", "tank"])["counters"]["blocks_spared"]
            .as_u64()
            .expect("a count")
    };
    place.wait_until("reads go around it", |place| spared(place) > 0);
    let told = place.ok(&["events"]);
    assert!(told.contains("slow"), "{told}");
    load.join();
    assert_eq!(place.pool_states("tank"), ["online"], "it is not given up for that");
    daemon.terminate();
}

#[test]
fn a_rebuild_yields_to_hosts_as_far_as_their_latency_asks_for_it() {
    let place = Place::new();
    let daemon = pool_of(&place, |_| "nvme-gen4".to_owned());
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 62)], 1);
    load.await_rounds();
    // No answer comes within a microsecond: a hundredth of the time is left to the rebuild, which
    // takes minutes then.
    place.ok(&["pool", "set", "tank", "recon-p99=1us"]);
    fs::remove_file(place.image(BAD)).expect("a file");
    place.wait_until("the loss is noticed", |place| place.has_lost("tank", BAD));
    load.await_rounds();
    let held = place.json(&["pool", "show", "tank"]);
    assert!(bytes_left(&held).is_some_and(|left| left > 0), "{held}");
    let said = place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    assert!(said.contains("recon-p99 is off now: recon-prio=100 counts instead"), "{said}");
    let done = place.json(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(bytes_left(&done), None, "{done}");
    load.join();
    daemon.terminate();
}
