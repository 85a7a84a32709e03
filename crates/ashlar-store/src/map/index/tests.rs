use ashlar_format::location::{Codec, Location, SegmentId};
use ashlar_format::page::{Filter, PageRef, decode_leaf};

use super::*;

fn pointer(slot: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: slot }
}

fn group(gib: u32) -> GroupKey {
    GroupKey { family: Family(1), gib }
}

fn runs(gib: u32) -> Vec<Run> {
    let pages = (0..16).map(|n| PageRef { first_block: n, entries: 1, pointer: pointer(gib) }).collect();
    vec![Run::Pages { filter: Filter::default(), pages }]
}

/// Writes what has changed; returns how many leaves that were.
fn write(
    index: &mut Index,
    groups: &BTreeMap<GroupKey, Vec<Run>>,
    written: &mut BTreeMap<u32, Vec<u8>>,
) -> usize {
    let (pages, replaced) = index.changed_leaves(groups);
    for old in replaced {
        written.remove(&old.crc).expect("a page is replaced once");
    }
    let count = pages.len();
    for (key, bytes) in pages {
        let slot = written.last_key_value().map_or(1, |(slot, _)| slot + 1);
        written.insert(slot, bytes);
        index.leaf_written(key, pointer(slot));
    }
    count
}

#[test]
fn only_changed_leaves_are_written_and_together_they_hold_every_group() {
    let mut groups: BTreeMap<GroupKey, Vec<Run>> = (0..200).map(|gib| (group(gib), runs(gib))).collect();
    let (mut index, mut written) = (Index::default(), BTreeMap::new());
    groups.keys().for_each(|key| index.touch(*key));
    let all = write(&mut index, &groups, &mut written);
    assert!(all > 10);
    index.touch(group(100));
    groups.remove(&group(100));
    assert_eq!(write(&mut index, &groups, &mut written), 1);
    let mut found: Vec<_> =
        written.values().flat_map(|page| decode_leaf(page).expect("well-formed")).collect();
    found.sort_by_key(|(key, _)| *key);
    assert_eq!(found, groups.into_iter().collect::<Vec<_>>());
}

#[test]
fn a_leaf_without_groups_goes() {
    let mut groups = BTreeMap::from([(group(5), runs(5))]);
    let (mut index, mut written) = (Index::default(), BTreeMap::new());
    index.touch(group(5));
    write(&mut index, &groups, &mut written);
    groups.clear();
    index.touch(group(5));
    write(&mut index, &groups, &mut written);
    assert!(written.is_empty());
    assert!(index.children().is_empty());
}

#[test]
fn a_page_that_has_to_move_is_written_again() {
    let groups = BTreeMap::from([(group(5), runs(5))]);
    let (mut index, mut written) = (Index::default(), BTreeMap::new());
    index.touch(group(5));
    write(&mut index, &groups, &mut written);
    index.touch_pages_in(SegmentId(2));
    assert_eq!(write(&mut index, &groups, &mut written), 0);
    index.touch_pages_in(SegmentId(1));
    assert_eq!(write(&mut index, &groups, &mut written), 1);
}

#[test]
fn a_group_that_changes_while_its_leaf_is_written_is_written_again() {
    // A zero range came while a checkpoint was writing the leaf, and the next checkpoint left it
    // out: after a crash the blocks held their old content.
    let groups = BTreeMap::from([(group(5), runs(5))]);
    let mut index = Index::default();
    index.touch(group(5));
    let (pages, _) = index.changed_leaves(&groups);
    index.touch(group(5));
    pages.into_iter().for_each(|(key, _)| index.leaf_written(key, pointer(1)));
    index.nodes_written(Vec::new(), 0, Some(pointer(1)));
    assert!(index.is_stale());
    assert_eq!(index.changed_leaves(&groups).0.len(), 1);
}

#[test]
fn what_a_checkpoint_writes_is_foretold() {
    let groups: BTreeMap<GroupKey, Vec<Run>> = (0..2000).map(|gib| (group(gib), runs(gib))).collect();
    let (mut index, mut written) = (Index::default(), BTreeMap::new());
    for (key, runs) in &groups {
        index.grew(group_bytes(runs));
        index.touch(*key);
    }
    let foretold = index.to_write();
    let pages = write(&mut index, &groups, &mut written) as u64;
    let bytes: usize = written.values().map(Vec::len).sum();
    assert!((pages..4 * pages).contains(&foretold.fragments), "{foretold:?}, and {pages} pages");
    assert!(
        (bytes..2 * bytes).contains(&(foretold.slots as usize * SLOT_BYTES)),
        "{foretold:?}, and {bytes} bytes"
    );
    assert_eq!(index.to_write(), Occupancy::default());
    index.touch(group(7));
    index.touch(group(8));
    assert!((1..=1 + pages / 100).contains(&index.to_write().fragments), "one leaf, and the nodes");
}
