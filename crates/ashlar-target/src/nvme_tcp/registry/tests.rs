use std::sync::Arc;
use std::sync::atomic::Ordering;

use ashlar_volume::HostNqn;

use super::{Association, EndReason, HostKey, JoinError, Life, Registry};

fn host(name: &str, id: u8) -> HostKey {
    HostKey { nqn: HostNqn::new(&format!("nqn.2014-08.org.example:{name}")).unwrap(), id: [id; 16] }
}

fn admitted(registry: &Registry, host: &HostKey) -> (Arc<Association>, Arc<Life>) {
    let life = Life::new();
    let address = "127.0.0.1:1".parse().unwrap();
    let association = registry.admit(host.clone(), address, false, &life).unwrap();
    association.io_queues.store(4, Ordering::Release);
    association.enabled.store(true, Ordering::Release);
    (association, life)
}

fn joined(
    registry: &Registry,
    controller_id: u16,
    host: &HostKey,
    queue_id: u16,
    life: &Arc<Life>,
) -> Result<Arc<Association>, JoinError> {
    registry.join(registry.invite(controller_id, host, queue_id)?, life)
}

#[test]
fn controller_ids_are_not_reused_soon() {
    let registry = Registry::default();
    let (first, life) = admitted(&registry, &host("a", 1));
    registry.leave(first.controller_id, 0, &life);
    let (second, _) = admitted(&registry, &host("a", 1));
    assert_ne!(first.controller_id, second.controller_id);
}

#[test]
fn only_the_same_host_may_add_queues() {
    let registry = Registry::default();
    let (association, _life) = admitted(&registry, &host("a", 1));
    let join = |host: &HostKey, queue_id| {
        joined(&registry, association.controller_id, host, queue_id, &Life::new()).err()
    };
    assert_eq!(join(&host("b", 1), 1), Some(JoinError::OtherHostNqn));
    assert_eq!(join(&host("a", 2), 1), Some(JoinError::OtherHostId));
    assert_eq!(join(&host("a", 1), 5), Some(JoinError::QueueIdTooHigh));
    assert_eq!(join(&host("a", 1), 1), None);
    assert_eq!(join(&host("a", 1), 1), Some(JoinError::QueueInUse));
    association.enabled.store(false, Ordering::Release);
    assert_eq!(join(&host("a", 1), 2), Some(JoinError::NotEnabled));
}

#[test]
fn the_end_of_the_admin_queue_ends_the_others_and_leaves_their_work_to_be_awaited() {
    let registry = Registry::default();
    let (association, admin) = admitted(&registry, &host("a", 1));
    let io = Life::new();
    joined(&registry, association.controller_id, &host("a", 1), 1, &io).unwrap();
    assert_eq!(registry.connected_hosts()[0].io_queues, 1);
    let is_draining = |life: &Arc<Life>| {
        let found = registry.draining_of_host(&host("a", 1).nqn);
        found.is_some_and(|found| Arc::ptr_eq(&found, life))
    };
    assert!(registry.draining_of_host(&host("a", 1).nqn).is_none());
    admin.end(EndReason::PeerClosed);
    registry.leave(association.controller_id, 0, &admin);
    assert_eq!(io.stop.get(), Some(EndReason::AssociationEnded));
    assert!(is_draining(&admin));
    assert!(registry.draining_of_host(&host("b", 1).nqn).is_none());
    admin.drained.set(());
    assert!(is_draining(&io));
    io.drained.set(());
    assert!(registry.draining_of_host(&host("a", 1).nqn).is_none());
    assert!(registry.connected_hosts().is_empty());
}

#[test]
fn a_queue_waits_for_those_of_its_own_controller_alone() {
    let registry = Registry::default();
    let (first, _first_admin) = admitted(&registry, &host("a", 1));
    let (second, _second_admin) = admitted(&registry, &host("a", 1));
    let io = Life::new();
    joined(&registry, first.controller_id, &host("a", 1), 1, &io).unwrap();
    io.end(EndReason::PeerClosed);
    assert!(registry.draining_of_controller(first.controller_id).is_some());
    assert!(registry.draining_of_controller(second.controller_id).is_none());
}

#[test]
fn an_invitation_ends_with_what_it_was_for() {
    let registry = Registry::default();
    let (association, admin) = admitted(&registry, &host("a", 1));
    let invite = || registry.invite(association.controller_id, &host("a", 1), 1).unwrap();
    let (before_reset, before_end) = (invite(), invite());
    // The controller is disabled and enabled again.
    registry.end_io_queues(association.controller_id);
    assert_eq!(registry.join(before_reset, &Life::new()).err(), Some(JoinError::NotEnabled));
    let after_reset = invite();
    admin.end(EndReason::KeepAliveExpired);
    assert_eq!(registry.join(after_reset, &Life::new()).err(), Some(JoinError::NoController));
    registry.leave(association.controller_id, 0, &admin);
    assert_eq!(registry.join(before_end, &Life::new()).err(), Some(JoinError::NoController));
    assert!(registry.connected_hosts().is_empty());
}
