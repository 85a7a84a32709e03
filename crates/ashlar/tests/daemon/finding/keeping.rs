//! Hosts keep the namespaces of pools that are opened late.

use std::fs;
use std::process::Stdio;

use ashlar_load::initiator::{ConnectOptions, Controller, HostIdentity};
use ashlar_reactor::{Config, run, spawn_joined};
use bytes::Bytes;

use super::problem;

use crate::support::{Daemon, Place};

const OTHER: &str = "nqn.2014-08.org.example:other";

/// What a host finds on a volume that it has written to.
fn content() -> Bytes {
    vec![0x5a; 4096].into()
}

fn on_reactor<T: 'static>(work: impl Future<Output = T> + 'static) -> T {
    run(Config::default(), work).expect("it runs")
}

/// The numbers of the namespaces that a host sees.
fn seen(options: ConnectOptions) -> Vec<u32> {
    on_reactor(async move {
        let controller = Controller::connect(options).await.expect("a host connects");
        let seen = controller.namespaces().await.expect("a list");
        controller.disconnect().await;
        seen
    })
}

/// A pool with a volume for every host, which holds something, and one for another host; the
/// daemon, which knows that, has been killed, and a drive is not there.
fn killed(place: &Place) {
    let daemon = place.start();
    place.create_pool("tank", 0..3);
    place.ok(&["volume", "create", "tank/v0", "--size", "4MiB", "--allow", "any"]);
    place.ok(&["volume", "create", "tank/v1", "--size", "4MiB", "--allow", OTHER]);
    let options = crate::hosts::options(place);
    on_reactor(async move {
        let controller = Controller::connect(options).await.expect("a host connects");
        let namespace = controller.namespace(1).await.expect("it is there");
        namespace.write(3, content()).await.expect("it can be written to");
        controller.disconnect().await;
    });
    place.wait_until("the access list is remembered", |place| {
        let text = fs::read_to_string(place.path("namespaces.json")).unwrap_or_default();
        text.contains(OTHER)
    });
    daemon.kill();
    fs::rename(place.image(1), place.aside(1)).expect("a file");
}

/// A daemon that waits for the drive.
fn waiting(place: &Place) -> Daemon {
    let mut command = place.serve_waiting(3600);
    command.stderr(Stdio::inherit());
    let mut daemon = place.spawn(command);
    daemon.wait_for("READY=1");
    place.wait_until("the pool waits", |place| problem(place, "tank") == "waiting for drive-1");
    daemon
}

fn as_other(options: ConnectOptions) -> ConnectOptions {
    ConnectOptions { host: HostIdentity { nqn: OTHER.to_owned(), id: [8; 16] }, ..options }
}

/// Linux gave its disk up: the list was empty, and each command ended with Invalid Namespace.
#[test]
fn a_host_keeps_the_namespaces_of_a_pool_that_is_opened_late_and_its_commands_wait_for_it() {
    let place = Place::new();
    killed(&place);
    let daemon = waiting(&place);
    let options = crate::hosts::options(&place);
    assert_eq!(seen(as_other(options.clone())), [1, 2]);
    let (aside, image) = (place.aside(1), place.image(1));
    on_reactor(async move {
        let controller = Controller::connect(options).await.expect("a host connects");
        assert_eq!(
            controller.namespaces().await.expect("a list"),
            [1],
            "the other one is not for it"
        );
        let namespace = controller.namespace(1).await.expect("it is there");
        assert_eq!(namespace.blocks() * u64::from(namespace.lba_bytes()), 4 << 20);
        let (reader, writer) = (namespace.clone(), namespace.clone());
        let read = spawn_joined(async move { reader.read(3, 1).await });
        let written = spawn_joined(async move { writer.write(4, content()).await });
        fs::rename(aside, image).expect("a file");
        assert_eq!(read.await.expect("it has waited")[..], content()[..]);
        written.await.expect("it has waited");
        assert_eq!(namespace.read(4, 1).await.expect("the pool is open")[..], content()[..]);
        controller.disconnect().await;
    });
    place.wait_until_opened();
    assert_eq!(place.pool_states("tank"), ["online"]);
    daemon.terminate();
}

#[test]
fn hosts_lose_the_namespaces_of_a_pool_that_is_not_open_when_it_is_forgotten() {
    let place = Place::new();
    killed(&place);
    let daemon = waiting(&place);
    let options = crate::hosts::options(&place);
    assert_eq!(seen(options.clone()), [1]);
    place.ok(&["pool", "export", "tank", "--yes"]);
    assert!(seen(options).is_empty());
    daemon.terminate();
    let daemon = place.start();
    assert!(seen(crate::hosts::options(&place)).is_empty());
    daemon.terminate();
}

/// They go to whoever had them first only as long as that one is not forgotten.
#[test]
fn a_pool_that_is_made_while_another_one_waits_has_numbers_of_its_own() {
    let place = Place::new();
    killed(&place);
    let daemon = waiting(&place);
    place.create_pool("next", 3..6);
    place.ok(&["volume", "create", "next/v0", "--size", "4MiB", "--allow", "any"]);
    assert_eq!(seen(crate::hosts::options(&place)), [1, 3]);
    fs::rename(place.aside(1), place.image(1)).expect("a file");
    place.wait_until_opened();
    assert_eq!(seen(crate::hosts::options(&place)), [1, 3]);
    assert_eq!(place.json(&["volume", "show", "tank/v0"])["nsid"], 1);
    daemon.terminate();
}
