//! Data that no drive has any more: whoever looks after the daemon hears of it, and no longer once
//! it is over.

use std::fs;

use ashlar_load::initiator::{Controller, Namespace};
use ashlar_reactor::{Config, run};
use bytes::Bytes;
use serde_json::Value;

use crate::hosts::options;
use crate::support::{Place, spoil, text};

const DRIVES: usize = 3;
const BLOCK: usize = 4096;
/// What the damaged block holds.
const HELD: &[u8] = b"what no drive is to have any more";

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

fn write(place: &Place) {
    let mut block = HELD.repeat(BLOCK / HELD.len() + 1);
    block.truncate(BLOCK);
    as_host(place, |namespace| async move {
        namespace.write(7, Bytes::from(block)).await.expect("there is room");
    });
}

fn can_read(place: &Place) -> bool {
    as_host(place, |namespace| async move { namespace.read(7, 1).await.is_ok() })
}

/// Spoils what was written wherever it lies.
fn spoil_all(place: &Place) {
    let mut spoiled = 0;
    for index in 0..DRIVES {
        let image = place.image(index);
        let bytes = fs::read(&image).expect("a file");
        let holds = |at: &usize| bytes[*at..].starts_with(HELD);
        for at in (0..bytes.len()).step_by(BLOCK).filter(holds) {
            spoil(&image, at as u64 + 100, 64);
            spoiled += 1;
        }
    }
    assert!(spoiled > 0, "it was written");
}

/// The codes of what is not well, by a check that says so by its end, too.
fn alerts(place: &Place) -> Vec<String> {
    let checked = place.run(&["status", "--check", "--output", "json"]);
    let alerts: Value = serde_json::from_str(&text(&checked.stdout)).expect("JSON");
    let alerts = alerts.as_array().expect("a list");
    assert_eq!(checked.status.code(), Some(if alerts.is_empty() { 0 } else { 3 }));
    alerts.iter().map(|alert| alert["code"].as_str().expect("a word").to_owned()).collect()
}

#[test]
fn data_that_no_drive_has_is_told_and_stays_an_alert_until_a_scrub_finds_all_right() {
    let place = Place::new();
    let daemon = place.start();
    let drives = place.drives(0..DRIVES);
    let create = ["pool", "create", "tank", "--level", "0"].into_iter();
    place.ok(&create.chain(drives.iter().map(String::as_str)).collect::<Vec<_>>());
    place.ok(&["pool", "set", "tank", "scrub-prio=100", "fault-threshold=off"]);
    let create = ["volume", "create", "tank/v0", "--size", "8MiB", "--allow", "any"];
    place.ok(&[&create[..], &["--compression", "none"]].concat());
    write(&place);
    // What was just written may be in memory.
    daemon.terminate();
    spoil_all(&place);
    let daemon = place.start();
    assert_eq!(alerts(&place), [""; 0]);
    assert!(!can_read(&place));
    assert_eq!(alerts(&place), ["data_unreadable"]);
    let told = place.in_words(&["events", "--severity", "error"]);
    for part in ["data_unreadable", "block of pool 'tank' could not be read right"] {
        assert!(told.contains(part), "'{part}' is not in: {told}");
    }
    let scrubbed = place.run(&["pool", "scrub", "tank", "--wait"]);
    assert!(!scrubbed.status.success(), "nothing can restore it");
    assert_eq!(alerts(&place), ["data_unreadable", "scrub_unrepaired"]);
    place.ok(&["volume", "delete", "tank/v0", "--yes"]);
    place.wait_until("a scrub finds all right", |place| {
        place.run(&["pool", "scrub", "tank", "--wait"]).status.success()
    });
    assert_eq!(alerts(&place), [""; 0]);
    daemon.terminate();
}
