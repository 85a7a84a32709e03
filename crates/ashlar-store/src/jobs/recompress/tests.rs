use std::rc::Rc;

use ashlar_block::{Lba, XorShift};
use ashlar_format::compression::Compression;
use ashlar_format::ids::{Family, Key, Layer};
use ashlar_format::location::Codec;
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::base::options::Options;
use crate::jobs::collect::Collected;
use crate::testing::{Drives, StillWorld, append_items, at_once, location};
use crate::writer::compress::compress_blocks;

const BLOCKS: u64 = 48;
/// As many rows as a segment has.
const SEGMENT_BLOCKS: u64 = 16;
const FAMILY: Family = Family(1);

/// Every block is cold as soon as its segment is sealed.
fn cold_at_once() -> Options {
    Options { cold_after: Duration::ZERO, ..Options::default() }
}

/// Half of it is of few values, of which zstd makes much less; the rest repeats.
fn block(lba: u64) -> Vec<u8> {
    let mut rng = XorShift::new(lba + 1);
    let mut bytes = vec![b'.'; BLOCK_BYTES];
    bytes[..BLOCK_BYTES / 2].fill_with(|| b'a' + rng.below(16) as u8);
    bytes
}

fn noise(lba: u64) -> Vec<u8> {
    let mut rng = XorShift::new(lba + 1);
    (0..BLOCK_BYTES).map(|_| rng.below(256) as u8).collect()
}

fn key(lba: u64) -> Key {
    Key { family: FAMILY, lba: Lba(lba), layer: Layer(0) }
}

fn item(lba: u64, bytes: Vec<u8>) -> Item {
    let fragment = compress_blocks(&bytes.into(), Compression::Lz4).next().expect("one block");
    Item { kind: RecordKind::Write, key: key(lba), fragment }
}

/// A pool with a volume of this compression, in whose segment such blocks are.
fn filled(
    drives: &Drives,
    options: Options,
    compression: Compression,
    block: fn(u64) -> Vec<u8>,
) -> (Rc<Pool<StillWorld>>, SegmentId) {
    let pool = drives.open_with(options);
    pool.catalog.borrow_mut().next_id = FAMILY.0;
    pool.catalog.borrow_mut().insert_next(1 << 20, compression, Bytes::new(), 0);
    for lba in 0..BLOCKS {
        append_items(&pool, vec![item(lba, block(lba))]);
        if lba % SEGMENT_BLOCKS == SEGMENT_BLOCKS - 1 {
            at_once(pool.checkpoint(false)).expect("good drives");
        }
    }
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
    let victim = location(&pool, 0).segment();
    (pool, victim)
}

fn collect(pool: &Pool<StillWorld>, victim: SegmentId) {
    assert_eq!(at_once(pool.collect(victim)).expect("there is room"), Collected::Emptied);
    at_once(pool.checkpoint(false)).expect("good drives");
}

fn codecs(pool: &Pool<StillWorld>) -> Vec<Codec> {
    let mut codecs: Vec<Codec> = Vec::new();
    for lba in 0..BLOCKS {
        let codec = location(pool, lba).codec();
        if !codecs.contains(&codec) {
            codecs.push(codec);
        }
    }
    codecs
}

fn assert_reads_as(pool: &Pool<StillWorld>, block: fn(u64) -> Vec<u8>) {
    for lba in 0..BLOCKS {
        let read = at_once(pool.read(FAMILY, Layer(0), Lba(lba), 1)).expect("good drives");
        assert!(read[..] == block(lba), "block {lba}");
    }
}

/// All that was written is in the victim, or in another segment like it.
fn collect_all(pool: &Pool<StillWorld>) {
    let mut victims: Vec<SegmentId> = Vec::new();
    for lba in 0..BLOCKS {
        let segment = location(pool, lba).segment();
        if !victims.contains(&segment) {
            victims.push(segment);
        }
    }
    victims.into_iter().for_each(|victim| collect(pool, victim));
}

#[test]
fn what_is_cold_takes_less_room_after_collection_and_reads_as_before() {
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, _) = filled(&drives, cold_at_once(), Compression::Auto, block);
    assert_eq!(codecs(&pool), [Codec::Lz4]);
    let before = pool.space.ledger.usage(FAMILY);
    collect_all(&pool);
    assert_eq!(codecs(&pool), [Codec::Zstd]);
    let after = pool.space.ledger.usage(FAMILY);
    assert_eq!(after.blocks, before.blocks);
    assert!(after.slots * 4 < before.slots * 3, "{before:?} became {after:?}");
    assert_eq!(pool.counters.get().jobs.fragments_recompressed, BLOCKS);
    assert_reads_as(&pool, block);
}

#[test]
fn a_start_after_a_crash_replays_what_was_compressed_anew() {
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, _) = filled(&drives, cold_at_once(), Compression::Auto, block);
    let victim = location(&pool, 0).segment();
    assert_eq!(at_once(pool.collect(victim)).expect("there is room"), Collected::Emptied);
    drop(pool);
    let pool = drives.open();
    assert_eq!(location(&pool, 0).codec(), Codec::Zstd);
    assert_reads_as(&pool, block);
}

#[test]
fn what_is_not_cold_or_is_to_stay_as_it_is_keeps_its_form() {
    let young = (Options::default(), Compression::Auto, block as fn(u64) -> Vec<u8>);
    let by_choice = (cold_at_once(), Compression::Lz4, block as fn(u64) -> Vec<u8>);
    for (options, compression, block) in [young, by_choice] {
        let drives = Drives::new(Level::RAID5, 4);
        let (pool, _) = filled(&drives, options, compression, block);
        collect_all(&pool);
        assert_eq!(codecs(&pool), [Codec::Lz4], "{compression}");
        assert_eq!(pool.counters.get().jobs.fragments_recompressed, 0);
        assert_reads_as(&pool, block);
    }
}

#[test]
fn noise_stays_as_it_is() {
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, _) = filled(&drives, cold_at_once(), Compression::Auto, noise);
    collect_all(&pool);
    assert_eq!(codecs(&pool), [Codec::Raw]);
    assert_reads_as(&pool, noise);
}

#[test]
fn a_block_that_was_overwritten_meanwhile_stays_overwritten() {
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, _) = filled(&drives, cold_at_once(), Compression::Auto, block);
    let pointer = at_once(pool.lookup(&key(0), |value| value.expect("it was written")));
    let pointer = pointer.expect("good drives");
    let stale = item(0, block(0));
    let moved = Item { kind: RecordKind::Move { from: pointer.location }, ..stale };
    let recode = at_once(pool.recompressed(vec![moved])).remove(0);
    assert!(matches!(recode.kind, RecordKind::Recode { .. }), "{recode:?}");
    append_items(&pool, vec![item(0, noise(77))]);
    let now = location(&pool, 0);
    let to = ashlar_format::location::Pointer { crc: 1, ..pointer };
    assert_eq!(at_once(pool.apply_move(&recode, to)), Some(false));
    assert_eq!(location(&pool, 0), now);
}

#[test]
fn a_segment_is_emptied_for_it_once_and_one_that_promises_nothing_never() {
    let step = |pool: &Pool<StillWorld>, victim| {
        at_once(pool.recompress_step(victim)).expect("there is room");
    };
    let of_written =
        |pool: &Pool<StillWorld>| pool.space.segments.borrow().summary().oldest_written();
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, victim) = filled(&drives, cold_at_once(), Compression::Auto, block);
    while of_written(&pool) == Some(victim) {
        step(&pool, victim);
    }
    assert_eq!(location(&pool, 0).codec(), Codec::Zstd);
    let moved = location(&pool, 0).segment();
    pool.seal_all();
    assert_ne!(of_written(&pool), Some(moved), "it holds what was moved");

    let drives = Drives::new(Level::RAID5, 4);
    let (pool, victim) = filled(&drives, cold_at_once(), Compression::Auto, noise);
    let before = location(&pool, 0);
    assert_eq!(of_written(&pool), Some(victim));
    step(&pool, victim);
    assert_ne!(of_written(&pool), Some(victim));
    assert_eq!(location(&pool, 0), before);
}

/// Collection went on with the full segment, and whoever waited for room waited for that.
#[test]
fn who_makes_room_does_not_go_on_with_what_is_compressed_anew() {
    let drives = Drives::new(Level::RAID5, 4);
    let (pool, full) = filled(&drives, cold_at_once(), Compression::Auto, block);
    at_once(pool.recompress_step(full)).expect("there is room");
    let begun = pool.jobs.recompression.begun.segment(&pool.space.segments.borrow());
    assert_eq!(begun, Some(full));
    let sparse = location(&pool, BLOCKS - 1).segment();
    for lba in (0..BLOCKS - 1).filter(|lba| location(&pool, *lba).segment() == sparse) {
        append_items(&pool, vec![item(lba, block(lba))]);
    }
    at_once(pool.checkpoint(false)).expect("good drives");
    let segments = pool.space.segments.borrow();
    let victim = pool.victim(&segments, &pool.allocation_targets(), pool.writer.lsns.floor());
    assert!(victim.is_some_and(|victim| victim != full), "{victim:?}");
}
