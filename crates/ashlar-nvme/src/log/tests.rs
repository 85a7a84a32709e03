use std::mem::offset_of;

use zerocopy::IntoBytes;

use super::{
    DiscoveryEntry, DiscoveryHeader, EffectsLog, EnduranceGroupLog, ErrorLogEntry, SmartLog,
    command_effects, subsystem_type, supported_pages,
};

#[test]
fn golden_discovery_entry() {
    let address = "192.168.7.9:4420".parse().unwrap();
    let entry = DiscoveryEntry::tcp(address, subsystem_type::NVM, "nqn.a");
    let bytes = entry.as_bytes();
    assert_eq!(bytes[..8], [3, 1, 2, 0, 0, 0, 0xff, 0xff]);
    assert_eq!(&bytes[32..38], b"4420  ");
    assert_eq!(&bytes[256..262], b"nqn.a\0");
    assert_eq!(&bytes[512..524], b"192.168.7.9 ");
    assert_eq!(bytes[768], 0);
    let six = DiscoveryEntry::tcp("[::1]:8009".parse().unwrap(), subsystem_type::NVM, "nqn.a");
    assert_eq!(six.as_bytes()[..2], [3, 2]);
    assert_eq!(&six.as_bytes()[512..516], b"::1 ");
}

#[test]
fn golden_discovery_header() {
    let header = DiscoveryHeader::new(0x0102, 3);
    assert_eq!(header.as_bytes()[..18], [2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn golden_error_entry() {
    let entry = ErrorLogEntry {
        error_count: 1.into(),
        queue_id: 2.into(),
        cid: 3.into(),
        status: 0x8005.into(),
        location: 40.into(),
        lba: 5.into(),
        nsid: 6.into(),
        opcode: 7,
        transport_type: 3,
        version: 1,
        ..ErrorLogEntry::default()
    };
    let bytes = entry.as_bytes();
    assert_eq!(bytes[..16], [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 5, 0x80, 40, 0]);
    assert_eq!(bytes[16..32], [5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 3, 0, 7]);
    assert_eq!(bytes[63], 1);
}

#[test]
fn smart_fields_stand_where_the_specification_has_them() {
    assert_eq!(offset_of!(SmartLog, temperature), 1);
    assert_eq!(offset_of!(SmartLog, available_spare), 3);
    assert_eq!(offset_of!(SmartLog, data_units_read), 32);
    assert_eq!(offset_of!(SmartLog, power_cycles), 112);
    assert_eq!(offset_of!(SmartLog, error_log_entries), 176);
    assert_eq!(offset_of!(SmartLog, sensors), 200);
}

#[test]
fn endurance_group_fields_stand_where_the_specification_has_them() {
    let offsets = [
        (offset_of!(EnduranceGroupLog, available_spare), 3),
        (offset_of!(EnduranceGroupLog, spare_threshold), 4),
        (offset_of!(EnduranceGroupLog, percentage_used), 5),
        (offset_of!(EnduranceGroupLog, domain), 6),
        (offset_of!(EnduranceGroupLog, endurance_estimate), 32),
        (offset_of!(EnduranceGroupLog, data_units_read), 48),
        (offset_of!(EnduranceGroupLog, data_units_written), 64),
        (offset_of!(EnduranceGroupLog, media_units_written), 80),
        (offset_of!(EnduranceGroupLog, host_reads), 96),
        (offset_of!(EnduranceGroupLog, host_writes), 112),
        (offset_of!(EnduranceGroupLog, media_errors), 128),
        (offset_of!(EnduranceGroupLog, error_log_entries), 144),
        (offset_of!(EnduranceGroupLog, total_capacity), 160),
        (offset_of!(EnduranceGroupLog, unallocated_capacity), 176),
    ];
    offsets.iter().for_each(|(have, want)| assert_eq!(have, want));
}

#[test]
fn effects_and_supported_pages_are_indexed_by_number() {
    let log = EffectsLog::new(
        &[(6, command_effects::SUPPORTED)],
        &[(1, command_effects::SUPPORTED | command_effects::BLOCK_CONTENT)],
    );
    assert_eq!(log.as_bytes()[24..28], [1, 0, 0, 0]);
    assert_eq!(log.as_bytes()[1028..1032], [3, 0, 0, 0]);
    let pages = supported_pages(&[0x70]);
    assert_eq!((pages.len(), pages[0x1c0], pages[0]), (1024, 1, 0));
}
