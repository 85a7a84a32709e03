use std::task::{Context, Wake, Waker};

use futures_util::FutureExt;

use ashlar_block::VolumeUuid;

use super::*;
use crate::door::{AccessList, SanitizeState};

const POOL: PoolUuid = PoolUuid([1; 16]);

fn table() -> Arc<Table> {
    Table::new(subsystem(), 4, 1)
}

fn subsystem() -> SubsystemInfo {
    SubsystemInfo {
        nqn: "nqn.2014-08.org.example:node".into(),
        serial: "S".into(),
        model: "M".into(),
        firmware: "1".into(),
    }
}

#[test]
fn a_free_number_is_granted_and_a_taken_one_gives_way() {
    let table = table();
    assert_eq!(table.claim_for(POOL, Nsid(2)).unwrap(), Nsid(2));
    assert_eq!(table.claim_for(POOL, Nsid(2)).unwrap(), Nsid(5));
    assert_eq!(table.claim_new().unwrap(), Nsid(6));
    table.release(Nsid(6));
    assert_eq!(table.claim_new().unwrap(), Nsid(7), "a number is not given out twice");
    assert_eq!(table.nsid_high(), 7);
}

#[test]
fn a_change_ends_the_wait_for_it() {
    let table = table();
    let seen = table.generation();
    let mut changed = Box::pin(table.changed(seen));
    assert!((&mut changed).now_or_never().is_none());
    table.put([]);
    assert!(changed.now_or_never().is_some());
}

fn row_of(nsid: u32, pool: u8, host: &str) -> Row {
    let host = HostNqn::new(host).expect("valid");
    let info = NamespaceInfo {
        nsid: Nsid(nsid),
        uuid: VolumeUuid([nsid as u8; 16]),
        size_bytes: 1 << 20,
        lba_bytes: 4096,
        used_bytes: 0,
        atomic_write_bytes_max: 4096,
        atomic_announced_bytes: 4096,
        sanitize: SanitizeState::Never,
        atomic_boundary_bytes: 0,
        write_protected: false,
        is_ready: true,
        generation: 0,
        access: Arc::new(AccessList::Allow([host].into_iter().collect())),
    };
    let place = Place { home: ReactorIndex(0), pool: PoolUuid([pool; 16]), volume: VolumeId(nsid) };
    Row {
        info,
        place,
        used_bytes: Arc::default(),
        throttle: Arc::default(),
        is_shared: Arc::default(),
    }
}

#[test]
fn health_is_that_of_the_worst_pool_of_the_hosts() {
    let table = table();
    let pool = |spare_percent, spare_threshold_percent, degraded| PoolHealth {
        spare_percent,
        spare_threshold_percent,
        degraded,
        media_errors: 2,
        ..PoolHealth::default()
    };
    let [one, other, none] = ["nqn.2014-08.a:one", "nqn.2014-08.a:other", "nqn.2014-08.a:none"];
    table.put([row_of(1, 1, one), row_of(2, 2, one), row_of(3, 1, other)]);
    table.set_health(PoolUuid([1; 16]), pool(80, 10, false));
    table.set_health(PoolUuid([2; 16]), pool(30, 25, true));
    let of = |host: &str| table.health(&HostNqn::new(host).expect("valid"));
    let health = of(one);
    assert_eq!((health.spare_percent, health.spare_threshold_percent), (30, 25));
    assert_eq!((health.degraded, health.media_errors), (true, 4));
    let health = of(other);
    assert_eq!((health.spare_percent, health.degraded, health.media_errors), (80, false, 2));
    assert_eq!(of(none).spare_percent, 100, "it has no volumes");
    table.remove_pool(PoolUuid([2; 16]));
    assert!(!of(one).degraded);
}

#[test]
fn wear_and_heat_are_those_of_the_worst_drive_of_the_hosts_pools() {
    let table = table();
    let [one, other] = ["nqn.2014-08.a:one", "nqn.2014-08.a:other"];
    table.put([row_of(1, 1, one), row_of(2, 2, one), row_of(3, 1, other)]);
    let drives = |used_percent, celsius| DrivesHealth { used_percent, celsius };
    for (pool, said) in [(1, drives(12, None)), (2, drives(3, Some(-4)))] {
        table.set_health(PoolUuid([pool; 16]), PoolHealth::default());
        table.set_drives_health(PoolUuid([pool; 16]), said);
    }
    let of = |host: &str| table.health(&HostNqn::new(host).expect("valid")).drives;
    assert_eq!(of(one), drives(12, Some(-4)));
    assert_eq!(of(other), drives(12, None));
    table.remove_health(PoolUuid([1; 16]));
    assert_eq!(of(one), drives(3, Some(-4)), "the other is closed");
    assert_eq!(of(other), drives(0, None));
}

#[test]
fn the_spare_is_that_of_the_pool_closest_to_its_own_threshold() {
    let table = table();
    let host = "nqn.2014-08.a:one";
    table.put([row_of(1, 1, host), row_of(2, 2, host)]);
    let pool = |spare_percent, spare_threshold_percent| PoolHealth {
        spare_percent,
        spare_threshold_percent,
        ..PoolHealth::default()
    };
    table.set_health(PoolUuid([1; 16]), pool(20, 5));
    table.set_health(PoolUuid([2; 16]), pool(40, 50));
    let health = table.health(&HostNqn::new(host).expect("valid"));
    assert_eq!((health.spare_percent, health.spare_threshold_percent), (40, 50), "it is low");
}

struct Task;

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

// Controllers look at their host's health now and then, and wait anew each time.
#[test]
fn who_waits_for_a_change_again_and_again_is_noted_once() {
    let table = table();
    let task = Arc::new(Task);
    let waker = Waker::from(task.clone());
    for _ in 0..1000 {
        let mut changed = Box::pin(table.changed(table.generation()));
        assert!(changed.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    assert_eq!(Arc::strong_count(&task), 2, "the task and its waker");
}

#[test]
fn a_number_whose_volume_was_not_made_is_the_next_ones() {
    let table = table();
    let (first, second, third) =
        (table.claim_new().unwrap(), table.claim_new().unwrap(), table.claim_new().unwrap());
    table.take_back(second);
    assert_eq!((table.nsid_high(), table.claim_new().unwrap()), (7, second));
    table.take_back(second);
    table.take_back(third);
    assert_eq!((table.nsid_high(), table.claim_new().unwrap()), (5, second));
    // One that hosts may have seen is never given out again.
    table.release(first);
    assert_eq!(table.claim_new().unwrap(), third);
    // Nor one that came with a pool meanwhile.
    table.take_back(third);
    assert_eq!(table.claim_for(POOL, Nsid(9)).unwrap(), Nsid(9));
    assert_eq!(table.claim_new().unwrap(), Nsid(10));
}

/// The number above it means all namespaces.
#[test]
fn there_is_a_highest_number_and_what_would_be_above_is_refused() {
    let high = u32::MAX - 2;
    let table = Table::new(subsystem(), high, 1);
    let last = table.claim_new().unwrap();
    assert_eq!(last, Nsid(u32::MAX - 1));
    for _ in 0..2 {
        assert!(matches!(table.claim_new(), Err(NodeError::NoNumber)));
    }
    assert!(
        matches!(table.claim_for(POOL, last), Err(NodeError::NoNumber)),
        "another volume has it"
    );
    assert_eq!(table.claim_for(POOL, Nsid(7)).unwrap(), Nsid(7));
    table.take_back(last);
    assert_eq!(table.claim_new().unwrap(), last);
}
