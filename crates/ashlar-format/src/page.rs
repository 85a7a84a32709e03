//! Pages of the maps: entries of a group, deltas, the index, directories.

mod catalog_pages;
mod stored_leaf;

use ashlar_block::{BLOCK_BYTES, Lba};
use smallvec::SmallVec;

use super::codec::{Malformed, Reader, Writer};
use super::location::{Pointer, put_pointer, take_pointer, value};
pub use catalog_pages::{
    CATALOG_ENTRIES_BYTES_MAX, CatalogEntry, CatalogTop, catalog_entry_bytes,
    decode_catalog_directory, decode_catalog_top, encode_catalog_directory, encode_catalog_list,
    encode_whole_catalog,
};
pub use stored_leaf::{StoredLeaf, StoredRun, StoredRuns};

use crate::ids::{Family, GROUP_BLOCKS, GroupKey, Key, Layer, RANGE_BLOCKS, SHARD_COUNT};

/// What the map says of a block. `None`: nothing is stored, it reads as zeros.
pub type Value = Option<Pointer>;

/// Largest page, before compression.
pub const PAGE_BYTES_MAX: usize = BLOCK_BYTES;

// --- entries of a group --------------------------------------------------------------------------

/// One entry of a map page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageEntry {
    /// Block within the GiB.
    pub block: u32,
    /// The layer.
    pub layer: Layer,
    /// What it says.
    pub value: Value,
}

const ENTRY_BYTES: usize = 4 + 8 + 4;

/// Entries that always fit a page, for `layers` distinct layers among them.
pub const fn page_entries_max(layers: usize) -> usize {
    (PAGE_BYTES_MAX - 3 - 4 * layers) / ENTRY_BYTES
}

/// Layers that one page can hold entries of.
pub const PAGE_LAYERS_MAX: usize = 64;

/// A map page of `entries`, which are in order of block and layer.
pub fn encode_map_page(entries: &[PageEntry]) -> Vec<u8> {
    let mut layers: Vec<Layer> = entries.iter().map(|entry| entry.layer).collect();
    layers.sort_unstable();
    layers.dedup();
    let mut w = Writer(Vec::with_capacity(PAGE_BYTES_MAX));
    w.u16(entries.len() as u16).u8(layers.len() as u8);
    layers.iter().for_each(|layer| {
        w.u32(layer.0);
    });
    for entry in entries {
        let layer = layers.binary_search(&entry.layer).expect("collected above") as u32;
        w.u32(layer << 24 | entry.block);
    }
    for entry in entries {
        w.u64(entry.value.map_or(0, |pointer| pointer.location.to_bits()));
    }
    for entry in entries {
        w.u32(entry.value.map_or(0, |pointer| pointer.crc));
    }
    assert!(w.0.len() <= PAGE_BYTES_MAX, "{} entries in a page", entries.len());
    w.0
}

/// The entries of a map page, in order.
pub fn decode_map_page(bytes: &[u8]) -> Result<Vec<PageEntry>, Malformed> {
    let mut r = Reader::new("map page", bytes);
    let (count, layer_count) = (r.u16()? as usize, r.u8()?);
    let layers = (0..layer_count).map(|_| r.u32().map(Layer)).collect::<Result<Vec<_>, _>>()?;
    let mut blocks = Reader::new("map page", r.bytes(count * 4)?);
    let mut locations = Reader::new("map page", r.bytes(count * 8)?);
    let mut crcs = Reader::new("map page", r.bytes(count * 4)?);
    (0..count)
        .map(|_| {
            let (word, location, crc) = (blocks.u32()?, locations.u64()?, crcs.u32()?);
            let layer = *layers.get((word >> 24) as usize).ok_or(blocks.malformed())?;
            Ok(PageEntry { block: word & 0xff_ffff, layer, value: value(location, crc)? })
        })
        .collect()
}

// --- runs ----------------------------------------------------------------------------------------

/// Which parts of a group a run may have entries of: one bit for each 16 blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filter(pub [u64; 4]);

impl Filter {
    /// Bytes of a stored filter.
    const BYTES: usize = 32;

    fn bit(block: u32) -> usize {
        let range = block / RANGE_BLOCKS as u32;
        let within = block % RANGE_BLOCKS as u32;
        (range / SHARD_COUNT as u32 * 16 + within / 16) as usize
    }

    /// Notes an entry of `block` (within the GiB).
    pub fn add(&mut self, block: u32) {
        let bit = Self::bit(block);
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    /// Whether there may be an entry of `block`.
    pub fn may_have(&self, block: u32) -> bool {
        let bit = Self::bit(block);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// A page of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageRef {
    /// Block of its first entry, within the GiB.
    pub first_block: u32,
    /// Its entries.
    pub entries: u16,
    /// Where it is.
    pub pointer: Pointer,
}

/// The pages of a run: most runs have one, and a map of 1 TiB has hundreds of thousands of runs.
pub type PageRefs = SmallVec<[PageRef; 1]>;

/// A part of a group's history; newer ones hide older ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Run {
    /// Entries.
    Pages {
        /// What it may have entries of.
        filter: Filter,
        /// Its pages, in order.
        pages: PageRefs,
    },
    /// What older runs say of these blocks is void.
    Cut {
        /// Of this layer.
        layer: Layer,
        /// The first block, within the GiB.
        first: u32,
        /// The block after the last.
        end: u32,
    },
}

impl Run {
    /// The page that would have an entry of `block`.
    pub fn page_of(&self, block: u32) -> Option<&PageRef> {
        let Run::Pages { filter, pages } = self else { return None };
        if !filter.may_have(block) {
            return None;
        }
        pages.partition_point(|page| page.first_block <= block).checked_sub(1).map(|at| &pages[at])
    }

    /// Whether it voids what older runs say of `block`.
    pub fn cuts(&self, at: Layer, block: u32) -> bool {
        matches!(self, Run::Cut { layer, first, end } if *layer == at && (*first..*end).contains(&block))
    }

    /// All its pages.
    pub fn pages(&self) -> &[PageRef] {
        match self {
            Run::Pages { pages, .. } => pages,
            Run::Cut { .. } => &[],
        }
    }
}

// --- the index -----------------------------------------------------------------------------------

/// A group in a leaf.
pub type LeafGroup = (GroupKey, Vec<Run>);

const GROUP_FIXED_BYTES: usize = 9;
const PAGE_REF_BYTES: usize = 4 + 2 + Pointer::BYTES;

/// Bytes that a cut takes in a leaf.
pub const CUT_BYTES: usize = 1 + 12;

/// Bytes that a run takes in a leaf, and its group if that has no other.
pub fn run_with_group_bytes(run: &Run) -> usize {
    group_bytes(std::slice::from_ref(run))
}

/// Bytes that a run takes in a leaf, at most.
pub const RUN_BYTES_MAX: usize =
    run_bytes(GROUP_BLOCKS.div_ceil(page_entries_max(PAGE_LAYERS_MAX)));

const fn run_bytes(pages: usize) -> usize {
    1 + Filter::BYTES + 1 + pages * PAGE_REF_BYTES
}

/// Bytes that a group takes in a leaf.
pub fn group_bytes(runs: &[Run]) -> usize {
    let run = |run: &Run| match run {
        Run::Pages { pages, .. } => run_bytes(pages.len()),
        Run::Cut { .. } => CUT_BYTES,
    };
    GROUP_FIXED_BYTES + runs.iter().map(run).sum::<usize>()
}

/// Bytes of groups that fit a leaf.
pub const LEAF_BYTES_MAX: usize = PAGE_BYTES_MAX - 2;

/// A leaf of these groups, which are in order.
pub fn encode_leaf<'a>(
    groups: impl ExactSizeIterator<Item = (&'a GroupKey, &'a [Run])>,
) -> Vec<u8> {
    let mut w = Writer::default();
    w.u16(groups.len() as u16);
    for (key, runs) in groups {
        w.u32(key.family.0).u32(key.gib).u8(runs.len() as u8);
        runs.iter().for_each(|run| put_run(&mut w, run));
    }
    assert!(w.0.len() <= PAGE_BYTES_MAX, "an index leaf of {} bytes", w.0.len());
    w.0
}

fn put_run(w: &mut Writer, run: &Run) {
    match run {
        Run::Pages { filter, pages } => {
            w.u8(0);
            filter.0.iter().for_each(|word| {
                w.u64(*word);
            });
            w.u8(pages.len() as u8);
            for page in pages {
                w.u32(page.first_block);
                put_pointer(w, Some(page.pointer));
                w.u16(page.entries);
            }
        }
        Run::Cut { layer, first, end } => {
            w.u8(1).u32(layer.0).u32(*first).u32(*end);
        }
    }
}

/// The groups of a leaf.
pub fn decode_leaf(bytes: &[u8]) -> Result<Vec<LeafGroup>, Malformed> {
    let mut r = Reader::new("index leaf", bytes);
    (0..r.u16()?)
        .map(|_| {
            let key = take_group_key(&mut r)?;
            let runs = (0..r.u8()?).map(|_| take_run(&mut r)).collect::<Result<_, _>>()?;
            Ok((key, runs))
        })
        .collect()
}

fn take_group_key(r: &mut Reader<'_>) -> Result<GroupKey, Malformed> {
    Ok(GroupKey { family: Family(r.u32()?), gib: r.u32()? })
}

fn take_run(r: &mut Reader<'_>) -> Result<Run, Malformed> {
    match r.u8()? {
        0 => {
            let filter = Filter([r.u64()?, r.u64()?, r.u64()?, r.u64()?]);
            let pages = (0..r.u8()?)
                .map(|_| {
                    let first_block = r.u32()?;
                    let pointer = take_pointer(r)?.ok_or(r.malformed())?;
                    Ok(PageRef { first_block, pointer, entries: r.u16()? })
                })
                .collect::<Result<_, Malformed>>()?;
            Ok(Run::Pages { filter, pages })
        }
        1 => Ok(Run::Cut { layer: Layer(r.u32()?), first: r.u32()?, end: r.u32()? }),
        _ => Err(r.malformed()),
    }
}

/// What the parent of a leaf or node says of the groups below it, so that what is to be merged is
/// found without reading them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupsBelow {
    /// One has more runs than it should, or a cut.
    pub unmerged: bool,
    /// One has more than one run: a newer one may hide something.
    pub stacked: bool,
}

impl GroupsBelow {
    const UNMERGED: u8 = 1;
    const STACKED: u8 = 2;

    fn to_bits(self) -> u8 {
        u8::from(self.unmerged) * Self::UNMERGED + u8::from(self.stacked) * Self::STACKED
    }

    fn from_bits(bits: u8) -> Self {
        GroupsBelow { unmerged: bits & Self::UNMERGED > 0, stacked: bits & Self::STACKED > 0 }
    }

    /// Of the groups below several.
    pub fn and(self, other: Self) -> Self {
        GroupsBelow {
            unmerged: self.unmerged || other.unmerged,
            stacked: self.stacked || other.stacked,
        }
    }
}

/// A child of an index node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Child {
    /// The lowest group that belongs to it.
    pub first: GroupKey,
    /// Where it is.
    pub pointer: Pointer,
    /// What is below it.
    pub below: GroupsBelow,
}

/// Children of one node, at most.
pub const CHILDREN_MAX: usize = (PAGE_BYTES_MAX - 2) / NODE_CHILD_BYTES;

/// Bytes of a child in its node.
pub const NODE_CHILD_BYTES: usize = 8 + Pointer::BYTES + 1;

/// An index node.
pub fn encode_node(children: &[Child]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u16(children.len() as u16);
    for Child { first, pointer, below } in children {
        w.u32(first.family.0).u32(first.gib);
        put_pointer(&mut w, Some(*pointer));
        w.u8(below.to_bits());
    }
    w.0
}

/// The children of an index node.
pub fn decode_node(bytes: &[u8]) -> Result<Vec<Child>, Malformed> {
    let mut r = Reader::new("index node", bytes);
    (0..r.u16()?)
        .map(|_| {
            let (first, pointer) =
                (take_group_key(&mut r)?, take_pointer(&mut r)?.ok_or(r.malformed())?);
            Ok(Child { first, pointer, below: GroupsBelow::from_bits(r.u8()?) })
        })
        .collect()
}

// --- deltas --------------------------------------------------------------------------------------

const DELTA_ENTRY_BYTES: usize = 4 + 4 + 8 + Pointer::BYTES;

/// Entries of one delta page, at most.
pub const DELTA_ENTRIES_MAX: usize = (PAGE_BYTES_MAX - 2) / DELTA_ENTRY_BYTES;

/// A page of updates.
pub fn encode_delta(entries: &[(Key, Value)]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u16(entries.len() as u16);
    for (key, value) in entries {
        w.u32(key.family.0).u32(key.layer.0).u64(key.lba.0);
        put_pointer(&mut w, *value);
    }
    w.0
}

/// The updates of a delta page.
pub fn decode_delta(bytes: &[u8]) -> Result<Vec<(Key, Value)>, Malformed> {
    let mut r = Reader::new("delta page", bytes);
    let count = r.u16()?;
    let mut updates = Vec::with_capacity(usize::from(count).min(DELTA_ENTRIES_MAX));
    for _ in 0..count {
        let (family, layer, lba) = (Family(r.u32()?), Layer(r.u32()?), Lba(r.u64()?));
        updates.push((Key { family, lba, layer }, value(r.u64()?, r.u32()?)?));
    }
    Ok(updates)
}

// --- directories ---------------------------------------------------------------------------------

/// Pages of one directory, at most.
pub const DIRECTORY_PAGES_MAX: usize = (PAGE_BYTES_MAX - Pointer::BYTES - 2) / Pointer::BYTES;

/// A list of pages in order: the deltas of a shard, or the pieces of the catalog.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Directory {
    /// The directory whose pages come before these.
    pub previous: Option<Pointer>,
    /// The pages.
    pub pages: Vec<Pointer>,
}

/// A directory page.
pub fn encode_directory(directory: &Directory) -> Vec<u8> {
    assert!(
        directory.pages.len() <= DIRECTORY_PAGES_MAX,
        "{} pages in a directory",
        directory.pages.len()
    );
    let mut w = Writer::default();
    put_pointer(&mut w, directory.previous);
    w.u16(directory.pages.len() as u16);
    directory.pages.iter().for_each(|page| put_pointer(&mut w, Some(*page)));
    w.0
}

/// The directory of a directory page.
pub fn decode_directory(bytes: &[u8]) -> Result<Directory, Malformed> {
    let mut r = Reader::new("directory page", bytes);
    let previous = take_pointer(&mut r)?;
    let pages = (0..r.u16()?)
        .map(|_| take_pointer(&mut r)?.ok_or(r.malformed()))
        .collect::<Result<_, Malformed>>()?;
    Ok(Directory { previous, pages })
}

#[cfg(test)]
mod tests;
