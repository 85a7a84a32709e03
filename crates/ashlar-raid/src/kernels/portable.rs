//! For every processor; compilers make vectors of it.

use super::Factors;
use crate::field::double;

/// Bytes that are kept in registers.
const STEP_BYTES: usize = 64;

type Step = [u8; STEP_BYTES];

pub fn combine<const M: usize>(
    sources: &[&[u8]],
    factors: impl Iterator<Item = Factors<M>> + Clone,
    sums: [&mut [u8]; M],
) {
    for (index, sum) in sums.into_iter().enumerate() {
        for (at, sum) in sum.chunks_exact_mut(STEP_BYTES).enumerate() {
            let mut total: Step = [0; STEP_BYTES];
            for (source, factors) in sources.iter().zip(factors.clone()) {
                let step = &source[at * STEP_BYTES..][..STEP_BYTES];
                add_multiple(&mut total, step.try_into().expect("a whole step"), factors[index]);
            }
            sum.copy_from_slice(&total);
        }
    }
}

fn add_multiple(total: &mut Step, step: &Step, factor: u8) {
    let mut power = *step;
    let mut left = factor;
    while left > 0 {
        if left & 1 == 1 {
            total.iter_mut().zip(&power).for_each(|(total, byte)| *total ^= byte);
        }
        left >>= 1;
        if left > 0 {
            power.iter_mut().for_each(|byte| *byte = double(*byte));
        }
    }
}
