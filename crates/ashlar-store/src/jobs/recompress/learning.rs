//! Learning: a dictionary for a volume, made from what of it is compressed anew.
//!
//! A dictionary is made from half of a sample, in one turn of some thirty milliseconds, and kept if
//! it makes less of the other half than what there is already. A volume has its first one when it
//! stores enough for it, and another when it has grown.
//!
//! 1. A fragment is stored by a dictionary only once a root has that dictionary.
//! 2. A dictionary stays as long as its volume, or until an erase of that.
//! 3. When one is made, all of its volume take no more than their part of what that stores, and all
//!    of the pool no more than their part of the memory.

pub(crate) mod policy;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use ashlar_block::{BLOCK_BYTES, World, XorShift};
use ashlar_format::compression::{Compression, ZstdLevel};
use ashlar_format::dictionary::DictionaryEntry;
use ashlar_format::ids::{DictionaryNumber, Family};
use ashlar_format::location::SLOT_BYTES;

use super::Form;
use crate::base::zstd::{self, DictionaryCompressor};
use crate::pool::Pool;
use crate::reader::decompress::decompress_block;
use crate::space::capacity::Request;
use crate::writer::batch::Item;
use crate::writer::compress::{Fragment, compress_anew, compress_by};
use policy::{dictionary_bytes, has_grown, pays, window_blocks};

/// Blocks of a sample: half of them to learn from, half of them to prove it.
const SAMPLE_BLOCKS: usize = 128;

/// Volumes that are sampled at a time. Each takes half a MiB.
const SAMPLES_MAX: usize = 8;

/// Blocks of other volumes after which a sample gives its place up.
const STALE_AFTER: u64 = 1 << 16;

/// Dictionaries that are compressed by at a time. Each takes some hundred KiB.
const COMPRESSORS_MAX: usize = 8;

/// Volumes that are sampled, and those of which it is known how large they were when a dictionary
/// was last made.
#[derive(Default)]
pub(crate) struct Learning {
    samples: RefCell<Vec<Sample>>,
    blocks_before: RefCell<BTreeMap<Family, u64>>,
    /// Blocks that came by.
    seen: Cell<u64>,
    /// Times that something was unlearnt.
    unlearnt: Cell<u64>,
}

impl Learning {
    /// Changes whenever something is unlearnt: what was read before is not to be learnt any more.
    pub fn unlearnt(&self) -> u64 {
        self.unlearnt.get()
    }

    /// Whether there is a place for another sample. One of which nothing has come for long gives
    /// its place up: its volume is not compressed anew any more.
    fn has_place(&self) -> bool {
        let (mut samples, now) = (self.samples.borrow_mut(), self.seen.get());
        samples.retain(|sample| now - sample.last_seen <= STALE_AFTER);
        samples.len() < SAMPLES_MAX
    }
}

/// Blocks of a volume, each with the slots that it takes: as likely any of those that came by
/// (Vitter 1985, algorithm R).
struct Sample {
    family: Family,
    /// How they are stored anew now.
    form: Form,
    seen: u64,
    /// Blocks that had come by, of whatever volumes, when one of this came last.
    last_seen: u64,
    blocks: Vec<([u8; BLOCK_BYTES], usize)>,
    rng: XorShift,
}

impl Sample {
    fn of(family: Family, form: Form) -> Self {
        let rng = XorShift::new(u64::from(family.0));
        Sample { family, form, seen: 0, last_seen: 0, blocks: Vec::new(), rng }
    }

    /// The place of the next block, if it is one of those that are kept.
    fn place(&mut self) -> Option<usize> {
        self.seen += 1;
        let place = match self.blocks.len() {
            some if some < SAMPLE_BLOCKS => some,
            _ => self.rng.below(self.seen) as usize,
        };
        (place < SAMPLE_BLOCKS).then_some(place)
    }

    fn put(&mut self, place: usize, block: ([u8; BLOCK_BYTES], usize)) {
        match self.blocks.get_mut(place) {
            Some(known) => *known = block,
            None => self.blocks.push(block),
        }
    }

    /// What is learnt from.
    fn lessons(&self) -> Vec<u8> {
        self.blocks.iter().step_by(2).flat_map(|(block, _)| block).copied().collect()
    }

    /// Slots of the others, if they are stored as `compress` makes them.
    fn slots_by(&self, mut compress: impl FnMut(&[u8], usize) -> Option<Fragment>) -> usize {
        let others = self.blocks.iter().skip(1).step_by(2);
        let stored =
            others.map(|(block, slots)| compress(block, *slots).map_or(*slots, |it| it.slots()));
        stored.sum()
    }
}

/// What dictionaries are compressed by.
#[derive(Default)]
pub(crate) struct Compressors(RefCell<BTreeMap<DictionaryNumber, DictionaryCompressor>>);

impl<W: World> Pool<W> {
    /// The dictionary by which blocks of a family are stored anew.
    pub(super) fn dictionary_for(&self, family: Family) -> Option<DictionaryNumber> {
        let catalog = self.catalog.borrow();
        let mut newest = catalog.dictionaries_of(family).map(|(number, _)| number).rev();
        newest.find(|number| self.dictionaries.is_durable(*number))
    }

    /// A block in this form, in at most so many slots. None: it needs more.
    pub(super) fn compress_as(
        &self,
        form: Form,
        block: &[u8],
        slots_max: usize,
    ) -> Option<Fragment> {
        let number = match form {
            Form::Zstd(level) => return compress_anew(block, level, slots_max),
            Form::ByDictionary(number) => number,
        };
        let mut compressors = self.jobs.recompression.compressors.0.borrow_mut();
        // An erase may have come between.
        let dictionary = self.catalog.borrow().dictionaries.get(&number)?.bytes.clone();
        if !compressors.contains_key(&number) {
            let compressor = DictionaryCompressor::new(ZstdLevel::DEFAULT, &dictionary)?;
            if compressors.len() == COMPRESSORS_MAX {
                // Which one does not matter much, as long as it is not all of them.
                compressors.pop_first();
            }
            compressors.insert(number, compressor);
        }
        let compressor = compressors.get_mut(&number).expect("it is there now");
        compress_by((number, compressor), block, slots_max)
    }

    /// Takes note of a block that is about to be stored anew.
    pub(super) fn sample(&self, item: &Item, form: Form) {
        let (family, learning) = (item.key.family, &self.jobs.recompression.learning);
        learning.seen.set(learning.seen.get() + 1);
        let is_sampled = |sample: &Sample| sample.family == family;
        if !learning.samples.borrow().iter().any(is_sampled) {
            if !learning.has_place() || !self.is_to_be_learnt(family) {
                return;
            }
            learning.samples.borrow_mut().push(Sample::of(family, form));
        }
        let mut samples = learning.samples.borrow_mut();
        let sample = samples.iter_mut().find(|it| it.family == family).expect("it is there now");
        sample.last_seen = learning.seen.get();
        let (Some(place), Some(fragment)) = (sample.place(), &item.fragment) else { return };
        let mut block = [0; BLOCK_BYTES];
        let dictionary = |number| self.dictionary(number);
        if decompress_block(&fragment.bytes, fragment.codec, dictionary, &mut block) {
            sample.put(place, (block, fragment.slots()));
        }
    }

    fn is_to_be_learnt(&self, family: Family) -> bool {
        let usage = self.space.ledger.usage(family);
        has_grown(usage.blocks, self.blocks_when_learnt(family), &self.options.learning)
            && self.room_for_dictionary(family).is_some()
            && self.catalog.borrow().compression_of(family) == Some(Compression::Auto)
    }

    /// Blocks that the family had when a dictionary was last made for it.
    fn blocks_when_learnt(&self, family: Family) -> u64 {
        let mut before = self.jobs.recompression.learning.blocks_before.borrow_mut();
        *before.entry(family).or_insert_with(|| {
            let catalog = self.catalog.borrow();
            catalog.dictionaries_of(family).map(|(_, it)| it.blocks).max().unwrap_or(0)
        })
    }

    /// Bytes that a new dictionary of the family may have.
    fn room_for_dictionary(&self, family: Family) -> Option<usize> {
        let stored_bytes = self.space.ledger.usage(family).slots * SLOT_BYTES as u64;
        let catalog = self.catalog.borrow();
        let of_family = catalog.dictionaries_of(family).map(|(_, it)| it.bytes.len()).sum();
        let of_pool = catalog.dictionaries.values().map(|it| it.bytes.len()).sum();
        dictionary_bytes(stored_bytes, of_family, of_pool, &self.options.learning)
    }

    /// Makes a dictionary for a volume of which enough has come by.
    pub(super) fn learn(&self) {
        let learning = &self.jobs.recompression.learning;
        let is_enough = |sample: &Sample| {
            let blocks = self.space.ledger.usage(sample.family).blocks;
            sample.seen >= window_blocks(blocks, &self.options.learning)
        };
        let at = learning.samples.borrow().iter().position(is_enough);
        if let Some(at) = at {
            let sample = learning.samples.borrow_mut().remove(at);
            self.learn_from(&sample);
        }
    }

    fn learn_from(&self, sample: &Sample) {
        let family = sample.family;
        let blocks = self.space.ledger.usage(family).blocks;
        self.jobs.recompression.learning.blocks_before.borrow_mut().insert(family, blocks);
        let Some(bytes) = self.dictionary_from(sample) else { return };
        if self.admit_request(Request::Change).is_err() {
            return;
        }
        tracing::debug!(pool = self.name(), family = family.0, bytes = bytes.len(), "dictionary");
        let entry = DictionaryEntry { family, blocks, bytes: bytes.into() };
        self.catalog.borrow_mut().insert_dictionary(entry);
        self.count(|counters| counters.jobs.dictionaries_made += 1);
        self.checkpoint_soon();
    }

    /// A dictionary that pays.
    fn dictionary_from(&self, sample: &Sample) -> Option<Vec<u8>> {
        let bytes_max = self.room_for_dictionary(sample.family)?;
        let bytes = zstd::learn(&sample.lessons(), BLOCK_BYTES, bytes_max)?;
        let mut compressor = DictionaryCompressor::new(ZstdLevel::DEFAULT, &bytes)?;
        let number = DictionaryNumber::default();
        let now = sample.slots_by(|block, slots| self.compress_as(sample.form, block, slots));
        let then =
            sample.slots_by(|block, slots| compress_by((number, &mut compressor), block, slots));
        pays(now, then, &self.options.learning).then_some(bytes)
    }

    /// Forgets what was learnt from a family of which nothing is read any more, its dictionaries
    /// as well.
    pub fn unlearn(&self, family: Family) {
        let learning = &self.jobs.recompression.learning;
        learning.unlearnt.set(learning.unlearnt.get() + 1);
        learning.samples.borrow_mut().retain(|sample| sample.family != family);
        learning.blocks_before.borrow_mut().remove(&family);
        self.catalog.borrow_mut().remove_dictionaries(family);
    }
}

#[cfg(test)]
mod tests;
