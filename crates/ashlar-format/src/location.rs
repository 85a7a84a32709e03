//! Where a fragment lies, in one 64-bit word.

use std::fmt;
use std::num::NonZeroU64;
use std::ops::Range;

use ashlar_block::SECTOR_BYTES;

use super::codec::{Malformed, Reader, Writer};

/// Bytes of a slot: the unit in which fragments are placed and counted.
pub const SLOT_BYTES: usize = 64;

/// Bytes of the largest chunk: a slot's number has 20 bits.
pub const CHUNK_BYTES_MAX: u64 = (SLOT_BYTES as u64) << 20;

/// Slots in a sector.
pub const SLOTS_PER_SECTOR: u32 = (SECTOR_BYTES / SLOT_BYTES) as u32;

/// A segment's number. Numbers are given out in a circle, and come back only when no run of the map
/// can still name who had them: a stale location names a segment that does not exist, never another
/// one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SegmentId(pub u32);

impl SegmentId {
    /// How many numbers there can be: 1 to this.
    pub const COUNT: u64 = (1 << 25) - 4;
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}", self.0)
    }
}

/// A value of the map that is no location: the block is zeros, whatever a layer below has. A map
/// without snapshots has none, and reads it as absent.
pub const ZERO_HERE: u64 = 1;

/// How a fragment's bytes are to be read. What stores other fragments than raw ones and those of
/// LZ4 says so in the pool's [features](crate::features).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// As they are.
    Raw,
    /// LZ4 block format.
    Lz4,
    /// A zstd frame without its magic number, content size and checksum (RFC 8878, section 3.1.1).
    Zstd,
    /// What the fragment [itself names](crate::dictionary::take_head): zstd by a dictionary.
    Named,
}

impl Codec {
    const fn bits(self) -> u64 {
        match self {
            Codec::Raw => 0,
            Codec::Lz4 => 1,
            Codec::Zstd => 2,
            Codec::Named => 3,
        }
    }
}

/// The location of a stored fragment.
///
/// ```text
///  63          39 38   34 33              14 13          2 1     0
/// ├──────────────┼───────┼──────────────────┼─────────────┼───────┤
/// │ segment (25) │col (5)│ offset, slots(20)│ length-1(12)│codec 2│
/// └──────────────┴───────┴──────────────────┴─────────────┴───────┘
/// ```
///
/// There is no segment 0: words below 2³⁹ are no locations. As values of the map 0 is *absent* and
/// [`ZERO_HERE`] is *zero here*.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location(NonZeroU64);

impl Location {
    /// A fragment of `bytes` (1 to 4096) at `slot` of data column `column`.
    pub fn new(segment: SegmentId, column: usize, slot: u32, bytes: usize, codec: Codec) -> Self {
        assert!(
            segment.0 >= 1 && u64::from(segment.0) <= SegmentId::COUNT,
            "{segment} does not exist"
        );
        assert!(
            column < 32 && slot < 1 << 20 && (1..=4096).contains(&bytes),
            "{column} {slot} {bytes}"
        );
        let bits = u64::from(segment.0) << 39
            | (column as u64) << 34
            | u64::from(slot) << 14
            | (bytes as u64 - 1) << 2
            | codec.bits();
        Location(NonZeroU64::new(bits).expect("a segment's number is not zero"))
    }

    /// The word, as stored.
    pub const fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The location that a stored word means.
    ///
    /// # Errors
    /// It names no segment.
    pub fn from_bits(bits: u64) -> Result<Self, Malformed> {
        if !(1..=SegmentId::COUNT).contains(&(bits >> 39)) {
            return Err(Malformed { what: "location" });
        }
        NonZeroU64::new(bits).map(Location).ok_or(Malformed { what: "location" })
    }

    /// The segment.
    pub const fn segment(self) -> SegmentId {
        SegmentId((self.to_bits() >> 39) as u32)
    }

    /// The data column.
    pub const fn column(self) -> usize {
        (self.to_bits() >> 34 & 31) as usize
    }

    /// Slots from the start of the column's chunk.
    pub const fn slot(self) -> u32 {
        (self.to_bits() >> 14 & 0xf_ffff) as u32
    }

    /// Stored bytes.
    pub const fn bytes(self) -> usize {
        (self.to_bits() >> 2 & 0xfff) as usize + 1
    }

    /// How to read them.
    pub const fn codec(self) -> Codec {
        match self.to_bits() & 3 {
            0 => Codec::Raw,
            1 => Codec::Lz4,
            2 => Codec::Zstd,
            _ => Codec::Named,
        }
    }

    /// Slots that it takes.
    pub const fn slots(self) -> u64 {
        self.bytes().div_ceil(SLOT_BYTES) as u64
    }

    /// Sectors of the chunk that hold it.
    pub const fn sectors(self) -> Range<u32> {
        self.slot() / SLOTS_PER_SECTOR
            ..(self.slot() + self.slots() as u32).div_ceil(SLOTS_PER_SECTOR)
    }

    /// Its bytes within [`Location::sectors`].
    pub const fn within_sectors(self) -> Range<usize> {
        let start = (self.slot() % SLOTS_PER_SECTOR) as usize * SLOT_BYTES;
        start..start + self.bytes()
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (segment, column) = (self.segment().0, self.column());
        write!(f, "{segment}.{column}.{}+{}{:?}", self.slot(), self.bytes(), self.codec())
    }
}

/// A location and the checksum of what is stored there: the only way anything is ever pointed to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pointer {
    /// Where.
    pub location: Location,
    /// CRC32C of the stored bytes.
    pub crc: u32,
}

impl Pointer {
    /// Bytes of a stored pointer.
    pub const BYTES: usize = 12;
}

/// Stores a pointer, or none.
pub fn put_pointer(writer: &mut Writer, pointer: Option<Pointer>) {
    let (bits, crc) = pointer.map_or((0, 0), |pointer| (pointer.location.to_bits(), pointer.crc));
    writer.u64(bits).u32(crc);
}

/// Takes a pointer, or none.
pub fn take_pointer(reader: &mut Reader<'_>) -> Result<Option<Pointer>, Malformed> {
    let (bits, crc) = (reader.u64()?, reader.u32()?);
    if bits == ZERO_HERE { Err(Malformed { what: "pointer" }) } else { value(bits, crc) }
}

/// What a value of the map says: where the block is, or that it is nowhere.
pub fn value(bits: u64, crc: u32) -> Result<Option<Pointer>, Malformed> {
    match bits {
        0 | ZERO_HERE => Ok(None),
        bits => Ok(Some(Pointer { location: Location::from_bits(bits)?, crc })),
    }
}
