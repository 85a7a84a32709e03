//! A change is done as a whole or not at all, however its pool is named.

use serde_json::Value;

use crate::rest::{asked, header, started, status};
use crate::support::Place;

#[test]
fn a_change_that_is_refused_changes_nothing_and_the_pool_may_be_named_by_its_uuid() {
    let place = Place::new();
    let _daemon = started(&place);
    ["tank/v0", "tank/v1"].iter().for_each(|it| {
        place.ok(&["volume", "create", it, "--size", "16MiB"]);
    });
    let uuid = place.json(&["pool", "show", "tank"])["uuid"].as_str().expect("text").to_owned();
    let by_uuid = format!("/volumes/{uuid}/v0");
    let shown = || asked(&place, "GET", &by_uuid, &[], "");
    let before = shown();
    let taken =
        r#"{"size_bytes":4194304,"compression":"none","write_protected":false,"name":"v1"}"#;
    let (head, refused) = asked(&place, "PATCH", &format!("{by_uuid}?confirm=true"), &[], taken);
    assert_eq!((status(&head), &refused["code"]), ("409", &"volume_exists".into()));
    assert_eq!(shown().1, before.1);
    assert_eq!(header(&shown().0, "etag"), header(&before.0, "etag"));
    // Its own name is no other one's.
    let (head, changed) =
        asked(&place, "PATCH", &by_uuid, &[], r#"{"size_bytes":33554432,"name":"v0"}"#);
    assert_eq!((status(&head), &changed["size_bytes"]), ("200", &33_554_432.into()));
    // A policy's limits are set as they are shown: null is none.
    let limits = |body: &str| {
        let (head, volume) = asked(&place, "PATCH", &format!("{by_uuid}/qos"), &[], body);
        assert_eq!(status(&head), "200", "{head} {volume}");
        volume["qos"]["limits"].clone()
    };
    let both = limits(r#"{"limits":{"iops_max":500,"read_iops_max":400}}"#);
    assert_eq!((&both["iops_max"], &both["read_iops_max"]), (&500.into(), &400.into()));
    let one = limits(r#"{"limits":{"iops_max":null}}"#);
    assert_eq!((&one["iops_max"], &one["read_iops_max"]), (&Value::Null, &400.into()));

    let count = |path: String| asked(&place, "GET", &path, &[], "").1.as_array().map(Vec::len);
    assert_eq!(count(format!("/volumes?pool={uuid}")), Some(2));
    let (head, unknown) = asked(&place, "GET", "/volumes?pool=tonk", &[], "");
    assert_eq!((status(&head), &unknown["code"]), ("404", &"no_such_pool".into()));
    let told = |pool: &str| count(format!("/events?kind=change&pool={pool}"));
    assert!(told("tank").is_some_and(|told| told >= 5), "those by its UUID as well");
    assert_eq!(told("tank"), told(&uuid));
}
