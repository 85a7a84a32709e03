use std::rc::Rc;
use std::time::Duration;

use ashlar_block::Lba;
use ashlar_format::ids::{Key, Layer};
use ashlar_format::location::{Codec, SegmentId};
use ashlar_raid::Level;
use bytes::Bytes;

use super::*;
use crate::base::options::{Learning as When, Options};
use crate::testing::{Drives, StillWorld, append_items, at_once, location};
use crate::writer::compress::compress_blocks;
use ashlar_format::header::RecordKind;

const BLOCKS: u64 = 600;
const FAMILY: Family = Family(1);

fn options() -> Options {
    let learning = When { blocks_min: 200, ..When::default() };
    Options { cold_after: Duration::ZERO, learning, ..Options::default() }
}

/// Lines of a log: what they have in common is spread over blocks.
fn log(lba: u64) -> Vec<u8> {
    let mut rng = XorShift::new(lba + 1);
    let words = ["volume", "drive", "reactor", "checkpoint", "rebuilds", "hosts", "queue", "pool"];
    let mut bytes = Vec::new();
    while bytes.len() < BLOCK_BYTES {
        let mut word = || words[rng.below(8) as usize];
        let line = format!("the {} of the {} waits for the {}", word(), word(), word());
        bytes.extend(format!("{line}: {:012x}\n", rng.next_u64() >> 16).into_bytes());
    }
    bytes.truncate(BLOCK_BYTES);
    bytes
}

fn write(pool: &Pool<StillWorld>, blocks: std::ops::Range<u64>) {
    for lba in blocks {
        let key = Key { family: FAMILY, lba: Lba(lba), layer: Layer(0) };
        let fragment = compress_blocks(&log(lba).into(), Compression::Lz4).next().expect("one");
        append_items(pool, vec![Item { kind: RecordKind::Write, key, fragment }]);
        if lba % 8 == 7 {
            at_once(pool.checkpoint(false)).expect("good drives");
        }
    }
    pool.seal_all();
    at_once(pool.checkpoint(false)).expect("good drives");
}

fn filled(drives: &Drives, compression: Compression) -> Rc<Pool<StillWorld>> {
    let pool = drives.open_with(options());
    pool.catalog.borrow_mut().next_id = FAMILY.0;
    pool.catalog.borrow_mut().insert_next(1 << 20, compression, Bytes::new(), 0);
    write(&pool, 0..BLOCKS);
    pool
}

fn segments(pool: &Pool<StillWorld>) -> Vec<SegmentId> {
    let mut segments: Vec<SegmentId> =
        (0..BLOCKS).map(|lba| location(pool, lba).segment()).collect();
    segments.sort_unstable();
    segments.dedup();
    segments
}

/// Moves all that there is, in two halves: a dictionary comes between.
fn collect_all(pool: &Pool<StillWorld>) {
    let victims = segments(pool);
    for victims in victims.chunks(victims.len().div_ceil(2)) {
        for victim in victims {
            at_once(pool.collect(*victim)).expect("there is room");
            at_once(pool.checkpoint(false)).expect("good drives");
        }
    }
}

fn count(pool: &Pool<StillWorld>, codec: Codec) -> usize {
    (0..BLOCKS).filter(|lba| location(pool, *lba).codec() == codec).count()
}

fn dictionaries(pool: &Pool<StillWorld>) -> Vec<DictionaryNumber> {
    pool.catalog.borrow().dictionaries_of(FAMILY).map(|(number, _)| number).collect()
}

fn assert_reads_as_written(pool: &Pool<StillWorld>) {
    for lba in 0..BLOCKS {
        let read = at_once(pool.read(FAMILY, Layer(0), Lba(lba), 1)).expect("good drives");
        assert!(read[..] == log(lba), "block {lba}");
    }
}

#[test]
fn a_volume_whose_blocks_have_much_in_common_gets_a_dictionary_that_outlives_a_crash() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = filled(&drives, Compression::Auto);
    collect_all(&pool);
    assert_eq!(dictionaries(&pool), [DictionaryNumber(1)]);
    assert!(count(&pool, Codec::Named) > 200, "{}", count(&pool, Codec::Named));
    assert!(count(&pool, Codec::Zstd) > 100, "what was moved before");
    let slots = |codec: Codec| {
        let of = (0..BLOCKS).map(|lba| location(&pool, lba)).filter(|at| at.codec() == codec);
        of.map(|at| at.slots()).sum::<u64>() as f64 / count(&pool, codec) as f64
    };
    assert!(slots(Codec::Named) < slots(Codec::Zstd) * 0.95);
    let entry = pool.catalog.borrow().dictionaries[&DictionaryNumber(1)].clone();
    let stored = pool.space.ledger.usage(FAMILY).slots * SLOT_BYTES as u64;
    // What is stored has become less since.
    assert!((entry.bytes.len() as u64) < stored / 50, "{} of {stored}", entry.bytes.len());
    assert_reads_as_written(&pool);
    drop(pool);
    let pool = drives.open();
    assert_eq!(dictionaries(&pool), [DictionaryNumber(1)]);
    assert_reads_as_written(&pool);
}

#[test]
fn nothing_is_stored_by_a_dictionary_that_no_root_has() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = filled(&drives, Compression::Auto);
    let victims = segments(&pool);
    for victim in victims {
        at_once(pool.collect(victim)).expect("there is room");
        if !dictionaries(&pool).is_empty() {
            break;
        }
        at_once(pool.checkpoint(false)).expect("good drives");
    }
    assert_eq!(dictionaries(&pool), [DictionaryNumber(1)]);
    assert_eq!(pool.dictionary_for(FAMILY), None);
    assert_eq!(count(&pool, Codec::Named), 0);
    at_once(pool.checkpoint(false)).expect("good drives");
    assert_eq!(pool.dictionary_for(FAMILY), Some(DictionaryNumber(1)));
}

#[test]
fn a_volume_whose_operator_has_chosen_a_level_gets_none() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = filled(&drives, Compression::Zstd(ZstdLevel::DEFAULT));
    collect_all(&pool);
    assert_eq!(dictionaries(&pool), []);
    assert_eq!(count(&pool, Codec::Zstd) as u64, BLOCKS);
}

#[test]
fn what_was_unlearnt_is_not_stored_by_and_its_number_never_comes_back() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = filled(&drives, Compression::Auto);
    collect_all(&pool);
    pool.unlearn(FAMILY);
    assert_eq!(pool.dictionary_for(FAMILY), None);
    let form = Form::ByDictionary(DictionaryNumber(1));
    assert!(pool.compress_as(form, &log(3), 60).is_none(), "a compressor of it is at hand");
    let entry = DictionaryEntry { family: FAMILY, blocks: 1, bytes: Bytes::from_static(b"log") };
    assert_eq!(pool.catalog.borrow_mut().insert_dictionary(entry), DictionaryNumber(2));
}

#[test]
fn a_block_by_a_dictionary_that_is_gone_is_an_error_and_never_other_data() {
    let drives = Drives::new(Level::RAID5, 4);
    let pool = filled(&drives, Compression::Auto);
    collect_all(&pool);
    let lba = (0..BLOCKS).find(|lba| location(&pool, *lba).codec() == Codec::Named).expect("some");
    drop(pool);
    let pool = drives.open();
    pool.unlearn(FAMILY);
    let error = at_once(pool.read(FAMILY, Layer(0), Lba(lba), 1)).expect_err("it is gone");
    assert!(error.to_string().contains("dictionary"), "{error}");
}

#[test]
fn a_sample_is_of_all_blocks_alike() {
    let mut sample = Sample::of(FAMILY, Form::Zstd(ZstdLevel::DEFAULT));
    for nth in 0..12_800_u64 {
        if let Some(place) = sample.place() {
            let mut block = [0; BLOCK_BYTES];
            block[..8].copy_from_slice(&nth.to_le_bytes());
            sample.put(place, (block, 1));
        }
    }
    assert_eq!(sample.blocks.len(), SAMPLE_BLOCKS);
    let of =
        |block: &[u8; BLOCK_BYTES]| u64::from_le_bytes(block[..8].try_into().expect("eight bytes"));
    let early = sample.blocks.iter().filter(|(block, _)| of(block) < 6_400).count();
    assert!((40..=88).contains(&early), "{early} of the first half");
}
