use ashlar_format::location::{CHUNK_BYTES_MAX, SegmentId};

use super::*;

const NUMBERS: u32 = SegmentId::COUNT as u32;
const PIB: u64 = 1 << 50;

fn largest(data: usize, parity: usize, chunk_bytes: u64) -> Largest {
    Largest { stripe: Stripe { data, parity }, chunk_bytes, segment_numbers: NUMBERS }
}

/// What `docs/format.md` says.
#[test]
fn the_format_ends_where_its_numbers_do() {
    let pib = |data, parity| largest(data, parity, CHUNK_BYTES_MAX).bytes().div_ceil(PIB);
    assert_eq!([pib(8, 2), pib(20, 4), pib(1, 1)], [5, 12, 1]);
}

/// Each segment was taken to have as few columns as could be: a third of that was refused.
#[test]
fn sixty_drives_of_sixty_one_terabytes_are_a_pool() {
    let chunk_bytes = CHUNK_BYTES_MAX;
    let chunks = vec![61_000_000_000_000 / chunk_bytes; 60];
    for (data, parity) in [(8, 2), (20, 4), (14, 2)] {
        assert!(largest(data, parity, chunk_bytes).holds(chunks.clone()), "{data}+{parity}");
    }
    assert!(!largest(1, 1, chunk_bytes).holds(chunks));
}

/// It was larger than its area once the pool was full, halted the pool, and kept it from being
/// opened again.
#[test]
fn the_first_table_has_room_for_the_segments_of_the_table() {
    let small = largest(1, 1, 64 << 10);
    assert!((300_000..500_000).contains(&small.segments()), "{}", small.segments());
    assert!(largest(8, 2, 64 << 10).segments() > 1_000_000);
    assert_eq!(largest(1, 1, 4 << 20).segments(), u64::from(NUMBERS) / NUMBERS_PER_SEGMENT);
}
