//! What hosts are told of atomic writes, and what erases: volumes that are wiped, pools that are
//! destroyed with their drives erased.

use std::fs;
use std::path::Path;

use ashlar_load::initiator::{Controller, Namespace};
use ashlar_reactor::{Config, run};
use bytes::Bytes;

use crate::hosts::options;
use crate::support::Place;

/// What a drive must not hold any more.
const SECRET: &[u8] = b"what nobody is to read again, sixty-four bytes of it, and no more.";

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

/// A pool of three drives with an uncompressed volume that every host may see.
fn tank(place: &Place) {
    place.create_pool("tank", 0..3);
    let create = ["volume", "create", "tank/v0", "--size", "8MiB", "--allow", "any"];
    place.ok(&[&create[..], &["--compression", "none"]].concat());
}

/// Does something with namespace 1 as a host.
fn as_host<T: 'static, F: Future<Output = T>>(
    place: &Place,
    work: impl FnOnce(Namespace) -> F + 'static,
) -> T {
    let options = options(place);
    let connected = async move {
        let controller = Controller::connect(options).await.expect("the daemon serves");
        let namespace = controller.namespace(1).await.expect("the host may see it");
        let done = work(namespace).await;
        controller.disconnect().await;
        done
    };
    run(Config::default(), connected).expect("a reactor starts")
}

/// A block that begins with the secret.
fn secret_block() -> Bytes {
    let mut block = SECRET.repeat(4096 / SECRET.len() + 1);
    block.truncate(4096);
    block.into()
}

fn write_secret(place: &Place) {
    as_host(place, |namespace| async move {
        for block in [0, 7, 1000] {
            namespace.write(block, secret_block()).await.expect("there is room");
        }
    });
}

fn first_block(place: &Place) -> Vec<u8> {
    as_host(place, |namespace| async move {
        namespace.read(0, 1).await.expect("it can be read").to_vec()
    })
}

fn holds_secret(file: &Path) -> bool {
    let content = fs::read(file).expect("a file");
    content.windows(SECRET.len()).any(|part| part == SECRET)
}

#[test]
fn what_hosts_are_told_of_atomic_writes_is_shown_and_outlives_a_restart() {
    let place = Place::new();
    let daemon = place.start();
    tank(&place);
    let told =
        |place: &Place| place.json(&["volume", "show", "tank/v0"])["atomic_write_bytes"].clone();
    let most = told(&place).as_u64().expect("a number");
    assert_says(&place.ok(&["volume", "show", "tank/v0"]), &["atomic writes", "up to"]);
    let said = place.ok(&["volume", "set", "tank/v0", "--atomic", "16KiB"]);
    assert_says(&said, &["tank/v0", "up to 16KiB atomically"]);
    assert_eq!(told(&place), 16384);
    daemon.terminate();
    let _daemon = place.start();
    assert_eq!(told(&place), 16384);
    let said = place.ok(&["volume", "set", "tank/v0", "--atomic", "off"]);
    assert_says(&said, &["tank/v0", "single sectors"]);
    assert_eq!(told(&place), 0);
    assert_says(&place.ok(&["volume", "show", "tank/v0"]), &["atomic writes", "off"]);
    let both = ["volume", "set", "tank/v0", "--atomic", "4KiB", "--write-protect", "on", "--yes"];
    assert_says(&place.ok(&both), &["write protected now", "up to 4KiB atomically"]);
    assert!(most >= 4096, "{most}");
}

#[test]
fn what_cannot_be_told_of_atomic_writes_is_refused_by_name_with_the_way_out() {
    let place = Place::new();
    let _daemon = place.start();
    tank(&place);
    for (atomic, why) in [
        ("0", "write off"),
        ("-4096", "-4096"),
        ("3000", "choose a power of two from 4KiB to 256KiB, or off"),
        ("12KiB", "choose a power of two from 4KiB to 256KiB, or off"),
        ("2KiB", "choose a power of two from 4KiB to 256KiB, or off"),
        ("512KiB", "choose a power of two from 4KiB to 256KiB, or off"),
        ("16 parsecs", "16 parsecs"),
        ("on", "'on'"),
    ] {
        let said = place.refused(&["volume", "set", "tank/v0", "--atomic", atomic]);
        assert_says(&said, &["--atomic", why]);
    }
    assert_says(&place.refused(&["volume", "set", "tank/v0"]), &["--write-protect", "--atomic"]);
    assert_says(&place.refused(&["volume", "set", "tank/v7", "--atomic", "off"]), &["'v7'"]);
    for bytes in ["1", "4095", "4097", "524288"] {
        let body = format!(r#"{{"atomic_write_bytes":{bytes}}}"#);
        let said = place.request("PATCH", "/api/v1/volumes/tank/v0", &body);
        assert_says(&said, &["400", "invalid_atomic", bytes]);
    }
    for nonsense in ["-1", r#""off""#, "4096.5"] {
        let body = format!(r#"{{"atomic_write_bytes":{nonsense}}}"#);
        let said = place.request("PATCH", "/api/v1/volumes/tank/v0", &body);
        assert_says(&said, &["HTTP/1.1 4"]);
    }
}

#[test]
fn a_volume_that_is_wiped_reads_as_zeros_also_after_a_kill() {
    let place = Place::new();
    let daemon = place.start();
    tank(&place);
    write_secret(&place);
    let said = place.refused(&["volume", "wipe", "tank/v0"]);
    assert_says(&said, &["wiping volume 'tank/v0' loses all that it holds", "--yes"]);
    let refused = place.request("POST", "/api/v1/volumes/tank/v0/wipe", "");
    assert_says(&refused, &["409", r#""code":"confirmation_needed""#]);
    assert_eq!(first_block(&place), secret_block());
    let wiped = place.json(&["volume", "wipe", "tank/v0", "--yes"]);
    assert_eq!((&wiped["name"], &wiped["logical_used_bytes"]), (&"v0".into(), &0.into()));
    daemon.kill();
    let daemon = place.start();
    assert_eq!(first_block(&place), vec![0; 4096]);
    write_secret(&place);
    assert_says(&place.ok(&["volume", "wipe", "tank/v0", "--yes"]), &["'tank/v0' is wiped"]);
    daemon.terminate();
    let files = [0, 1, 2].map(|index| place.image(index).display().to_string());
    let check = [&["pool", "check"][..], &files.each_ref().map(String::as_str)].concat();
    place.ok(&check);
    let _daemon = place.start();
    assert_eq!(first_block(&place), vec![0; 4096]);
}

#[test]
fn a_format_of_a_host_is_told_with_the_host_and_the_volume() {
    let place = Place::new();
    let _daemon = place.start();
    tank(&place);
    let options = options(&place);
    let formatted = async move {
        let controller = Controller::connect(options).await.expect("the daemon serves");
        controller.format(1, 0).await.expect("it is the host's volume");
        controller.disconnect().await;
    };
    run(Config::default(), formatted).expect("a reactor starts");
    let told = place.json(&["events", "--kind", "volume_erased"]);
    let event = &told[0];
    assert_eq!((&event["pool"], &event["volume"]), (&"tank".into(), &"v0".into()), "{told}");
    assert_says(event["host"].as_str().expect("a name"), &["nqn."]);
}

#[test]
fn what_cannot_be_written_is_not_wiped_and_nobody_is_asked() {
    let place = Place::new();
    let _daemon = place.start();
    tank(&place);
    let refused = |place: &Place| place.refused(&["volume", "wipe", "tank/v0"]);
    place.ok(&["volume", "set", "tank/v0", "--write-protect", "on"]);
    assert_says(&refused(&place), &["write protected", "--write-protect off"]);
    place.ok(&["volume", "set", "tank/v0", "--write-protect", "off"]);
    assert_says(&place.refused(&["volume", "wipe", "tank/v7", "--yes"]), &["'v7'"]);
    assert_says(&place.refused(&["volume", "wipe", "v0"]), &["POOL/NAME"]);
    place.ok(&["drive", "fail", "tank/drive-0", "--yes"]);
    place.ok(&["volume", "wipe", "tank/v0", "--yes"]);
    place.ok(&["drive", "fail", "tank/drive-1", "--force", "--yes"]);
    assert_says(&refused(&place), &["pool 'tank' is read-only"]);
}

#[test]
fn the_drives_of_a_pool_that_is_destroyed_securely_hold_nothing_any_more() {
    let place = Place::new();
    let _daemon = place.start();
    tank(&place);
    write_secret(&place);
    assert!((0..3).any(|index| holds_secret(&place.image(index))), "it is on a drive");
    let said = place.refused(&["pool", "destroy", "tank", "--secure"]);
    assert_says(&said, &["loses everything in it, and its drives are erased", "--yes"]);
    let said = place.ok(&["pool", "destroy", "tank", "--secure", "--yes"]);
    assert_says(&said, &["pool 'tank' is destroyed", "0.img: ", "2.img: "]);
    assert!(said.contains("was discarded") || said.contains("zeros were written"), "{said}");
    for index in 0..3 {
        let content = fs::read(place.image(index)).expect("a file");
        assert!(content.iter().all(|byte| *byte == 0), "{index}.img");
        assert_says(&place.ok(&["drive", "show", &place.file(index)]), &["nothing"]);
    }
    let erases: serde_json::Value =
        serde_json::from_str(body(&place.get("/api/v1/erases"))).expect("JSON");
    assert_eq!(erases.as_array().map(Vec::len), Some(3));
    assert_eq!(erases[0]["states"][0], "finished");
    let told = place.json(&["events", "--kind", "erase_finished"]);
    assert_eq!(told.as_array().map(Vec::len), Some(3), "{told}");
    // The drives are anybody's.
    place.create_pool("tank", 0..3);
    let erased = place.json(&["pool", "destroy", "tank", "--secure", "--yes"]);
    assert_eq!(
        (&erased[2]["states"][0], &erased[2]["done_percent"]),
        (&"finished".into(), &100.0.into())
    );
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").expect("a body").1
}

#[test]
fn drives_that_are_not_there_are_named_and_the_command_fails() {
    let place = Place::by_hand();
    let daemon = place.start();
    tank(&place);
    write_secret(&place);
    daemon.terminate();
    fs::rename(place.image(1), place.aside(1)).expect("room");
    let _daemon = place.start();
    let output = place.run(&["pool", "destroy", "tank", "--secure", "--yes"]);
    let said = crate::support::text(&output.stdout) + &crate::support::text(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert_says(&said, &["drive-1: not erased", "was not there", "a drive was not erased"]);
    let told = place.in_words(&["events", "--kind", "erase_failed"]);
    assert_says(&told, &["tank/drive-1", "the drive was not there"]);
    let [erased, left] =
        [place.image(0), place.aside(1)].map(|file| fs::read(file).expect("a file"));
    assert!(erased.iter().all(|byte| *byte == 0));
    assert!(left.iter().any(|byte| *byte != 0), "nobody has touched it");
}

// However far the erase is: the labels have gone first.
#[test]
fn a_pool_is_destroyed_although_the_daemon_dies_before_its_drives_are_erased() {
    let place = Place::new();
    let daemon = place.start();
    tank(&place);
    write_secret(&place);
    let answer = place.request("POST", "/api/v1/pools/tank/erase?confirm=true", "");
    assert_says(&answer, &["200 OK", "0.img", "1.img", "2.img"]);
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(place.json(&["pool", "list"]), serde_json::json!([]));
    for index in 0..3 {
        assert_says(&place.ok(&["drive", "show", &place.file(index)]), &["nothing"]);
    }
    // The way out that the command names.
    place.create_pool("tank", 0..3);
    place.ok(&["pool", "destroy", "tank", "--secure", "--yes"]);
    for index in 0..3 {
        let content = fs::read(place.image(index)).expect("a file");
        assert!(content.iter().all(|byte| *byte == 0), "{index}.img");
    }
}
