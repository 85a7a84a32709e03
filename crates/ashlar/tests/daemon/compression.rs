//! How volumes are compressed: as their operator chooses, and better once data are cold.

use ashlar_block::{AlignedBuf, XorShift};
use ashlar_load::initiator::Namespace;
use bytes::Bytes;

use crate::full_disk::{BLOCKS_PER_WRITE, connected};
use crate::support::Place;

const BLOCK_BYTES: usize = 4096;

/// What lines of a log say. Each is in a block once or twice, and in all blocks.
const MESSAGES: [&str; 16] = [
    "the scheduler has moved a task to another worker",
    "a connection was closed by its peer before the answer",
    "cache entry expired and was fetched again from upstream",
    "retrying the request after a timeout of the gateway",
    "session token refreshed for an interactive login",
    "replica caught up with the primary and serves reads",
    "background compaction finished without any conflict",
    "configuration reloaded, listeners were left untouched",
    "rate limit reached, further calls are being delayed",
    "uploaded object stored under its content address",
    "health probe answered later than the deadline allows",
    "index rebuilt because its checksum did not match",
    "user changed the language of the interface",
    "payment authorised, waiting for its confirmation",
    "mail queued for delivery to an external domain",
    "thumbnail rendered from the original picture",
];

/// What write number `nth` holds: lines of which zstd makes much less than LZ4, and less again by a
/// dictionary.
fn log_lines(nth: u64) -> Bytes {
    let mut rng = XorShift::new(nth + 1);
    let mut buf = AlignedBuf::zeroed(BLOCKS_PER_WRITE as usize * BLOCK_BYTES);
    let line = |_| {
        let (user, took) = (rng.below(100_000), rng.below(1000));
        let message = MESSAGES[rng.below(16) as usize];
        format!("{{\"user\": {user}, \"took_us\": {took}, \"message\": \"{message}\"}}\n")
    };
    let lines: Vec<u8> = (0..).map(line).flat_map(String::into_bytes).take(buf.len()).collect();
    buf.copy_from_slice(&lines);
    buf.freeze()
}

async fn write(namespace: &Namespace, writes: std::ops::Range<u64>) {
    for nth in writes {
        namespace.write(nth * BLOCKS_PER_WRITE, log_lines(nth)).await.expect("there is room");
    }
}

fn check(place: &Place, writes: u64) {
    connected(place, move |namespace| async move {
        for nth in 0..writes {
            let at = nth * BLOCKS_PER_WRITE;
            let read = namespace.read(at, BLOCKS_PER_WRITE as u32).await.expect("it is there");
            assert!(read[..] == log_lines(nth)[..], "write {nth}");
        }
    });
}

fn compression(place: &Place, volume: &str) -> String {
    let shown = place.json(&["volume", "show", volume]);
    shown["compression"].as_str().expect("a text").to_owned()
}

#[test]
fn a_volume_is_stored_as_its_operator_chooses_and_that_outlives_a_kill() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    let chosen = [("none", "none"), ("lz4", "lz4"), ("zstd", "zstd:3"), ("zstd:19", "zstd:19")];
    for (nth, (asked, shown)) in chosen.iter().enumerate() {
        let volume = format!("tank/v{nth}");
        place.ok(&["volume", "create", &volume, "--size", "1MiB", "--compression", asked]);
        assert_eq!(compression(&place, &volume), *shown);
    }
    place.ok(&["volume", "create", "tank/v4", "--size", "1MiB"]);
    assert_eq!(compression(&place, "tank/v4"), "auto");
    let said = place.ok(&["volume", "set", "tank/v0", "--compression", "zstd:7"]);
    assert!(said.contains("'zstd:7'") && said.contains("from now on"), "{said}");
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(compression(&place, "tank/v0"), "zstd:7");
    assert_eq!(compression(&place, "tank/v3"), "zstd:19");
}

#[test]
fn a_compression_that_cannot_be_is_refused_with_those_that_can() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1MiB"]);
    for wrong in ["gzip", "zstd:0", "zstd:20", "zstd:-1", "zstd:", "", "LZ4"] {
        for verb in [&["create", "tank/v1", "--size", "1MiB"][..], &["set", "tank/v0"]] {
            let given = format!("--compression={wrong}");
            let said = place.refused(&[&["volume"], verb, &[&given]].concat());
            assert!(said.contains("zstd:1 to zstd:19") && said.contains(wrong), "{said}");
        }
        let body = format!("{{\"compression\":\"{wrong}\"}}");
        let said = place.request("PATCH", "/api/v1/volumes/tank/v0", &body);
        assert!(said.contains("400") && said.contains("invalid_compression"), "{said}");
    }
    let said = place.refused(&["volume", "set", "tank/v0"]);
    assert!(said.contains("--compression") && said.contains("--write-protect"), "{said}");
    assert_eq!(compression(&place, "tank/v0"), "auto");
    let said = place.refused(&["volume", "set", "tank/none", "--compression", "lz4"]);
    assert!(said.contains("no volume"), "{said}");
}

#[test]
fn what_is_cold_takes_less_room_where_that_is_scarce_and_is_the_same_after_a_kill() {
    let place = Place::new();
    let configuration = "cold_after_seconds = 0\n";
    let daemon = place.start_configured(configuration);
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "1GiB", "--allow", "any"]);
    let pool = |place: &Place| place.json(&["pool", "show", "tank"]);
    let of_limit = |place: &Place| {
        let pool = pool(place);
        let bytes =
            |name: &str| pool["space"][name].as_f64().unwrap_or_else(|| panic!("{name}: {pool}"));
        bytes("physical_used_bytes") / bytes("limit_bytes")
    };
    let mut writes = 0;
    while of_limit(&place) < 0.7 && writes < 4096 {
        connected(&place, move |namespace| async move {
            write(&namespace, writes..writes + 64).await;
        });
        writes += 64;
    }
    place.wait_until("the pool stores what is cold by a dictionary", |place| {
        pool(place)["counters"]["dictionaries_made"].as_u64().expect("a count") > 0
    });
    check(&place, writes);
    daemon.kill();
    let _daemon = place.start_configured(configuration);
    check(&place, writes);
    let counters = pool(&place)["counters"].clone();
    assert_eq!(counters["blocks_written"], 0, "since the start");
    assert!(counters["write_amplification"].as_f64() > Some(0.3), "since it was made: {counters}");
    place.ok(&["pool", "verify", "tank", "--wait"]);
}
