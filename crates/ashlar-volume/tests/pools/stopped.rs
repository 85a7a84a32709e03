//! A panic in the work of one pool, as a broken invariant is: that pool goes out of service, the
//! others go on.

use std::time::Duration;

use ashlar_block::Cause;
use ashlar_drive::Panicking;
use ashlar_reactor::{sleep, spawn_joined};
use ashlar_store::{OpenPolicy, ScrubState};
use ashlar_volume::{Door, NodeError, Nsid, Order, VolumeIo};
use bytes::Bytes;

use crate::support::{
    Handles, TestDoor, TestNode, at_door, drive, drives, host, node, pool, stopped, volume,
    with_faults,
};

const MIB: u64 = 1 << 20;

/// Two pools with a volume each: `ill` has namespace 1, `well` has 2.
async fn two_pools(node: &TestNode) {
    for (name, prefix) in [("ill", "a"), ("well", "b")] {
        node.create_pool(pool(name), drives(prefix, 3), false).await.unwrap();
        node.create_volume(name, node.table().claim_new().unwrap(), volume("v0", 8 * MIB))
            .await
            .unwrap();
    }
}

fn open(door: &TestDoor, nsid: u32) -> <TestDoor as Door>::Volume {
    door.with_namespace(&host("a"), Nsid(nsid), |_, volume| volume.clone())
        .expect("the host may see it")
}

fn data(seed: u8) -> Bytes {
    vec![seed; 4096].into()
}

async fn write(handles: &Handles, nsid: u32, offset: u64, seed: u8) -> Result<(), Cause> {
    let work =
        move |door: TestDoor| async move { open(&door, nsid).write(offset, data(seed)).await };
    at_door(handles, 0, work).await.map_err(|error| error.cause)
}

async fn read(handles: &Handles, nsid: u32, offset: u64) -> u8 {
    let work = move |door: TestDoor| async move { open(&door, nsid).read(offset, 4096).await };
    at_door(handles, 0, work).await.unwrap()[0]
}

/// The namespaces that a host sees, and whether they are ready.
async fn readiness(handles: &Handles) -> Vec<(u32, bool)> {
    let work = |door: TestDoor| async move { door.namespaces(&host("a")) };
    at_door(handles, 0, work).await.iter().map(|info| (info.nsid.0, info.is_ready)).collect()
}

async fn panic_at_next_write(handles: &Handles) {
    for spec in drives("a", 3) {
        with_faults(handles, &spec, |faults| faults.panic_at_next_write(Panicking::Once)).await;
    }
}

async fn heal(handles: &Handles) {
    for spec in drives("a", 3) {
        with_faults(handles, &spec, |faults| faults.heal()).await;
    }
}

/// Waits until the pool `ill` is out of service.
async fn out_of_service(node: &TestNode, handles: &Handles) {
    while stopped(handles).await.len() < 2 {
        sleep(Duration::from_millis(5)).await;
    }
    let told = stopped(handles).await;
    assert_eq!(told.iter().map(|pool| pool.is_let_go).collect::<Vec<_>>(), [false, true]);
    assert_eq!(told[0].name, "ill");
    assert!(told[0].why.contains("a fault that was asked for"), "{}", told[0].why);
    assert!(matches!(node.report("ill").await, Err(NodeError::NoSuchPool(_))));
}

/// The other pool serves, and the ill one opens again with what was acknowledged.
async fn the_other_goes_on_and_nothing_is_lost(node: &TestNode, handles: &Handles) {
    write(handles, 2, 4096, 22).await.unwrap();
    assert_eq!(read(handles, 2, 4096).await, 22);
    heal(handles).await;
    node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
    assert_eq!(read(handles, 1, 0).await, 11, "what was acknowledged before the fault");
    write(handles, 1, 8192, 33).await.unwrap();
    assert_eq!(read(handles, 1, 8192).await, 33);
}

#[test]
fn a_panic_in_the_write_of_a_host_stops_that_pool_alone() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        panic_at_next_write(&handles).await;
        assert_eq!(write(&handles, 1, 4096, 12).await, Err(Cause::NotReady));
        out_of_service(&node, &handles).await;
        assert_eq!(readiness(&handles).await, [(1, false), (2, true)], "hosts keep all of them");
        the_other_goes_on_and_nothing_is_lost(&node, &handles).await;
        assert_eq!(readiness(&handles).await, [(1, true), (2, true)]);
    });
}

#[test]
fn a_panic_in_a_checkpoint_is_told_to_whoever_waits_for_it() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        panic_at_next_write(&handles).await;
        let made =
            node.create_volume("ill", node.table().claim_new().unwrap(), volume("v1", MIB)).await;
        assert!(
            matches!(made, Err(NodeError::Stopped { ref pool, .. }) if pool == "ill"),
            "{made:?}"
        );
        out_of_service(&node, &handles).await;
        the_other_goes_on_and_nothing_is_lost(&node, &handles).await;
    });
}

#[test]
fn commands_that_wait_for_a_drive_are_answered_when_another_ones_work_panics() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        for spec in drives("a", 3) {
            with_faults(&handles, &spec, |faults| faults.stall()).await;
        }
        let waiting = {
            let handles = handles.clone();
            spawn_joined(async move { write(&handles, 1, 4096, 12).await })
        };
        panic_at_next_write(&handles).await;
        for spec in drives("a", 3) {
            with_faults(&handles, &spec, |faults| faults.resume()).await;
        }
        assert_eq!(waiting.await, Err(Cause::NotReady));
        out_of_service(&node, &handles).await;
        the_other_goes_on_and_nothing_is_lost(&node, &handles).await;
    });
}

#[test]
fn a_panic_on_another_reactor_reaches_the_host_as_an_error() {
    let (node, handles) = node(2);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        panic_at_next_write(&handles).await;
        let work = |door: TestDoor| async move { open(&door, 1).write(4096, data(12)).await };
        let answer = at_door(&handles, 1, work).await;
        assert_eq!(answer.map_err(|error| error.cause), Err(Cause::NotReady));
        out_of_service(&node, &handles).await;
    });
}

#[test]
fn a_panic_while_a_pool_is_opened_keeps_it_closed_and_it_opens_later() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        node.close_pool("ill").await.unwrap();
        panic_at_next_write(&handles).await;
        let opened = node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await;
        assert!(matches!(opened, Err(NodeError::Stopped { .. })), "{opened:?}");
        assert!(matches!(node.report("ill").await, Err(NodeError::NoSuchPool(_))));
        the_other_goes_on_and_nothing_is_lost(&node, &handles).await;
    });
}

/// The scrub was noted as going on, so that the next start would go on with it.
#[test]
fn a_scrub_that_was_stopped_stays_so_if_the_pool_ends_at_once() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        for spec in drives("a", 3) {
            with_faults(&handles, &spec, |faults| faults.slow_down(Duration::from_millis(20)))
                .await;
        }
        node.scrub("ill", Order::Start).await.unwrap();
        node.create_volume("ill", node.table().claim_new().unwrap(), volume("v1", MIB))
            .await
            .unwrap();
        node.scrub("ill", Order::Stop).await.unwrap();
        panic_at_next_write(&handles).await;
        // Or the pool's own work meets it first.
        drop(node.create_volume("ill", node.table().claim_new().unwrap(), volume("v2", MIB)).await);
        out_of_service(&node, &handles).await;
        heal(&handles).await;
        node.open_pool(None, drives("a", 3), OpenPolicy::Most, Vec::new()).await.unwrap();
        let scrub = node.report("ill").await.unwrap().status.scrub;
        assert!(scrub.is_none_or(|scrub| scrub.state != ScrubState::Running));
    });
}

#[test]
fn a_panic_while_a_pool_is_closed_is_told_to_whoever_closes_it() {
    let (node, handles) = node(1);
    drive(async move {
        two_pools(&node).await;
        write(&handles, 1, 0, 11).await.unwrap();
        panic_at_next_write(&handles).await;
        let closed = node.close_pool("ill").await;
        assert!(matches!(closed, Err(NodeError::Stopped { .. })), "{closed:?}");
        assert!(matches!(node.report("ill").await, Err(NodeError::NoSuchPool(_))));
        the_other_goes_on_and_nothing_is_lost(&node, &handles).await;
    });
}
