use std::collections::BTreeSet;

use ashlar_format::ids::GIB_BLOCKS;
use ashlar_format::location::{Codec, Location, Pointer, SegmentId};
use proptest::prelude::*;

use super::*;

fn key(block: u64) -> Key {
    Key { family: Family(1), lba: Lba(block), layer: Layer(0) }
}

fn at(slot: u32) -> Value {
    Some(Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: 0 })
}

/// What is in durable deltas: group by group, so that no part of it is lost between two.
fn settled(buffer: &Buffer) -> Vec<(Key, Value)> {
    let (mut all, mut next) = buffer.settled_from(None, 1);
    while let Some(group) = next {
        let (more, behind) = buffer.settled_from(Some(group), 1);
        all.extend(more);
        next = behind;
    }
    all
}

/// What the running checkpoint writes, found key by key.
fn written(buffer: &Buffer) -> Vec<(Key, Value)> {
    let found = (0..).map_while(|first| buffer.freezing_from(first, 1)).flatten().collect();
    buffer.freezing(found)
}

/// The checkpoint is durable.
fn settle(buffer: &mut Buffer, on_disk: bool) {
    while buffer.settle(1, |_| on_disk) {}
}

#[test]
fn each_value_is_displaced_once_whatever_part_holds_it() {
    let mut buffer = Buffer::default();
    assert_eq!(buffer.set(key(1), at(1), || false), None);
    assert_eq!(buffer.set(key(1), at(2), || false), Some(at(2).and(at(1))));
    buffer.freeze();
    assert_eq!(buffer.set(key(1), at(3), || false), Some(at(2)));
    assert_eq!(buffer.set(key(1), at(4), || false), Some(at(3)), "not the frozen one again");
    settle(&mut buffer, false);
    assert_eq!(buffer.get(&key(1)), Some(at(4)));
    buffer.freeze();
    settle(&mut buffer, false);
    assert_eq!(buffer.set(key(1), at(5), || false), Some(at(4)));
    assert_eq!(buffer.len(), 1);
}

/// A purge that was begun anew after a start told the next checkpoint what the deltas said already.
#[test]
fn what_is_absent_already_is_no_update() {
    let mut buffer = Buffer::default();
    buffer.set(key(1), None, || true);
    buffer.freeze();
    settle(&mut buffer, true);
    assert_eq!(buffer.set(key(1), None, || true), Some(None));
    assert_eq!((buffer.fresh_len(), buffer.settled_len()), (0, 1));
}

#[test]
fn an_absence_is_remembered_until_no_delta_or_run_can_bring_the_value_back() {
    let mut buffer = Buffer::default();
    assert_eq!(buffer.set(key(1), None, || false), None);
    assert_eq!(buffer.len(), 0, "nothing to hide");
    buffer.set(key(1), at(1), || false);
    buffer.freeze();
    settle(&mut buffer, false);
    assert_eq!(buffer.set(key(1), None, || false), Some(at(1)));
    assert_eq!(buffer.get(&key(1)), Some(None), "a delta has the value");
    buffer.freeze();
    settle(&mut buffer, false);
    assert_eq!(buffer.get(&key(1)), None, "a later delta has the absence");
    buffer.set(key(2), None, || true);
    buffer.freeze();
    settle(&mut buffer, true);
    assert_eq!(buffer.get(&key(2)), Some(None), "a run may have a value");
}

#[test]
fn absences_are_forgotten_once_no_run_says_anything_of_them_and_a_delta_has_them() {
    let mut buffer = Buffer::default();
    let group = GroupKey::of(Family(1), Lba(0));
    let next_group = key(GIB_BLOCKS);
    buffer.set(key(1), None, || true);
    buffer.set(key(2), at(2), || true);
    buffer.set(next_group, None, || true);
    buffer.freeze();
    buffer.set(key(3), None, || true);
    settle(&mut buffer, true);
    let absences = buffer.settled_absences(&group);
    assert_eq!(absences, [key(1)], "not a value, not what no delta has, not another group's");
    buffer.set(key(1), at(1), || true);
    buffer.forget_absences(&absences);
    assert_eq!(buffer.get(&key(1)), Some(at(1)), "it has been written meanwhile");
    buffer.set(key(2), None, || true);
    buffer.freeze();
    settle(&mut buffer, true);
    let absences = buffer.settled_absences(&group);
    buffer.forget_absences(&absences);
    assert_eq!((absences, buffer.len()), (vec![key(2), key(3)], 2));
}

#[test]
fn deltas_loaded_in_order_give_the_same_buffer() {
    let mut buffer = Buffer::default();
    for (block, value) in [(1, at(1)), (2, at(2)), (1, None), (3, None)] {
        buffer.load(key(block), value, block == 3);
    }
    assert_eq!(buffer.newest(), BTreeMap::from([(key(2), at(2)), (key(3), None)]));
}

#[test]
fn what_is_displaced_while_it_is_distributed_is_counted_again() {
    let mut buffer = Buffer::default();
    buffer.load(key(1), at(1), false);
    buffer.load(key(2), at(2), false);
    let entries = settled(&buffer);
    buffer.set(key(2), at(9), || true);
    assert_eq!(buffer.distributed(&entries), [(key(2), at(2))]);
    assert!(settled(&buffer).is_empty());
    assert_eq!(buffer.get(&key(2)), Some(at(9)));
}

#[test]
fn what_cannot_be_distributed_is_written_as_deltas_again() {
    let mut buffer = Buffer::default();
    buffer.load(key(1), at(1), false);
    buffer.load(key(2), at(2), false);
    let entries = settled(&buffer);
    buffer.set(key(2), at(9), || true);
    buffer.unsettle(&entries);
    buffer.freeze();
    assert_eq!(written(&buffer), [(key(1), at(1)), (key(2), at(9))]);
}

#[test]
fn keys_of_a_range_are_found_in_all_parts_once() {
    let mut buffer = Buffer::default();
    buffer.load(key(1), at(1), false);
    buffer.set(key(2), at(2), || false);
    buffer.freeze();
    buffer.set(key(2), at(3), || false);
    buffer.set(key(5), at(5), || false);
    assert_eq!(
        buffer.keys(Family(1), Layer(0), &(Lba(1)..Lba(5)), 9),
        (vec![key(1), key(2)], None)
    );
}

#[test]
fn keys_of_a_range_are_those_of_whole_groups_until_there_are_enough() {
    let mut buffer = Buffer::default();
    for block in [0, 1, GIB_BLOCKS, GIB_BLOCKS + 1, 4 * GIB_BLOCKS] {
        buffer.set(key(block), at(1), || false);
    }
    let keys = |enough| {
        let (keys, next) = buffer.keys(Family(1), Layer(0), &(Lba(0)..Lba(5 * GIB_BLOCKS)), enough);
        (keys.len(), next.map(|group| group.gib))
    };
    assert_eq!([1, 2].map(keys), [(2, Some(1)); 2]);
    assert_eq!([3, 4].map(keys), [(4, Some(4)); 2]);
    assert_eq!(keys(5), (5, None));
}

/// The same rules with nothing but maps, one for each way that an update may have come.
#[derive(Default)]
struct Plain {
    fresh: BTreeMap<Key, Value>,
    freezing: BTreeMap<Key, Value>,
    settled: BTreeMap<Key, Value>,
}

impl Plain {
    fn set(&mut self, key: Key, value: Value, on_disk: bool) -> Option<Value> {
        let newest = self.fresh.get(&key).or_else(|| self.freezing.get(&key)).copied();
        if value.is_none() && newest.or_else(|| self.settled.get(&key).copied()) == Some(None) {
            return Some(None);
        }
        let displaced = newest.or_else(|| self.settled.remove(&key));
        if value.is_some() || on_disk || displaced.is_some() {
            self.fresh.insert(key, value);
        }
        displaced
    }

    fn settle(&mut self, on_disk: bool) {
        for (key, value) in std::mem::take(&mut self.freezing) {
            if !self.fresh.contains_key(&key) && (value.is_some() || on_disk) {
                self.settled.insert(key, value);
            }
        }
    }

    fn newest(&self) -> BTreeMap<Key, Value> {
        let mut all = self.settled.clone();
        all.extend(&self.freezing);
        all.extend(&self.fresh);
        all
    }
}

#[derive(Clone, Debug)]
enum Step {
    Set { key: Key, value: Value, on_disk: bool },
    Freeze,
    Settle { on_disk: bool, written_meanwhile: Option<(Key, u32)> },
    Distribute { displaced_meanwhile: Option<(Key, Value)> },
}

fn any_key() -> impl Strategy<Value = Key> {
    // Few ranges, so that leaves fill up, empty, and come back.
    let lba = prop_oneof![0..12_u64, 250..262_u64, 1_000_000..1_000_003_u64];
    (1..3_u32, lba, 0..2_u32).prop_map(|(family, lba, layer)| Key {
        family: Family(family),
        lba: Lba(lba),
        layer: Layer(layer),
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => (0..1000_u32).prop_map(at), 1 => Just(None)]
}

fn any_step() -> impl Strategy<Value = Step> {
    let displaced = proptest::option::of((any_key(), any_value()));
    let written = proptest::option::of((any_key(), 0..1000_u32));
    prop_oneof![
        20 => (any_key(), any_value(), any::<bool>()).prop_map(|(key, value, on_disk)| Step::Set { key, value, on_disk }),
        2 => Just(Step::Freeze),
        2 => (any::<bool>(), written).prop_map(|(on_disk, written_meanwhile)| Step::Settle { on_disk, written_meanwhile }),
        1 => displaced.prop_map(|displaced_meanwhile| Step::Distribute { displaced_meanwhile }),
    ]
}

fn take_step(buffer: &mut Buffer, plain: &mut Plain, step: Step, freezing: &mut bool) {
    match step {
        Step::Set { key, value, on_disk } => {
            assert_eq!(buffer.set(key, value, || on_disk), plain.set(key, value, on_disk));
        }
        Step::Freeze if !*freezing => {
            buffer.freeze();
            plain.freezing = std::mem::take(&mut plain.fresh);
            *freezing = true;
        }
        Step::Settle { on_disk, written_meanwhile } if *freezing => {
            let mut is_more = buffer.settle(1, |_| on_disk);
            if let Some((key, location)) = written_meanwhile {
                buffer.set(key, at(location), || true);
                plain.set(key, at(location), true);
            }
            while is_more {
                is_more = buffer.settle(1, |_| on_disk);
            }
            plain.settle(on_disk);
            *freezing = false;
        }
        Step::Distribute { displaced_meanwhile } => {
            let entries = settled(buffer);
            let later = displaced_meanwhile.into_iter();
            later.for_each(|(key, value)| {
                buffer.set(key, value, || true);
                plain.set(key, value, true);
            });
            let displaced = entries.iter().filter(|(key, _)| plain.settled.remove(key).is_none());
            assert_eq!(buffer.distributed(&entries), displaced.copied().collect::<Vec<_>>());
        }
        Step::Freeze | Step::Settle { .. } => {}
    }
}

proptest! {
    #[test]
    fn it_does_what_plain_maps_would_do(steps in proptest::collection::vec(any_step(), 1..200)) {
        let (mut buffer, mut plain, mut freezing) = (Buffer::default(), Plain::default(), false);
        for step in steps {
            take_step(&mut buffer, &mut plain, step, &mut freezing);
            prop_assert_eq!(buffer.newest(), plain.newest());
            prop_assert_eq!(settled(&buffer), plain.settled.clone().into_iter().collect::<Vec<_>>());
            if freezing {
                let plainly: Vec<_> = plain.freezing.clone().into_iter().collect();
                prop_assert_eq!(written(&buffer), plainly);
            }
            prop_assert_eq!(buffer.fresh_len(), plain.fresh.len());
            prop_assert_eq!(buffer.len(), plain.newest().len());
            let all = Lba(0)..Lba(2_000_000);
            let holding = plain.newest().into_iter().filter(|(key, value)| {
                value.is_some() && (key.family, key.layer) == (Family(1), Layer(1)) && key.lba.0 >= 5
            });
            let groups: BTreeSet<GroupKey> = holding.map(|(key, _)| GroupKey::of(key.family, key.lba)).collect();
            let part = Lba(5)..all.end;
            let (mut rest, mut held) = (part, None);
            while held.is_none() {
                match buffer.first_that_holds(Family(1), Layer(1), &rest, 3) {
                    Ok(first) => held = Some(first),
                    Err(next) => rest.start = next,
                }
            }
            prop_assert_eq!(held.flatten(), groups.first().copied());
            let blocks = Lba(300)..Lba(1_500_000);
            let known = buffer.keys(Family(1), Layer(1), &blocks, usize::MAX).0.len();
            prop_assert_eq!(buffer.count(Family(1), Layer(1), &blocks), known);
            let keys: Vec<Key> = plain.newest().into_keys().filter(|key| (key.family, key.layer) == (Family(1), Layer(1))).collect();
            prop_assert_eq!(buffer.keys(Family(1), Layer(1), &all, usize::MAX), (keys, None));
        }
    }
}

#[test]
fn a_look_for_what_a_layer_has_gets_on_however_many_layers_a_range_has() {
    let mut buffer = Buffer::default();
    let of_layer = |layer: u32| Key { family: Family(1), lba: Lba(5), layer: Layer(layer) };
    for layer in 0..40 {
        buffer.set(of_layer(layer), None, || true);
    }
    let blocks = Lba(0)..Lba(1000);
    assert_eq!(buffer.first_that_holds(Family(1), Layer(39), &blocks, 1), Ok(None));
}
