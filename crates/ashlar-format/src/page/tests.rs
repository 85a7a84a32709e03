use smallvec::smallvec;

use super::*;
use crate::header::{page_key, page_owner};
use crate::ids::ShardId;
use crate::location::{Codec, Location, SegmentId};

#[test]
fn pages_of_the_map_read_back() {
    let pointer =
        Pointer { location: Location::new(SegmentId(7), 2, 99, 1000, Codec::Lz4), crc: 5 };
    let entries: Vec<PageEntry> = (0..page_entries_max(2) as u32)
        .map(|n| PageEntry {
            block: n * 3,
            layer: Layer(n % 2 * 9),
            value: (n % 5 != 0).then_some(pointer),
        })
        .collect();
    assert_eq!(decode_map_page(&encode_map_page(&entries)), Ok(entries));

    let mut filter = Filter::default();
    filter.add(300_000 % (1 << 18));
    let runs = vec![
        Run::Cut { layer: Layer(1), first: 5, end: 90 },
        Run::Pages {
            filter,
            pages: smallvec![PageRef { first_block: 4, entries: 3, pointer }; 16],
        },
    ];
    let key = GroupKey { family: Family(3), gib: 9 };
    let leaf = encode_leaf([(&key, runs.as_slice())].into_iter());
    assert_eq!(leaf.len(), 2 + group_bytes(&runs));
    assert_eq!(decode_leaf(&leaf), Ok(vec![(key, runs)]));

    let below = GroupsBelow { unmerged: true, stacked: false };
    let children = vec![Child { first: key, pointer, below }; CHILDREN_MAX];
    assert_eq!(decode_node(&encode_node(&children)), Ok(children));

    let update = (Key { family: Family(1), lba: Lba(9), layer: Layer(0) }, Some(pointer));
    let updates = vec![update; DELTA_ENTRIES_MAX];
    let delta = encode_delta(&updates);
    assert!(delta.len() <= PAGE_BYTES_MAX);
    assert_eq!(decode_delta(&delta), Ok(updates));

    let directory =
        Directory { previous: Some(pointer), pages: vec![pointer; DIRECTORY_PAGES_MAX] };
    let bytes = encode_directory(&directory);
    assert!(bytes.len() <= PAGE_BYTES_MAX);
    assert_eq!(decode_directory(&bytes), Ok(directory));
}

#[test]
fn a_leaf_says_the_same_where_it_is_stored() {
    let pointer =
        |crc| Pointer { location: Location::new(SegmentId(7), 2, 99, 1000, Codec::Lz4), crc };
    let page =
        |first_block: u32| PageRef { first_block, entries: 3, pointer: pointer(first_block) };
    let mut filter = Filter::default();
    [1, 300, 20_000].into_iter().for_each(|block| filter.add(block));
    let pages = Run::Pages { filter, pages: smallvec![page(0), page(256), page(19_000)] };
    let cut = Run::Cut { layer: Layer(1), first: 5, end: 90 };
    let groups =
        [(3, 9, vec![cut, pages.clone()]), (3, 11, vec![pages.clone()]), (4, 0, vec![pages; 3])];
    let groups: Vec<LeafGroup> =
        groups.map(|(family, gib, runs)| (GroupKey { family: Family(family), gib }, runs)).into();
    let leaf = encode_leaf(groups.iter().map(|(group, runs)| (group, runs.as_slice())));
    let leaf = StoredLeaf::new(leaf).expect("it was encoded");
    assert_eq!(leaf.groups(), groups);
    for (group, runs) in &groups {
        let stored: Vec<StoredRun<'_>> = leaf.runs_of(*group).expect("it is there").collect();
        assert_eq!(stored.len(), runs.len());
        for (stored, run) in stored.iter().zip(runs) {
            for block in [0, 1, 4, 5, 89, 90, 255, 256, 300, 18_999, 19_000, 20_000, 200_000] {
                assert_eq!(stored.page_of(block), run.page_of(block).map(|page| page.pointer));
                assert_eq!(stored.cuts(Layer(1), block), run.cuts(Layer(1), block));
            }
            assert!(!stored.cuts(Layer(0), 6));
            assert_eq!(stored.has_page(pointer(256)), !run.pages().is_empty());
            assert!(!stored.has_page(pointer(257)));
        }
    }
    assert!(leaf.runs_of(GroupKey { family: Family(3), gib: 10 }).is_none());
}

#[test]
fn the_record_of_a_page_says_whose_it_is() {
    let group = GroupKey { family: Family(3), gib: u32::MAX };
    assert_eq!(page_owner(&page_key(ShardId(63), group)), Some((ShardId(63), group)));
    assert_eq!(page_owner(&Key { layer: Layer(64), ..page_key(ShardId(0), group) }), None);
}
