//! Looking groups up in a leaf of an index as it is stored.

use super::{
    CUT_BYTES, Filter, GROUP_FIXED_BYTES, LeafGroup, PAGE_REF_BYTES, Run, decode_leaf, run_bytes,
};
use crate::codec::{Malformed, Reader};
use crate::ids::{GroupKey, Layer};
use crate::location::{Pointer, take_pointer};

/// A leaf as it is stored. Its groups are found in it without decoding the others: as types they
/// would take half as much again, and most of a large map's index is only looked at.
#[derive(PartialEq, Eq, Debug)]
pub struct StoredLeaf(Box<[u8]>);

impl StoredLeaf {
    /// The leaf of bytes that have been encoded by this process.
    pub fn encoded(bytes: Vec<u8>) -> Self {
        StoredLeaf(bytes.into_boxed_slice())
    }

    /// The leaf of bytes that have been read.
    pub fn new(bytes: Vec<u8>) -> Result<Self, Malformed> {
        decode_leaf(&bytes)?;
        Ok(StoredLeaf(bytes.into_boxed_slice()))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// All its groups, in order.
    pub fn groups(&self) -> Vec<LeafGroup> {
        decode_leaf(&self.0).expect("it was decoded when it was read")
    }

    /// The runs of a group, newest first.
    pub fn runs_of(&self, group: GroupKey) -> Option<StoredRuns<'_>> {
        let (count, mut rest) = self.0.split_at(2);
        for _ in 0..u16::from_le_bytes([count[0], count[1]]) {
            let (fixed, behind) = rest.split_at(GROUP_FIXED_BYTES);
            let found = (word(&fixed[..4]), word(&fixed[4..8])) == (group.family.0, group.gib);
            let mut runs = StoredRuns { rest: behind, left: fixed[8] };
            if found {
                return Some(runs);
            }
            runs.by_ref().for_each(drop);
            rest = runs.rest;
        }
        None
    }
}

/// The runs of one group in a stored leaf, newest first.
pub struct StoredRuns<'a> {
    rest: &'a [u8],
    left: u8,
}

/// A run in a stored leaf.
pub enum StoredRun<'a> {
    /// Entries: the filter, and the pages.
    Pages(&'a [u8], &'a [u8]),
    /// What older runs say of these blocks is void.
    Cut(Run),
}

impl<'a> Iterator for StoredRuns<'a> {
    type Item = StoredRun<'a>;

    fn next(&mut self) -> Option<StoredRun<'a>> {
        self.left = self.left.checked_sub(1)?;
        if self.rest[0] == 1 {
            let (cut, rest) = self.rest.split_at(CUT_BYTES);
            self.rest = rest;
            let cut = Run::Cut {
                layer: Layer(word(&cut[1..5])),
                first: word(&cut[5..9]),
                end: word(&cut[9..13]),
            };
            return Some(StoredRun::Cut(cut));
        }
        let pages = usize::from(self.rest[1 + Filter::BYTES]);
        let (run, rest) = self.rest.split_at(run_bytes(pages));
        self.rest = rest;
        Some(StoredRun::Pages(&run[1..1 + Filter::BYTES], &run[2 + Filter::BYTES..]))
    }
}

impl StoredRun<'_> {
    /// As [`Run::page_of`].
    pub fn page_of(&self, block: u32) -> Option<Pointer> {
        let StoredRun::Pages(filter, pages) = self else { return None };
        let bit = Filter::bit(block);
        if filter[bit / 8] >> (bit % 8) & 1 == 0 {
            return None;
        }
        let (pages, _) = pages.as_chunks::<PAGE_REF_BYTES>();
        let at = pages.partition_point(|page| word(&page[..4]) <= block).checked_sub(1)?;
        Some(stored_pointer(&pages[at][4..]))
    }

    /// As [`Run::cuts`].
    pub fn cuts(&self, layer: Layer, block: u32) -> bool {
        matches!(self, StoredRun::Cut(cut) if cut.cuts(layer, block))
    }

    /// Whether one of its pages is there.
    pub fn has_page(&self, at: Pointer) -> bool {
        let StoredRun::Pages(_, pages) = self else { return false };
        let (pages, _) = pages.as_chunks::<PAGE_REF_BYTES>();
        pages.iter().any(|page| stored_pointer(&page[4..]) == at)
    }
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

fn stored_pointer(bytes: &[u8]) -> Pointer {
    let mut r = Reader::new("index leaf", bytes);
    take_pointer(&mut r).ok().flatten().expect("it was decoded when it was read")
}
