//! Batch headers: what a batch holds, authenticated.

use std::ops::Deref;

use ashlar_block::{Lba, SECTOR_BYTES};
use ashlar_raid::Geometry;

use super::codec::{Malformed, Reader, Writer};
use super::location::{Location, SegmentId};
use super::superblock::Secret;
use crate::ids::{
    BLOCKS_MAX, Family, GroupKey, Incarnation, Key, Layer, Lsn, SHARD_COUNT, ShardId,
};

const MAGIC: &[u8; 8] = b"ASHLBTCH";
const MAC_AT: usize = 8;
const MAC_BYTES: usize = 16;
const MAC_FROM: usize = MAC_AT + MAC_BYTES;
const FLAG_GEOMETRY: u8 = 1;

/// Bytes before the records.
pub const FIXED_BYTES: usize = 80;
/// Bytes of each record.
pub const RECORD_BYTES: usize = 40;
/// Records of a batch, at most.
pub const RECORDS_MAX: usize = 256;

/// Sectors that the largest header takes.
pub const HEADER_SECTORS_MAX: usize =
    (FIXED_BYTES + RECORDS_MAX * RECORD_BYTES + GEOMETRY_BYTES_MAX).div_ceil(SECTOR_BYTES);

/// Bytes of the widest geometry.
pub const GEOMETRY_BYTES_MAX: usize = 2 + 32 * 6;

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A host wrote the block.
    Write,
    /// The block was copied from another place: applies only where the map still holds that.
    Move {
        /// The other place.
        from: Location,
    },
    /// The same, and stored in another form.
    Recode {
        /// The other place.
        from: Location,
        /// What is left of the CRC of the form there.
        from_crc: CrcWitness,
    },
    /// The blocks read as zeros from now on.
    ZeroRange {
        /// How many.
        blocks: u64,
    },
    /// A page of the maps, the catalog or the segment table.
    Page(PageKind),
}

/// The lower 24 bits of a fragment's CRC. The place of a fragment tells which it is; this is a
/// second witness, for which a record has no more room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrcWitness([u8; 3]);

impl CrcWitness {
    /// The witness of a fragment with this CRC.
    pub const fn of(crc: u32) -> Self {
        let [a, b, c, _] = crc.to_le_bytes();
        CrcWitness([a, b, c])
    }
}

/// What a page is. Its record says whose it is in the fields of a key: see [`page_key`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PageKind {
    /// Entries of a group.
    Map = 1,
    /// A leaf of a shard's index.
    IndexLeaf,
    /// A node of a shard's index.
    IndexNode,
    /// Updates of a shard.
    Delta,
    /// A list of pages.
    Directory,
    /// Items of the catalog.
    Catalog,
    /// Entries of segments.
    TableLeaf,
    /// Live counts of segments.
    CountLeaf,
    /// A node above either.
    TableNode,
}

impl PageKind {
    fn of_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => PageKind::Map,
            2 => PageKind::IndexLeaf,
            3 => PageKind::IndexNode,
            4 => PageKind::Delta,
            5 => PageKind::Directory,
            6 => PageKind::Catalog,
            7 => PageKind::TableLeaf,
            8 => PageKind::CountLeaf,
            9 => PageKind::TableNode,
            _ => return None,
        })
    }
}

/// What the record of a page says in its key: whose the page is, so that whoever moves it asks its
/// owner alone. For a page of a map: the group, of a leaf and a node the lowest one.
pub const fn page_key(shard: ShardId, group: GroupKey) -> Key {
    Key { family: group.family, lba: group.first_block(), layer: Layer(shard.0 as u32) }
}

/// The shard and the group that the record of a page of a map names.
pub fn page_owner(key: &Key) -> Option<(ShardId, GroupKey)> {
    let shard = u8::try_from(key.layer.0).ok().filter(|shard| usize::from(*shard) < SHARD_COUNT)?;
    Some((ShardId(shard), GroupKey::of(key.family, key.lba)))
}

/// One record of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// What it says.
    pub kind: RecordKind,
    /// Of which block, or whose page.
    pub key: Key,
    /// Where the fragment is; none for a zero range.
    pub location: Option<Location>,
    /// CRC of the fragment.
    pub crc: u32,
}

/// A batch's header, with its records in a list of the caller's choice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BatchHeader<R = Vec<Record>> {
    /// Rows of the batch.
    pub rows: u32,
    /// The segment it is in.
    pub segment: SegmentId,
    /// Its first row.
    pub row: u32,
    /// The start of the pool that wrote it.
    pub incarnation: Incarnation,
    /// LSN of the segment's first batch.
    pub first_lsn: Lsn,
    /// Its own.
    pub lsn: Lsn,
    /// Every batch of this reactor at or below it was durable when this one was made.
    pub complete_through: Lsn,
    /// What it holds.
    pub records: R,
    /// The segment's geometry, in its first batch.
    pub geometry: Option<Geometry>,
}

/// What the first sector of a header says of itself. Nothing vouches for it yet: the MAC covers
/// the sectors behind it, too. But no sectors behind it make a header of it that says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prelude {
    /// Sectors that the header takes.
    pub sectors: usize,
    /// The segment it is in.
    pub segment: SegmentId,
    /// Its first row.
    pub row: u32,
    /// The start of the pool that wrote it.
    pub incarnation: Incarnation,
    /// LSN of the segment's first batch.
    pub first_lsn: Lsn,
}

/// Bytes of a header with this many records.
pub fn header_bytes(records: usize, geometry: Option<&Geometry>) -> usize {
    FIXED_BYTES
        + records * RECORD_BYTES
        + geometry.map_or(0, |geometry| 2 + geometry.columns.len() * 6)
}

/// The keyed MAC of a header whose MAC field is not looked at.
fn mac(secret: &Secret, header: &[u8]) -> [u8; MAC_BYTES] {
    let hash = blake3::keyed_hash(&secret.0, &header[MAC_FROM..]);
    hash.as_bytes()[..MAC_BYTES].try_into().expect("a hash is longer")
}

impl<R: Deref<Target = [Record]>> BatchHeader<R> {
    /// The header's bytes.
    pub fn encode(&self, secret: &Secret) -> Vec<u8> {
        self.encode_into(secret, Vec::with_capacity(self.bytes()))
    }

    /// The header's bytes, in the memory of `buf`, whose content is lost.
    pub fn encode_into(&self, secret: &Secret, mut buf: Vec<u8>) -> Vec<u8> {
        buf.clear();
        let mut w = Writer(buf);
        w.bytes(MAGIC).zeros(MAC_BYTES).u32(0).u32(self.rows).u32(self.segment.0).u32(self.row);
        w.u64(self.incarnation.0)
            .u64(self.first_lsn.0)
            .u64(self.lsn.0)
            .u64(self.complete_through.0);
        w.u16(self.records.len() as u16)
            .u8(if self.geometry.is_some() { FLAG_GEOMETRY } else { 0 })
            .zeros(5);
        self.records.iter().for_each(|record| put_record(&mut w, record));
        if let Some(geometry) = &self.geometry {
            w.u8(geometry.data).u8(geometry.parity() as u8).columns(geometry);
        }
        let bytes = w.0.len();
        w.patch_u32(MAC_FROM, bytes as u32);
        let mac = mac(secret, &w.0);
        w.0[MAC_AT..MAC_FROM].copy_from_slice(&mac);
        w.0
    }

    /// Its bytes.
    pub fn bytes(&self) -> usize {
        header_bytes(self.records.len(), self.geometry.as_ref())
    }
}

impl BatchHeader {
    /// What every header begins with.
    pub const MAGIC: &[u8] = MAGIC;

    /// Whether the batch lies in a segment of so many data columns and rows, and all that it names
    /// in its own rows. A checksum says who wrote a header, not that it is sound.
    pub fn fits(&self, data_columns: usize, segment_rows: u32) -> bool {
        let end =
            self.row.checked_add(self.rows).filter(|end| self.rows > 0 && *end <= segment_rows);
        let Some(end) = end else { return false };
        let is_within = |location: Location| {
            let sectors = location.sectors();
            location.segment() == self.segment
                && location.column() < data_columns
                && self.row <= sectors.start
                && sectors.end <= end
        };
        self.bytes() <= self.rows as usize * SECTOR_BYTES
            && self.records.iter().filter_map(|record| record.location).all(is_within)
    }

    /// What a header that starts with `first_sector` says of itself, if it looks like one.
    pub fn prelude(first_sector: &[u8]) -> Option<Prelude> {
        let mut r = Reader::new("batch header", first_sector);
        if r.array().ok()? != *MAGIC {
            return None;
        }
        r.bytes(MAC_BYTES).ok()?;
        let bytes = take_length(&mut r).ok()?;
        let _rows = r.u32().ok()?;
        let (segment, row) = (SegmentId(r.u32().ok()?), r.u32().ok()?);
        let (incarnation, first_lsn) = (Incarnation(r.u64().ok()?), Lsn(r.u64().ok()?));
        Some(Prelude {
            sectors: bytes.div_ceil(SECTOR_BYTES),
            segment,
            row,
            incarnation,
            first_lsn,
        })
    }

    /// The header at the start of `sectors`, if its MAC is right.
    pub fn decode(secret: &Secret, sectors: &[u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new("batch header", sectors);
        let (magic, claimed_mac) = (r.array()?, r.array::<MAC_BYTES>()?);
        let bytes = take_length(&mut r)?;
        if magic != *MAGIC || bytes > sectors.len() {
            return Err(r.malformed());
        }
        if mac(secret, &sectors[..bytes]) != claimed_mac {
            return Err(r.malformed());
        }
        Self::decode_fields(&mut Reader::new("batch header", &sectors[MAC_FROM + 4..bytes]))
    }

    fn decode_fields(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (rows, segment, row) = (r.u32()?, SegmentId(r.u32()?), r.u32()?);
        let (incarnation, first_lsn, lsn) = (Incarnation(r.u64()?), Lsn(r.u64()?), Lsn(r.u64()?));
        let complete_through = Lsn(r.u64()?);
        let (count, flags) = (r.u16()?, r.u8()?);
        r.bytes(5)?;
        let records = (0..count).map(|_| take_record(r)).collect::<Result<_, _>>()?;
        let geometry = match flags & FLAG_GEOMETRY {
            0 => None,
            _ => {
                let (data, parity) = (r.u8()?, r.u8()?);
                Some(r.geometry(data, parity)?)
            }
        };
        Ok(BatchHeader {
            rows,
            segment,
            row,
            incarnation,
            first_lsn,
            lsn,
            complete_through,
            records,
            geometry,
        })
    }
}

/// The bytes of a header, as it says itself.
fn take_length(r: &mut Reader<'_>) -> Result<usize, Malformed> {
    let bytes = r.u32()? as usize;
    let bytes_max = header_bytes(RECORDS_MAX, None) + GEOMETRY_BYTES_MAX;
    if !(FIXED_BYTES..=bytes_max).contains(&bytes) {
        return Err(r.malformed());
    }
    Ok(bytes)
}

fn put_record(w: &mut Writer, record: &Record) {
    let (code, detail, extra) = match record.kind {
        RecordKind::Write => (1, [0; 3], 0),
        RecordKind::Move { from } => (2, [0; 3], from.to_bits()),
        RecordKind::ZeroRange { blocks } => (3, [0; 3], blocks),
        RecordKind::Page(kind) => (4, [kind as u8, 0, 0], 0),
        RecordKind::Recode { from, from_crc } => (5, from_crc.0, from.to_bits()),
    };
    w.u8(code)
        .bytes(&detail)
        .u32(record.key.family.0)
        .u32(record.key.layer.0)
        .u32(record.crc)
        .u64(record.key.lba.0);
    w.u64(record.location.map_or(0, Location::to_bits)).u64(extra);
}

fn take_record(r: &mut Reader<'_>) -> Result<Record, Malformed> {
    let (code, detail) = (r.u8()?, r.array()?);
    let (family, layer, crc, lba) = (Family(r.u32()?), Layer(r.u32()?), r.u32()?, Lba(r.u64()?));
    let (location, extra) = (r.u64()?, r.u64()?);
    let kind = match code {
        1 => RecordKind::Write,
        2 => RecordKind::Move { from: Location::from_bits(extra)? },
        3 => RecordKind::ZeroRange { blocks: extra },
        4 => RecordKind::Page(PageKind::of_code(detail[0]).ok_or(r.malformed())?),
        5 => RecordKind::Recode { from: Location::from_bits(extra)?, from_crc: CrcWitness(detail) },
        _ => return Err(r.malformed()),
    };
    let blocks = if let RecordKind::ZeroRange { blocks } = kind { blocks } else { 1 };
    if lba.0.checked_add(blocks).is_none_or(|end| end > BLOCKS_MAX) {
        return Err(r.malformed());
    }
    let location = match kind {
        RecordKind::ZeroRange { .. } => None,
        _ => Some(Location::from_bits(location)?),
    };
    Ok(Record { kind, key: Key { family, lba, layer }, location, crc })
}
