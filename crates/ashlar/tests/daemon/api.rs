//! The API as its clients meet it, whoever wrote them.

use serde_json::Value;

use crate::support::Place;

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "'{part}' is not in: {said}");
    }
}

#[test]
fn the_api_describes_itself_and_refuses_in_one_shape() {
    let place = Place::new();
    let _daemon = place.start();
    let document = place.get("/api/v1/openapi.json");
    assert_says(&document, &["200 OK", "/api/v1/pools/{pool}", "\"openapi\"", "\"confirm\""]);
    assert_says(&place.get("/api/v1/version"), &["200 OK", env!("CARGO_PKG_VERSION")]);
    assert_says(
        &place.get("/api/v1/pools/none"),
        &["404", "\"code\":\"no_such_pool\"", "application/problem+json", "\"detail\""],
    );
    assert_says(&place.get("/api/v1/frobnicate"), &["404", "unknown_path", "openapi.json"]);
    assert_says(&place.get("/api/v1/pools/%ff"), &["400", "invalid_request"]);
}

#[test]
fn a_wrong_method_is_told_apart_from_a_wrong_path() {
    let place = Place::new();
    let _daemon = place.start();
    for (method, path, allowed) in [
        ("DELETE", "/api/v1/status", &["GET"][..]),
        ("PUT", "/api/v1/pools", &["GET", "POST"]),
        ("POST", "/api/v1/pools/tank", &["GET", "PATCH", "DELETE"]),
        ("GET", "/api/v1/volumes/tank/v0/allow", &["POST"]),
        ("POST", "/api/v1/openapi.json", &["GET"]),
    ] {
        let said = place.request(method, path, "");
        assert_says(
            &said,
            &["405 Method Not Allowed", "method_not_allowed", &format!("does not take {method}")],
        );
        let head = said.to_lowercase();
        let allow = head.lines().find(|line| line.starts_with("allow:")).expect("the header Allow");
        allowed.iter().for_each(|method| assert_says(&allow.to_uppercase(), &[method]));
    }
    assert_says(&place.request("PUT", "/api/v1/nothing", ""), &["404", "unknown_path"]);
}

#[test]
fn a_body_that_is_not_understood_is_refused_in_the_words_of_the_api() {
    let place = Place::new();
    let _daemon = place.start();
    for (path, body, why) in [
        ("/api/v1/pools", "", "has no body"),
        ("/api/v1/volumes", r#"{"pool":"tank","name":"v0"}"#, "lacks 'size_bytes'"),
        (
            "/api/v1/volumes",
            r#"{"pool":1,"name":"v0","size_bytes":1}"#,
            "'pool' is 1, and has to be a text",
        ),
        ("/api/v1/drives/inspect", r#"{"device":"x"}"#, "'device', which is unknown here"),
        ("/api/v1/pools/tank/fail-drive", "{drive}", "not JSON"),
    ] {
        let said = place.request("POST", path, body);
        assert_says(&said, &["400", "invalid_body", why]);
        assert!(!said.contains("deserialize") && !said.contains('`'), "{said}");
    }
}

#[test]
fn write_protection_is_set_and_cleared_and_shown() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    let is_protected =
        |place: &Place| place.json(&["volume", "show", "tank/v0"])["write_protected"].clone();
    let said = place.ok(&["volume", "set", "tank/v0", "--write-protect", "on"]);
    assert_says(&said, &["is write protected now"]);
    daemon.kill();
    let _daemon = place.start();
    assert_eq!(is_protected(&place), true);
    let done = place.request("PATCH", "/api/v1/volumes/tank/v0", r#"{"write_protected":false}"#);
    assert_says(&done, &["200 OK", r#""write_protected":false"#]);
    assert_eq!(is_protected(&place), false);
    assert_says(
        &place.refused(&["volume", "set", "tank/v0", "--write-protect", "maybe"]),
        &["on, off"],
    );
    assert_says(
        &place.refused(&["volume", "set", "tank/v9", "--write-protect", "off"]),
        &["no volume 'v9'"],
    );
}

#[test]
fn volumes_that_are_not_made_use_up_no_namespace_number() {
    let place = Place::new();
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "16MiB"]);
    for refused in [
        &["tank/v0", "--size", "16MiB"][..],
        &["tank/v1", "--size", "0"],
        &["tank/v1", "--size", "2EiB"],
        &["tonk/v1", "--size", "16MiB"],
        &["tank/v1", "--size", "16MiB", "--allow", "host1"],
    ] {
        place.refused(&[&["volume", "create"], refused].concat());
    }
    place.ok(&["volume", "create", "tank/v1", "--size", "16MiB"]);
    assert_eq!(place.json(&["volume", "show", "tank/v1"])["nsid"], 2);
    place.refused(&["volume", "create", "tank/v1", "--size", "16MiB"]);
    daemon.kill();
    let _daemon = place.start();
    place.ok(&["volume", "create", "tank/v2", "--size", "16MiB"]);
    assert_eq!(place.json(&["volume", "show", "tank/v2"])["nsid"], 3);
}

/// What scripts of others read of a pool, a volume and the node: where it is, and what it is.
const POOL_NAMES: [(&str, &str); 6] = [
    ("/name", "text"),
    ("/states/0", "text"),
    ("/space/limit_bytes", "number"),
    ("/space/safe_to_write_bytes", "number"),
    ("/drives/0/name", "text"),
    ("/drives/0/states/0", "text"),
];
const VOLUME_NAMES: [(&str, &str); 6] = [
    ("/name", "text"),
    ("/uuid", "text"),
    ("/nsid", "number"),
    ("/size_bytes", "number"),
    ("/access/allow_any", "yes or no"),
    ("/access/hosts/0", "text"),
];
const STATUS_NAMES: [(&str, &str); 3] =
    [("/subsystem_nqn", "text"), ("/portals/0/port", "number"), ("/pools/0/name", "text")];

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "yes or no",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        _ => "something else",
    }
}

#[test]
fn what_scripts_read_of_pools_volumes_and_the_node_keeps_its_names() {
    let place = Place::new();
    let _daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&[
        "volume",
        "create",
        "tank/v0",
        "--size",
        "1GiB",
        "--allow",
        "nqn.2014-08.org.example:host",
    ]);
    let printed = [
        (&["pool", "show", "tank"][..], &POOL_NAMES[..]),
        (&["volume", "show", "tank/v0"], &VOLUME_NAMES),
        (&["status"], &STATUS_NAMES),
    ];
    for (command, names) in printed {
        let shown = place.json(command);
        for (name, is) in names {
            let value =
                shown.pointer(name).unwrap_or_else(|| panic!("{command:?} has no {name}: {shown}"));
            assert_eq!(kind(value), *is, "{command:?}, {name}: {value}");
        }
    }
}
