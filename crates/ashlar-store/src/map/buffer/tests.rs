use super::*;
use crate::format::location::{Codec, Location, Pointer, SegmentId};

fn key(block: u64) -> Key {
    Key { family: Family(1), lba: Lba(block), layer: Layer(0) }
}

fn at(slot: u32) -> Value {
    Some(Pointer { location: Location::new(SegmentId(1), 0, slot, 64, Codec::Lz4), crc: 0 })
}

#[test]
fn each_value_is_displaced_once_whatever_part_holds_it() {
    let mut buffer = Buffer::default();
    assert_eq!(buffer.set(key(1), at(1), false), None);
    assert_eq!(buffer.set(key(1), at(2), false), Some(at(2).and(at(1))));
    buffer.freeze();
    assert_eq!(buffer.set(key(1), at(3), false), Some(at(2)));
    assert_eq!(buffer.set(key(1), at(4), false), Some(at(3)), "not the frozen one again");
    buffer.settle(|_| false);
    assert_eq!(buffer.get(&key(1)), Some(at(4)));
    buffer.freeze();
    buffer.settle(|_| false);
    assert_eq!(buffer.set(key(1), at(5), false), Some(at(4)));
    assert_eq!(buffer.len(), 1);
}

#[test]
fn an_absence_is_remembered_until_no_delta_or_run_can_bring_the_value_back() {
    let mut buffer = Buffer::default();
    assert_eq!(buffer.set(key(1), None, false), None);
    assert_eq!(buffer.len(), 0, "nothing to hide");
    buffer.set(key(1), at(1), false);
    buffer.freeze();
    buffer.settle(|_| false);
    assert_eq!(buffer.set(key(1), None, false), Some(at(1)));
    assert_eq!(buffer.get(&key(1)), Some(None), "a delta has the value");
    buffer.freeze();
    buffer.settle(|_| false);
    assert_eq!(buffer.get(&key(1)), None, "a later delta has the absence");
    buffer.set(key(2), None, true);
    buffer.freeze();
    buffer.settle(|_| true);
    assert_eq!(buffer.get(&key(2)), Some(None), "a run may have a value");
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
    let entries: Vec<_> = buffer.settled().iter().map(|(key, value)| (*key, *value)).collect();
    buffer.set(key(2), at(9), true);
    assert_eq!(buffer.distributed(&entries), [(key(2), at(2))]);
    assert!(buffer.settled().is_empty());
    assert_eq!(buffer.get(&key(2)), Some(at(9)));
}

#[test]
fn keys_of_a_range_are_found_in_all_parts_once() {
    let mut buffer = Buffer::default();
    buffer.load(key(1), at(1), false);
    buffer.set(key(2), at(2), false);
    buffer.freeze();
    buffer.set(key(2), at(3), false);
    buffer.set(key(5), at(5), false);
    assert_eq!(buffer.keys(Family(1), Layer(0), Lba(1)..Lba(5)), [key(1), key(2)]);
}
