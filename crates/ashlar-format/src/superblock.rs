//! The superblock: what makes a drive a member of a pool.

use ashlar_block::{DriveId, DriveUuid, PoolUuid, SECTOR_BYTES};
use ashlar_raid::{DriveLayout, Level};

use super::codec::{Malformed, Reader, Writer, crc32c};
use super::features::{FEATURES_BYTES_MAX, Feature, FeatureKind, Features};
use super::location::{CHUNK_BYTES_MAX, SegmentId};
use super::table::TABLE_AREA_BYTES;
use super::{FORMAT_MAJOR, FORMAT_MINOR, root};

const MAGIC: &[u8; 8] = b"ASHLARSB";
const CRC_AT: usize = 12;
/// The only tier that there is.
const TIER: u8 = 0;
const ROOTS_START: u64 = 64 << 10;
const POOL_NAME_AT: usize = 2048;

/// Longest pool name, in bytes.
pub const POOL_NAME_BYTES_MAX: usize = ashlar_block::NAME_BYTES_MAX;

/// The key of the header MAC. Printed nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A drive's superblock. Three copies: at the drive's start, in its last sector, and before its
/// first chunk, where no partition table reaches.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic `ASHLARSB` |
/// | 8 | 2 + 2 | format major, minor |
/// | 12 | 4 | CRC of the 4096 bytes with this field zero |
/// | 16 | 8 | generation |
/// | 24 | 16 | pool UUID |
/// | 40 | 16 | drive UUID |
/// | 56 | 2 | drive id |
/// | 58 | 1 | class of the drive |
/// | 59 | 1 | tier of the drive: 0 |
/// | 60 | 1 + 1 | parity and data columns |
/// | 62 | 2 | members when made |
/// | 64 | 8 | drive bytes used |
/// | 72 | 4 | chunk bytes |
/// | 76 | 4 | chunk count |
/// | 80 | 8 | chunks start |
/// | 88 | 8 | zero |
/// | 96 | 32 | secret |
/// | 128 | 8 | made at |
/// | 136 | 4 | segment numbers |
/// | 140 | … | [features](Features), at most 1024 |
/// | 2048 | 1 + 64 | pool name |
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Superblock {
    /// The copy with the higher one counts.
    pub generation: u64,
    /// The pool.
    pub pool: PoolUuid,
    /// The drive's identity in it.
    pub drive_uuid: DriveUuid,
    /// The drive's number in it.
    pub drive: DriveId,
    /// What sort of drive it is.
    pub class: DriveClass,
    /// Parity columns of the level of its tier. There is one tier, of number 0.
    pub parity: u8,
    /// Data columns of a full stripe; 0 for as many as there are drives for.
    pub data: u8,
    /// Members when the pool was made.
    pub member_count: u16,
    /// Bytes of the drive that the pool uses.
    pub drive_bytes: u64,
    /// Where the chunks lie.
    pub layout: DriveLayout,
    /// Key of the header MAC.
    pub secret: Secret,
    /// Unix seconds.
    pub made_at: u64,
    /// Numbers in the circle that segments are named from.
    pub segment_numbers: u32,
    /// What the pool uses that not every version knows.
    pub features: Features,
    /// The pool's name.
    pub pool_name: String,
}

/// What sort of drive it is: it decides to which tier a drive belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DriveClass {
    /// Nobody knows.
    #[default]
    Unknown,
    /// Any place of it is as near as any other.
    Flash,
    /// It has heads that move.
    Spinning,
}

impl DriveClass {
    /// The class of a drive of which it is known, or not, whether it turns.
    pub fn of_rotational(rotational: Option<bool>) -> Self {
        match rotational {
            None => DriveClass::Unknown,
            Some(false) => DriveClass::Flash,
            Some(true) => DriveClass::Spinning,
        }
    }

    fn from_code(code: u8) -> Self {
        match code {
            1 => DriveClass::Flash,
            2 => DriveClass::Spinning,
            _ => DriveClass::Unknown,
        }
    }
}

/// Why a sector is not a superblock.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SuperblockError {
    /// No magic: not Ashlar's, or wiped.
    #[error("no Ashlar superblock")]
    Absent,
    /// The magic is there, the rest is not right.
    #[error("the Ashlar superblock is damaged (its checksum is wrong)")]
    Damaged,
    /// The checksum is right, and what it protects cannot be.
    #[error(
        "the Ashlar superblock is whole but wrong: its {0} cannot be; no Ashlar has written it"
    )]
    Impossible(&'static str),
    /// Made by another Ashlar.
    #[error(
        "the pool has format {major}.{minor}, and this Ashlar knows format {FORMAT_MAJOR}: use {} Ashlar",
        if *major > FORMAT_MAJOR { "a newer" } else { "the older" }
    )]
    OtherFormat {
        /// Its major version.
        major: u16,
        /// Its minor version.
        minor: u16,
    },
    /// Made or changed by a newer Ashlar, which uses what this one does not know.
    #[error(
        "the pool uses what this Ashlar does not know ({}): use a newer Ashlar",
        listed(features)
    )]
    UnknownFeatures {
        /// What that is.
        features: Vec<Feature>,
    },
}

fn listed(features: &[Feature]) -> String {
    features.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl From<Malformed> for SuperblockError {
    fn from(_: Malformed) -> Self {
        SuperblockError::Damaged
    }
}

const _: () = assert!(
    Superblock::table_offset(2) + SECTOR_BYTES as u64 <= Superblock::CHUNKS_START,
    "the areas end before the chunks"
);

impl Superblock {
    /// Where the first chunk is, on every drive.
    pub const CHUNKS_START: u64 = 1 << 20;

    /// Bytes at a drive's end that no chunk has: what partition tools write there loses nothing.
    pub const TAIL_BYTES: u64 = 64 << 10;

    /// Where the first copy is.
    pub const FIRST_OFFSET: u64 = 0;

    /// Where the second copy is, on a drive of `drive_bytes`.
    pub const fn second_offset(drive_bytes: u64) -> u64 {
        (drive_bytes / SECTOR_BYTES as u64 - 1) * SECTOR_BYTES as u64
    }

    /// Where the second copy of a drive of `device_bytes` may be, the likeliest place first, by
    /// what its other copies say: the drive may have grown since they were written, and may have
    /// lost the write that was to say so in the first one.
    pub fn second_offsets(
        first: Option<&Self>,
        inside: Option<&Self>,
        device_bytes: u64,
    ) -> Vec<u64> {
        if let Some(first) = first {
            let is_newer = |inside: &&Self| {
                (inside.pool, inside.drive_uuid) == (first.pool, first.drive_uuid)
                    && inside.generation > first.generation
            };
            let grown = inside.filter(is_newer).map(|inside| inside.drive_bytes);
            let grown = grown.filter(|bytes| *bytes != first.drive_bytes && *bytes <= device_bytes);
            return grown.into_iter().chain([first.drive_bytes]).map(Self::second_offset).collect();
        }
        let inside = inside.map(|inside| inside.drive_bytes).filter(|bytes| *bytes < device_bytes);
        inside.into_iter().chain([device_bytes]).map(Self::second_offset).collect()
    }

    /// Where the third copy is. It counts only where somebody asks for it: a drive that was given
    /// to something else may have it still.
    pub const INSIDE_OFFSET: u64 = Self::CHUNKS_START - SECTOR_BYTES as u64;

    /// Where all copies are, on a drive of `drive_bytes`.
    pub const fn offsets(drive_bytes: u64) -> [u64; 3] {
        [Self::FIRST_OFFSET, Self::second_offset(drive_bytes), Self::INSIDE_OFFSET]
    }

    /// Offset of the slot of root `generation`.
    pub const fn root_offset(generation: u64) -> u64 {
        ROOTS_START + generation % root::SLOT_COUNT * root::SLOT_BYTES as u64
    }

    /// Offset of segment-table area 0 or 1.
    pub const fn table_offset(area: u8) -> u64 {
        ROOTS_START + root::SLOT_COUNT * root::SLOT_BYTES as u64 + area as u64 * TABLE_AREA_BYTES
    }

    /// Whether segment numbers can form a circle of that many.
    pub const fn numbers_fit(count: u32) -> bool {
        count > 0 && count.is_multiple_of(4) && count as u64 <= SegmentId::COUNT
    }

    /// The sector to write.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.bytes(MAGIC).u16(FORMAT_MAJOR).u16(FORMAT_MINOR).u32(0).u64(self.generation);
        w.bytes(&self.pool.0)
            .bytes(&self.drive_uuid.0)
            .u16(self.drive.0)
            .u8(self.class as u8)
            .u8(TIER);
        w.u8(self.parity).u8(self.data).u16(self.member_count).u64(self.drive_bytes);
        w.u32(self.layout.chunk_bytes).u32(self.layout.chunk_count).u64(self.layout.chunks_start);
        w.zeros(8).bytes(&self.secret.0).u64(self.made_at).u32(self.segment_numbers);
        self.features.encode(&mut w);
        w.zeros(POOL_NAME_AT - w.0.len())
            .u8(self.pool_name.len() as u8)
            .bytes(self.pool_name.as_bytes());
        w.zeros(SECTOR_BYTES - w.0.len());
        let crc = crc32c(&w.0);
        w.patch_u32(CRC_AT, crc);
        w.0
    }

    /// The superblock that a sector holds.
    pub fn decode(sector: &[u8]) -> Result<Self, SuperblockError> {
        let mut r = Reader::new("superblock", sector);
        if r.array()? != *MAGIC {
            return Err(SuperblockError::Absent);
        }
        let (major, minor, crc) = (r.u16()?, r.u16()?, r.u32()?);
        let mut zeroed = sector.to_vec();
        zeroed[CRC_AT..CRC_AT + 4].fill(0);
        if crc32c(&zeroed) != crc {
            return Err(SuperblockError::Damaged);
        }
        if major != FORMAT_MAJOR {
            return Err(SuperblockError::OtherFormat { major, minor });
        }
        let superblock = Self::decode_fields(&mut r, sector)?;
        // A pool cannot be opened for reads alone yet.
        let refused = [FeatureKind::Incompatible, FeatureKind::ReadOnlyCompatible];
        let unknown = refused.into_iter().flat_map(|kind| superblock.features.unknown(kind));
        let features: Vec<Feature> = unknown.cloned().collect();
        if !features.is_empty() {
            return Err(SuperblockError::UnknownFeatures { features });
        }
        superblock
            .impossible()
            .map_or(Ok(superblock), |what| Err(SuperblockError::Impossible(what)))
    }

    /// The pool's level.
    pub fn level(&self) -> Level {
        self.level_if_one().expect("a superblock that was read or made has a level")
    }

    fn level_if_one(&self) -> Option<Level> {
        Level::of(usize::from(self.data), usize::from(self.parity))
    }

    /// What of it cannot be, if anything: whoever uses the fields calculates with them.
    fn impossible(&self) -> Option<&'static str> {
        let (layout, members) = (&self.layout, usize::from(self.member_count));
        let chunks = u64::from(layout.chunk_bytes) * u64::from(layout.chunk_count);
        let chunks_end = layout.chunks_start.checked_add(chunks);
        let second_copy = Self::second_offset(self.drive_bytes.max(SECTOR_BYTES as u64));
        let sectors = |bytes: u64| bytes > 0 && bytes.is_multiple_of(SECTOR_BYTES as u64);
        let facts = [
            (self.level_if_one().is_some_and(|level| level.data_columns(members).is_ok()), "level"),
            (sectors(u64::from(layout.chunk_bytes)), "chunk size"),
            (u64::from(layout.chunk_bytes) <= CHUNK_BYTES_MAX, "chunk size"),
            (layout.chunks_start == Self::CHUNKS_START, "chunks' start"),
            (self.drive_bytes >= 2 * SECTOR_BYTES as u64, "drive's size"),
            (chunks_end.is_some_and(|end| end <= second_copy), "number of chunks"),
            (Self::numbers_fit(self.segment_numbers), "segment numbers"),
            (self.features.bytes() <= FEATURES_BYTES_MAX, "list of features"),
            (self.pool_name.len() <= POOL_NAME_BYTES_MAX, "pool's name"),
        ];
        facts.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
    }

    fn decode_fields(r: &mut Reader<'_>, sector: &[u8]) -> Result<Self, SuperblockError> {
        let (generation, pool, drive_uuid) =
            (r.u64()?, PoolUuid(r.array()?), DriveUuid(r.array()?));
        let (drive, class, _tier) = (DriveId(r.u16()?), DriveClass::from_code(r.u8()?), r.u8()?);
        let (parity, data) = (r.u8()?, r.u8()?);
        let (member_count, drive_bytes) = (r.u16()?, r.u64()?);
        let (chunk_bytes, chunk_count, chunks_start) = (r.u32()?, r.u32()?, r.u64()?);
        r.bytes(8)?;
        let (secret, made_at, segment_numbers) = (Secret(r.array()?), r.u64()?, r.u32()?);
        let features = Features::decode(r)?;
        let r = &mut Reader::new("superblock", sector.get(POOL_NAME_AT..).ok_or(r.malformed())?);
        let name_bytes = usize::from(r.u8()?);
        let pool_name =
            std::str::from_utf8(r.bytes(name_bytes)?).map_err(|_| r.malformed())?.to_owned();
        Ok(Superblock {
            generation,
            pool,
            drive_uuid,
            drive,
            class,
            parity,
            data,
            member_count,
            drive_bytes,
            layout: DriveLayout { chunks_start, chunk_bytes, chunk_count },
            secret,
            made_at,
            segment_numbers,
            features,
            pool_name,
        })
    }
}
