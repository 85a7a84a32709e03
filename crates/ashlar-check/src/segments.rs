//! The segments of the table, in little memory: some sixty bytes for each, six for each of its
//! columns, and four for each number near one that is in use.

use ashlar_format::ids::Lsn;
use ashlar_format::location::SegmentId;
use ashlar_format::table::{Occupancy, RowExtent, SegmentKind, SegmentState, TableEntry};
use ashlar_raid::{ChunkAddr, Geometry};

/// No segment has the number.
const NONE: u32 = u32::MAX;
/// Neighbouring numbers of which the index is kept together.
const NEIGHBOURS: usize = 4096;

/// Where the segments of neighbouring numbers are.
type Neighbours = Option<Box<[u32; NEIGHBOURS]>>;

/// A segment as the table has it.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub id: SegmentId,
    pub state: SegmentState,
    pub kind: SegmentKind,
    data: u8,
    parity: u8,
    extents: u8,
    pub rows: u16,
    columns_at: u32,
    extents_at: u32,
    pub first_lsn: Lsn,
    pub last_lsn: Lsn,
    pub counted: Count,
    /// What the maps name of it.
    pub named: Count,
}

/// How much of a segment lives: slots and fragments.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub slots: u32,
    pub fragments: u32,
}

impl From<Occupancy> for Count {
    fn from(live: Occupancy) -> Self {
        Count { slots: live.slots as u32, fragments: live.fragments as u32 }
    }
}

/// All segments: in the order in which they were added, then by number.
pub(crate) struct Segments {
    all: Vec<Segment>,
    /// Drive, and the two halves of the chunk's number.
    columns: Vec<[u16; 3]>,
    extents: Vec<RowExtent>,
    /// By number, in the upper parts of it.
    index: Vec<Neighbours>,
    numbers: u32,
}

impl Segments {
    /// Room for segments of so many numbers.
    pub fn new(numbers: u32) -> Self {
        let index = vec![None; numbers as usize / NEIGHBOURS + 1];
        Segments { all: Vec::new(), columns: Vec::new(), extents: Vec::new(), index, numbers }
    }

    /// Adds a segment. False: its number is beyond the pool's, or there is one already.
    pub fn add(&mut self, entry: &TableEntry, counted: Occupancy) -> bool {
        if entry.id.0 > self.numbers || self.get(entry.id).is_some() {
            return false;
        }
        self.put(entry.id, self.all.len());
        self.all.push(Segment {
            id: entry.id,
            state: entry.state,
            kind: entry.kind,
            data: entry.geometry.data,
            parity: entry.geometry.parity() as u8,
            extents: entry.accepted.len() as u8,
            rows: entry.rows as u16,
            columns_at: self.columns.len() as u32,
            extents_at: self.extents.len() as u32,
            first_lsn: entry.first_lsn,
            last_lsn: entry.last_lsn,
            counted: counted.into(),
            named: Count::default(),
        });
        let columns = entry.geometry.columns.iter();
        self.columns.extend(
            columns
                .map(|column| [column.drive.0, column.chunk as u16, (column.chunk >> 16) as u16]),
        );
        self.extents.extend(&entry.accepted);
        true
    }

    fn put(&mut self, id: SegmentId, at: usize) {
        let neighbours = &mut self.index[id.0 as usize / NEIGHBOURS];
        neighbours.get_or_insert_with(|| Box::new([NONE; NEIGHBOURS]))
            [id.0 as usize % NEIGHBOURS] = at as u32;
    }

    fn at(&self, id: SegmentId) -> Option<usize> {
        let neighbours = self.index.get(id.0 as usize / NEIGHBOURS)?.as_ref()?;
        let at = neighbours[id.0 as usize % NEIGHBOURS];
        (at != NONE).then_some(at as usize)
    }

    /// All are there: they are in the order of their numbers from now on.
    pub fn sort(&mut self) {
        self.all.sort_unstable_by_key(|segment| segment.id);
        for at in 0..self.all.len() {
            self.put(self.all[at].id, at);
        }
    }

    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        self.at(id).map(|at| &self.all[at])
    }

    pub fn get_mut(&mut self, id: SegmentId) -> Option<&mut Segment> {
        let at = self.at(id)?;
        self.all.get_mut(at)
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.all.iter()
    }

    /// Those from that number on.
    pub fn iter_from(&self, id: SegmentId) -> impl Iterator<Item = &Segment> {
        self.all[self.all.partition_point(|segment| segment.id < id)..].iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn columns(&self, segment: &Segment) -> impl Iterator<Item = ChunkAddr> {
        let count = usize::from(segment.data) + usize::from(segment.parity);
        self.columns[segment.columns_at as usize..][..count].iter().map(|[drive, low, high]| {
            ChunkAddr {
                drive: ashlar_block::DriveId(*drive),
                chunk: u32::from(*low) | u32::from(*high) << 16,
            }
        })
    }

    pub fn geometry(&self, segment: &Segment) -> Geometry {
        Geometry::new(self.columns(segment).collect(), segment.parity.into())
    }

    /// Rows that hold batches.
    pub fn accepted(&self, segment: &Segment) -> Vec<RowExtent> {
        match segment.extents {
            0 => vec![RowExtent { row: 0, rows: segment.rows.into() }],
            extents => self.extents[segment.extents_at as usize..][..extents.into()].to_vec(),
        }
    }

    /// Whether these rows are of batches.
    pub fn holds(&self, segment: &Segment, rows: std::ops::Range<u32>) -> bool {
        let holds =
            |extent: &RowExtent| extent.row <= rows.start && rows.end <= extent.row + extent.rows;
        if segment.extents == 0 {
            return rows.end <= segment.rows.into();
        }
        self.extents[segment.extents_at as usize..][..segment.extents.into()].iter().any(holds)
    }

    /// Data columns.
    pub fn data(segment: &Segment) -> usize {
        segment.data.into()
    }

    /// Parity columns.
    pub fn parity(segment: &Segment) -> usize {
        segment.parity.into()
    }
}
