//! What is not well now, as whoever asks for it is told.

use serde_json::Value;

use crate::support::{Daemon, Place};

fn started(place: &Place) -> Daemon {
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    daemon
}

#[test]
fn what_is_not_well_is_said_at_once_and_by_the_exit_code() {
    let place = Place::new();
    let daemon = started(&place);
    assert_eq!(place.ok(&["status", "-x"]).trim(), "all is well");
    assert_eq!(place.run(&["status", "--check"]).status.code(), Some(0));
    daemon.terminate();
    for lost in [0, 1] {
        std::fs::remove_file(place.image(lost)).expect("it is there");
    }
    let daemon = place.start_configured("member_wait_seconds = 0\n");
    place
        .wait_until("the pool is not opened", |place| place.pool_states("tank") == ["unavailable"]);
    let ill = place.run(&["status", "--check", "--output", "json"]);
    assert_eq!(ill.status.code(), Some(3));
    let alerts: Value = serde_json::from_slice(&ill.stdout).expect("JSON");
    let closed = &alerts[0];
    assert_eq!((&closed["severity"], &closed["code"]), (&"error".into(), &"unavailable".into()));
    assert_eq!((&closed["pool"], &closed["drive"]), (&"tank".into(), &Value::Null));
    let said = place.ok(&["status", "-x"]);
    assert!(
        said.contains("error: pool 'tank' is unavailable: 2 of 3 drives are missing"),
        "{said}"
    );
    assert!(said.contains("ashlar pool import tank"), "{said}");
    daemon.terminate();
    assert_eq!(place.run(&["status", "--check"]).status.code(), Some(1), "no daemon answers");
}

/// `status -x` was content as soon as the rebuild was done, and of a pool without redundancy it
/// named a command that an open pool refuses.
#[test]
fn what_is_lost_stays_an_alert_after_the_rebuild_and_each_way_out_is_one() {
    let place = Place::new();
    let daemon = started(&place);
    let codes = || -> Vec<String> {
        let said = place.run(&["status", "--check", "--output", "json"]);
        let alerts: Vec<Value> = serde_json::from_slice(&said.stdout).expect("JSON");
        assert_eq!(said.status.code(), Some(if alerts.is_empty() { 0 } else { 3 }));
        alerts.iter().map(|alert| alert["code"].as_str().expect("a word").to_owned()).collect()
    };
    place.ok(&["drive", "fail", "tank/drive-1", "--yes"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    assert_eq!(codes(), ["no_second_loss", "released"]);
    place.ok(&["drive", "fail", "tank/drive-2", "--force", "--yes"]);
    place.wait_until("it takes no writes", |_| codes().contains(&"read-only".to_owned()));
    let said = place.ok(&["status", "-x"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("`ashlar drive return tank/drive-2`"), "{said}");
    place.ok(&["drive", "return", "tank/drive-2"]);
    place.ok(&["drive", "return", "tank/drive-1"]);
    place.ok(&["pool", "rebuild", "tank", "--wait"]);
    place.wait_until("all is well", |_| codes().is_empty());
    daemon.terminate();
}
