use ashlar_block::{BLOCK_BYTES, Lba};
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::table::SegmentKind;
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::testing::{Drives, StillWorld, at_once, page};
use crate::writer::compress::compress_blocks;

const KEY: Key = Key { family: Family(1), lba: Lba(7), layer: Layer(0) };

/// Writes a block as a small commit does.
fn write_to_journal(pool: &Pool<StillWorld>) {
    let data = Bytes::from_static(&[0xa5; BLOCK_BYTES]);
    let item = |fragment| Item { kind: RecordKind::Write, key: KEY, fragment };
    let take =
        |_, taken: &mut Vec<Item>| taken.extend(compress_blocks(&data, Compression::Lz4).map(item));
    let mut appended =
        at_once(pool.try_append(StreamId::Journal, Claim::Host, take)).expect("there is a journal");
    at_once(pool.write(&mut appended)).expect("good drives");
    pool.writer.lsns.durable(appended.lsn);
    let (item, pointer) = (appended.items.pop().expect("just taken"), appended.pointers[0]);
    pool.publish_item(&item, pointer);
    pool.writer.lsns.published(appended.lsn);
    let kind = RecordKind::Move { from: pointer.expect("it is stored").location };
    pool.writer.destage.keep(false, Item { kind, ..item });
}

fn kind_of_its_segment(pool: &Pool<StillWorld>) -> SegmentKind {
    let location =
        at_once(pool.lookup(&KEY, |value| value)).expect("in memory").expect("written").location;
    pool.space.segments.borrow().get(location.segment()).expect("it is named").kind
}

#[test]
fn a_pool_that_is_closed_stripes_what_is_in_the_journal() {
    let pool = Drives::new(Level::RAID5, 3).open();
    write_to_journal(&pool);
    pool.writer.commit.stop();
    at_once(pool.finish_striping());
    assert_eq!(kind_of_its_segment(&pool), SegmentKind::Data);
}

#[test]
fn a_pool_that_is_closed_waits_for_no_segment_for_what_is_in_the_journal() {
    let pool = Drives::new(Level::RAID5, 3).open();
    write_to_journal(&pool);
    while at_once(pool.append_pages(Claim::Upkeep, vec![page(vec![1; 100])])).is_ok() {}
    pool.writer.commit.stop();
    at_once(pool.finish_striping());
    assert_eq!(kind_of_its_segment(&pool), SegmentKind::Journal);
}

/// Hosts that wrote blocks which compress well were faster than the moves, and what waited for
/// these took gigabytes.
#[test]
fn what_waits_to_be_striped_is_bounded() {
    let destage = Destage::default();
    let data = Bytes::from_static(&[0xa5; BLOCK_BYTES]);
    for _ in 0..KEPT_MOVES_MAX + 10 {
        let fragment = compress_blocks(&data, Compression::Lz4).next().expect("one block");
        destage.keep(true, Item { kind: RecordKind::Write, key: KEY, fragment });
    }
    assert_eq!(destage.kept[1].borrow().moves.len(), KEPT_MOVES_MAX);
}

/// The segment's number had come round, and the block was at the same place of it again, as hot
/// data. What was kept of the cold version was moved over it.
#[test]
fn what_was_kept_of_a_place_is_not_moved_over_what_has_come_there_since() {
    let pool = Drives::new(Level::RAID5, 3).open();
    write_to_journal(&pool);
    let kept = at_once(pool.lookup(&KEY, |value| value)).expect("in memory").expect("written");
    let newer = Pointer { crc: !kept.crc, ..kept };
    let write = Item { kind: RecordKind::Write, key: KEY, fragment: None };
    pool.publish_item(&write, Some(newer));
    let fragment = compress_blocks(&Bytes::from_static(&[0xa5; BLOCK_BYTES]), Compression::Lz4)
        .next()
        .expect("one block");
    let late = Item { kind: RecordKind::Move { from: kept.location }, key: KEY, fragment };
    assert_eq!(at_once(pool.apply_move(&late, kept)), Some(false));
    pool.writer.commit.stop();
    at_once(pool.finish_striping());
    assert_eq!(at_once(pool.lookup(&KEY, |value| value)).expect("in memory"), Some(newer));
}
