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
    pool[name].as_u64().unwrap_or_else(|| panic!("{name} is not in {pool}"))
}

/// The figures that a proof has compared, all of which are what is there.
fn proven(place: &Place) -> Value {
    let pool = place.json(&["pool", "verify", "tank", "--wait"]);
    let verify = &pool["verify"];
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
    let (worst, by_ratio) =
        (figure(&pool, "safe_at_worst_bytes"), figure(&pool, "safe_at_ratio_bytes"));
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
        let port = place.json(&["status"]);
        assert!(port["portals"][0]["port"].is_u64());
        scope.spawn(move || {
            for nth in 0..10 {
                proven(place);
                assert!(nth < 10);
            }
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
