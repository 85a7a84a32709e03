use std::mem::offset_of;

use zerocopy::IntoBytes;

use super::{AdditionalSmart, ExtendedHealth, LatencyLog, SMART_ITEMS, SmartItem};

#[test]
fn golden_item() {
    let item = SmartItem::count(0xab, 0x0201);
    assert_eq!(item.as_bytes(), [0xab, 0, 0, 100, 0, 1, 2, 0, 0, 0, 0, 0]);
    let most = SmartItem::count(0xf4, u64::MAX);
    assert_eq!(most.as_bytes()[5..], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]);
}

#[test]
fn items_of_the_additional_smart_page_stand_where_the_plugin_reads_them() {
    let page = AdditionalSmart {
        end_to_end_errors: 1,
        media_sectors_written: 2,
        host_sectors_written: 3,
        recovered_by_parity: 4,
        read_errors: 5,
        is_out_of_space: true,
        used_percent: 7,
        failed_drives: 8,
    };
    let items = page.items();
    let bytes = items.as_bytes();
    assert_eq!(bytes.len(), SMART_ITEMS * 12);
    for (offset, raw) in
        [(36, 1), (132, 2), (144, 3), (156, 4), (204, 5), (240, 1), (252, 7), (264, 8)]
    {
        assert_eq!(bytes[offset + 5], raw, "item at {offset}");
    }
    assert_eq!(items.iter().filter(|item| item.raw != [0; 6]).count(), 8);
}

#[test]
fn golden_latency_page() {
    let mut log = LatencyLog::new();
    log.groups[0][5] = 7.into();
    log.groups[18][63] = 8.into();
    log.average = 9.into();
    let bytes = log.as_bytes();
    assert_eq!(bytes[..4], [4, 0, 1, 0]);
    assert_eq!(bytes[4 + 5 * 4], 7);
    assert_eq!(bytes[4612 + 63 * 4], 8);
    assert_eq!(bytes[4868..], [9, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn fields_of_extended_health_stand_where_scripts_read_them() {
    assert_eq!(offset_of!(ExtendedHealth, power_watts), 28);
    assert_eq!(offset_of!(ExtendedHealth, critical_warning), 36);
    assert_eq!(offset_of!(ExtendedHealth, parity_recoveries), 40);
    assert_eq!(offset_of!(ExtendedHealth, part_number), 48);
    assert_eq!(offset_of!(ExtendedHealth, total_physical), 80);
    assert_eq!(offset_of!(ExtendedHealth, free_physical), 88);
    assert_eq!(offset_of!(ExtendedHealth, used_percent), 96);
    assert_eq!(offset_of!(ExtendedHealth, compression_percent), 100);
    assert_eq!(offset_of!(ExtendedHealth, formatted_max_gb), 116);
    assert_eq!(offset_of!(ExtendedHealth, formatted_gb), 144);
}
