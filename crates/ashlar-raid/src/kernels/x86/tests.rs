//! What the processor that runs the tests may not be able to look at.

use super::*;

/// What GF2P8AFFINEQB makes of a byte (Intel SDM, volume 2).
fn affine(matrix: i64, byte: u8) -> u8 {
    let row = |bit: u32| matrix.to_le_bytes()[7 - bit as usize];
    (0..8).map(|bit| ((row(bit) & byte).count_ones() as u8 & 1) << bit).sum()
}

#[test]
fn matrices_and_halves_multiply() {
    for (factor, byte) in (0..=255u8).flat_map(|factor| (0..=255u8).map(move |byte| (factor, byte)))
    {
        let halves = &HALVES[usize::from(factor)];
        let by_halves = halves.low[usize::from(byte & 15)] ^ halves.high[usize::from(byte >> 4)];
        let product = multiply(factor, byte);
        assert_eq!(
            (affine(MATRICES[usize::from(factor)], byte), by_halves),
            (product, product),
            "{factor}, {byte}"
        );
    }
}
