use ashlar_block::DriveId;

use super::sizing::{HELD_SECTORS_MAX, HELD_SECTORS_MIN};
use super::*;

const CHUNK: ChunkAddr = ChunkAddr { drive: DriveId(3), chunk: 7 };

fn sectors(content: u8, count: usize) -> Vec<u8> {
    vec![content; count * SECTOR_BYTES]
}

fn remembering() -> ReconstructCache {
    let cache = ReconstructCache::default();
    cache.begin();
    cache
}

fn is_here(cache: &ReconstructCache, sector: u32) -> bool {
    matches!(cache.next(CHUNK, sector..sector + 1), Next::Here(_))
}

#[test]
fn nothing_is_remembered_before_something_was_reconstructed() {
    let cache = ReconstructCache::default();
    assert!(!cache.wants(16));
    cache.begin();
    assert!(cache.wants(16) && !cache.wants(1));
    (0..READS).for_each(|_| drop(cache.claim(CHUNK, 0..4)));
    assert!(!cache.wants(16), "nor long after that");
}

#[test]
fn what_was_read_need_not_be_read_again() {
    let cache = remembering();
    let claim = cache.claim(CHUNK, 4..8);
    assert!(matches!(cache.next(CHUNK, 4..9), Next::Wait));
    assert!(matches!(cache.next(CHUNK, 2..9), Next::Read(range) if range == (2..4)));
    claim.fill(&sectors(5, 4));
    let Next::Here(sector) = cache.next(CHUNK, 6..9) else { panic!("it has come") };
    assert_eq!(sector, sectors(5, 1));
    assert!(matches!(cache.next(CHUNK, 8..9), Next::Read(range) if range == (8..9)));
}

#[test]
fn what_did_not_come_has_to_be_read() {
    let cache = remembering();
    drop(cache.claim(CHUNK, 0..4));
    assert!(matches!(cache.next(CHUNK, 0..4), Next::Read(range) if range == (0..4)));
}

#[test]
fn what_is_written_is_forgotten_also_while_it_is_being_read() {
    let cache = remembering();
    cache.claim(CHUNK, 0..4).fill(&sectors(1, 4));
    cache.forget(CHUNK, 1..2);
    assert!(is_here(&cache, 0) && !is_here(&cache, 1));
    let claim = cache.claim(CHUNK, 8..12);
    cache.forget(CHUNK, 8..10);
    claim.fill(&sectors(2, 4));
    assert!(!is_here(&cache, 9) && is_here(&cache, 10));
    cache.forget_all();
    assert!(!is_here(&cache, 10));
}

#[test]
fn an_old_read_says_nothing_of_what_is_read_anew() {
    let cache = remembering();
    let old = cache.claim(CHUNK, 0..4);
    cache.forget(CHUNK, 0..4);
    let new = cache.claim(CHUNK, 0..4);
    old.fill(&sectors(1, 4));
    assert!(!is_here(&cache, 0), "it was read before the write");
    new.fill(&sectors(2, 4));
    assert!(is_here(&cache, 0));
}

/// Reads of eight sectors each, the next ones of the chunk.
fn read_on(cache: &ReconstructCache, reads: Range<u32>) {
    for sectors in reads.map(|nth| nth * 8..nth * 8 + 8) {
        let mut next = sectors.start;
        while next < sectors.end {
            next = match cache.next(CHUNK, next..sectors.end) {
                Next::Here(_) => next + 1,
                Next::Wait => panic!("nothing is on its way"),
                Next::Read(part) => {
                    cache.claim(CHUNK, part.clone()).fill(&vec![1; part.len() * SECTOR_BYTES]);
                    part.end
                }
            };
        }
    }
}

fn held(cache: &ReconstructCache) -> usize {
    cache.sectors.borrow().values().filter(|slot| matches!(slot, Slot::Here(..))).count()
}

#[test]
fn what_is_remembered_is_bounded() {
    let cache = remembering();
    read_on(&cache, 0..4 * HELD_SECTORS_MAX as u32 / 8);
    assert_eq!(held(&cache), HELD_SECTORS_MIN, "nothing was wanted again");
    assert_eq!(cache.sectors.borrow().len(), HELD_SECTORS_MIN + NOTED_SAMPLES_MAX);
}

#[test]
fn more_is_held_once_reads_ask_for_what_was_read_a_moment_ago() {
    let cache = remembering();
    (0..8).for_each(|_| read_on(&cache, 0..HELD_SECTORS_MIN as u32 * 2 / 8));
    assert_eq!(held(&cache), 2 * HELD_SECTORS_MIN, "all that was read");
    assert!(is_here(&cache, 0));
    read_on(&cache, 1000..3000);
    assert_eq!(held(&cache), HELD_SECTORS_MIN, "other places, each of them once");
}
