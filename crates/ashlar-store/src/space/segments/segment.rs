//! One segment.

use std::ops::Range;
use std::rc::Rc;

use ashlar_block::SECTOR_BYTES;
use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{Occupancy, RowExtent, SegmentKind, SegmentState, TableEntry};
use ashlar_raid::Geometry;

/// One segment.
#[derive(Clone, Debug)]
pub struct Segment {
    pub state: SegmentState,
    pub kind: SegmentKind,
    pub geometry: Rc<Geometry>,
    /// It lay there before a batch of this LSN was begun.
    pub placed_lsn: Lsn,
    pub first_lsn: Lsn,
    pub last_lsn: Lsn,
    pub live: Occupancy,
    pub sealed_at: u64,
    pub rows: u32,
    pub accepted: Vec<RowExtent>,
    /// It was filled with what is overwritten often. Forgotten over a restart.
    pub hot: bool,
    /// A leaf of the table that has been written has it.
    pub(super) is_listed: bool,
    /// It holds what cannot be read. Forgotten over a restart.
    pub(super) is_unmovable: bool,
    /// Nothing in it is worth to be compressed anew. Forgotten over a restart.
    pub(super) is_settled: bool,
    /// Reads that still need its bytes.
    pub(super) pins: u32,
}

impl Segment {
    pub fn reserved(geometry: Geometry, kind: SegmentKind, first_lsn: Lsn) -> Self {
        Segment {
            state: SegmentState::Window,
            kind,
            geometry: Rc::new(geometry),
            placed_lsn: first_lsn,
            first_lsn,
            last_lsn: Lsn(0),
            live: Occupancy::default(),
            sealed_at: 0,
            rows: 0,
            accepted: Vec::new(),
            hot: false,
            is_listed: false,
            is_unmovable: false,
            is_settled: false,
            pins: 0,
        }
    }

    /// A segment that no leaf lists, as the table has it.
    pub(super) fn of(entry: TableEntry) -> Self {
        Segment {
            state: entry.state,
            kind: entry.kind,
            geometry: entry.geometry,
            placed_lsn: entry.placed_lsn,
            first_lsn: entry.first_lsn,
            last_lsn: entry.last_lsn,
            live: entry.live,
            sealed_at: entry.sealed_at,
            rows: entry.rows,
            accepted: entry.accepted,
            hot: false,
            is_listed: false,
            is_unmovable: false,
            is_settled: false,
            pins: 0,
        }
    }

    /// What cannot be read of it keeps it where it is.
    pub fn is_unmovable(&self) -> bool {
        self.is_unmovable
    }

    /// Bytes that its rows have in so many columns.
    pub fn bytes_of_columns(&self, columns: usize) -> u64 {
        u64::from(self.rows) * (columns * SECTOR_BYTES) as u64
    }

    /// Bytes of all its columns.
    pub fn bytes(&self) -> u64 {
        self.bytes_of_columns(self.geometry.columns.len())
    }

    /// The rows that hold batches.
    pub fn accepted_rows(&self) -> Vec<RowExtent> {
        if self.accepted.is_empty() {
            vec![RowExtent { row: 0, rows: self.rows }]
        } else {
            self.accepted.clone()
        }
    }

    /// Whether these rows are of batches.
    pub fn holds(&self, rows: Range<u32>) -> bool {
        let holds =
            |extent: RowExtent| extent.row <= rows.start && rows.end <= extent.row + extent.rows;
        self.accepted_rows().into_iter().any(holds)
    }

    /// Nothing that counts names it.
    pub fn is_empty(&self) -> bool {
        matches!(self.state, SegmentState::Sealed | SegmentState::Condemned)
            && self.live == Occupancy::default()
    }

    /// Nothing needs it: no name in the maps, no batch at or above `floor`, no reader.
    pub fn is_reclaimable(&self, floor: Lsn) -> bool {
        self.is_empty() && self.last_lsn < floor && self.pins == 0
    }

    pub fn table_entry(&self, id: SegmentId) -> TableEntry {
        TableEntry {
            id,
            state: self.state,
            kind: self.kind,
            geometry: self.geometry.clone(),
            placed_lsn: self.placed_lsn,
            first_lsn: self.first_lsn,
            last_lsn: self.last_lsn,
            live: self.live,
            sealed_at: self.sealed_at,
            rows: self.rows,
            accepted: self.accepted.clone(),
        }
    }
}

/// Batches that a start has found in a segment.
pub struct FoundBatches {
    /// Rows up to the end of the last one.
    pub rows: u32,
    /// The number of the first one.
    pub first_lsn: Lsn,
    /// The highest number.
    pub last_lsn: Lsn,
    /// Their rows, if there are others between them.
    pub accepted: Vec<RowExtent>,
    /// Some are pages of the map.
    pub has_pages: bool,
}
