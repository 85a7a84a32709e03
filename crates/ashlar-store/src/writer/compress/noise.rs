//! Blocks that are not worth trying to compress.
//!
//! The codec takes 2 to 3 microseconds to find that a block of noise does not compress, a third of
//! all that a small write costs. Encrypted, compressed and media data are such blocks. A look at an
//! eighth of the bytes tells them by how evenly their values are spread, in a tenth of that.
//!
//! Price: noise that is in a block twice is stored as it is, though the codec would find that.

/// Bytes of each line that are looked at.
const SAMPLE_BYTES: usize = 8;
const LINE_BYTES: usize = 64;
/// How much later in its line each sample lies than the one before. It is odd, so that samples meet
/// every field of records, whatever these are as long as.
const SAMPLE_STEP_BYTES: usize = 37;

/// Values that a byte has.
const VALUES: usize = 256;

/// How far above its mean the sum of squares of noise may be, in standard deviations.
const DEVIATIONS: f64 = 5.0;

/// Whether a block's bytes are spread as evenly as those of noise: by the sum of the squares of
/// how often each value occurs, which is Pearson's chi-squared test for an even spread.
pub(super) fn is_noise(block: &[u8]) -> bool {
    // Two tables: the same value twice in a row need not wait for its first count.
    let mut counts = [[0_u16; VALUES]; 2];
    let (mut samples, mut at) = (0, 0);
    for line in block.chunks_exact(LINE_BYTES) {
        for pair in line[at..at + SAMPLE_BYTES].chunks_exact(2) {
            counts[0][usize::from(pair[0])] += 1;
            counts[1][usize::from(pair[1])] += 1;
        }
        samples += SAMPLE_BYTES;
        at = (at + SAMPLE_STEP_BYTES) % (LINE_BYTES - SAMPLE_BYTES + 1);
    }
    let [even, odd] = &counts;
    let squares: u32 = even.iter().zip(odd).map(|(a, b)| u32::from(a + b).pow(2)).sum();
    f64::from(squares) <= squares_of_noise_max(samples as f64)
}

/// The mean of that sum over blocks of noise, and as much more as nearly none of them has: counts
/// are multinomial, so that the mean is `n + n (n - 1) / k`, and the variance `2 n (n - 1) / k`,
/// nearly.
fn squares_of_noise_max(samples: f64) -> f64 {
    let pairs = samples * (samples - 1.0) / VALUES as f64;
    samples + pairs + DEVIATIONS * (2.0 * pairs).sqrt()
}

#[cfg(test)]
mod tests;
