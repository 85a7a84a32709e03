//! Sums of multiples over GF(2⁸), in as wide steps as the processor has: all of parity's arithmetic
//! on data.
//!
//! The vector kernels multiply by a constant as a matrix over bits (GFNI) or by two look-ups of
//! half a byte each (AVX2; J. Plank, K. Greenan, E. Miller, "Screaming fast Galois field arithmetic
//! using Intel SIMD instructions", 2013). Every source is read once for all sums.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::geometry::COLUMNS_MAX;
use crate::parity::PARITY_MAX;

/// Bytes that a kernel works on at a time. What it is given is a multiple of it.
pub const TILE_BYTES: usize = 128;

/// Sums that are computed together, at most.
pub const SUMS_MAX: usize = PARITY_MAX;

/// What the sources are multiplied by for each of `M` sums.
type Factors<const M: usize> = [u8; M];

/// A kind of kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// For every processor.
    Portable,
    /// 256 bits at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512 bits at a time, products in one instruction.
    #[cfg(target_arch = "x86_64")]
    Gfni512,
}

impl Kernel {
    /// All that this processor can run, the slowest first.
    pub fn all() -> impl Iterator<Item = Kernel> {
        #[cfg(target_arch = "x86_64")]
        let vector = [(x86::has_avx2(), Kernel::Avx2), (x86::has_gfni_512(), Kernel::Gfni512)];
        #[cfg(not(target_arch = "x86_64"))]
        let vector = [];
        let able = vector.into_iter().filter_map(|(able, kernel)| able.then_some(kernel));
        std::iter::once(Kernel::Portable).chain(able)
    }

    /// The fastest that this processor can run.
    pub fn best() -> Kernel {
        Self::all().last().expect("the portable one")
    }

    /// `sums[j]` becomes Σᵢ `factor(j, i)`·`sources[i]`.
    ///
    /// # Panics
    /// If the slices differ in length, if that is not a multiple of [`TILE_BYTES`], if there are
    /// more than [`COLUMNS_MAX`] sources, or no sums or more than [`PARITY_MAX`].
    pub fn combine(
        self,
        sources: &[&[u8]],
        factor: impl Fn(usize, usize) -> u8,
        sums: &mut [&mut [u8]],
    ) {
        let bytes = sums.first().map_or(0, |sum| sum.len());
        let alike =
            sources.iter().map(|source| source.len()).chain(sums.iter().map(|sum| sum.len()));
        assert!(alike.into_iter().all(|len| len == bytes), "sources and sums differ in length");
        assert!(bytes.is_multiple_of(TILE_BYTES), "{bytes} bytes are not whole tiles");
        assert!(sources.len() <= COLUMNS_MAX, "{} sources", sources.len());
        match sums {
            [a] => self.combine_n(sources, factor, [a]),
            [a, b] => self.combine_n(sources, factor, [a, b]),
            [a, b, c] => self.combine_n(sources, factor, [a, b, c]),
            [a, b, c, d] => self.combine_n(sources, factor, [a, b, c, d]),
            _ => panic!("{} sums: 1 to {SUMS_MAX} are computed together", sums.len()),
        }
    }

    fn combine_n<const M: usize>(
        self,
        sources: &[&[u8]],
        factor: impl Fn(usize, usize) -> u8,
        sums: [&mut [u8]; M],
    ) {
        let factors =
            (0..sources.len()).map(|source| std::array::from_fn(|sum| factor(sum, source)));
        match self {
            Kernel::Portable => portable::combine::<M>(sources, factors, sums),
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => x86::combine_avx2::<M>(sources, factors, sums),
            #[cfg(target_arch = "x86_64")]
            Kernel::Gfni512 => x86::combine_gfni_512::<M>(sources, factors, sums),
        }
    }
}

/// Whether the first of the sums is that of the sources as they are, as a first parity is.
fn first_is_plain<const M: usize>(factors: impl Iterator<Item = Factors<M>>) -> bool {
    factors.into_iter().all(|factors| factors[0] == 1)
}

#[cfg(test)]
mod tests;
