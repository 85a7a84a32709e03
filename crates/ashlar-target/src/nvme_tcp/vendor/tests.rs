use std::time::Duration;

use ashlar_nvme::zerocopy::FromBytes;

use super::*;

const TIB: u64 = 1 << 40;

fn space() -> SpaceFigures {
    SpaceFigures {
        provisioned: 10 * TIB,
        live: 4 * TIB,
        safe_to_write: 6 * TIB,
        formatted: 20 * TIB,
        written: 10 * TIB,
        stored: 4 * TIB,
        host_written: 3 << 20,
        drives_written: 5 << 20,
        blocks_restored: 7,
        ..SpaceFigures::default()
    }
}

#[test]
fn additional_smart_has_the_plugins_items_at_their_places() {
    let page = additional_smart(&space());
    assert_eq!(page.len(), 276);
    let raw = |item: usize| {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&page[item * 12 + 5..][..6]);
        u64::from_le_bytes(bytes)
    };
    assert_eq!((raw(11), raw(12)), ((5 << 20) / 512, (3 << 20) / 512), "media and host sectors");
    assert_eq!((raw(13), raw(20), raw(21)), (7, 0, 40));
    let full = additional_smart(&SpaceFigures { is_full: true, ..space() });
    assert_eq!(full[20 * 12 + 5], 1, "out of space");
}

#[test]
fn extended_health_says_how_much_there_is_and_to_what_it_compresses() {
    let page = extended_health(&space());
    let log = ExtendedHealth::read_from_bytes(&page).expect("it is whole");
    assert_eq!(log.total_physical.get(), 10 * TIB / 512);
    assert_eq!(log.free_physical.get(), 6 * TIB / 512);
    assert_eq!((log.used_percent.get(), log.compression_percent.get()), (40, 250));
    assert_eq!(log.formatted_gb.get(), 20 * TIB / GB);
    assert_eq!(log.formatted_max_gb.get(), 40 * TIB / GB);
}

#[test]
fn a_pool_that_stores_nothing_or_has_nothing_has_no_ratio_to_divide_by() {
    let page = extended_health(&SpaceFigures::default());
    let log = ExtendedHealth::read_from_bytes(&page).expect("it is whole");
    assert_eq!((log.used_percent.get(), log.compression_percent.get()), (0, 100));
}

#[test]
fn latencies_are_in_the_buckets_of_the_vendors_page() {
    let mut took = Histogram::default();
    for us in [5, 63, 64, 130, 20_000_000] {
        took.record(Duration::from_micros(us));
    }
    let page = latency_page(&took);
    let log = LatencyLog::read_from_bytes(&page).expect("it is whole");
    assert_eq!((log.major.get(), log.minor.get()), (4, 1));
    let count = |group: usize, bucket: usize| log.groups[group][bucket].get();
    assert_eq!((count(0, 5), count(0, 63), count(1, 0), count(2, 1)), (1, 1, 1, 1));
    assert_eq!(count(18, 63), 1, "longer than the page goes");
    let all: u32 = log.groups.iter().flatten().map(|count| count.get()).sum();
    assert_eq!(all, 5);
    assert_eq!(log.average.get(), took.mean().expect("five").as_micros() as u64);
}
