use ashlar_block::{Clock, Lba};
use ashlar_format::compression::ZstdLevel;
use ashlar_format::ids::{Family, Layer};
use ashlar_format::location::Codec;
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::testing::{DONE_ONCE, at_once, steps, ticking};
use crate::writer::compress::FragmentBytes;

const KEY: Key = Key { family: Family(1), lba: Lba(100), layer: Layer(0) };

fn data() -> Option<Fragment> {
    Some(Fragment {
        bytes: FragmentBytes::Shared(Bytes::from_static(b"x")),
        codec: Codec::Lz4,
        crc: 0,
    })
}

fn items(fragments: impl IntoIterator<Item = Option<Fragment>>) -> Recycled<Item> {
    let mut items = Recycler::default().list();
    add_items(&mut items, KEY, fragments.into_iter());
    items
}

#[test]
fn zeros_next_to_each_other_are_one_record() {
    let records = items([None, None, data(), None]);
    let kinds: Vec<RecordKind> = records.iter().map(|item| item.kind).collect();
    let zeros = |blocks| RecordKind::ZeroRange { blocks };
    assert_eq!(kinds, [zeros(2), RecordKind::Write, zeros(1)]);
    assert_eq!(records[1].key.lba, Lba(102));
}

/// A host with sectors of 512 bytes writes 256 KiB from the middle of a block: 65 blocks.
#[test]
fn a_write_that_can_be_atomic_is_one_unit_wherever_it_begins() {
    assert_eq!(cut(items((0..64).map(|_| data())), 65, &Recycler::default()).len(), 1);
    assert_eq!(cut(items((0..65).map(|_| data())), 65, &Recycler::default()).len(), 1);
}

#[test]
fn a_larger_write_is_cut_where_its_blocks_are_aligned() {
    let units = cut(items((0..100).map(|_| data())), 65, &Recycler::default());
    let firsts: Vec<u64> = units.iter().map(|unit| unit[0].key.lba.0).collect();
    assert_eq!(firsts, [100, 128, 192]);
    assert_eq!(units.iter().map(|unit| unit.len()).sum::<usize>(), 100);
}

#[test]
fn a_write_that_is_compressed_in_one_turn_is_timed_by_two_looks_at_the_clock() {
    let pool = ticking(Level::RAID5, 3);
    let data = Bytes::from(vec![7; 16 * BLOCK_BYTES]);
    let (items, compressed_at) = at_once(pool.compressed(KEY, &data, Compression::Lz4));
    assert_eq!(items.len(), 16);
    assert!(compressed_at < pool.world.now());
    assert_eq!(steps(&pool).compress, DONE_ONCE);
}

#[test]
fn of_a_write_that_is_compressed_in_turns_the_time_between_them_is_not_busy() {
    let pool = ticking(Level::RAID5, 3);
    let compression = Compression::Zstd(ZstdLevel::new(9).expect("a level"));
    let data = Bytes::from(vec![7; 8 * BLOCK_BYTES]);
    drop(at_once(pool.compressed(KEY, &data, compression)));
    let StepCounters { operations, latency, busy } = steps(&pool).compress;
    let tick = DONE_ONCE.busy;
    assert_eq!((operations, latency, busy), (1, 3 * tick, 2 * tick));
}
