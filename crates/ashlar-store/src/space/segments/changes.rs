//! What of the segment table has changed since its leaves were written, and what it was when a
//! checkpoint was noted.
//!
//! A root says what lives as of its note; a replay does again what hosts overwrite after that. So
//! between the note and the end of its checkpoint the pool remembers the count of a segment before
//! it changes for the first time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use ashlar_format::location::SegmentId;
use ashlar_format::table::{COUNT_LEAF_NUMBERS, LEAF_NUMBERS, Occupancy};

use super::Segment;

/// Numbers that are marked.
#[derive(Default, Debug)]
struct Marks {
    words: Vec<u64>,
}

impl Marks {
    fn place(number: u32) -> (usize, u64) {
        ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
    }

    fn mark(&mut self, number: u32) {
        let (word, bit) = Self::place(number);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    fn unmark(&mut self, number: u32) {
        let (word, bit) = Self::place(number);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    /// Marks what `others` marks, which then marks nothing.
    fn take_over(&mut self, others: &mut Marks) {
        self.words.resize(self.words.len().max(others.words.len()), 0);
        self.words.iter_mut().zip(&others.words).for_each(|(word, more)| *word |= more);
        others.words.clear();
    }

    /// What either of the two marks, in order.
    fn union(&self, others: &Marks) -> Vec<u32> {
        let len = self.words.len().max(others.words.len());
        let word = |marks: &Marks, at: usize| marks.words.get(at).copied().unwrap_or(0);
        let mut all = Vec::new();
        for at in 0..len {
            let mut left = word(self, at) | word(others, at);
            while left != 0 {
                all.push(at as u32 * u64::BITS + left.trailing_zeros());
                left &= left - 1;
            }
        }
        all
    }
}

/// Which leaves are to be written, and what was counted at the note.
#[derive(Default, Debug)]
pub struct Changes {
    leaves: Marks,
    /// Leaves of counts that changed before the last note.
    counts: Marks,
    /// Those that changed since.
    counts_since: Marks,
    /// While a checkpoint is on its way: what lived, at its note, in segments where that has
    /// changed.
    noted: Option<Noted>,
}

/// The same in every run: a simulation is repeated by its seed.
type Noted = HashMap<SegmentId, Occupancy, BuildHasherDefault<DefaultHasher>>;

impl Changes {
    /// What the leaf of a number says of it has changed.
    pub fn entry(&mut self, id: SegmentId) {
        self.leaves.mark(id.0 / LEAF_NUMBERS);
    }

    /// What lives in a segment changes from what it is now. Of segments of pages a root says what
    /// lives as of its end, and of those that no leaf lists the first table says it. But a leaf
    /// that lists one between the note and the root has what lived at the note.
    pub fn count_of(&mut self, id: SegmentId, segment: &Segment) {
        let is_as_noted = !segment.kind.is_of_pages() && self.noted.is_some();
        if segment.is_listed || is_as_noted {
            self.mark_count(id);
        }
        if let Some(noted) = self.noted.as_mut().filter(|_| is_as_noted) {
            noted.entry(id).or_insert(segment.live);
        }
    }

    /// The leaf of counts of a number is to be written.
    pub fn mark_count(&mut self, id: SegmentId) {
        self.counts_since.mark(id.0 / COUNT_LEAF_NUMBERS);
    }

    /// A segment that had this number is gone.
    pub fn freed(&mut self, id: SegmentId) {
        self.entry(id);
        self.mark_count(id);
        self.noted.as_mut().and_then(|noted| noted.remove(&id));
    }

    /// A checkpoint is noted now.
    pub fn note(&mut self) {
        self.counts.take_over(&mut self.counts_since);
        self.noted = Some(Noted::default());
    }

    /// Its root is durable.
    pub fn end_note(&mut self) {
        self.noted = None;
    }

    /// Whether a checkpoint is on its way.
    pub fn is_noted(&self) -> bool {
        self.noted.is_some()
    }

    /// What lived in a segment at the note, if that has changed since.
    pub fn noted(&self, id: SegmentId) -> Option<Occupancy> {
        self.noted.as_ref()?.get(&id).copied()
    }

    /// Leaves that have changed since they were written, in order.
    pub fn leaves(&self) -> Vec<u32> {
        self.leaves.union(&Marks::default())
    }

    /// Leaves of counts that have, in order.
    pub fn count_leaves(&self) -> Vec<u32> {
        self.counts.union(&self.counts_since)
    }

    /// The leaf is to be written, whether it has changed or not.
    pub fn touch_leaf(&mut self, leaf: u32) {
        self.leaves.mark(leaf);
    }

    /// The same of a leaf of counts.
    pub fn touch_count_leaf(&mut self, leaf: u32) {
        self.counts_since.mark(leaf);
    }

    /// The leaf is written as it is now.
    pub fn leaf_written(&mut self, leaf: u32) {
        self.leaves.unmark(leaf);
    }

    /// The leaf of counts is written as it was at the note: what has changed since is to be written
    /// again.
    pub fn count_leaf_written(&mut self, leaf: u32) {
        self.counts.unmark(leaf);
    }
}

#[cfg(test)]
mod tests;
