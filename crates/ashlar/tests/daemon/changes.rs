//! Changes to a node that are interrupted, and what is remembered of them.

use std::io::Write;
use std::os::unix::net::UnixStream;

use crate::support::Place;

#[test]
fn a_pool_whose_client_has_gone_is_made_and_remembered_all_the_same() {
    let place = Place::new();
    let daemon = place.start();
    let drives: Vec<String> = (0..3).map(|index| place.drive(index)).collect();
    let body = serde_json::json!({ "name": "tank", "level": "5", "drives": drives }).to_string();
    let mut client = UnixStream::connect(place.socket()).unwrap();
    let head = format!(
        "POST /api/v1/pools HTTP/1.1\r\nhost: ashlar\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.write_all(format!("{head}{body}").as_bytes()).unwrap();
    place.wait_until("the first drive is made", |place| place.image(0).exists());
    drop(client);
    place.wait_until("the pool is there", |place| !place.json(&["pool", "list"])[0].is_null());
    daemon.terminate();
    let _daemon = place.start();
    assert_eq!(place.json(&["pool", "show", "tank"])["states"][0], "online");
}

#[test]
fn a_namespace_number_that_came_with_a_pool_is_not_given_out_again() {
    let (origin, place) = (Place::new(), Place::new());
    let first = origin.start();
    origin.create_pool("tank", 0..3);
    origin.ok(&["volume", "create", "tank/v0", "--size", "1GiB"]);
    origin.ok(&["volume", "create", "tank/v1", "--size", "1GiB"]);
    origin.ok(&["pool", "export", "tank", "--yes"]);
    first.terminate();
    let daemon = place.start();
    let directory = origin.path("").display().to_string();
    place.ok(&["pool", "import", "--drive", &directory]);
    place.ok(&["volume", "delete", "tank/v1", "--yes"]);
    daemon.kill();
    let _daemon = place.start();
    place.ok(&["volume", "create", "tank/v2", "--size", "1GiB"]);
    assert_eq!(place.json(&["volume", "show", "tank/v2"])["nsid"], 3);
}

#[test]
fn a_level_in_groups_becomes_another_and_the_pool_says_why() {
    let place = Place::new();
    let _daemon = place.start();
    let create = ["pool", "create", "tank", "--level", "50", "--output", "json"].map(str::to_owned);
    let create: Vec<String> = create.into_iter().chain(place.drives(0..3)).collect();
    let made = place.ok(&create.iter().map(String::as_str).collect::<Vec<_>>());
    let made: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!(made["level"], "5");
    let notes = made["notes"].to_string();
    assert!(notes.contains("level 50 is level 5 in groups"), "{notes}");
}
