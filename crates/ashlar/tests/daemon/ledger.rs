//! The ledger of a pool: what its room is used for, figure by figure, and the proof of it.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use serde_json::Value;

use crate::full_disk::{BLOCKS_PER_WRITE, connected, noise};
use crate::support::Place;

const WRITE_BYTES: u64 = BLOCKS_PER_WRITE * 4096;
const VOLUME_BYTES: u64 = 64 << 20;

fn make(place: &Place) {
    place.create_pool("tank", 0..4);
    place.ok(&["volume", "create", "tank/v0", "--size", "64MiB", "--allow", "any"]);
}

fn figure(pool: &Value, name: &str) -> u64 {
    pool["space"][name].as_u64().unwrap_or_else(|| panic!("{name} is not in {pool}"))
}

/// The figures that a proof has compared, all of which are what is there.
fn proven(place: &Place) -> Value {
    let pool = place.json(&["pool", "verify", "tank", "--wait"]);
    let verify = &pool["jobs"]["verify"];
    assert_eq!(verify["states"], serde_json::json!(["proven"]), "{verify}");
    assert_eq!(verify["differences"], serde_json::json!([]));
    for figure in verify["figures"].as_array().expect("a list") {
        assert_eq!(figure["counted_bytes"], figure["found_bytes"], "{figure}");
    }
    verify.clone()
}

/// What the walk has found of one figure.
fn found(verify: &Value, name: &str) -> u64 {
    let figures = verify["figures"].as_array().expect("a list");
    let figure = figures.iter().find(|figure| figure["name"] == name).expect("it is compared");
    figure["found_bytes"].as_u64().expect("a number")
}

fn quarter(nth: u64) -> Bytes {
    let mut bytes = noise(nth).to_vec();
    bytes.chunks_exact_mut(4096).for_each(|block| block[..3072].fill(0x5A));
    bytes.into()
}

#[test]
fn the_ledger_has_what_hosts_wrote_and_a_proof_finds_the_same() {
    let place = Place::new();
    let daemon = place.start();
    make(&place);
    assert_eq!(proven(&place)["volumes_compared"], 0, "nothing is stored");
    connected(&place, |namespace| async move {
        for nth in 0..20 {
            namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await.expect("there is room");
        }
        for nth in 20..40 {
            namespace.write(nth * BLOCKS_PER_WRITE, quarter(nth)).await.expect("there is room");
        }
        let zeros = Bytes::from(vec![0; WRITE_BYTES as usize]);
        namespace.write(40 * BLOCKS_PER_WRITE, zeros.clone()).await.expect("there is room");
        namespace.write(0, zeros).await.expect("there is room");
    });
    let verify = proven(&place);
    assert_eq!(verify["volumes_compared"], 1);
    let pool = place.json(&["pool", "capacity", "tank"]);
    let written = 39 * WRITE_BYTES;
    assert_eq!(figure(&pool, "logical_used_bytes"), written);
    assert_eq!(found(&verify, "written"), written);
    assert_eq!(figure(&pool, "zero_bytes"), VOLUME_BYTES - written);
    let stored = figure(&pool, "stored_bytes");
    assert!((20 * WRITE_BYTES..30 * WRITE_BYTES).contains(&stored), "{stored}");
    assert_eq!(found(&verify, "stored"), stored);
    let (worst, by_ratio) = (figure(&pool, "safe_noise_bytes"), figure(&pool, "safe_alike_bytes"));
    let safe = figure(&pool, "safe_to_write_bytes");
    assert!(0 < worst && worst < safe && worst < by_ratio, "{worst}, {safe}, {by_ratio}");
    let parts = ["parity_bytes", "free_raw_bytes", "physical_used_bytes", "garbage_bytes"];
    let sum: u64 = parts.iter().map(|part| figure(&pool, part)).sum();
    assert!(sum <= figure(&pool, "raw_bytes"), "the rest is room in segments that are open");
    let said = place.ok(&["pool", "capacity", "tank"]);
    for words in ["promised to volumes", "parity and copies", "safe to write at worst", "v0"] {
        assert!(said.contains(words), "{said}");
    }
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(found(&proven(&place), "written"), written, "a start counts the same");
}

#[test]
fn a_proof_is_done_while_a_host_writes() {
    let place = Place::new();
    let _daemon = place.start();
    make(&place);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (place, is_done) = (&place, &is_done);
        scope.spawn(move || {
            (0..10).for_each(|_| drop(proven(place)));
            is_done.store(true, Ordering::Release);
        });
        let mut first = 0;
        while !is_done.load(Ordering::Acquire) {
            connected(place, move |namespace| async move {
                for nth in first..first + 200 {
                    let at = nth * 7 % 512 * BLOCKS_PER_WRITE;
                    namespace.write(at, quarter(nth)).await.expect("there is room");
                }
            });
            first += 200;
        }
    });
}

#[test]
fn the_fields_of_sfx_capacity_stat_are_those_of_the_pool() {
    let place = Place::new();
    let _daemon = place.start();
    make(&place);
    connected(&place, |namespace| async move {
        for nth in 0..20 {
            namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await.expect("there is room");
        }
    });
    let said = place.ok(&["pool", "capacity", "tank", "--format", "sfx"]);
    let names: Vec<&str> = said.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let vendors = [
        "free_space",
        "physical_size",
        "logical_size",
        "comp_ratio",
        "provisioned_cap",
        "space_flag",
    ];
    assert_eq!(names, vendors);
    let sectors = 20 * WRITE_BYTES / 512;
    for line in [
        format!("physical_size: {sectors}"),
        format!("logical_size: {sectors}"),
        "comp_ratio: 1.00".to_owned(),
        "space_flag: 0".to_owned(),
    ] {
        assert!(said.lines().any(|it| it == line), "'{line}' is not in {said}");
    }
    let json = place.json(&["pool", "capacity", "tank", "--format", "sfx"]);
    assert_eq!(json["logical_size"], sectors);
}

#[test]
fn what_cannot_be_proved_is_refused_with_the_reason() {
    let place = Place::new();
    let _daemon = place.start();
    let refused = place.refused(&["pool", "verify", "tonk"]);
    assert!(refused.contains("there is no pool 'tonk'"), "{refused}");
    let refused = place.refused(&["pool", "capacity", "tonk"]);
    assert!(refused.contains("there is no pool 'tonk'"), "{refused}");
    let refused = place.refused(&["pool", "capacity", "tonk", "--format", "xml"]);
    assert!(refused.contains("xml"), "{refused}");
}

#[test]
fn levels_are_changed_while_the_pool_is_in_use_and_what_cannot_be_is_refused() {
    let place = Place::new();
    let daemon = place.start();
    make(&place);
    let pool = place.json(&["pool", "show", "tank"]);
    assert_eq!(levels(&pool), [90, 95, 100]);
    let pool = place.json(&["pool", "set", "tank", "warn=1", "throttle=1", "stop=99"]);
    assert_eq!(levels(&pool), [1, 1, 99]);
    for (setting, says) in [
        ("warn=100", "neither warn nor throttle is above stop"),
        ("stop=0", "stop=0 cannot be: choose 1 to 100 percent"),
        ("throttle=-1", "throttle=-1 cannot be"),
        ("warn=101", "warn=101 cannot be"),
        ("stop=1.5", "stop=1.5 cannot be"),
        ("warn=10GiB", "warn=10GiB cannot be"),
    ] {
        let said = place.refused(&["pool", "set", "tank", setting]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{setting}: {said}");
    }
    connected(&place, |namespace| async move {
        for nth in 0..100 {
            namespace.write(nth * BLOCKS_PER_WRITE, noise(nth)).await.expect("slower, not refused");
        }
    });
    place.wait_until("the pool is nearly full and throttled", |place| {
        let pool = place.json(&["pool", "show", "tank"]);
        let states = pool["states"].as_array().expect("a list");
        ["nearly-full", "throttled"].iter().all(|it| states.iter().any(|is| is == it))
    });
    place.ok(&["pool", "set", "tank", "stop=1"]);
    let (taken, why) = connected(&place, |namespace| async move {
        let namespace = &namespace;
        let mut last = (0, String::new());
        for nth in 0..100 {
            if let Err(error) = namespace.write(nth * BLOCKS_PER_WRITE, noise(1000 + nth)).await {
                last = (nth, error.to_string());
                break;
            }
        }
        last
    });
    assert!(why.contains("CAPACITY_EXCEEDED"), "{taken}: {why}");
    assert!(!why.contains("do not retry"), "there may be room soon: {why}");
    assert!(place.pool_states("tank").iter().any(|state| state == "full"));
    place.ok(&["pool", "set", "tank", "warn=90", "throttle=95", "stop=100"]);
    connected(&place, |namespace| async move {
        namespace.write(0, noise(1)).await.expect("there is room again");
    });
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(levels(&place.json(&["pool", "show", "tank"])), [90, 95, 100]);
}

fn levels(pool: &Value) -> [u64; 3] {
    ["warn_percent", "throttle_percent", "stop_percent"]
        .map(|name| pool["settings"][name].as_u64().unwrap_or_else(|| panic!("{name}: {pool}")))
}
