//! Which chunk of which drive is which column.

use ashlar_block::{DriveId, SECTOR_BYTES};

/// Columns of a segment, at most.
pub const COLUMNS_MAX: usize = 32;

/// Where chunks lie on a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DriveLayout {
    /// Offset of chunk 0.
    pub chunks_start: u64,
    /// Bytes of each chunk.
    pub chunk_bytes: u32,
    /// How many there are.
    pub chunk_count: u32,
}

impl DriveLayout {
    /// Offset on the drive of byte `within` of a chunk.
    pub fn offset(&self, chunk: u32, within: u32) -> u64 {
        assert!(
            chunk < self.chunk_count && within < self.chunk_bytes,
            "chunk {chunk} byte {within} of {self:?}"
        );
        self.chunks_start + u64::from(chunk) * u64::from(self.chunk_bytes) + u64::from(within)
    }

    /// Rows of a segment made of such chunks.
    pub fn rows(&self) -> u32 {
        self.chunk_bytes / SECTOR_BYTES as u32
    }
}

/// One chunk of one drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ChunkAddr {
    /// The drive.
    pub drive: DriveId,
    /// The chunk's index on it.
    pub chunk: u32,
}

/// A set of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColumnMask(pub u32);

impl FromIterator<usize> for ColumnMask {
    fn from_iter<I: IntoIterator<Item = usize>>(columns: I) -> Self {
        columns.into_iter().fold(ColumnMask::default(), ColumnMask::with)
    }
}

impl ColumnMask {
    /// Whether `column` is in it.
    pub const fn has(self, column: usize) -> bool {
        self.0 >> column & 1 == 1
    }

    /// Adds `column`.
    pub const fn add(&mut self, column: usize) {
        self.0 |= 1 << column;
    }

    /// The same with `column`.
    pub const fn with(self, column: usize) -> Self {
        ColumnMask(self.0 | 1 << column)
    }

    /// The columns, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..COLUMNS_MAX).filter(move |column| self.has(*column))
    }

    /// What is in both.
    pub const fn and(self, other: Self) -> Self {
        ColumnMask(self.0 & other.0)
    }

    /// How many there are.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }
}

/// A segment's columns: the first `data` hold data, the others parity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Data columns.
    pub data: u8,
    /// All columns' chunks, data first. Their drives are distinct.
    pub columns: Box<[ChunkAddr]>,
}

impl Geometry {
    /// A geometry of these columns, the last `parity` of them parity.
    pub fn new(columns: Box<[ChunkAddr]>, parity: usize) -> Self {
        assert!(
            columns.len() <= COLUMNS_MAX && parity < columns.len(),
            "{parity} parities of {columns:?}"
        );
        Geometry { data: (columns.len() - parity) as u8, columns }
    }

    /// Data columns.
    pub fn data(&self) -> usize {
        usize::from(self.data)
    }

    /// Parity columns.
    pub fn parity(&self) -> usize {
        self.columns.len() - self.data()
    }

    /// Whether every column is on one of `drives`.
    pub fn lies_on(&self, drives: &[DriveId]) -> bool {
        self.columns.iter().all(|column| drives.contains(&column.drive))
    }
}
