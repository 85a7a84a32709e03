//! Blocks that are not worth trying to compress.
//!
//! The codec takes 2 to 3 microseconds to find that a block of noise does not compress, a third of
//! all that a small write costs. Encrypted, compressed and media data are such blocks. A look at an
//! eighth of the bytes tells them by how evenly their values are spread, in a fourth of that. A
//! glance at 32 bytes first spares most of what does compress even that.
//!
//! Values may be spread evenly and yet repeat: ramps, tables, a short piece of noise over and over.
//! In a block of those some lines begin alike, in one of noise none.
//!
//! Who writes noise goes on with it most often. After some blocks of it in a row the glance is
//! enough, and the look comes now and then.
//!
//! Price: a long piece of noise that is in a block twice is stored as it is, though the codec would
//! find that. So are a few blocks that come after much noise and look like it at a glance.

use std::cell::Cell;

use ashlar_format::ids::Family;

/// Bytes of each line that are looked at.
const SAMPLE_BYTES: usize = 8;
const LINE_BYTES: usize = 64;
/// How much later in its line each sample lies than the one before. It has no factor in common with
/// the places that a sample may have in a line: samples come to all of them, and so to all fields
/// of records.
const SAMPLE_STEP_BYTES: usize = 37;

/// A glance sees the sample of one line of so many.
const GLANCE_LINES: usize = 16;
/// Values that its 32 bytes have at least if they are noise: of such there are 30 in the mean, and
/// less than this in one glance of 75,000.
const GLANCE_VALUES_MIN: u32 = 24;

/// Blocks of noise in a row after which a glance is enough.
const STREAK_BLOCKS: u32 = 64;
/// One in so many is looked at all the same. The number is odd, so that looks come to each block of
/// a record of 16 in turn.
const LOOK_BLOCKS: u32 = 17;

/// Slots of the table that tells whether the beginning of a line has been there before.
const SEEN_SLOTS: usize = 256;

/// Values that a byte has.
const VALUES: usize = 256;

/// How far above its mean the sum of squares of noise may be, in standard deviations.
const DEVIATIONS: f64 = 5.0;

/// Blocks of noise that have come one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Streak(u32);

impl Streak {
    /// Whether the next block is one of noise too.
    pub(super) fn goes_on(&mut self, block: &[u8]) -> bool {
        let is_looked_at = self.0 < STREAK_BLOCKS || self.0.is_multiple_of(LOOK_BLOCKS);
        let is_noise = if is_looked_at { is_noise(block) } else { is_even_at_a_glance(block) };
        self.0 = if is_noise { self.0.wrapping_add(1).max(1) } else { 0 };
        is_noise
    }
}

/// Places for the streaks of families. Of two that have the same place none is known, which costs
/// time alone.
const STREAKS: usize = 256;

/// The streaks of families that were written to last.
pub struct Streaks([Cell<(Family, Streak)>; STREAKS]);

impl Default for Streaks {
    fn default() -> Self {
        Streaks(std::array::from_fn(|_| Cell::default()))
    }
}

impl Streaks {
    /// Has `write` go on with that of a family.
    pub fn with<T>(&self, family: Family, write: impl FnOnce(&mut Streak) -> T) -> T {
        let place = &self.0[family.0 as usize % STREAKS];
        let (of, known) = place.get();
        let mut streak = if of == family { known } else { Streak::default() };
        let written = write(&mut streak);
        place.set((family, streak));
        written
    }
}

/// Whether a block is one of noise: its bytes are spread as evenly, and no two lines begin alike.
pub(super) fn is_noise(block: &[u8]) -> bool {
    is_even_at_a_glance(block) && is_even(block) && !repeats(block)
}

/// Whether the samples of a few lines have as many values as noise.
fn is_even_at_a_glance(block: &[u8]) -> bool {
    let mut seen = [0_u64; VALUES / 64];
    for &byte in samples(block).step_by(GLANCE_LINES).flatten() {
        seen[usize::from(byte / 64)] |= 1 << (byte % 64);
    }
    seen.iter().map(|values| values.count_ones()).sum::<u32>() >= GLANCE_VALUES_MIN
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
