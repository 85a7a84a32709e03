//! Vectors of x86-64.

use core::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_loadu_si256, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
    _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256, _mm512_gf2p8affine_epi64_epi8,
    _mm512_loadu_si512, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_xor_si512,
};

use super::{Factors, first_is_plain};
use crate::field::multiply;
use crate::geometry::COLUMNS_MAX;

/// A multiplication as a matrix over bits, as GF2P8AFFINEQB takes it: byte 7 - *i* says which bits
/// of the factor make bit *i* of the product.
static MATRICES: [i64; 256] = {
    let mut matrices = [0; 256];
    let mut factor = 0;
    while factor < 256 {
        matrices[factor] = matrix(factor as u8);
        factor += 1;
    }
    matrices
};

/// The products of a factor with every low and every high half of a byte.
#[repr(align(16))]
struct Halves {
    low: [u8; 16],
    high: [u8; 16],
}

static HALVES: [Halves; 256] = {
    let mut halves = [const { Halves { low: [0; 16], high: [0; 16] } }; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut half = 0;
        while half < 16 {
            halves[factor].low[half] = multiply(factor as u8, half as u8);
            halves[factor].high[half] = multiply(factor as u8, (half as u8) << 4);
            half += 1;
        }
        factor += 1;
    }
    halves
};

const fn matrix(factor: u8) -> i64 {
    let mut matrix = 0u64;
    let mut bit = 0;
    while bit < 8 {
        let product = multiply(factor, 1 << bit) as u64;
        let mut out = 0;
        while out < 8 {
            matrix |= (product >> out & 1) << (8 * (7 - out) + bit);
            out += 1;
        }
        bit += 1;
    }
    matrix as i64
}

pub fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
}

pub fn has_gfni_512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("gfni")
}

/// # Panics
/// If the processor has no AVX2.
pub fn combine_avx2<const M: usize>(
    sources: &[&[u8]],
    factors: impl Iterator<Item = Factors<M>> + Clone,
    sums: [&mut [u8]; M],
) {
    assert!(has_avx2());
    let mut halves = [[&HALVES[0]; M]; COLUMNS_MAX];
    for (halves, factors) in halves.iter_mut().zip(factors.clone()) {
        *halves = factors.map(|factor| &HALVES[usize::from(factor)]);
    }
    match first_is_plain(factors) {
        // SAFETY: the processor has been asked.
        true => unsafe { avx2::<M, true>(sources, &halves, sums) },
        // SAFETY: as above.
        false => unsafe { avx2::<M, false>(sources, &halves, sums) },
    }
}

/// # Panics
/// If the processor has no AVX-512 with GFNI.
pub fn combine_gfni_512<const M: usize>(
    sources: &[&[u8]],
    factors: impl Iterator<Item = Factors<M>> + Clone,
    sums: [&mut [u8]; M],
) {
    assert!(has_gfni_512());
    let mut matrices = [[0; M]; COLUMNS_MAX];
    for (matrices, factors) in matrices.iter_mut().zip(factors.clone()) {
        *matrices = factors.map(|factor| MATRICES[usize::from(factor)]);
    }
    match first_is_plain(factors) {
        // SAFETY: the processor has been asked.
        true => unsafe { gfni_512::<M, true>(sources, &matrices, sums) },
        // SAFETY: as above.
        false => unsafe { gfni_512::<M, false>(sources, &matrices, sums) },
    }
}

/// The first of the sums is plain if `PLAIN`. Two vectors at a time, so that their latencies
/// overlap.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn gfni_512<const M: usize, const PLAIN: bool>(
    sources: &[&[u8]],
    matrices: &[[i64; M]; COLUMNS_MAX],
    mut sums: [&mut [u8]; M],
) {
    const STEP_BYTES: usize = 2 * size_of::<__m512i>();
    for at in (0..sums[0].len()).step_by(STEP_BYTES) {
        let mut totals = [[_mm512_setzero_si512(); 2]; M];
        for (source, matrices) in sources.iter().zip(matrices) {
            let step: *const u8 = source[at..at + STEP_BYTES].as_ptr();
            // SAFETY: within the step; any alignment will do.
            let vectors = unsafe {
                [_mm512_loadu_si512(step.cast()), _mm512_loadu_si512(step.add(64).cast())]
            };
            for (index, total) in totals.iter_mut().enumerate() {
                let matrix = _mm512_set1_epi64(matrices[index]);
                for (total, vector) in total.iter_mut().zip(vectors) {
                    let product = match PLAIN && index == 0 {
                        true => vector,
                        false => _mm512_gf2p8affine_epi64_epi8::<0>(vector, matrix),
                    };
                    *total = _mm512_xor_si512(*total, product);
                }
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            let step: *mut u8 = sum[at..at + STEP_BYTES].as_mut_ptr();
            // SAFETY: within the step; any alignment will do.
            unsafe {
                _mm512_storeu_si512(step.cast(), total[0]);
                _mm512_storeu_si512(step.add(64).cast(), total[1]);
            }
        }
    }
}

/// The first of the sums is plain if `PLAIN`.
#[target_feature(enable = "avx2")]
fn avx2<const M: usize, const PLAIN: bool>(
    sources: &[&[u8]],
    halves: &[[&Halves; M]; COLUMNS_MAX],
    mut sums: [&mut [u8]; M],
) {
    const STEP_BYTES: usize = 2 * size_of::<__m256i>();
    for at in (0..sums[0].len()).step_by(STEP_BYTES) {
        let mut totals = [[_mm256_setzero_si256(); 2]; M];
        for (source, halves) in sources.iter().zip(halves) {
            let step: *const u8 = source[at..at + STEP_BYTES].as_ptr();
            // SAFETY: within the step; any alignment will do.
            let vectors = unsafe {
                [_mm256_loadu_si256(step.cast()), _mm256_loadu_si256(step.add(32).cast())]
            };
            for (index, total) in totals.iter_mut().enumerate() {
                for (total, vector) in total.iter_mut().zip(vectors) {
                    let product = match PLAIN && index == 0 {
                        true => vector,
                        false => multiply_halves(vector, halves[index]),
                    };
                    *total = _mm256_xor_si256(*total, product);
                }
            }
        }
        for (sum, total) in sums.iter_mut().zip(totals) {
            let step: *mut u8 = sum[at..at + STEP_BYTES].as_mut_ptr();
            // SAFETY: within the step; any alignment will do.
            unsafe {
                _mm256_storeu_si256(step.cast(), total[0]);
                _mm256_storeu_si256(step.add(32).cast(), total[1]);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
fn multiply_halves(vector: __m256i, halves: &Halves) -> __m256i {
    let table = |half: &[u8; 16]| {
        let half: *const __m128i = half.as_ptr().cast();
        // SAFETY: sixteen bytes; any alignment will do.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(half) })
    };
    let mask = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(table(&halves.low), _mm256_and_si256(vector, mask));
    let shifted = _mm256_and_si256(_mm256_srli_epi64::<4>(vector), mask);
    _mm256_xor_si256(low, _mm256_shuffle_epi8(table(&halves.high), shifted))
}

#[cfg(test)]
mod tests;
