//! The least memory: with the defaults that follow from 256 MiB the daemon stays below them while hosts load it
//! with all that they may.
//!
//! What happens in a control group with that limit is shown where one can be made: in the Linux client's
//! scene `inside`.

#[allow(dead_code, reason = "each test uses a part of what they share")]
mod hosts;
#[allow(dead_code, reason = "each test uses a part of what they share")]
mod support;

use std::fs;

use hosts::{Load, Volume};
use support::{Daemon, Place};

/// The least memory that Ashlar is meant to run in, as the README says.
const MEMORY_BYTES_MIN: u64 = 256 << 20;
/// What the defaults are where there is so much.
const CONFIG: &str = "
    map_memory_bytes = \"32MiB\"
    [limits]
    in_capsule_total_bytes_max = 67108864
    reactor_bytes_max = 67108864
    host_bytes_max = 16777216
";
/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// Volumes, and blocks of each: together most of what the pool can take.
const VOLUMES: [&str; 2] = ["tank/v0", "tank/v1"];
const BLOCKS: u64 = 10_240;
/// Rounds that each volume's load is waited for, each of 200 operations of up to 256 KiB.
const ROUNDS: u32 = 8;

/// The most memory that the daemon has had resident.
fn peak_bytes(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.pid())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says it");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes << 10
}

#[test]
fn the_least_memory_is_enough_for_all_that_hosts_may_ask_for() {
    let place = Place::new();
    let daemon = place.start_configured(CONFIG);
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    for name in VOLUMES {
        place.ok(&["volume", "create", name, "--size", &size, "--allow", "any"]);
    }
    let volumes = VOLUMES.iter().map(|name| Volume::new(name, BLOCKS, 5)).collect();
    let mut load = Load::start(&place, volumes, 1);
    for _round in 0..ROUNDS {
        load.await_rounds();
    }
    load.join();
    let peak = peak_bytes(&daemon);
    println!("resident at most: {} MiB of {}", peak >> 20, MEMORY_BYTES_MIN >> 20);
    assert!(peak < MEMORY_BYTES_MIN, "{peak} bytes were resident");
    daemon.terminate();
}
