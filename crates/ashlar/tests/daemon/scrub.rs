//! What a drive holds wrong is found and repaired, by a scrub and by hosts' reads, while the pool
//! is in use.

use std::fs;
use std::ops::Range;

use ashlar_store::format::superblock::Superblock;
use serde_json::Value;

use crate::hosts::{Load, Volume};
use crate::support::{Daemon, Place, spoil, text};

/// Drives of the pool, of 48 MiB each.
const DRIVES: usize = 5;
/// The one whose bytes change behind the pool.
const CORRUPTED: usize = 2;
/// Blocks of the volume: 48 MiB.
const BLOCKS: u64 = 12288;
const SECTOR_BYTES: usize = 4096;

/// A pool with a volume that has been written for a while.
fn written(place: &Place, seed: u64) -> (Daemon, Volume) {
    let daemon = place.start();
    place.create_pool("tank", 0..DRIVES);
    place.ok(&[
        "pool",
        "set",
        "tank",
        "scrub-prio=100",
        "scrub-interval=off",
        "fault-threshold=off",
    ]);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(place, vec![Volume::new("tank/v0", BLOCKS, seed)], 1);
    load.await_rounds();
    let volume = load.join().0.pop().expect("the volume");
    (daemon, volume)
}

/// Where on a drive its chunks lie.
fn chunks(drive: &[u8]) -> Range<usize> {
    let layout = Superblock::decode(&drive[..SECTOR_BYTES]).expect("a member").layout;
    let start = layout.chunks_start as usize;
    start..start + layout.chunk_count as usize * layout.chunk_bytes as usize
}

/// Spoils a part of each sector of the drive's chunks that was ever written. Returns how many there
/// are.
fn spoil_chunks(place: &Place) -> u64 {
    let image = place.image(CORRUPTED);
    let bytes = fs::read(&image).expect("a file");
    let was_written = |at: &usize| bytes[*at..*at + SECTOR_BYTES].iter().any(|byte| *byte != 0);
    let sectors = chunks(&bytes).step_by(SECTOR_BYTES).filter(was_written);
    sectors.map(|at| spoil(&image, at as u64 + 100, 64)).count() as u64
}

fn scrub(place: &Place) -> Value {
    place.json(&["pool", "scrub", "tank", "--wait"])["jobs"]["scrub"].clone()
}

/// Everything is read, and is right; then there is some load.
fn use_volume(place: &Place, volume: Volume, seed: u64) -> Volume {
    let mut load = Load::start(place, vec![volume], seed);
    load.await_rounds();
    load.join().0.pop().expect("the volume")
}

#[test]
fn a_scrub_names_the_drive_that_held_wrong_bytes_and_leaves_none_of_them() {
    let place = Place::new();
    let (daemon, volume) = written(&place, 21);
    let spoiled = spoil_chunks(&place);
    let found = scrub(&place);
    let wrong = found["wrong"].as_u64().expect("a count");
    assert!((1..=spoiled).contains(&wrong), "of {spoiled}: {found}");
    assert_eq!(
        (&found["states"][0], &found["done_percent"]),
        (&"finished".into(), &100.0.into()),
        "{found}"
    );
    assert_eq!((&found["repaired"], &found["unrepaired"]), (&wrong.into(), &0.into()), "{found}");
    let name = place.json(&["pool", "show", "tank"])["drives"][CORRUPTED]["name"].clone();
    let drives = found["drives"].as_array().expect("a list");
    assert_eq!(
        (drives.len(), &drives[0]["name"], &drives[0]["wrong"]),
        (1, &name, &wrong.into()),
        "{found}"
    );
    let told = place.in_words(&["events"]);
    for part in ["scrub_finished", &format!("{wrong} wrong"), &place.file(CORRUPTED)] {
        assert!(told.contains(part), "'{part}' is not in: {told}");
    }
    let text = place.in_words(&["pool", "show", "tank"]);
    assert!(
        text.contains(&format!("{wrong} wrong, 0 unreadable, {wrong} repaired, 0 not repaired")),
        "{text}"
    );
    // Also to whoever asks in the morning.
    daemon.terminate();
    let daemon = place.start();
    assert_eq!(place.json(&["pool", "show", "tank"])["jobs"]["scrub"]["drives"], found["drives"]);
    // Nothing is left to be found, and any other drive may go.
    let again = scrub(&place);
    assert_eq!(
        (&again["wrong"], &again["drives"]),
        (&0.into(), &Value::Array(Vec::new())),
        "{again}"
    );
    fs::remove_file(place.image(0)).expect("a file");
    let volume = use_volume(&place, volume, 2);
    daemon.terminate();
    let daemon = place.start();
    assert_eq!(
        place.json(&["pool", "show", "tank"])["jobs"]["scrub"]["checked_bytes"],
        again["checked_bytes"]
    );
    use_volume(&place, volume, 3);
    daemon.terminate();
}

/// A script that scrubs before it takes a drive away was told that it had worked.
#[test]
fn a_scrub_that_leaves_something_wrong_says_so_to_whoever_has_waited_for_it() {
    let place = Place::new();
    let daemon = place.start();
    let drives = place.drives(0..DRIVES);
    // Nothing can restore what is wrong.
    let create = ["pool", "create", "tank", "--level", "0"].into_iter();
    place.ok(&create.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    place.ok(&["pool", "set", "tank", "scrub-prio=100", "fault-threshold=off"]);
    let size = (BLOCKS * 4096).to_string();
    place.ok(&["volume", "create", "tank/v0", "--size", &size, "--allow", "any"]);
    let mut load = Load::start(&place, vec![Volume::new("tank/v0", BLOCKS, 25)], 1);
    load.await_rounds();
    load.join();
    assert!(spoil_chunks(&place) > 0);
    let ended = place.run(&["pool", "scrub", "tank", "--wait", "--output", "json"]);
    let (report, said) = (text(&ended.stdout), text(&ended.stderr));
    let report: Value = serde_json::from_str(&report).expect("the report comes all the same");
    let left = report["jobs"]["scrub"]["unrepaired"].as_u64().expect("a count");
    assert!(left > 0 && !ended.status.success(), "{report}");
    assert!(said.contains(&format!("could not repair {left} sectors")), "{said}");
    daemon.terminate();
}

#[test]
fn what_hosts_read_is_made_right_without_a_scrub() {
    let place = Place::new();
    let (daemon, volume) = written(&place, 22);
    assert!(spoil_chunks(&place) > 0);
    let healed =
        |place: &Place| place.json(&["pool", "show", "tank"])["counters"]["sectors_healed"].clone();
    assert_eq!(healed(&place), 0);
    use_volume(&place, volume, 2);
    place.wait_until("something is repaired", |place| healed(place) != 0);
    let told = place.in_words(&["events", "--kind", "wrong_data_repaired"]);
    assert!(told.contains("reads answered wrong"), "{told}");
    daemon.terminate();
}

#[test]
fn a_drive_that_returns_wrong_bytes_too_often_is_given_up_and_what_it_held_restored_on_the_others()
{
    let place = Place::new();
    let (daemon, volume) = written(&place, 24);
    place.ok(&["pool", "set", "tank", "fault-threshold=5", "recon-prio=1"]);
    assert!(spoil_chunks(&place) > 0);
    place.json(&["pool", "scrub", "tank"]);
    let why = |place: &Place| {
        place.json(&["pool", "show", "tank"])["drives"][CORRUPTED]["problem"].clone()
    };
    place.wait_until("the drive is given up", |place| why(place) != Value::Null);
    assert_eq!(why(&place), "it refused reads or gave wrong bytes 5 times within 10 minutes");
    place.ok(&["pool", "set", "tank", "recon-prio=100"]);
    place.wait_until("the others have it all", |place| {
        place.pool_states("tank") == ["online", "reduced"]
    });
    assert_eq!(place.json(&["pool", "show", "tank"])["settings"]["fault_threshold"], 5);
    // It is as good as gone, so that another one may go.
    fs::remove_file(place.image(CORRUPTED)).expect("a file");
    fs::remove_file(place.image(0)).expect("a file");
    use_volume(&place, volume, 2);
    daemon.terminate();
}

#[test]
fn a_scrub_is_seen_stopped_and_scheduled() {
    let place = Place::new();
    let (daemon, _) = written(&place, 23);
    let set = place.json(&["pool", "set", "tank", "scrub-prio=1"]);
    assert_eq!(set["states"], serde_json::json!(["online"]), "{set}");
    // With a hundredth of the time it takes minutes.
    let begun = place.json(&["pool", "scrub", "tank"]);
    assert_eq!(begun["jobs"]["scrub"]["states"][0], "running", "{begun}");
    assert_eq!(begun["states"], serde_json::json!(["online", "scrubbing"]));
    let stopped = place.json(&["pool", "scrub", "tank", "--stop"]);
    assert_eq!(
        (&stopped["jobs"]["scrub"]["states"][0], stopped["states"].as_array().map(Vec::len)),
        (&"stopped".into(), Some(1))
    );
    place.ok(&["pool", "set", "tank", "scrub-interval=14d"]);
    daemon.kill();
    let daemon = place.start();
    let pool = place.json(&["pool", "show", "tank"]);
    assert_eq!(
        (&pool["settings"]["scrub_prio_percent"], &pool["settings"]["scrub_interval_seconds"]),
        (&1.into(), &(14 * 86_400).into())
    );
    assert_eq!(pool["jobs"]["scrub"], Value::Null, "none was finished: {pool}");
    let refused = place.refused(&["pool", "set", "tank", "scrub-interval=often"]);
    assert!(refused.contains("choose days (30d), hours (12h) or off"), "{refused}");
    let refused = place.refused(&["pool", "scrub", "nothing"]);
    assert!(refused.contains("nothing"), "{refused}");
    daemon.terminate();
}
