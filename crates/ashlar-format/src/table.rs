//! The segment table: which chunks are which segment, and how much of it lives.
//!
//! It has two parts, as its pages lie in segments themselves. The *first table* has what a start
//! must know before it can read a page, and is written whole. All other segments are in pages: the
//! leaves of two trees, of which one has what changes seldom of them and one has their counts.

use std::rc::Rc;

use ashlar_raid::Geometry;

use super::codec::{Malformed, Reader, Writer};
use super::header::RECORD_BYTES;
use super::location::{Location, Pointer, SLOT_BYTES, SegmentId, put_pointer, take_pointer};
use crate::ids::Lsn;
use crate::page::PAGE_BYTES_MAX;

/// How far a segment is in its life. One without an entry is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentState {
    /// May be opened under the root that names this table.
    Window,
    /// Being written.
    Open,
    /// Written; waits to be reclaimed.
    Sealed,
    /// Sealed, and emptied by garbage collection: what may still name it is hidden, and counts for
    /// nothing.
    Condemned,
}

/// What a segment is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// Fragments of volumes, striped.
    Data,
    /// Fragments of volumes that have survived a collection, striped.
    Moved,
    /// Pages of the map, striped.
    Metadata,
    /// Small commits, one data column and its copies.
    Journal,
    /// Pages of the segment table.
    Table,
}

impl SegmentKind {
    /// Whether it holds pages, and nothing of volumes.
    pub const fn is_of_pages(self) -> bool {
        matches!(self, SegmentKind::Metadata | SegmentKind::Table)
    }
}

/// Consecutive rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RowExtent {
    /// The first.
    pub row: u32,
    /// How many.
    pub rows: u32,
}

/// Fragments, and the slots that they take.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Occupancy {
    /// Slots of all of them.
    pub slots: u64,
    /// How many there are.
    pub fragments: u64,
}

impl Occupancy {
    /// One fragment more.
    pub fn add(&mut self, location: Location) {
        self.slots += location.slots();
        self.fragments += 1;
    }

    /// What is left when a part of it goes. `None` if that is no part of it.
    pub fn minus(self, part: Occupancy) -> Option<Self> {
        let slots = self.slots.checked_sub(part.slots)?;
        Some(Occupancy { slots, fragments: self.fragments.checked_sub(part.fragments)? })
    }

    /// What it takes of data columns, records in headers included.
    pub fn bytes(self) -> u64 {
        self.slots * SLOT_BYTES as u64 + self.fragments * RECORD_BYTES as u64
    }
}

/// Of one fragment.
impl From<Location> for Occupancy {
    fn from(location: Location) -> Self {
        Occupancy { slots: location.slots(), fragments: 1 }
    }
}

impl std::ops::AddAssign for Occupancy {
    fn add_assign(&mut self, more: Occupancy) {
        self.slots += more.slots;
        self.fragments += more.fragments;
    }
}

/// One segment as the table holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableEntry {
    /// Its number.
    pub id: SegmentId,
    /// How far it is.
    pub state: SegmentState,
    /// What it is for.
    pub kind: SegmentKind,
    /// Where it lies.
    pub geometry: Rc<Geometry>,
    /// It lay there before a batch of this LSN was begun.
    pub placed_lsn: Lsn,
    /// Batches of this generation have an LSN at or above it.
    pub first_lsn: Lsn,
    /// The newest batch in it.
    pub last_lsn: Lsn,
    /// At least what the maps of the root name.
    pub live: Occupancy,
    /// Unix seconds.
    pub sealed_at: u64,
    /// Rows in use.
    pub rows: u32,
    /// Rows that hold accepted batches, if not all in use do.
    pub accepted: Vec<RowExtent>,
}

/// Whether a segment belongs in a leaf of the table tree. All others are in the first table.
pub const fn is_paged(state: SegmentState, kind: SegmentKind) -> bool {
    matches!(state, SegmentState::Sealed | SegmentState::Condemned)
        && !matches!(kind, SegmentKind::Table)
}

/// Bytes of each of the two areas that a first table is written to.
pub const TABLE_AREA_BYTES: u64 = 256 << 10;

/// Where a tree begins: the pages of its topmost level.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeTop {
    /// Levels of nodes from there down: 0 if these pages are leaves.
    pub height: u8,
    /// By number within that level, ascending.
    pub pages: Vec<(u32, Pointer)>,
}

/// What a start must know before it can read a page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FirstTable {
    /// The tree of entries.
    pub entries: TreeTop,
    /// The tree of counts.
    pub counts: TreeTop,
    /// Segments that are in no leaf.
    pub segments: Vec<TableEntry>,
    /// Leaves that have changed and are in no page, each with its number, ascending.
    pub leaves: Vec<(u32, Vec<Listed>)>,
    /// Leaves of the tree of counts, likewise.
    pub count_leaves: Vec<(u32, Vec<Counted>)>,
}

/// How much of a segment lives.
pub type Counted = (SegmentId, Occupancy);

/// What a leaf says of one number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listed {
    /// There is a segment. What of it lives is in the tree of counts.
    Segment(TableEntry),
    /// It is not to be given out when its turn comes next.
    Resting(SegmentId),
}

impl Listed {
    /// The number.
    pub fn id(&self) -> SegmentId {
        match self {
            Listed::Segment(entry) => entry.id,
            Listed::Resting(id) => *id,
        }
    }
}

/// Numbers of a leaf of the table tree.
pub const LEAF_NUMBERS: u32 = 16;
/// Numbers of a leaf of the count tree.
pub const COUNT_LEAF_NUMBERS: u32 = 256;
/// Children of a node of either tree.
pub const NODE_CHILDREN: u32 = 128;
/// Pages that the topmost level of a tree has at most: they are in the first table.
pub const TOP_PAGES_MAX: usize = 64;
/// Levels of nodes, at most.
pub const TREE_HEIGHT_MAX: u8 = 3;

const _: () = assert!(
    LEAF_NUMBERS as u64 * (NODE_CHILDREN as u64).pow(TREE_HEIGHT_MAX as u32) > SegmentId::COUNT,
    "every number has its leaf"
);

/// Extents of an entry, at most. Between two of them lies a batch that was on its way when the
/// segment was found, or of which a part cannot be read.
const EXTENTS_MAX: usize = u8::MAX as usize;
/// Those of entries that fill a page together: more than the streams of a pool have batches on
/// their way. A leaf of entries with more may have no room in a page, and is in the first table.
const EXTENTS_OF_PAGE: usize = 17;
/// Columns of a segment, at most.
const COLUMNS_MAX: usize = 24;
const ENTRY_BYTES_MAX: usize = 1 + LISTED_BYTES + EXTENTS_OF_PAGE * 4 + COLUMNS_MAX * 6;
const LISTED_BYTES: usize = 5 + 4 * 8 + 2 + 1;
const _: () = assert!(LEAF_NUMBERS as usize * ENTRY_BYTES_MAX < PAGE_BYTES_MAX, "a leaf is a page");
const _: () = assert!(2 + COUNT_LEAF_NUMBERS as usize * 9 <= PAGE_BYTES_MAX, "so is one of counts");
const _: () = assert!(NODE_CHILDREN as usize * 13 < PAGE_BYTES_MAX, "and a node");

// --- first table ---------------------------------------------------------------------------------

/// The first table's bytes.
pub fn encode_first_table(table: &FirstTable) -> Vec<u8> {
    let mut w = Writer::default();
    for tree in [&table.entries, &table.counts] {
        w.u8(tree.height).u16(tree.pages.len() as u16);
        for (number, page) in &tree.pages {
            w.u32(*number);
            put_pointer(&mut w, Some(*page));
        }
    }
    w.u32(table.segments.len() as u32);
    for entry in &table.segments {
        w.u32(entry.id.0).u32(entry.live.slots as u32).u32(entry.live.fragments as u32);
        put_entry(&mut w, entry);
    }
    put_leaves(&mut w, &table.leaves, encode_table_leaf);
    put_leaves(&mut w, &table.count_leaves, encode_count_leaf);
    w.0
}

fn put_leaves<T>(w: &mut Writer, leaves: &[(u32, Vec<T>)], encode: impl Fn(&[T]) -> Vec<u8>) {
    w.u32(leaves.len() as u32);
    for (number, leaf) in leaves {
        let bytes = encode(leaf);
        w.u32(*number).u16(bytes.len() as u16).bytes(&bytes);
    }
}

/// The first table of these bytes.
pub fn decode_first_table(bytes: &[u8]) -> Result<FirstTable, Malformed> {
    let mut r = Reader::new("first table", bytes);
    let (entries, counts) = (take_tree(&mut r)?, take_tree(&mut r)?);
    let count = r.u32()?;
    let segments = (0..count).map(|_| take_segment(&mut r)).collect::<Result<Vec<_>, _>>()?;
    if !segments.is_sorted_by(|one, next| one.id < next.id) {
        return Err(r.malformed());
    }
    let leaves = take_leaves(&mut r, LEAF_NUMBERS, decode_table_leaf)?;
    let count_leaves = take_leaves(&mut r, COUNT_LEAF_NUMBERS, decode_count_leaf)?;
    Ok(FirstTable { entries, counts, segments, leaves, count_leaves })
}

fn take_leaves<T>(
    r: &mut Reader<'_>,
    numbers: u32,
    decode: impl Fn(&[u8], u32) -> Result<Vec<T>, Malformed>,
) -> Result<Vec<(u32, Vec<T>)>, Malformed> {
    let count = r.u32()?;
    let mut take = || {
        let (number, bytes) = (r.u32()?, usize::from(r.u16()?));
        Ok((number, decode(r.bytes(bytes)?, number)?))
    };
    let leaves = (0..count).map(|_| take()).collect::<Result<Vec<(u32, Vec<T>)>, _>>()?;
    let is_last =
        |(number, _): &(u32, Vec<T>)| u64::from(*number) <= SegmentId::COUNT / u64::from(numbers);
    let is_right =
        leaves.is_sorted_by(|one, next| one.0 < next.0) && leaves.last().is_none_or(is_last);
    if is_right { Ok(leaves) } else { Err(r.malformed()) }
}

fn take_tree(r: &mut Reader<'_>) -> Result<TreeTop, Malformed> {
    let (height, count) = (r.u8()?, r.u16()?);
    if height > TREE_HEIGHT_MAX || usize::from(count) > TOP_PAGES_MAX {
        return Err(r.malformed());
    }
    let mut page = || Ok((r.u32()?, take_pointer(r)?.ok_or(r.malformed())?));
    let pages = (0..count).map(|_| page()).collect::<Result<_, Malformed>>()?;
    Ok(TreeTop { height, pages })
}

fn take_segment(r: &mut Reader<'_>) -> Result<TableEntry, Malformed> {
    let number = r.u32()?;
    let live = Occupancy { slots: u64::from(r.u32()?), fragments: u64::from(r.u32()?) };
    let state = r.u8()?;
    let id = known(number).ok_or(r.malformed())?;
    Ok(TableEntry { live, ..take_entry(r, id, state)? })
}

fn known(number: u32) -> Option<SegmentId> {
    (1..=SegmentId::COUNT).contains(&u64::from(number)).then_some(SegmentId(number))
}

// --- pages ---------------------------------------------------------------------------------------

/// A leaf of the table tree. What it lists is of its numbers, in their order. It is a page, unless
/// many of its entries have many extents.
pub fn encode_table_leaf(listed: &[Listed]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(listed.len() as u8);
    for it in listed {
        match it {
            Listed::Resting(id) => drop(w.u8(within_leaf(*id)).u8(RESTS)),
            Listed::Segment(entry) => {
                w.u8(within_leaf(entry.id));
                put_entry(&mut w, entry);
            }
        }
    }
    w.0
}

fn within_leaf(id: SegmentId) -> u8 {
    (id.0 % LEAF_NUMBERS) as u8
}

/// What the leaf of that number lists.
pub fn decode_table_leaf(bytes: &[u8], leaf: u32) -> Result<Vec<Listed>, Malformed> {
    let mut r = Reader::new("leaf of the segment table", bytes);
    let count = r.u8()?;
    let listed = (0..count).map(|_| take_listed(&mut r, leaf)).collect::<Result<Vec<_>, _>>()?;
    if listed.is_sorted_by(|one, next| one.id() < next.id()) {
        Ok(listed)
    } else {
        Err(r.malformed())
    }
}

fn take_listed(r: &mut Reader<'_>, leaf: u32) -> Result<Listed, Malformed> {
    let id = take_number(r, leaf, LEAF_NUMBERS)?;
    match r.u8()? {
        RESTS => Ok(Listed::Resting(id)),
        state => take_entry(r, id, state).map(Listed::Segment),
    }
}

/// The next byte as a number within a leaf of so many.
fn take_number(r: &mut Reader<'_>, leaf: u32, numbers: u32) -> Result<SegmentId, Malformed> {
    let within = u32::from(r.u8()?);
    let number = leaf.checked_mul(numbers).and_then(|first| first.checked_add(within));
    number.filter(|_| within < numbers).and_then(known).ok_or(r.malformed())
}

/// A leaf of the count tree: of its numbers those of which something lives, in their order.
pub fn encode_count_leaf(counts: &[Counted]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u16(counts.len() as u16);
    for (id, live) in counts {
        w.u8((id.0 % COUNT_LEAF_NUMBERS) as u8).u32(live.slots as u32).u32(live.fragments as u32);
    }
    w.0
}

/// What the leaf of that number counts.
pub fn decode_count_leaf(bytes: &[u8], leaf: u32) -> Result<Vec<Counted>, Malformed> {
    let mut r = Reader::new("leaf of the segments' counts", bytes);
    let count = r.u16()?;
    let mut take = || {
        let id = take_number(&mut r, leaf, COUNT_LEAF_NUMBERS)?;
        Ok((id, Occupancy { slots: u64::from(r.u32()?), fragments: u64::from(r.u32()?) }))
    };
    let counts = (0..count).map(|_| take()).collect::<Result<Vec<_>, _>>()?;
    if counts.is_sorted_by(|one, next| one.0 < next.0) { Ok(counts) } else { Err(r.malformed()) }
}

/// A node: where its children are, by their numbers, ascending.
pub fn encode_tree_node(children: &[(u32, Pointer)]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(children.len() as u8);
    for (number, page) in children {
        w.u8((number % NODE_CHILDREN) as u8);
        put_pointer(&mut w, Some(*page));
    }
    w.0
}

/// The children of the node of that number, by theirs.
pub fn decode_tree_node(bytes: &[u8], node: u32) -> Result<Vec<(u32, Pointer)>, Malformed> {
    let mut r = Reader::new("node of the segment table", bytes);
    let count = r.u8()?;
    let mut take = || {
        let within = u32::from(r.u8()?);
        let number = node.checked_mul(NODE_CHILDREN).and_then(|first| first.checked_add(within));
        let number = number.filter(|_| within < NODE_CHILDREN).ok_or(r.malformed())?;
        Ok((number, take_pointer(&mut r)?.ok_or(r.malformed())?))
    };
    let children = (0..count).map(|_| take()).collect::<Result<Vec<_>, _>>()?;
    if children.is_sorted_by(|one, next| one.0 < next.0) {
        Ok(children)
    } else {
        Err(r.malformed())
    }
}

// --- entries -------------------------------------------------------------------------------------

/// The state of a number that rests.
const RESTS: u8 = 5;

/// The only tier that there is.
const TIER: u8 = 0;

fn put_entry(w: &mut Writer, entry: &TableEntry) {
    w.u8(state_code(entry.state)).u8(kind_code(entry.kind)).u8(TIER);
    w.u8(entry.geometry.data).u8(entry.geometry.parity() as u8);
    w.u64(entry.placed_lsn.0).u64(entry.first_lsn.0).u64(entry.last_lsn.0).u64(entry.sealed_at);
    assert!(
        entry.accepted.len() <= EXTENTS_MAX,
        "{} has {} extents",
        entry.id,
        entry.accepted.len()
    );
    w.u16(entry.rows as u16).u8(entry.accepted.len() as u8);
    for extent in &entry.accepted {
        w.u16(extent.row as u16).u16(extent.rows as u16);
    }
    w.columns(&entry.geometry);
}

/// What follows the state of an entry.
fn take_entry(r: &mut Reader<'_>, id: SegmentId, state: u8) -> Result<TableEntry, Malformed> {
    let state = state_of(state).ok_or(r.malformed())?;
    let kind = kind_of(r.u8()?).ok_or(r.malformed())?;
    let (_tier, data, parity) = (r.u8()?, r.u8()?, r.u8()?);
    if usize::from(data) + usize::from(parity) > COLUMNS_MAX {
        return Err(r.malformed());
    }
    let (placed_lsn, first_lsn, last_lsn) = (Lsn(r.u64()?), Lsn(r.u64()?), Lsn(r.u64()?));
    let (sealed_at, rows, extents) = (r.u64()?, u32::from(r.u16()?), r.u8()?);
    let accepted = (0..extents)
        .map(|_| Ok(RowExtent { row: u32::from(r.u16()?), rows: u32::from(r.u16()?) }))
        .collect::<Result<_, Malformed>>()?;
    let geometry = Rc::new(r.geometry(data, parity)?);
    let live = Occupancy::default();
    Ok(TableEntry {
        id,
        state,
        kind,
        geometry,
        placed_lsn,
        first_lsn,
        last_lsn,
        live,
        sealed_at,
        rows,
        accepted,
    })
}

fn state_of(code: u8) -> Option<SegmentState> {
    match code {
        1 => Some(SegmentState::Window),
        2 => Some(SegmentState::Open),
        3 => Some(SegmentState::Sealed),
        4 => Some(SegmentState::Condemned),
        _ => None,
    }
}

fn kind_of(code: u8) -> Option<SegmentKind> {
    match code {
        0 => Some(SegmentKind::Data),
        1 => Some(SegmentKind::Metadata),
        2 => Some(SegmentKind::Journal),
        3 => Some(SegmentKind::Moved),
        4 => Some(SegmentKind::Table),
        _ => None,
    }
}

fn state_code(state: SegmentState) -> u8 {
    match state {
        SegmentState::Window => 1,
        SegmentState::Open => 2,
        SegmentState::Sealed => 3,
        SegmentState::Condemned => 4,
    }
}

fn kind_code(kind: SegmentKind) -> u8 {
    match kind {
        SegmentKind::Data => 0,
        SegmentKind::Metadata => 1,
        SegmentKind::Journal => 2,
        SegmentKind::Moved => 3,
        SegmentKind::Table => 4,
    }
}

#[cfg(test)]
mod tests;
