use std::mem::offset_of;

use zerocopy::FromZeros;
use zerocopy::IntoBytes;

use super::{
    IdentifyController, IdentifyNamespace, IndependentNamespace, LbaFormat, NamespaceDescriptor,
    NvmIdentifyController, NvmIdentifyNamespace, controller_list, descriptor_list,
    endurance_group_list, namespace_list, namespaces_of_list, parse_descriptors,
};

#[test]
fn controller_fields_stand_where_the_specification_has_them() {
    let offsets = [
        (offset_of!(IdentifyController, serial), 4),
        (offset_of!(IdentifyController, model), 24),
        (offset_of!(IdentifyController, firmware), 64),
        (offset_of!(IdentifyController, multi_path), 76),
        (offset_of!(IdentifyController, max_transfer_exponent), 77),
        (offset_of!(IdentifyController, controller_id), 78),
        (offset_of!(IdentifyController, version), 80),
        (offset_of!(IdentifyController, async_events), 92),
        (offset_of!(IdentifyController, attributes), 96),
        (offset_of!(IdentifyController, controller_type), 111),
        (offset_of!(IdentifyController, retry_delays_100ms), 128),
        (offset_of!(IdentifyController, subsystem_report), 253),
        (offset_of!(IdentifyController, optional_admin_commands), 256),
        (offset_of!(IdentifyController, event_request_limit), 259),
        (offset_of!(IdentifyController, log_page_attributes), 261),
        (offset_of!(IdentifyController, error_log_entries), 262),
        (offset_of!(IdentifyController, warning_temperature), 266),
        (offset_of!(IdentifyController, total_capacity), 280),
        (offset_of!(IdentifyController, keep_alive_100ms), 320),
        (offset_of!(IdentifyController, sanitize), 328),
        (offset_of!(IdentifyController, endurance_group_max), 340),
        (offset_of!(IdentifyController, sqe_size), 512),
        (offset_of!(IdentifyController, max_commands), 514),
        (offset_of!(IdentifyController, namespace_id_max), 516),
        (offset_of!(IdentifyController, optional_io_commands), 520),
        (offset_of!(IdentifyController, fused_operations), 522),
        (offset_of!(IdentifyController, format_attributes), 524),
        (offset_of!(IdentifyController, volatile_write_cache), 525),
        (offset_of!(IdentifyController, atomic_write_normal), 526),
        (offset_of!(IdentifyController, write_protection), 531),
        (offset_of!(IdentifyController, atomic_compare_write), 532),
        (offset_of!(IdentifyController, sgl_support), 536),
        (offset_of!(IdentifyController, namespaces_max), 540),
        (offset_of!(IdentifyController, subsystem_nqn), 768),
        (offset_of!(IdentifyController, command_capsule_16b), 1792),
        (offset_of!(IdentifyController, response_capsule_16b), 1796),
        (offset_of!(IdentifyController, in_capsule_offset_16b), 1800),
        (offset_of!(IdentifyController, fabrics_attributes), 1802),
        (offset_of!(IdentifyController, sgl_descriptors_max), 1803),
        (offset_of!(IdentifyController, optional_fabrics_commands), 1804),
        (offset_of!(IdentifyController, discovery_type), 1806),
        (offset_of!(IdentifyController, power_state_descriptors), 2048),
        (offset_of!(NvmIdentifyController, dsm_ranges), 3),
        (offset_of!(NvmIdentifyController, dsm_range_blocks), 4),
        (offset_of!(NvmIdentifyController, dsm_blocks), 8),
    ];
    offsets.iter().for_each(|(have, want)| assert_eq!(have, want));
}

#[test]
fn namespace_fields_stand_where_the_specification_has_them() {
    let offsets = [
        (offset_of!(IdentifyNamespace, used), 16),
        (offset_of!(IdentifyNamespace, features), 24),
        (offset_of!(IdentifyNamespace, lba_format), 26),
        (offset_of!(IdentifyNamespace, sharing), 30),
        (offset_of!(IdentifyNamespace, deallocate_features), 33),
        (offset_of!(IdentifyNamespace, atomic_write_normal), 34),
        (offset_of!(IdentifyNamespace, atomic_boundary_normal), 40),
        (offset_of!(IdentifyNamespace, optimal_io_boundary), 46),
        (offset_of!(IdentifyNamespace, nvm_capacity), 48),
        (offset_of!(IdentifyNamespace, write_granularity), 64),
        (offset_of!(IdentifyNamespace, optimal_write_size), 72),
        (offset_of!(IdentifyNamespace, ana_group), 92),
        (offset_of!(IdentifyNamespace, attributes), 99),
        (offset_of!(IdentifyNamespace, endurance_group), 102),
        (offset_of!(IdentifyNamespace, nguid), 104),
        (offset_of!(IdentifyNamespace, eui64), 120),
        (offset_of!(IdentifyNamespace, lba_formats), 128),
        (offset_of!(IdentifyNamespace, vendor), 384),
        (offset_of!(IndependentNamespace, ana_group), 4),
        (offset_of!(IndependentNamespace, attributes), 8),
        (offset_of!(IndependentNamespace, endurance_group), 12),
        (offset_of!(IndependentNamespace, status), 14),
        (offset_of!(NvmIdentifyNamespace, extended_formats), 12),
        (offset_of!(NvmIdentifyNamespace, reserved_268), 268),
    ];
    offsets.iter().for_each(|(have, want)| assert_eq!(have, want));
}

#[test]
fn golden_namespace_bytes() {
    let mut namespace = IdentifyNamespace::new_zeroed();
    namespace.size = 0x0102_0304_0506_0708.into();
    namespace.lba_formats[1] =
        LbaFormat { metadata_bytes: 8.into(), size_exponent: 12, relative_performance: 0 };
    let bytes = namespace.as_bytes();
    assert_eq!(bytes[..8], [8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[132..136], [8, 0, 12, 0]);
}

#[test]
fn lists_are_little_endian_and_zero_filled() {
    let list = namespace_list([1, 0x0203]);
    assert_eq!(list[..12], [1, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0]);
    assert_eq!(namespaces_of_list(&list).collect::<Vec<_>>(), [1, 0x0203]);
    let full = namespace_list(1..5000);
    assert_eq!(namespaces_of_list(&full).last(), Some(1024));
    assert_eq!(controller_list([5, 6])[..8], [2, 0, 5, 0, 6, 0, 0, 0]);
    assert_eq!(endurance_group_list([1])[..6], [1, 0, 1, 0, 0, 0]);
}

#[test]
fn descriptors_round_trip() {
    let descriptors = [
        NamespaceDescriptor::Eui64([1; 8]),
        NamespaceDescriptor::Nguid([2; 16]),
        NamespaceDescriptor::Uuid([3; 16]),
        NamespaceDescriptor::CommandSet(0),
    ];
    let list = descriptor_list(&descriptors);
    assert_eq!(list[..6], [1, 8, 0, 0, 1, 1]);
    assert_eq!(list[52..58], [4, 1, 0, 0, 0, 0]);
    assert_eq!(parse_descriptors(&list), descriptors);
    assert!(parse_descriptors(&[3, 255, 0, 0, 1]).is_empty());
}
