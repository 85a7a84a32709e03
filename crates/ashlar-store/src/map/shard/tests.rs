use std::cell::RefCell;
use std::collections::BTreeMap;

use ashlar_block::DriveId;
use ashlar_format::location::{Codec, Location, SegmentId};
use ashlar_format::page::{Filter, PageRef};
use smallvec::smallvec;

use super::*;
use crate::space::segments::{Numbers, Segments, Shape, Stripe};

struct AtHand(BTreeMap<u32, Rc<Vec<PageEntry>>>);

impl Pages for AtHand {
    fn page(&self, pointer: Pointer) -> Option<Rc<Vec<PageEntry>>> {
        self.0.get(&pointer.crc).cloned()
    }

    fn leaf(&self, _pointer: Pointer) -> Option<Rc<StoredLeaf>> {
        None
    }
}

fn ledger() -> (Ledger, Rc<RefCell<Segments>>) {
    let mut segments = Segments::new(
        Stripe { data: 1, parity: 0 },
        64,
        [(DriveId(0), 4)].into_iter(),
        Numbers::fresh(16),
    );
    segments.form_window(Shape::Striped, 2, &[DriveId(0)], ashlar_format::ids::Lsn(64));
    let segments = Rc::new(RefCell::new(segments));
    (Ledger::new(segments.clone()), segments)
}

fn pointer(slot: u32) -> Pointer {
    Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: slot }
}

/// The first block of the shard under test.
const FIRST: Lba = Lba(0);

fn key(lba: u64) -> Key {
    Key { family: Family(0), lba: Lba(lba), layer: Layer(0) }
}

/// A shard without anything, of which the first group is held.
fn shard() -> Shard {
    let mut shard = Shard::new(ShardId::of(Family(0), FIRST));
    shard.index.hold(&[GroupKey::of(Family(0), FIRST)]);
    shard
}

fn runs_of(shard: &Shard, group: GroupKey) -> Vec<Run> {
    match shard.index.place(group) {
        Place::InMemory(runs) => runs.to_vec(),
        Place::Stored(_) => panic!("it is held"),
    }
}

fn run(entries: &[(u32, u32)], page: u32) -> (Run, Rc<Vec<PageEntry>>) {
    let mut filter = Filter::default();
    entries.iter().for_each(|(block, _)| filter.add(*block));
    let entry = |(block, slot): &(u32, u32)| PageEntry {
        block: *block,
        layer: Layer(0),
        value: Some(pointer(*slot)),
    };
    let pages = smallvec![PageRef {
        first_block: entries[0].0,
        entries: entries.len() as u16,
        pointer: pointer(page)
    }];
    (Run::Pages { filter, pages }, Rc::new(entries.iter().map(entry).collect()))
}

#[test]
fn newer_runs_and_cuts_hide_older_runs_and_the_buffer_hides_all() {
    let (ledger, _) = ledger();
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    let (old, old_page) = run(&[(1, 11), (2, 12), (140, 13)], 100);
    let (new, new_page) = run(&[(2, 22)], 101);
    shard.push_run(group, old);
    let pages = AtHand(BTreeMap::from([(100, old_page), (101, new_page)]));
    let nothing = AtHand(BTreeMap::new());
    assert_eq!(shard.look(&key(1), &nothing), Look::Needs(Needed::Page(pointer(100))));
    assert_eq!(shard.look(&key(1), &pages), Look::Value(Some(pointer(11))));
    shard.push_run(group, new);
    assert_eq!(shard.look(&key(2), &pages), Look::Value(Some(pointer(22))));
    assert_eq!(shard.look(&key(3), &pages), Look::Value(None));
    shard.set_zero(Family(0), Layer(0), &(Lba(0)..Lba(130)), &ledger);
    assert_eq!(shard.look(&key(1), &pages), Look::Value(None));
    assert_eq!(shard.look(&key(140), &pages), Look::Value(Some(pointer(13))));
    shard.set(key(1), Some(pointer(30)), &ledger);
    assert_eq!(shard.look(&key(1), &pages), Look::Value(Some(pointer(30))));
    assert_eq!(shard.index.unmerged().len(), 1);
}

#[test]
fn what_the_buffer_names_is_counted_once() {
    let (ledger, segments) = ledger();
    let live = || segments.borrow().get(SegmentId(1)).expect("reserved").live.slots;
    let mut shard = shard();
    for slot in 64..74 {
        shard.set(key(7), Some(pointer(slot)), &ledger);
        assert_eq!((live(), ledger.usage(Family(0)).blocks), (1, 1));
    }
    shard.set(key(8), Some(pointer(80)), &ledger);
    shard.set_zero(Family(0), Layer(0), &(Lba(0)..Lba(1000)), &ledger);
    assert_eq!((live(), ledger.usage(Family(0)).blocks), (0, 0));
}

#[test]
fn few_blocks_are_hidden_one_by_one_and_many_by_one_cut() {
    let (ledger, _) = ledger();
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    let (old, page) = run(&[(1, 11), (40, 13)], 100);
    shard.push_run(group, old);
    let pages = AtHand(BTreeMap::from([(100, page)]));
    shard.set_zero(Family(0), Layer(0), &(Lba(1)..Lba(3)), &ledger);
    assert_eq!(runs_of(&shard, group).len(), 1);
    assert_eq!(shard.look(&key(1), &pages), Look::Value(None));
    shard.set_zero(Family(0), Layer(0), &(Lba(30)..Lba(200)), &ledger);
    shard.set_zero(Family(0), Layer(0), &(Lba(200)..Lba(2000)), &ledger);
    assert_eq!(runs_of(&shard, group).len(), 2, "adjacent cuts are one");
    assert_eq!(shard.look(&key(40), &pages), Look::Value(None));
}

#[test]
fn a_range_of_another_shard_cuts_nothing() {
    let (ledger, _) = ledger();
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    shard.push_run(group, run(&[(1, 11)], 100).0);
    shard.set_zero(Family(0), Layer(0), &(Lba(RANGE_BLOCKS)..Lba(2 * RANGE_BLOCKS)), &ledger);
    assert_eq!(runs_of(&shard, group).len(), 1);
}

#[test]
fn merging_away_everything_removes_the_group() {
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    let (run, _) = run(&[(1, 11)], 100);
    shard.push_run(group, run.clone());
    shard.install_merged(group, &[run], None);
    assert!(runs_of(&shard, group).is_empty());
}

#[test]
fn a_cut_that_grows_while_its_group_is_merged_is_kept() {
    let (ledger, _) = ledger();
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    shard.push_run(group, run(&[(1, 11), (250, 12)], 100).0);
    shard.set_zero(Family(0), Layer(0), &(Lba(0)..Lba(200)), &ledger);
    let before = runs_of(&shard, group);
    shard.set_zero(Family(0), Layer(0), &(Lba(200)..Lba(400)), &ledger);
    let (merged, page) = run(&[(250, 12)], 101);
    shard.install_merged(group, &before, Some(merged));
    let pages = AtHand(BTreeMap::from([(101, page)]));
    assert_eq!(shard.look(&key(250), &pages), Look::Value(None));
}

/// What the running checkpoint writes of a shard.
fn freezing(shard: &Shard) -> Vec<(Key, Value)> {
    let found = shard.buffer.freezing_from(0, usize::MAX).expect("keys were put");
    shard.buffer.freezing(found)
}

/// A shard whose deltas are one page, which holds these updates.
fn shard_with_deltas(updates: &[(Key, Value)], ledger: &Ledger) -> Shard {
    let mut shard = shard();
    updates.iter().for_each(|(key, value)| shard.set(*key, *value, ledger));
    shard.buffer.freeze();
    let directory = shard.deltas.following(&[pointer(80)]);
    shard.deltas.directory_written(directory, pointer(90));
    shard.settle(usize::MAX);
    shard
}

#[test]
fn deltas_that_are_compacted_hold_what_was_there_when_the_checkpoint_began() {
    // They were collected while the checkpoint went on. A move had taken its block out of what was
    // settled; after a crash the move was replayed, did not find the old place in the map, and was
    // refused: the block was gone.
    let (ledger, _) = ledger();
    let updates = [(key(7), Some(pointer(64)))];
    let mut shard = shard_with_deltas(&updates, &ledger);
    assert_eq!(shard.compact(1, &updates), [pointer(80), pointer(90)]);
    shard.buffer.freeze();
    shard.set(key(7), Some(pointer(70)), &ledger);
    assert_eq!(freezing(&shard), updates);
}

#[test]
fn what_newer_deltas_hide_is_not_written_again() {
    let (ledger, _) = ledger();
    let updates =
        [(key(7), Some(pointer(64))), (key(8), Some(pointer(65))), (key(9), Some(pointer(66)))];
    let mut shard = shard_with_deltas(&updates, &ledger);
    shard.set(key(7), None, &ledger);
    shard.set(key(8), Some(pointer(70)), &ledger);
    shard.buffer.freeze();
    shard.settle(usize::MAX);
    shard.compact(1, &updates);
    shard.buffer.freeze();
    assert_eq!(freezing(&shard), updates[2..]);
}

#[test]
fn a_group_that_is_trimmed_in_many_places_still_fits_its_leaf() {
    let (ledger, _) = ledger();
    let mut shard = shard();
    let group = GroupKey::of(Family(0), FIRST);
    let blocks: Vec<u32> = (0..GIB_BLOCKS as u32)
        .filter(|block| ShardId::of(Family(0), Lba(u64::from(*block))) == shard.id)
        .collect();
    let (old, old_page) =
        run(&blocks.iter().map(|block| (*block, block % 64)).collect::<Vec<_>>(), 100);
    shard.push_run(group, old);
    let pages = AtHand(BTreeMap::from([(100, old_page)]));
    for first in (0..GIB_BLOCKS).step_by(160) {
        shard.set_zero(Family(0), Layer(0), &(Lba(first)..Lba(first + 129)), &ledger);
    }
    assert!(group_bytes(&runs_of(&shard, group)) <= LEAF_BYTES_MAX);
    for block in blocks {
        let trimmed = block % 160 < 129;
        assert_eq!(
            shard.look(&key(u64::from(block)), &pages) == Look::Value(None),
            trimmed,
            "block {block}"
        );
    }
}
