//! The free chunks of a drive.

/// A bit for each chunk of a drive: whether nobody has it. The lowest free one is taken first, so
/// that a pool that is mostly empty uses the fast part of a spinning drive, and little of a file.
#[derive(Debug)]
pub struct FreeChunks {
    words: Vec<u64>,
    count: u32,
    /// No word before this one has a free chunk.
    first_word: usize,
}

impl FreeChunks {
    /// All `total` chunks are free.
    pub fn all(total: u32) -> Self {
        let bits = |word: u32| match total - word * u64::BITS {
            left if left < u64::BITS => (1 << left) - 1,
            _ => u64::MAX,
        };
        let words = (0..total.div_ceil(u64::BITS)).map(bits).collect();
        FreeChunks { words, count: total, first_word: 0 }
    }

    /// How many are free.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Takes the lowest one.
    pub fn take_lowest(&mut self) -> Option<u32> {
        let found = self.words[self.first_word..].iter().position(|word| *word != 0)?;
        self.first_word += found;
        let word = &mut self.words[self.first_word];
        let bit = word.trailing_zeros();
        *word &= *word - 1;
        self.count -= 1;
        Some(self.first_word as u32 * u64::BITS + bit)
    }

    /// Takes this one, if it is free. Returns whether it was.
    #[must_use]
    pub fn take(&mut self, chunk: u32) -> bool {
        let (word, bit) = Self::place(chunk);
        let word = self.words.get_mut(word).filter(|word| **word & bit != 0);
        let is_free = word.is_some();
        if let Some(word) = word {
            *word &= !bit;
            self.count -= 1;
        }
        is_free
    }

    /// Nobody has it any more.
    pub fn give_back(&mut self, chunk: u32) {
        let (word, bit) = Self::place(chunk);
        assert!(self.words[word] & bit == 0, "chunk {chunk} is given back twice");
        self.words[word] |= bit;
        self.count += 1;
        self.first_word = self.first_word.min(word);
    }

    fn place(chunk: u32) -> (usize, u64) {
        ((chunk / u64::BITS) as usize, 1 << (chunk % u64::BITS))
    }
}

#[cfg(test)]
mod tests;
