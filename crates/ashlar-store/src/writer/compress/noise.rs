//! Blocks that are not worth trying to compress.
//!
//! The codec takes 2 to 3 microseconds to find that a block of noise does not compress, a third of
//! all that a small write costs. Encrypted, compressed and media data are such blocks. A look at an
//! eighth of the bytes tells them by how evenly their values are spread, in a fifth of that. A
//! glance at 64 bytes first spares most of what does compress even that.
//!
//! Values may be spread evenly and yet repeat: ramps, tables, a short piece of noise over and over.
//! In a block of those some lines begin alike, in one of noise none.
//!
//! Price: a long piece of noise that is in a block twice is stored as it is, though the codec would
//! find that.

/// Bytes of each line that are looked at.
const SAMPLE_BYTES: usize = 8;
const LINE_BYTES: usize = 64;
/// How much later in its line each sample lies than the one before. It has no factor in common with
/// the places that a sample may have in a line: samples come to all of them, and so to all fields
/// of records.
const SAMPLE_STEP_BYTES: usize = 37;

/// A glance sees the sample of one line of so many.
const GLANCE_LINES: usize = 8;

/// Slots of the table that tells whether the beginning of a line has been there before.
const SEEN_SLOTS: usize = 256;

/// Values that a byte has.
const VALUES: usize = 256;

/// How far above its mean the sum of squares of noise may be, in standard deviations.
const DEVIATIONS: f64 = 5.0;

/// Whether a block is one of noise: its bytes are spread as evenly, and no two lines begin alike.
pub(super) fn is_noise(block: &[u8]) -> bool {
    is_even_at_a_glance(block) && is_even(block) && !repeats(block)
}

/// Whether one sample of each `GLANCE_LINES` lines is spread as evenly as noise.
fn is_even_at_a_glance(block: &[u8]) -> bool {
    let mut counts = [0_u8; VALUES];
    let (mut squares, mut bytes) = (0_u32, 0);
    for &byte in samples(block).step_by(GLANCE_LINES).flatten() {
        let count = &mut counts[usize::from(byte)];
        // The square of the next number is as much more.
        squares += 2 * u32::from(*count) + 1;
        *count += 1;
        bytes += 1;
    }
    f64::from(squares) <= squares_of_noise_max(f64::from(bytes))
}

/// The pieces of a block that are looked at.
fn samples(block: &[u8]) -> impl Iterator<Item = &[u8; SAMPLE_BYTES]> {
    let mut at = 0;
    block.chunks_exact(LINE_BYTES).map(move |line| {
        let sample = line[at..].first_chunk().expect("a sample ends within its line");
        at = (at + SAMPLE_STEP_BYTES) % (LINE_BYTES - SAMPLE_BYTES + 1);
        sample
    })
}

/// Whether the bytes are spread as evenly as those of noise: by the sum of the squares of how often
/// each value occurs, which is Pearson's chi-squared test for an even spread.
fn is_even(block: &[u8]) -> bool {
    // Two tables: the same value twice in a row need not wait for its first count.
    let mut counts = [[0_u16; VALUES]; 2];
    let mut bytes = 0;
    for sample in samples(block) {
        for pair in sample.chunks_exact(2) {
            counts[0][usize::from(pair[0])] += 1;
            counts[1][usize::from(pair[1])] += 1;
        }
        bytes += SAMPLE_BYTES;
    }
    let [even, odd] = &counts;
    let squares: u32 = even.iter().zip(odd).map(|(a, b)| u32::from(a + b).pow(2)).sum();
    f64::from(squares) <= squares_of_noise_max(bytes as f64)
}

/// Whether a line begins as one before it did. Lines of what repeats after `n` bytes do, if `n`
/// divided by its greatest factor in common with a line's length is less than the number of lines.
fn repeats(block: &[u8]) -> bool {
    let mut seen = [0_u32; SEEN_SLOTS];
    block.chunks_exact(LINE_BYTES).any(|line| {
        let word = u32::from_le_bytes(*line.first_chunk().expect("a line has more bytes"));
        // Knuth's multiplicative hash ("The Art of Computer Programming", volume 3, section 6.4).
        let slot = word.wrapping_mul(0x9e37_79b1) as usize >> 24;
        std::mem::replace(&mut seen[slot], word) == word
    })
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
