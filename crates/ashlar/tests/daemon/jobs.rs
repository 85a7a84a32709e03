//! What has come of long work stays to be seen after its end.

use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place};

/// Drives that the pool begins with, of 48 MiB each.
const DRIVES: usize = 5;
/// Blocks of the volume: 32 MiB.
const BLOCKS: u64 = 8192;

/// A pool with a volume that a host has written.
fn filled(place: &Place, seed: u64) -> (Daemon, Vec<Volume>) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, seed)], 1);
    load.await_rounds();
    (daemon, load.join().0)
}

/// The job as it has ended, so.
fn ended(place: &Place, job: &str, state: &str) -> Value {
    let job = place.json(&["job", "show", job]);
    assert_eq!((&job["states"][0], &job["can_stop"]), (&state.into(), &false.into()), "{job}");
    assert!(job["started_at"].is_string() && job["finished_at"].is_string(), "{job}");
    assert_eq!((&job["left_bytes"], &job["eta_seconds"]), (&Value::Null, &Value::Null), "{job}");
    job
}

#[test]
fn a_rebuild_and_an_evacuation_say_what_they_have_done_after_their_end() {
    let place = Place::by_hand();
    let (daemon, volumes) = filled(&place, 71);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    place.ok(&["pool", "remove-drive", "tank", "drive-2", "--wait", "--yes"]);
    for (job, drive) in [("tank/rebuild", "drive-1"), ("tank/evacuation", "drive-2")] {
        let done = ended(&place, job, "finished");
        assert_eq!((&done["drives"][0], &done["done_percent"]), (&drive.into(), &100.0.into()));
        assert!(done["done_bytes"].as_u64().expect("a count") > 0, "{done}");
        let result = done["result"].as_str().expect("a text");
        assert!(result.contains(" were written to other drives in "), "{result}");
        assert_eq!(place.json(&["job", "wait", job]), done, "nobody waits for what has ended");
    }
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_rebalance_that_was_stopped_says_so_until_the_next_one_begins() {
    let place = Place::by_hand();
    let (daemon, volumes) = filled(&place, 73);
    place.ok(&["pool", "add-drive", "tank", &place.drive(DRIVES)]);
    // With a hundredth of the time it takes minutes.
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    place.ok(&["pool", "rebalance", "tank"]);
    let stopped = place.json(&["job", "stop", "tank/rebalance"]);
    assert_eq!(stopped["states"][0], "stopped", "{stopped}");
    assert_eq!(ended(&place, "tank/rebalance", "stopped"), stopped);
    let told = place.ok(&["events"]);
    assert!(told.contains("the rebalance of pool 'tank' was stopped"), "{told}");
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.ok(&["pool", "rebalance", "tank", "--wait"]);
    let done = ended(&place, "tank/rebalance", "finished");
    assert!(done["done_bytes"].as_u64().expect("a count") > 0, "{done}");
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}

#[test]
fn a_trim_and_a_proof_are_stopped_on_demand_and_the_next_ones_come_to_their_end() {
    let place = Place::by_hand();
    let (daemon, _) = filled(&place, 79);
    for kind in ["trim", "verify"] {
        let job = format!("tank/{kind}");
        for stop in [&["job", "stop", &job][..], &["pool", kind, "tank", "--stop"]] {
            place.ok(&["pool", kind, "tank"]);
            place.ok(stop);
            // It may have come to its end before.
            let ended = place.json(&["job", "show", &job]);
            let state = ended["states"][0].as_str().expect("a state");
            assert!(["stopped", "finished"].contains(&state), "{ended}");
            assert!(ended["finished_at"].is_string() && ended["can_stop"] == false, "{ended}");
            assert_eq!(place.json(&["job", "stop", &job]), ended, "what has ended stays as it is");
        }
        place.ok(&["pool", kind, "tank", "--wait"]);
        ended(&place, &job, "finished");
    }
    daemon.terminate();
}

#[test]
fn a_rebuild_is_not_stopped_and_says_why_and_what_may_be_done_instead() {
    let place = Place::by_hand();
    let (daemon, volumes) = filled(&place, 83);
    // With a hundredth of the time it takes minutes.
    place.ok(&["pool", "set", "tank", "recon-prio=1"]);
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.wait_until("the rebuild has begun", |place| {
        place.run(&["job", "show", "tank/rebuild"]).status.success()
    });
    let said = place.refused(&["job", "stop", "tank/rebuild"]);
    assert!(said.contains("data would stay without redundancy"), "{said}");
    assert!(said.contains("recon-prio=1"), "{said}");
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    ended(&place, "tank/rebuild", "finished");
    Load::start(&place, volumes, 2).join();
    daemon.terminate();
}
