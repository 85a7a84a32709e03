//! What every block must read as.

use std::collections::BTreeMap;
use std::fmt;

use ashlar_block::{AlignedBuf, XorShift};

use super::sources::Sources;

/// Bytes of the blocks that the model speaks of.
pub const BLOCK_BYTES: usize = 4096;

/// What is in a block: 0 for zeros, otherwise the version that was written.
pub(super) type Word = u32;

/// Zeros: never written, or trimmed.
pub(super) const ZEROS: Word = 0;

/// Marks a stamped block.
const STAMP: u32 = 0x4153_4852;
/// The stamp: address, version, mark.
const STAMP_BYTES: usize = 16;

/// One of so many versions does not compress, but for a block here and there. Files of one machine
/// hardly have such blocks side by side, and archives do.
const NOISE_ONCE_IN: Word = 8;
/// One of so many blocks of such a version is one of a file.
const NOISE_FOR_ONE_OTHER: u64 = 64;

/// The expected content of a volume's first blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    pub(super) seed: u64,
    pub(super) sources: Sources,
    pub(super) words: Vec<Word>,
    /// Blocks that may hold any of several contents.
    pub(super) open: BTreeMap<u64, Vec<Word>>,
    pub(super) last_version: Word,
}

/// A block that holds what it may not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The block.
    pub block: u64,
    /// What it may hold: 0 for zeros, otherwise a version.
    pub expected: Vec<u32>,
    /// What its stamp says: address and version, if it has one.
    pub found: Option<(u64, u32)>,
    /// All its bytes are zero.
    pub is_zero: bool,
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "block {} must hold version {:?} (0: zeros), and holds ",
            self.block, self.expected
        )?;
        match self.found {
            _ if self.is_zero => f.write_str("zeros"),
            Some((block, version)) if block == self.block => {
                write!(f, "a damaged or old version {version}")
            }
            Some((block, version)) => write!(f, "version {version} of block {block}"),
            None => f.write_str("something that was never written"),
        }
    }
}

impl Model {
    /// `blocks` blocks of zeros, to be filled from `sources`.
    pub fn new(seed: u64, blocks: u64, sources: Sources) -> Self {
        Model {
            seed,
            sources,
            words: vec![ZEROS; blocks as usize],
            open: BTreeMap::new(),
            last_version: 0,
        }
    }

    /// Blocks there are.
    pub fn blocks(&self) -> u64 {
        self.words.len() as u64
    }

    /// Blocks that may hold any of several contents.
    pub fn open_blocks(&self) -> usize {
        self.open.len()
    }

    /// The next version. After 2^32 writes it begins anew, far from all that is still there.
    pub(super) fn next_version(&mut self) -> Word {
        self.last_version = self.last_version.checked_add(1).unwrap_or(1);
        self.last_version
    }

    /// A block may hold `word` from now on, or what it held before.
    pub(super) fn begin(&mut self, block: u64, word: Word) {
        let before = self.words[block as usize];
        self.open.entry(block).or_insert_with(|| vec![before]).push(word);
    }

    /// The block holds `word`.
    pub(super) fn settle(&mut self, block: u64, word: Word) {
        self.open.remove(&block);
        self.words[block as usize] = word;
    }

    /// The block does not hold `word`, which it may have held.
    pub(super) fn rule_out(&mut self, block: u64, word: Word) {
        let Some(words) = self.open.get_mut(&block) else { return };
        words.retain(|candidate| *candidate != word);
        if let [only] = words[..] {
            self.settle(block, only);
        }
    }

    /// What the block may hold.
    pub(super) fn candidates(&self, block: u64) -> Vec<Word> {
        self.open.get(&block).cloned().unwrap_or_else(|| vec![self.words[block as usize]])
    }

    /// Writes the content of a version of a block.
    pub(super) fn fill(&self, block: u64, version: Word, content: &mut [u8]) {
        let mixed = (self.seed ^ block.rotate_left(32) ^ u64::from(version))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if version.is_multiple_of(NOISE_ONCE_IN)
            && !(mixed >> 40).is_multiple_of(NOISE_FOR_ONE_OTHER)
        {
            let mut noise = XorShift::new(mixed | 1);
            content
                .chunks_exact_mut(8)
                .for_each(|word| word.copy_from_slice(&noise.next_u64().to_le_bytes()));
        } else {
            content.copy_from_slice(self.sources.block(mixed >> 20));
        }
        content[..8].copy_from_slice(&block.to_le_bytes());
        content[8..12].copy_from_slice(&version.to_le_bytes());
        content[12..STAMP_BYTES].copy_from_slice(&(STAMP ^ self.seed as u32).to_le_bytes());
    }

    /// A block of its own with that content.
    pub(super) fn content(&self, block: u64, word: Word) -> AlignedBuf {
        let mut content = AlignedBuf::zeroed(BLOCK_BYTES);
        if word != ZEROS {
            self.fill(block, word, &mut content);
        }
        content
    }

    fn stamp_of(&self, content: &[u8]) -> Option<(u64, Word)> {
        let number = |range: std::ops::Range<usize>| {
            content[range].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let is_stamped = number(12..STAMP_BYTES) as u32 == STAMP ^ self.seed as u32;
        is_stamped.then(|| (number(0..8), number(8..12) as u32))
    }

    /// Checks what was read of a block. Of several contents that it might hold, the one found is
    /// the only one from now on.
    ///
    /// # Errors
    /// It holds something else.
    pub fn check(&mut self, block: u64, content: &[u8]) -> Result<(), Mismatch> {
        let is_zero = content.iter().all(|byte| *byte == 0);
        let found = self.stamp_of(content);
        let expected = self.candidates(block);
        let word = match found {
            _ if is_zero => ZEROS,
            Some((_, version)) => version,
            None => return Err(Mismatch { block, expected, found, is_zero }),
        };
        if !expected.contains(&word) || (!is_zero && !self.is_version(block, word, content)) {
            return Err(Mismatch { block, expected, found, is_zero });
        }
        self.settle(block, word);
        Ok(())
    }

    fn is_version(&self, block: u64, version: Word, content: &[u8]) -> bool {
        let mut expected = [0; BLOCK_BYTES];
        self.fill(block, version, &mut expected);
        expected == *content
    }
}
