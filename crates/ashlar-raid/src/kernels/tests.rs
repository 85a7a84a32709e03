use ashlar_block::XorShift;

use super::*;
use crate::field::multiply;

fn sources(count: usize, bytes: usize, rng: &mut XorShift) -> Vec<Vec<u8>> {
    (0..count).map(|_| (0..bytes).map(|_| rng.next_u64() as u8).collect()).collect()
}

/// The sums by the definition, a byte at a time.
fn slow(sources: &[Vec<u8>], factors: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let byte = |factors: &Vec<u8>, at: usize| {
        sources
            .iter()
            .zip(factors)
            .fold(0, |sum, (source, factor)| sum ^ multiply(*factor, source[at]))
    };
    let sum = |factors| (0..sources[0].len()).map(|at| byte(factors, at)).collect();
    factors.iter().map(sum).collect()
}

fn combined(kernel: Kernel, sources: &[Vec<u8>], factors: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut sums = vec![vec![0xee; sources[0].len()]; factors.len()];
    let sources: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
    let mut slices: Vec<&mut [u8]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
    kernel.combine(&sources, |sum, source| factors[sum][source], &mut slices);
    sums
}

#[test]
fn every_kernel_agrees_with_the_definition() {
    let mut rng = XorShift::new(7);
    for (count, sums, tiles) in
        (1..=13).flat_map(|count| (1..=SUMS_MAX).map(move |sums| (count, sums, 1 + count % 3)))
    {
        let sources = sources(count, tiles * TILE_BYTES, &mut rng);
        for plain in [false, true] {
            let mut factor = |sum| if plain && sum == 0 { 1 } else { rng.next_u64() as u8 };
            let factors: Vec<Vec<u8>> =
                (0..sums).map(|sum| (0..count).map(|_| factor(sum)).collect()).collect();
            for kernel in Kernel::all() {
                assert!(
                    combined(kernel, &sources, &factors) == slow(&sources, &factors),
                    "{kernel:?}, {count} sources, {sums} sums, plain: {plain}"
                );
            }
        }
    }
}

#[test]
fn every_factor_is_right_in_every_kernel() {
    let source = vec![(0..=255).collect::<Vec<u8>>()];
    for factor in 0..=255 {
        for kernel in Kernel::all() {
            let product = &combined(kernel, &source, &[vec![factor]])[0];
            assert!(
                (0..=255u8).all(|byte| product[usize::from(byte)] == multiply(factor, byte)),
                "{kernel:?}, {factor}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "differ in length")]
fn slices_of_different_lengths_are_refused() {
    combined(Kernel::best(), &[vec![0; 128], vec![0; 256]], &[vec![1, 1]]);
}

#[test]
#[should_panic(expected = "not whole tiles")]
fn a_part_of_a_tile_is_refused() {
    combined(Kernel::best(), &[vec![0; 100]], &[vec![1]]);
}
