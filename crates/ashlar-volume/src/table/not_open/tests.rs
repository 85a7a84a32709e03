use std::sync::Arc;

use ashlar_block::VolumeUuid;

use super::*;
use crate::door::{AccessList, Nsid, SanitizeState, SubsystemInfo};

const TANK: PoolUuid = PoolUuid([1; 16]);
const OTHER: PoolUuid = PoolUuid([2; 16]);

fn table() -> Arc<Table> {
    let subsystem = SubsystemInfo {
        nqn: "nqn.2014-08.org.example:node".into(),
        serial: "S".into(),
        model: "M".into(),
        firmware: "1".into(),
    };
    Table::new(subsystem, 4, 1)
}

fn namespace(nsid: u32, size_bytes: u64) -> PoolNamespace {
    let info = NamespaceInfo {
        nsid: Nsid(nsid),
        uuid: VolumeUuid([nsid as u8; 16]),
        size_bytes,
        lba_bytes: 4096,
        used_bytes: 0,
        atomic_write_bytes_max: 1 << 18,
        atomic_announced_bytes: 1 << 18,
        sanitize: SanitizeState::Never,
        atomic_boundary_bytes: 1 << 20,
        write_protected: false,
        is_ready: true,
        generation: 0,
        access: AccessList::AllowAny.into(),
    };
    PoolNamespace { volume: VolumeId(nsid), info }
}

fn row(pool: PoolUuid, nsid: u32, size_bytes: u64) -> Row {
    let PoolNamespace { volume, info } = namespace(nsid, size_bytes);
    Row {
        info,
        place: Place { home: ReactorIndex(1), pool, volume },
        used_bytes: Default::default(),
        throttle: Default::default(),
        is_shared: Default::default(),
    }
}

/// Number, size and readiness of each.
fn seen(table: &Table) -> Vec<(u32, u64, bool)> {
    let (_, rows) = table.rows();
    rows.values().map(|row| (row.info.nsid.0, row.info.size_bytes, row.info.is_ready)).collect()
}

#[test]
fn namespaces_of_a_pool_that_is_not_open_are_there_and_not_ready_until_it_is_open() {
    let table = table();
    let before = table.generation();
    table.expect_pool(TANK, vec![namespace(2, 4096), namespace(3, 4096)]);
    assert_eq!(seen(&table), [(2, 4096, false), (3, 4096, false)]);
    assert!(table.generation() > before && table.rows().1[&Nsid(2)].info.generation > before);
    assert_eq!(table.open_pools().1.len(), 0);
    // One has been resized elsewhere, and the other one deleted.
    table.put_pool(TANK, [row(TANK, 2, 8192)]);
    assert_eq!(seen(&table), [(2, 8192, true)]);
    let (generation, open) = table.open_pools();
    assert_eq!((generation, open[&TANK].len()), (table.generation(), 1));
    table.suspend_pool(TANK);
    assert_eq!(seen(&table), [(2, 8192, false)], "it is opened anew");
    assert_eq!(table.open_pools().1.len(), 0);
    table.remove_pool(TANK);
    assert_eq!(seen(&table), []);
}

#[test]
fn a_pool_that_is_open_without_volumes_is_known_to_be() {
    let table = table();
    table.expect_pool(TANK, vec![namespace(2, 4096)]);
    table.put_pool(TANK, []);
    assert_eq!((seen(&table), &table.open_pools().1[&TANK]), (vec![], &vec![]));
    table.remove_pool(TANK);
    assert_eq!(table.open_pools().1.len(), 0);
}

#[test]
fn the_number_of_a_namespace_of_a_pool_that_is_not_open_is_that_pools_alone() {
    let table = table();
    table.expect_pool(TANK, vec![namespace(2, 4096), namespace(7, 4096)]);
    assert_eq!(table.nsid_high(), 7);
    assert_eq!(
        table.claim_for(OTHER, Nsid(2)).unwrap(),
        Nsid(8),
        "a volume of another pool gives way"
    );
    assert_eq!(table.claim_new().unwrap(), Nsid(9));
    assert_eq!(table.claim_for(TANK, Nsid(2)).unwrap(), Nsid(2));
    // Whoever has forgotten the pool may have its numbers.
    table.release(Nsid(2));
    table.remove_pool(TANK);
    assert_eq!(table.claim_for(OTHER, Nsid(2)).unwrap(), Nsid(2));
}

#[test]
fn what_cannot_be_the_number_of_a_namespace_or_is_anothers_is_left_out() {
    let table = table();
    table.put_pool(OTHER, [row(OTHER, 3, 4096)]);
    assert_eq!(table.claim_for(OTHER, Nsid(4)).unwrap(), Nsid(4));
    table.expect_pool(TANK, [0, 3, 4, 5, u32::MAX].map(|nsid| namespace(nsid, 8192)).into());
    assert_eq!(seen(&table), [(3, 4096, true), (5, 8192, false)]);
    assert_eq!(table.nsid_high(), 5);
}
