use ashlar_block::{BLOCK_BYTES, XorShift};

use super::*;

fn level(level: u8) -> ZstdLevel {
    ZstdLevel::new(level).expect("there is such a level")
}

fn text(seed: u64) -> Vec<u8> {
    let mut rng = XorShift::new(seed);
    let words = (0..).map(|_| format!("{} ", rng.below(500)).into_bytes());
    words.flatten().take(BLOCK_BYTES).collect()
}

#[test]
fn a_block_comes_back_from_every_level() {
    let mut out = [0; BLOCK_BYTES];
    for number in (1..=ZstdLevel::MAX).chain([3, 1, 19]) {
        let raw = text(number.into());
        let mut stored = [0; BLOCK_BYTES];
        let bytes = compress(level(number), &raw, &mut stored).expect("it compresses");
        assert_eq!(decompress(&stored[..bytes], &mut out), Some(BLOCK_BYTES));
        assert_eq!(out[..], raw, "level {number}");
    }
}

#[test]
fn what_needs_more_room_is_refused_and_the_next_block_is_not() {
    let mut rng = XorShift::new(1);
    let noise: Vec<u8> = (0..BLOCK_BYTES / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
    let mut out = [0; 3584];
    assert_eq!(compress(level(3), &noise, &mut out), None);
    assert!(compress(level(3), &text(1), &mut out).is_some());
}

#[test]
fn what_is_no_frame_or_cut_off_or_larger_is_refused_and_the_next_frame_is_not() {
    let mut stored = [0; BLOCK_BYTES];
    let bytes = compress(level(3), &text(1), &mut stored).expect("it compresses");
    let whole = &stored[..bytes];
    let mut out = [0; BLOCK_BYTES];
    for wrong in [&[][..], &[0xff; 100], &whole[..bytes - 1], &whole[1..]] {
        assert_ne!(decompress(wrong, &mut out), Some(BLOCK_BYTES), "{wrong:?}");
        assert_eq!(decompress(whole, &mut out), Some(BLOCK_BYTES));
    }
    assert_eq!(decompress(whole, &mut out[..BLOCK_BYTES - 1]), None);
}

#[test]
fn any_flipped_bit_is_refused_or_gives_another_block_and_nothing_else() {
    let mut stored = [0; BLOCK_BYTES];
    let bytes = compress(level(1), &text(2), &mut stored).expect("it compresses");
    let mut out = [0; BLOCK_BYTES];
    for bit in 0..bytes * 8 {
        let mut flipped = stored[..bytes].to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decompress(&flipped, &mut out).is_none_or(|bytes| bytes <= BLOCK_BYTES));
    }
}
