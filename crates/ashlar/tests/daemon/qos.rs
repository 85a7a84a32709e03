//! What volumes may take of their pool, as operators say it and hosts notice it.

use std::rc::Rc;
use std::time::{Duration, Instant};

use ashlar_load::initiator::Namespace;
use bytes::Bytes;

use crate::full_disk::connected;
use crate::support::Place;

/// A pool with a volume that any host may use.
fn with_volume(place: &Place) {
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "64MiB", "--allow", "any"]);
}

/// Writes with so many outstanding until there were so many. Returns how long that took.
async fn write(namespace: Namespace, count: u64, outstanding: u64) -> Duration {
    let (namespace, began) = (Rc::new(namespace), Instant::now());
    let writers = (0..outstanding).map(|first| {
        let namespace = namespace.clone();
        async move {
            for at in (first..count).step_by(outstanding as usize) {
                let data = Bytes::from(vec![at as u8; 4096]);
                namespace.write(at, data).await.expect("it waits, and is done");
            }
        }
    });
    futures_util::future::join_all(writers).await;
    began.elapsed()
}

fn volume(place: &Place) -> serde_json::Value {
    place.json(&["volume", "show", "tank/v0"])["qos"].clone()
}

#[test]
fn policies_are_made_changed_given_to_volumes_and_outlive_the_daemon() {
    let place = Place::new();
    let daemon = place.start();
    with_volume(&place);
    place.ok(&["qos", "create", "tank", "gold", "--iops", "5000", "--bandwidth", "200MiB"]);
    place.ok(&["qos", "create", "tank", "bronze", "--iops-per-gib", "100", "--weight", "50"]);
    assert!(place.refused(&["qos", "create", "tank", "gold"]).contains("already"));
    assert!(place.refused(&["qos", "create", "tank", "none"]).contains("something else"));
    assert!(place.refused(&["qos", "set", "tank", "gold", "--iops", "3"]).contains("too low"));
    assert_eq!(volume(&place)["source"], "none");
    let uuid = place.json(&["pool", "show", "tank"])["uuid"].clone();
    let gold = place.json(&["qos", "show", uuid.as_str().unwrap(), "gold"]);
    assert_eq!((&gold["name"], &gold["pool"]), (&"gold".into(), &"tank".into()));
    assert!(place.refused(&["qos", "list", "lake"]).contains("no pool 'lake'"));
    assert!(place.refused(&["qos", "show", "lake", "gold"]).contains("no pool 'lake'"));
    place.ok(&["qos", "default", "tank", "bronze"]);
    let by_default = volume(&place);
    assert_eq!((&by_default["policy"], &by_default["source"]), (&"bronze".into(), &"pool".into()));
    assert_eq!(
        (&by_default["weight"], &by_default["limits"]["iops_per_gib"]),
        (&50.into(), &100.into())
    );
    place.ok(&["volume", "set", "tank/v0", "--qos", "gold"]);
    place.ok(&["qos", "set", "tank", "gold", "--iops", "7000", "--bandwidth", "none"]);
    assert!(place.refused(&["qos", "delete", "tank", "gold"]).contains("v0"));
    assert!(place.refused(&["qos", "delete", "tank", "bronze"]).contains("default"));
    assert!(place.refused(&["volume", "set", "tank/v0", "--qos", "silver"]).contains("silver"));
    daemon.kill();
    let daemon = place.start();
    place.wait_until_opened();
    let gold = volume(&place);
    assert_eq!((&gold["policy"], &gold["limits"]["iops_max"]), (&"gold".into(), &7000.into()));
    assert_eq!(gold["limits"]["bytes_per_second_max"], serde_json::Value::Null);
    place.ok(&["qos", "limit", "tank/v0", "--read-iops", "500"]);
    let own = volume(&place);
    assert_eq!((&own["source"], &own["limits"]["iops_max"]), (&"own".into(), &7000.into()));
    assert_eq!(own["limits"]["read_iops_max"], 500);
    place.ok(&["qos", "delete", "tank", "gold"]);
    place.ok(&["volume", "set", "tank/v0", "--qos", "none"]);
    assert_eq!(volume(&place)["source"], "unlimited");
    let listed = place.json(&["qos", "list"]);
    assert_eq!((&listed[0]["name"], &listed[0]["default"]), (&"bronze".into(), &true.into()));
    assert!(place.ok(&["events"]).contains("qos limit"));
    daemon.terminate();
}

#[test]
fn a_volume_is_held_to_its_limit_shows_it_and_is_free_at_once_without() {
    let place = Place::new();
    let daemon = place.start();
    with_volume(&place);
    // 300 commands, of which the burst of 0.1 s is free.
    place.ok(&["qos", "limit", "tank/v0", "--write-iops", "200"]);
    let took = connected(&place, |namespace| write(namespace, 300, 8));
    assert!(took >= Duration::from_millis(1350), "{took:?}");
    let held = volume(&place);
    assert!(held["delayed_operations"].as_u64().unwrap() > 10, "{held}");
    assert!(held["delayed_seconds"].as_f64().unwrap() > 1.0, "{held}");
    assert_eq!((&held["throttled"], &held["waiting_operations"]), (&false.into(), &0.into()));

    // It would take 50 seconds, unless somebody takes the limit away while commands wait.
    place.ok(&["qos", "limit", "tank/v0", "--write-iops", "10"]);
    let took = std::thread::scope(|scope| {
        scope.spawn(|| {
            place.wait_until("commands wait", |_| volume(&place)["throttled"] == true);
            place.ok(&["volume", "set", "tank/v0", "--qos", "none"]);
        });
        connected(&place, |namespace| write(namespace, 500, 16))
    });
    assert!(took < Duration::from_secs(40), "{took:?}");
    daemon.terminate();
}

#[test]
fn commands_that_wait_end_with_their_connection_and_hold_up_no_other() {
    let place = Place::new();
    let daemon = place.start();
    with_volume(&place);
    place.ok(&["qos", "limit", "tank/v0", "--write-iops", "10"]);
    // A host that goes while its commands wait for most of a minute.
    connected(&place, |namespace| async move {
        let going = write(namespace, 500, 32);
        let _ = ashlar_reactor::timeout(Duration::from_millis(500), going).await;
    });
    place.wait_until("nobody waits", |_| volume(&place)["waiting_operations"] == 0);
    // Another one is held to the limit, and to nothing that the first one has left behind.
    let took = connected(&place, |namespace| write(namespace, 10, 2));
    assert!(took < Duration::from_secs(10), "{took:?}");
    daemon.terminate();
}

#[test]
fn commands_that_wait_for_the_limits_of_a_volume_are_told_at_once_that_it_is_deleted() {
    let place = Place::new();
    let daemon = place.start();
    with_volume(&place);
    place.ok(&["qos", "limit", "tank/v0", "--read-iops", "10"]);
    let (took, failed) = std::thread::scope(|scope| {
        scope.spawn(|| {
            place.wait_until("commands wait", |_| volume(&place)["throttled"] == true);
            place.ok(&["volume", "delete", "tank/v0", "--yes"]);
        });
        connected(&place, |namespace| async move {
            let began = Instant::now();
            let reads = (0..1000).map(|at| namespace.read(at, 1));
            let answers = futures_util::future::join_all(reads).await;
            (began.elapsed(), answers.iter().filter(|answer| answer.is_err()).count())
        })
    });
    // At the limit they would take 100 seconds.
    assert!(took < Duration::from_secs(18) && failed > 500, "{took:?}, {failed} failed");
    daemon.terminate();
}
