//! The free chunks of a drive, and what it has not been told of them.
//!
//! Owns which chunks nobody has, and of these which the drive may be told of.
//!
//! 1. Every chunk that is unsettled, untold or to be trimmed is free: whoever takes one, takes it
//!    out of all.
//! 2. A chunk that is given back is unsettled until a root is durable that does not name it
//!    ([`FreeChunks::settle`]): a start from the root before may need what it holds.
//! 3. At most one range is away for a discard. Its chunks count as free all the while, so that no
//!    pool has less room for that; they are taken last, and who takes one writes nothing there
//!    before it is back ([`FreeChunks::is_away`]).

use std::ops::Range;

/// A set of chunks: a bit for each that the drive has.
#[derive(Debug)]
struct Bits {
    words: Vec<u64>,
    count: u32,
    /// No word before this one has a bit.
    first_word: usize,
    /// No word from this one on has a bit.
    end_word: usize,
}

impl Bits {
    fn none(total: u32) -> Self {
        let words = vec![0; total.div_ceil(u64::BITS) as usize];
        Bits { words, count: 0, first_word: 0, end_word: 0 }
    }

    fn all(total: u32) -> Self {
        let bits = |word: u32| match total - word * u64::BITS {
            left if left < u64::BITS => (1 << left) - 1,
            _ => u64::MAX,
        };
        let words: Vec<u64> = (0..total.div_ceil(u64::BITS)).map(bits).collect();
        let end_word = words.len();
        Bits { words, count: total, first_word: 0, end_word }
    }

    /// There are so many chunks from now on, none of which was fewer before.
    fn grow(&mut self, total: u32) {
        self.words.resize(total.div_ceil(u64::BITS) as usize, 0);
    }

    /// Those that the one has and the other has not.
    fn without(&self, other: &Self) -> Self {
        let words: Vec<u64> =
            self.words.iter().zip(&other.words).map(|(one, other)| one & !other).collect();
        let count = words.iter().map(|word| word.count_ones()).sum();
        let (first_word, end_word) = (0, words.len());
        Bits { words, count, first_word, end_word }
    }

    fn has(&self, chunk: u32) -> bool {
        let (word, bit) = Self::place(chunk);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// Whether it was not there.
    fn add(&mut self, chunk: u32) -> bool {
        let (word, bit) = Self::place(chunk);
        let is_new = self.words[word] & bit == 0;
        if is_new {
            self.words[word] |= bit;
            self.count += 1;
            self.first_word = self.first_word.min(word);
            self.end_word = self.end_word.max(word + 1);
        }
        is_new
    }

    /// Whether it was there.
    fn remove(&mut self, chunk: u32) -> bool {
        let is_there = self.has(chunk);
        if is_there {
            let (word, bit) = Self::place(chunk);
            self.words[word] &= !bit;
            self.count -= 1;
        }
        is_there
    }

    fn lowest(&mut self) -> Option<u32> {
        let words = &self.words[self.first_word.min(self.end_word)..self.end_word];
        let found = words.iter().position(|word| *word != 0);
        self.first_word = found.map_or(self.end_word, |found| self.first_word + found);
        found.map(|_| {
            self.first_word as u32 * u64::BITS + self.words[self.first_word].trailing_zeros()
        })
    }

    fn lowest_from(&self, chunk: u32) -> Option<u32> {
        let (first, bit) = Self::place(chunk);
        let masked = |(nth, word): (usize, &u64)| {
            let word = if nth == 0 { word & !(bit - 1) } else { *word };
            (word != 0).then(|| (first + nth) as u32 * u64::BITS + word.trailing_zeros())
        };
        self.words.get(first..)?.iter().enumerate().find_map(masked)
    }

    fn highest(&mut self) -> Option<u32> {
        let found = self.words[..self.end_word].iter().rposition(|word| *word != 0);
        self.end_word = found.map_or(0, |found| found + 1);
        found.map(|found| (found as u32 + 1) * u64::BITS - 1 - self.words[found].leading_zeros())
    }

    fn place(chunk: u32) -> (usize, u64) {
        ((chunk / u64::BITS) as usize, 1 << (chunk % u64::BITS))
    }
}

/// A bit for each chunk of a drive: whether nobody has it. The lowest free one is taken first, so
/// that a pool that is mostly empty uses the fast part of a spinning drive, and little of a file.
#[derive(Debug)]
pub struct FreeChunks {
    free: Bits,
    unsettled: Bits,
    /// The chunks of [`Self::unsettled`], and some that are no more.
    given_back: Vec<u32>,
    /// Freed since the pool is open.
    untold: Bits,
    /// What is left of all that were free when somebody asked for a trim.
    to_trim: Bits,
    away: Option<Away>,
}

/// Chunks that the drive is being told of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Away {
    /// Which.
    pub chunks: Range<u32>,
    /// Tells this discard from others of the pool.
    pub number: u64,
}

impl FreeChunks {
    /// All `total` chunks are free.
    pub fn all(total: u32) -> Self {
        FreeChunks {
            free: Bits::all(total),
            unsettled: Bits::none(total),
            given_back: Vec::new(),
            untold: Bits::none(total),
            to_trim: Bits::none(total),
            away: None,
        }
    }

    /// The drive has `to` chunks from now on and not `from`. The new ones are free.
    pub fn grow(&mut self, from: u32, to: u32) {
        [&mut self.free, &mut self.unsettled, &mut self.untold, &mut self.to_trim]
            .into_iter()
            .for_each(|bits| bits.grow(to));
        (from..to).for_each(|chunk| assert!(self.free.add(chunk), "it was not there"));
    }

    /// How many are free.
    pub fn count(&self) -> u32 {
        self.free.count
    }

    /// The same, counted one by one.
    pub fn count_anew(&self) -> u64 {
        self.free.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether nobody has it.
    pub fn is_free(&self, chunk: u32) -> bool {
        self.free.has(chunk)
    }

    /// Takes the lowest one that is not away; if all are, the lowest one.
    pub fn take_lowest(&mut self) -> Option<u32> {
        let lowest = self.free.lowest()?;
        let behind =
            self.away.as_ref().map(|away| &away.chunks).filter(|away| away.contains(&lowest));
        let chunk = behind.and_then(|away| self.free.lowest_from(away.end)).unwrap_or(lowest);
        assert!(self.take(chunk), "seen to be free");
        Some(chunk)
    }

    /// Takes this one, if it is free. Returns whether it was.
    #[must_use]
    pub fn take(&mut self, chunk: u32) -> bool {
        let is_free = self.free.remove(chunk);
        if is_free {
            self.unsettled.remove(chunk);
            self.untold.remove(chunk);
            self.to_trim.remove(chunk);
        }
        is_free
    }

    /// Nobody has it any more.
    pub fn give_back(&mut self, chunk: u32) {
        assert!(self.free.add(chunk), "chunk {chunk} is given back twice");
        self.unsettled.add(chunk);
        self.given_back.push(chunk);
    }

    /// The newest root names none of the chunks that are free. The drive may be told of them; of
    /// those that were given back it is to be, if `remembers`.
    pub fn settle(&mut self, remembers: bool) {
        for chunk in std::mem::take(&mut self.given_back) {
            if self.unsettled.remove(chunk) && remembers {
                self.untold.add(chunk);
            }
        }
    }

    /// The drive is to be told of all free chunks, but for unsettled ones.
    pub fn trim_all(&mut self) {
        self.to_trim = self.free.without(&self.unsettled);
    }

    /// Chunks of those that it has not been told of yet.
    pub fn left_to_trim(&self) -> u32 {
        self.to_trim.count
    }

    /// Chunks that it is to be told of.
    pub fn untold(&self) -> u32 {
        self.untold.count.max(self.to_trim.count)
    }

    /// It is to be told of nothing that was freed until now, but for a trim that goes on.
    pub fn forget_untold(&mut self) {
        self.untold = Bits::none(self.untold.words.len() as u32 * u64::BITS);
    }

    /// It is to be told of nothing at all.
    pub fn forget_all(&mut self) {
        self.forget_untold();
        self.forget_trim();
    }

    /// It is to be told of nothing for a trim any more, but of what is freed as ever.
    pub fn forget_trim(&mut self) {
        self.to_trim = Bits::none(self.to_trim.words.len() as u32 * u64::BITS);
    }

    /// Takes the highest neighbours that it is to be told of, so many at most: what is written next
    /// goes to the lowest. They are away until [`Self::is_told`]. `None` while others are, or if
    /// there are none.
    pub fn tell(&mut self, chunks_max: u32, number: u64) -> Option<Range<u32>> {
        if self.away.is_some() {
            return None;
        }
        let last = self.untold.highest().max(self.to_trim.highest())?;
        let is_due = |chunk: &u32| self.untold.has(*chunk) || self.to_trim.has(*chunk);
        let below =
            (0..last).rev().take_while(is_due).take(chunks_max.saturating_sub(1) as usize).count();
        let chunks = last - below as u32..last + 1;
        for chunk in chunks.clone() {
            assert!(
                self.free.has(chunk) && !self.unsettled.has(chunk),
                "chunk {chunk} may be needed"
            );
            self.untold.remove(chunk);
            self.to_trim.remove(chunk);
        }
        self.away = Some(Away { chunks: chunks.clone(), number });
        Some(chunks)
    }

    /// The discard of this number has ended.
    pub fn is_told(&mut self, number: u64) {
        self.away.take_if(|away| away.number == number);
    }

    /// Whether a chunk is away.
    pub fn is_away(&self, chunk: u32) -> bool {
        self.away.as_ref().is_some_and(|away| away.chunks.contains(&chunk))
    }

    /// Whether any is.
    pub fn has_away(&self) -> bool {
        self.away.is_some()
    }
}

#[cfg(test)]
mod tests;
