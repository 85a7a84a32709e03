use ashlar_block::DriveId;

use super::*;
use crate::codec::Writer;
use crate::fields::{CRITICAL, FieldsError, put_field};
use crate::location::SegmentId;
use crate::scrub::Findings;

fn catalog() -> Catalog {
    let volume = VolumeEntry {
        family: Family(4),
        layer: Layer(2),
        state: VolumeState::Deleting,
        blocks: 77,
        compression: true,
        attributes: Bytes::from_static(b"name"),
    };
    Catalog {
        volumes: BTreeMap::from([(VolumeId(4), volume)]),
        next_id: 9,
        usages: BTreeMap::from([(Family(4), Usage { blocks: 1, slots: 2 })]),
        settings: Settings {
            recon_prio: 10,
            recon_p99: Some(Duration::from_millis(2)),
            scrub_prio: 7,
            scrub_interval: Some(Duration::from_secs(3600)),
            fault_threshold: NonZeroU32::new(3),
            io_timeout: Some(Duration::from_secs(5)),
        },
        scrub: ScrubRecord {
            counted_from: 5,
            started_at: 3,
            finished_at: 4,
            bytes_checked: 1 << 40,
            findings: Findings { wrong: 3, unreadable: 1, repaired: 2, unrepaired: 2 },
            drives: BTreeMap::from([(
                DriveId(2),
                Findings { wrong: 2, unreadable: 1, repaired: 2, unrepaired: 1 },
            )]),
        },
        scrub_progress: Some(ScrubProgress {
            started_at: 7,
            end: Lsn(88),
            next: (SegmentId(5), 6),
            rows_done: 70,
            rows_total: 80,
            bytes_checked: 1 << 30,
            findings: Findings { wrong: 1, unreadable: 0, repaired: 1, unrepaired: 0 },
            drives: BTreeMap::from([(DriveId(1), Findings { wrong: 1, repaired: 1, ..Findings::default() })]),
        }),
        reserve_released: true,
        rebalance_below: Some(Lsn(99)),
        rebuilt_bytes: 1 << 33,
        rebalanced_bytes: 1 << 34,
        kept: KeptItems::default(),
    }
}

/// An item of one field.
fn item(tag: u16, key: u32, field: u16, value: &[u8]) -> Vec<u8> {
    let mut fields = Writer::default();
    put_field(&mut fields, field, |w| w.bytes(value));
    let mut w = Writer::default();
    w.u16(tag).u32(key).u32(fields.0.len() as u32).bytes(&fields.0);
    w.0
}

#[test]
fn a_catalog_reads_back() {
    let mut bytes = catalog().encode();
    assert_eq!(Catalog::decode(&bytes), Ok(catalog()));
    // What is not there has its default.
    assert_eq!(Catalog::decode(&[]), Ok(Catalog::default()));
    bytes.pop();
    assert!(Catalog::decode(&bytes).is_err());
}

#[test]
fn the_usage_of_many_families_reads_back() {
    let usages = (0..300).map(|number| (Family(number), Usage { blocks: u64::from(number), slots: 7 }));
    let many = Catalog { usages: usages.collect(), ..catalog() };
    assert_eq!(Catalog::decode(&many.encode()), Ok(many));
}

/// An emptied pool had more in use than a new one.
#[test]
fn a_family_that_stores_nothing_takes_nothing() {
    let mut emptied = catalog();
    emptied.usages.insert(Family(900), Usage::default());
    assert_eq!(emptied.encode(), catalog().encode());
}

#[test]
fn what_a_newer_version_has_added_is_written_again() {
    let known = catalog().encode();
    // An item that is not known, and a field of a volume.
    let later = [item(6, 4, 1, b"layer"), item(5, 4, 99, b"dedup")].concat();
    let volume = item(5, 7, 99, b"tier");
    assert!(Catalog::decode(&[&known[..], &volume].concat()).is_err(), "a volume without a size");
    let read = Catalog::decode(&[&known[..], &later[..item(6, 4, 1, b"layer").len()]].concat());
    let read = read.expect("whole");
    assert_ne!(read, catalog());
    assert_eq!(Catalog::decode(&read.encode()), Ok(read.clone()));
    let without = Catalog { kept: KeptItems::default(), ..read };
    assert_eq!(without, catalog());
}

#[test]
fn a_field_of_a_volume_is_kept_as_long_as_the_volume() {
    let entry = &catalog().volumes[&VolumeId(4)];
    let alone = Catalog { volumes: [(VolumeId(4), entry.clone())].into(), ..Catalog::default() };
    let bytes = alone.encode();
    // The volume is the last item: one more field makes it longer.
    let mut field = Writer::default();
    put_field(&mut field, 99, |w| w.bytes(b"tier"));
    let fields_bytes = alone.encode().len()
        - Catalog { volumes: BTreeMap::new(), next_id: 1, ..Catalog::default() }.encode().len()
        - 10;
    let at = bytes.len() - fields_bytes - 4;
    let mut longer = [&bytes[..], &field.0].concat();
    longer[at..at + 4].copy_from_slice(&((fields_bytes + field.0.len()) as u32).to_le_bytes());
    let mut read = Catalog::decode(&longer).expect("whole");
    assert_eq!(read.encode(), longer);
    read.volumes.clear();
    assert_eq!(Catalog::decode(&read.encode()).expect("whole").kept, KeptItems::default());
}

#[test]
fn what_must_be_known_is_refused() {
    let unknown = |bytes: Vec<u8>| match Catalog::decode(&bytes) {
        Err(FieldsError::Unknown { tag, .. }) => tag,
        other => panic!("{other:?}"),
    };
    assert_eq!(unknown(item(CRITICAL | 12, 0, 1, b"")), 12);
    assert_eq!(unknown(item(12, 0, CRITICAL | 3, b"")), 3);
    assert_eq!(unknown(item(1, 0, CRITICAL | 30, b"")), 30);
}

#[test]
fn a_priority_that_cannot_be_is_malformed() {
    assert!(Catalog::decode(&item(2, 0, 1, &[0])).is_err());
    assert!(Catalog::decode(&item(2, 0, 3, &[101])).is_err());
}
