//! The segment table: which chunks are which segment, and how much of it lives.

use std::collections::BTreeSet;
use std::rc::Rc;

use ashlar_raid::Geometry;

use super::codec::{Malformed, Reader, Writer};
use super::header::RECORD_BYTES;
use super::location::{Location, SLOT_BYTES, SegmentId};
use crate::ids::Lsn;

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

/// The segment table: every segment that there is, and the numbers of those that were and whose
/// numbers rest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Table {
    /// The segments.
    pub entries: Vec<TableEntry>,
    /// Numbers that are not to be given out when their turn comes next.
    pub resting: BTreeSet<SegmentId>,
}

/// Bytes of the largest table that `chunks` chunks in all can need, if a segment has at least
/// `columns_min`.
pub fn table_bytes_max(chunks: u64, columns_min: u64) -> u64 {
    // A quarter more, for segments with accepted extents.
    let entry = ENTRY_BYTES + columns_min * COLUMN_BYTES + RESTING_BYTES;
    (chunks.div_ceil(columns_min) * entry * 5 / 4).next_multiple_of(4096)
}

const ENTRY_BYTES: u64 = 4 + 4 + 2 * 8 + 2 * 4 + 8 + 4 + 2;
const COLUMN_BYTES: u64 = 6;
const RESTING_BYTES: u64 = 4;

/// The table's bytes.
pub fn encode_table(table: &Table) -> Vec<u8> {
    let mut w = Writer::default();
    for entry in &table.entries {
        w.u32(entry.id.0).u8(state_code(entry.state)).u8(kind_code(entry.kind));
        w.u8(entry.geometry.data).u8(entry.geometry.parity() as u8);
        w.u64(entry.first_lsn.0).u64(entry.last_lsn.0);
        w.u32(entry.live.slots as u32).u32(entry.live.fragments as u32);
        w.u64(entry.sealed_at).u32(entry.rows).u16(entry.accepted.len() as u16);
        for extent in &entry.accepted {
            w.u32(extent.row).u32(extent.rows);
        }
        w.columns(&entry.geometry);
    }
    for id in &table.resting {
        w.u32(id.0);
    }
    w.0
}

/// The table of that many entries and resting numbers.
pub fn decode_table(bytes: &[u8], entries: u32, resting: u32) -> Result<Table, Malformed> {
    let mut r = Reader::new("segment table", bytes);
    let entries = (0..entries).map(|_| decode_entry(&mut r)).collect::<Result<_, _>>()?;
    let resting = (0..resting).map(|_| take_id(&mut r)).collect::<Result<_, _>>()?;
    Ok(Table { entries, resting })
}

fn take_id(r: &mut Reader<'_>) -> Result<SegmentId, Malformed> {
    let id = r.u32()?;
    if (1..=SegmentId::COUNT).contains(&u64::from(id)) { Ok(SegmentId(id)) } else { Err(r.malformed()) }
}

fn decode_entry(r: &mut Reader<'_>) -> Result<TableEntry, Malformed> {
    let id = take_id(r)?;
    let state = match r.u8()? {
        1 => SegmentState::Window,
        2 => SegmentState::Open,
        3 => SegmentState::Sealed,
        4 => SegmentState::Condemned,
        _ => return Err(r.malformed()),
    };
    let kind = match r.u8()? {
        0 => SegmentKind::Data,
        1 => SegmentKind::Metadata,
        2 => SegmentKind::Journal,
        3 => SegmentKind::Moved,
        _ => return Err(r.malformed()),
    };
    let (data, parity) = (r.u8()?, r.u8()?);
    let (first_lsn, last_lsn) = (Lsn(r.u64()?), Lsn(r.u64()?));
    let live = Occupancy { slots: u64::from(r.u32()?), fragments: u64::from(r.u32()?) };
    let (sealed_at, rows) = (r.u64()?, r.u32()?);
    let accepted = (0..r.u16()?)
        .map(|_| Ok(RowExtent { row: r.u32()?, rows: r.u32()? }))
        .collect::<Result<_, Malformed>>()?;
    let geometry = Rc::new(r.geometry(data, parity)?);
    Ok(TableEntry { id, state, kind, geometry, first_lsn, last_lsn, live, sealed_at, rows, accepted })
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
    }
}
