use ashlar_block::DriveId;
use ashlar_raid::ChunkAddr;

use super::*;
use crate::location::Codec;
use crate::tests::geometry;

fn entry(id: u32) -> TableEntry {
    TableEntry {
        id: SegmentId(id),
        state: SegmentState::Sealed,
        kind: SegmentKind::Journal,
        geometry: Rc::new(geometry()),
        placed_lsn: Lsn(63),
        first_lsn: Lsn(64),
        last_lsn: Lsn(128),
        live: Occupancy { slots: 1000, fragments: 90 },
        sealed_at: 5,
        rows: 200,
        accepted: vec![RowExtent { row: 0, rows: 10 }, RowExtent { row: 12, rows: 188 }],
    }
}

fn uncounted(id: u32) -> TableEntry {
    TableEntry { live: Occupancy::default(), ..entry(id) }
}

fn page(id: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(id), 2, 99, 1000, Codec::Lz4), crc: 5 }
}

#[test]
fn the_first_table_reads_back_and_nothing_that_is_cut_short() {
    let top = |height| TreeTop { height, pages: vec![(3, page(7)), (900, page(8))] };
    let segments =
        vec![entry(12), TableEntry { kind: SegmentKind::Table, accepted: vec![], ..entry(13) }];
    let listed = vec![Listed::Resting(SegmentId(33)), Listed::Segment(uncounted(34))];
    let counted = vec![(SegmentId(34), Occupancy { slots: 2, fragments: 1 })];
    let table = FirstTable {
        entries: top(1),
        counts: top(0),
        segments,
        leaves: vec![(2, listed), (4, vec![])],
        count_leaves: vec![(0, counted)],
    };
    let bytes = encode_first_table(&table);
    assert_eq!(decode_first_table(&bytes), Ok(table));
    for length in 0..bytes.len() {
        assert!(decode_first_table(&bytes[..length]).is_err(), "{length}");
    }
    let high = FirstTable {
        entries: TreeTop { height: TREE_HEIGHT_MAX + 1, pages: vec![] },
        ..FirstTable::default()
    };
    assert!(decode_first_table(&encode_first_table(&high)).is_err());
    let refused =
        |table: FirstTable| assert!(decode_first_table(&encode_first_table(&table)).is_err());
    refused(FirstTable { leaves: vec![(u32::MAX, vec![])], ..FirstTable::default() });
    refused(FirstTable { count_leaves: vec![(5, vec![]), (5, vec![])], ..FirstTable::default() });
    refused(FirstTable { segments: vec![entry(7), entry(7)], ..FirstTable::default() });
}

#[test]
fn pages_of_the_segment_table_read_back_as_those_of_their_number() {
    let listed = vec![
        Listed::Segment(uncounted(160)),
        Listed::Resting(SegmentId(161)),
        Listed::Segment(uncounted(175)),
    ];
    assert_eq!(decode_table_leaf(&encode_table_leaf(&listed), 10), Ok(listed.clone()));
    let elsewhere = decode_table_leaf(&encode_table_leaf(&listed[1..2]), 11);
    assert_eq!(elsewhere, Ok(vec![Listed::Resting(SegmentId(177))]));
    let counts = vec![
        (SegmentId(256), entry(1).live),
        (SegmentId(511), Occupancy { slots: 1, fragments: 1 }),
    ];
    assert_eq!(decode_count_leaf(&encode_count_leaf(&counts), 1), Ok(counts));
    let children = vec![(128, page(7)), (255, page(8))];
    assert_eq!(decode_tree_node(&encode_tree_node(&children), 1), Ok(children));
}

#[test]
fn a_page_of_the_segment_table_that_names_no_segment_is_refused() {
    let resting = encode_table_leaf(&[Listed::Resting(SegmentId(3))]);
    let last = SegmentId::COUNT as u32 / LEAF_NUMBERS;
    assert!(decode_table_leaf(&resting, last).is_ok());
    for leaf in [last + 1, u32::MAX] {
        assert!(decode_table_leaf(&resting, leaf).is_err(), "{leaf}");
    }
    let zeroth = encode_table_leaf(&[Listed::Resting(SegmentId(16))]);
    assert!(decode_table_leaf(&zeroth, 0).is_err(), "there is no segment 0");
    let twice = encode_table_leaf(&[Listed::Resting(SegmentId(3)), Listed::Resting(SegmentId(3))]);
    assert!(decode_table_leaf(&twice, 0).is_err(), "one number twice");
    let mut beyond = resting;
    beyond[1] = LEAF_NUMBERS as u8;
    assert!(decode_table_leaf(&beyond, 1).is_err());
    assert!(
        decode_tree_node(&[&[1, 0][..], &[0; 12]].concat(), 0).is_err(),
        "a child that is nowhere"
    );
}

#[test]
fn the_fullest_leaf_is_a_page() {
    let columns: Vec<ChunkAddr> =
        (0..24).map(|drive| ChunkAddr { drive: DriveId(drive), chunk: u32::MAX }).collect();
    let accepted = vec![RowExtent { row: 16_383, rows: 16_384 }; 17];
    let full = |id| TableEntry {
        geometry: Rc::new(Geometry::new(columns.clone().into(), 4)),
        accepted: accepted.clone(),
        rows: 16_384,
        live: Occupancy::default(),
        ..entry(id)
    };
    let listed: Vec<Listed> = (16..32).map(|id| Listed::Segment(full(id))).collect();
    assert_eq!(decode_table_leaf(&encode_table_leaf(&listed), 1), Ok(listed));
}
