//! Which chunk of which drive is which column.

use std::fmt;

use ashlar_block::{DriveId, SECTOR_BYTES};

/// Columns of a segment, at most.
pub const COLUMNS_MAX: usize = 32;

/// Data columns of a full stripe, at most: wider stripes save little space and cost more to reconstruct.
const STRIPE_DATA_MAX: usize = 8;

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
        assert!(columns.len() <= COLUMNS_MAX && parity < columns.len(), "{parity} parities of {columns:?}");
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
}

/// A pool's protection: how many drives may be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// No redundancy.
    Raid0,
    /// Two copies.
    Raid1,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

/// Why a level does not fit.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LevelError {
    /// Not a level.
    #[error(
        "'{0}' is not a level: choose 0, 1, 5 or 6 (10, 50 and 60 are what a pool of more drives does by itself)"
    )]
    Unknown(String),
    /// Too few drives.
    #[error(
        "level {level} needs at least {needed} drives, and {given} were given: add drives or choose another level"
    )]
    TooFewDrives {
        /// The level.
        level: Level,
        /// Its minimum.
        needed: usize,
        /// What was given.
        given: usize,
    },
}

impl Level {
    /// Drives that may be lost without losing data.
    pub const fn parity(self) -> usize {
        match self {
            Level::Raid0 => 0,
            Level::Raid1 | Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// Fewest drives that make a pool of this level.
    pub const fn drives_min(self) -> usize {
        match self {
            Level::Raid0 => 1,
            Level::Raid1 => 2,
            Level::Raid5 => 3,
            Level::Raid6 => 4,
        }
    }

    /// Data columns of a full stripe over `drives` drives.
    pub fn data_columns(self, drives: usize) -> Result<usize, LevelError> {
        let needed = self.drives_min();
        if drives < needed {
            return Err(LevelError::TooFewDrives { level: self, needed, given: drives });
        }
        Ok(match self {
            Level::Raid1 => 1,
            _ => (drives - self.parity()).min(STRIPE_DATA_MAX),
        })
    }

    /// The level that a pool of `parity` parities and `data` data columns has.
    pub fn of(data: usize, parity: usize) -> Option<Level> {
        match (data, parity) {
            (_, 0) => Some(Level::Raid0),
            (1, 1) => Some(Level::Raid1),
            (_, 1) => Some(Level::Raid5),
            (_, 2) => Some(Level::Raid6),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Raid0 => "0",
            Level::Raid1 => "1",
            Level::Raid5 => "5",
            Level::Raid6 => "6",
        })
    }
}

impl std::str::FromStr for Level {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        match text {
            "0" => Ok(Level::Raid0),
            "1" => Ok(Level::Raid1),
            "5" => Ok(Level::Raid5),
            "6" => Ok(Level::Raid6),
            _ => Err(LevelError::Unknown(text.to_owned())),
        }
    }
}
