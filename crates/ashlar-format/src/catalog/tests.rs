use ashlar_block::DriveId;

use super::*;
use crate::codec::Writer;
use crate::compression::ZstdLevel;
use crate::fields::{CRITICAL, FieldsError, put_field};
use crate::location::SegmentId;
use crate::scrub::Findings;

fn catalog() -> Catalog {
    let volume = VolumeEntry {
        family: Family(4),
        layer: Layer(2),
        state: VolumeState::Deleting,
        blocks: 77,
        compression: Compression::Zstd(ZstdLevel::DEFAULT),
        attributes: Bytes::from_static(b"name"),
    };
    Catalog {
        volumes: BTreeMap::from([(VolumeId(4), volume)]),
        next_id: 9,
        layers: BTreeMap::from([(
            Layer(2),
            LayerEntry { family: Family(4), parent: Some(Layer(1)), children: 1, made_at: 77 },
        )]),
        next_layer: 5,
        usages: BTreeMap::from([(Family(4), Usage { blocks: 1, slots: 2 })]),
        dictionaries: BTreeMap::from([(
            DictionaryNumber(3),
            DictionaryEntry { family: Family(4), blocks: 900, bytes: Bytes::from_static(b"the") },
        )]),
        next_dictionary: DictionaryNumber(6),
        settings: Settings {
            recon_prio: 10,
            recon_p99: Some(Duration::from_millis(2)),
            scrub_prio: 7,
            scrub_interval: Some(Duration::from_secs(3600)),
            fault_threshold: NonZeroU32::new(3),
            io_timeout: Some(Duration::from_secs(5)),
            autotrim: false,
            overcommit: true,
            levels: Levels { warn: 70, throttle: 85, stop: 97 },
        },
        attributes: Bytes::from_static(b"policies"),
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
            drives: BTreeMap::from([(
                DriveId(1),
                Findings { wrong: 1, repaired: 1, ..Findings::default() },
            )]),
        }),
        reserve_released: true,
        formatted_bytes: NonZeroU64::new(1 << 43),
        rebalance_below: Some(Lsn(99)),
        rebuilt_bytes: 1 << 33,
        rebalanced_bytes: 1 << 34,
        lifetime: Lifetime { blocks_written: 1 << 41, bytes_to_drives: 1 << 55 },
        kept: KeptItems::default(),
    }
}

/// An item of one field.
fn item(tag: u16, key: u32, field: u16, value: &[u8]) -> Item {
    let mut fields = Writer::default();
    put_field(&mut fields, field, |w| w.bytes(value));
    ((tag, key), fields.0)
}

#[test]
fn a_catalog_reads_back() {
    let items = catalog().items();
    assert!(items.is_sorted(), "by tags and keys");
    assert_eq!(Catalog::of_items(&items), Ok(catalog()));
    // What is not there has its default.
    assert_eq!(Catalog::of_items(&[]), Ok(Catalog::default()));
    assert_eq!(Catalog::default().items(), []);
    for (nth, (item, bytes)) in items.iter().enumerate() {
        let mut cut = items.clone();
        cut[nth] = (*item, bytes[..bytes.len() - 1].to_vec());
        assert!(Catalog::of_items(&cut).is_err(), "{item:?}");
    }
}

#[test]
fn the_usage_of_many_families_reads_back() {
    let usages =
        (0..300).map(|number| (Family(number), Usage { blocks: u64::from(number), slots: 7 }));
    let many = Catalog { usages: usages.collect(), ..catalog() };
    assert_eq!(Catalog::of_items(&many.items()), Ok(many));
}

/// Fuzzing has found that such a family's usage counted twice once it was written again.
#[test]
fn a_family_in_an_item_that_is_not_its_own_is_refused() {
    let own = (7, 0);
    let items = catalog().items();
    let at = items.iter().position(|(item, _)| *item == own).expect("family 4 is in use");
    for number in [1, u32::MAX] {
        let mut moved = items.clone();
        moved[at].0.1 = number;
        assert!(Catalog::of_items(&moved).is_err(), "{number}");
    }
}

/// An emptied pool had more in use than a new one.
#[test]
fn a_family_that_stores_nothing_takes_nothing() {
    let mut emptied = catalog();
    emptied.usages.insert(Family(900), Usage::default());
    assert_eq!(emptied.items(), catalog().items());
}

#[test]
fn an_item_has_changed_if_its_bytes_are_others() {
    let before = catalog();
    let changes: [fn(&mut Catalog); 12] = [
        |catalog| catalog.rebuilt_bytes += 1,
        |catalog| catalog.next_layer += 1,
        |catalog| catalog.lifetime.blocks_written += 1,
        |catalog| catalog.next_dictionary.0 += 1,
        |catalog| catalog.settings.scrub_prio = 9,
        |catalog| catalog.attributes = Bytes::from_static(b"policie5"),
        |catalog| catalog.scrub.finished_at += 1,
        |catalog| catalog.scrub_progress = None,
        |catalog| catalog.volumes.get_mut(&VolumeId(4)).expect("there is one").blocks += 1,
        |catalog| {
            let volume = catalog.volumes.get_mut(&VolumeId(4)).expect("there is one");
            volume.attributes = Bytes::from_static(b"nam3");
        },
        |catalog| catalog.layers.get_mut(&Layer(2)).expect("there is one").children += 1,
        |catalog| catalog.usages.get_mut(&Family(4)).expect("there is one").slots += 1,
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let mut after = before.clone();
        change(&mut after);
        let changed: Vec<ItemKey> = after
            .item_keys()
            .into_iter()
            .filter(|item| after.has_changed(*item, &before))
            .collect();
        let others = |item: &ItemKey| after.encode_item(*item) != before.encode_item(*item);
        let expected: Vec<ItemKey> = after.item_keys().into_iter().filter(others).collect();
        assert_eq!((changed.len(), changed), (1, expected), "change {nth}");
    }
    assert!(before.item_keys().into_iter().all(|item| !before.clone().has_changed(item, &before)));
}

#[test]
fn what_a_newer_version_has_added_is_written_again() {
    // An item that is not known.
    let empty = ((14, 5), Vec::new());
    let later = [catalog().items(), vec![item(14, 4, 1, b"tenant"), empty]].concat();
    let read = Catalog::of_items(&later).expect("whole");
    assert_ne!(read, catalog());
    assert_eq!(read.items(), later);
    let without = Catalog { kept: KeptItems::default(), ..read };
    assert_eq!(without, catalog());
    let no_size = [catalog().items(), vec![item(5, 7, 99, b"tier")]].concat();
    assert!(Catalog::of_items(&no_size).is_err(), "a volume without a size");
}

#[test]
fn a_field_of_a_volume_is_kept_as_long_as_the_volume() {
    let mut items = catalog().items();
    let volume = items.iter_mut().find(|((tag, _), _)| *tag == 5).expect("there is one");
    volume.1.extend(item(5, 4, 99, b"tier").1);
    let mut read = Catalog::of_items(&items).expect("whole");
    assert_eq!(read.items(), items);
    assert_eq!(read.remove(VolumeId(4)), Some(Family(4)));
    assert_eq!(Catalog::of_items(&read.items()).expect("whole").kept, KeptItems::default());
}

#[test]
fn no_number_of_a_dictionary_comes_back() {
    let mut catalog = Catalog::default();
    let [one, other] =
        [1, 2].map(|blocks| catalog.insert_next(blocks, Compression::Auto, Bytes::new(), 7));
    let dictionary = |id: VolumeId| DictionaryEntry {
        family: Family(id.0),
        blocks: 9,
        bytes: Bytes::from_static(b"words"),
    };
    let first = catalog.insert_dictionary(dictionary(one));
    let second = catalog.insert_dictionary(dictionary(other));
    let third = catalog.insert_dictionary(dictionary(one));
    let numbers = |catalog: &Catalog, id: VolumeId| {
        catalog.dictionaries_of(Family(id.0)).map(|(number, _)| number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&catalog, one), [first, third]);
    catalog.remove_dictionaries(Family(one.0));
    assert_eq!(numbers(&catalog, one), []);
    assert_eq!(numbers(&catalog, other), [second]);
    catalog.remove_dictionaries(Family(other.0));
    assert!(catalog.insert_dictionary(dictionary(other)) > third);
    assert_eq!(Catalog::of_items(&catalog.items()).expect("whole"), catalog);
    catalog.next_dictionary = third;
    Catalog::of_items(&catalog.items()).expect_err("the number of the last is below its own");
}

#[test]
fn a_volume_has_a_layer_of_its_own() {
    let mut catalog = Catalog::default();
    let ids: Vec<VolumeId> = (0..3)
        .map(|blocks| catalog.insert_next(blocks, Compression::Auto, Bytes::new(), 7))
        .collect();
    let layers: Vec<Layer> = catalog.volumes.values().map(|volume| volume.layer).collect();
    assert_eq!(layers, [Layer(1), Layer(2), Layer(3)]);
    assert_eq!(catalog.layers.keys().copied().collect::<Vec<_>>(), layers);
    catalog.remove(ids[1]);
    assert_eq!(catalog.layers.keys().copied().collect::<Vec<_>>(), [Layer(1), Layer(3)]);
    catalog.insert_next(1, Compression::Auto, Bytes::new(), 7);
    assert_eq!(catalog.next_layer, 4, "no number comes back");
}

#[test]
fn what_must_be_known_is_refused() {
    let unknown = |item: Item| match Catalog::of_items(&[item]) {
        Err(FieldsError::Unknown { tag, .. }) => tag,
        other => panic!("{other:?}"),
    };
    assert_eq!(unknown(item(CRITICAL | 12, 0, 1, b"")), 12);
    assert_eq!(unknown(item(12, 0, CRITICAL | 3, b"")), 3);
    assert_eq!(unknown(item(1, 0, CRITICAL | 30, b"")), 30);
}

#[test]
fn a_priority_that_cannot_be_is_malformed() {
    assert!(Catalog::of_items(&[item(2, 0, 1, &[0])]).is_err());
    assert!(Catalog::of_items(&[item(2, 0, 3, &[101])]).is_err());
}
