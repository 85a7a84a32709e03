//! How many stripes drives of any sizes have room for: a pure function of their chunks.
//!
//! A stripe takes a chunk of each of up to `width` distinct drives, `parity` of them for parity. So
//! `n` stripes take at most `n` chunks of one drive, and all together
//!
//! ```text
//! chunks(n) = min(n × width, Σ min(chunks of the drive, n))
//! ```
//!
//! which can be had by taking the drives with most free chunks each time, but for less than a
//! stripe of each width. Data has what parity leaves: `data(n) = chunks(n) - n × parity`. That
//! grows with `n` as long as the nth stripe has more chunks than parity; `segments` is the greatest
//! such `n`. Stripes have their full width as long as enough drives have chunks, and get narrower,
//! layer by layer, as drives are exhausted.
//!
//! A drive more, of any size, makes neither `segments` nor `data(n)` less for any `n`, nor what the
//! stripes after the first `m` hold: `data(n) − data(m)`. A wider stripe alone does not either,
//! where it is wider because of that drive.

/// Figures of less than a segment are counted in so many parts of one.
pub const PARTS: u64 = 100;

/// The stripes that drives have room for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stripes {
    chunks: Vec<u64>,
    width: u64,
    parity: u64,
}

impl Stripes {
    /// Of drives with so many chunks each, of `width` columns at most, of which `parity` are for
    /// parity.
    pub fn new(chunks: Vec<u64>, width: usize, parity: usize) -> Self {
        let width = width.min(chunks.len()) as u64;
        Stripes { chunks, width, parity: parity as u64 }
    }

    /// How many are worth placing: each brings more than its parity.
    pub fn segments(&self) -> u64 {
        let (mut low, mut high) = (0, self.chunks.iter().sum::<u64>());
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.width_of(middle) > self.parity { low = middle } else { high = middle - 1 }
        }
        low
    }

    /// Columns for data of the `first` of them.
    pub fn data(&self, first: u64) -> u64 {
        self.data_of_parts(first * PARTS) / PARTS
    }

    /// The same, counted in `PARTS` on both sides.
    pub fn data_of_parts(&self, first: u64) -> u64 {
        self.chunks_of(first, PARTS).saturating_sub(first * self.parity)
    }

    /// Columns for data of the narrowest of them, but for the very last, which takes what is left.
    pub fn narrowest_data(&self) -> u64 {
        let narrowest = self.segments().saturating_sub(1).max(1);
        self.width_of(narrowest).saturating_sub(self.parity).max(1)
    }

    /// Chunks that no stripe can use.
    pub fn unusable(&self) -> u64 {
        self.chunks.iter().sum::<u64>() - self.chunks_of(self.segments(), 1)
    }

    /// Columns of the nth stripe.
    fn width_of(&self, nth: u64) -> u64 {
        self.chunks_of(nth, 1) - self.chunks_of(nth - 1, 1)
    }

    /// Chunks that the `first` stripes take, both counted in so many parts.
    fn chunks_of(&self, first: u64, parts: u64) -> u64 {
        let on_drives = self.chunks.iter().map(|chunks| (chunks * parts).min(first)).sum();
        (first * self.width).min(on_drives)
    }
}

#[cfg(test)]
mod tests;
