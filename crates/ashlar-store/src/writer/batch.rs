//! Batches: placing fragments into rows, and the bytes of those rows.

use std::ops::Range;
use std::rc::Rc;

use ashlar_block::{SECTOR_BYTES, copies};
use ashlar_format::header::{
    BatchHeader, FIXED_BYTES, GEOMETRY_BYTES_MAX, RECORDS_MAX, Record, RecordKind, header_bytes,
};
use ashlar_format::ids::{Incarnation, Key, Lsn};
use ashlar_format::location::{Codec, Location, Pointer, SLOT_BYTES, SegmentId};
use ashlar_format::superblock::Secret;
use ashlar_format::table::Occupancy;
use ashlar_raid::{Geometry, parity};
use bytes::{Bytes, BytesMut};
use smallvec::{SmallVec, smallvec};

use crate::writer::compress::Fragment;
use crate::writer::rows::RowBuffers;

const SLOTS_PER_SECTOR: usize = SECTOR_BYTES / SLOT_BYTES;

/// Blocks of the largest write that is atomic.
const ATOMIC_BLOCKS_MAX: usize = 64;

/// Blocks of the largest unit, which is never split over two batches. A host's atomic write that
/// does not begin at a block's first byte touches one block more than it has bytes for.
pub const UNIT_BLOCKS_MAX: usize = ATOMIC_BLOCKS_MAX + 1;

/// Rows that every batch may have, if its segment has them.
const BATCH_ROWS_MIN: u32 = 32;

/// Rows of the largest batch in segments of `data` columns and `segment_rows` rows. Part of the
/// format, as [`IN_FLIGHT_MAX`](crate::base::limits::IN_FLIGHT_MAX) is.
///
/// A unit of [`unit_blocks_max`] blocks fits such a batch, whatever it holds: the second term makes
/// room for [`UNIT_BLOCKS_MAX`] blocks, and where `segment_rows` cuts that off, [`unit_blocks_max`]
/// is smaller.
pub fn batch_rows_max(data: usize, segment_rows: u32) -> u32 {
    Room::of_unit(UNIT_BLOCKS_MAX).rows_enough(data).max(BATCH_ROWS_MIN).min(segment_rows)
}

/// Blocks of the largest unit of a pool whose segments have `segment_rows` rows. One data column is
/// the narrowest segment: what fits that fits every other.
pub fn unit_blocks_max(segment_rows: u32) -> usize {
    let fits = |blocks: &usize| Room::of_unit(*blocks).rows_enough(1) <= segment_rows;
    (1..=UNIT_BLOCKS_MAX).rev().find(fits).expect("a segment has rows for one block and its header")
}

/// Columns that are listed without an allocation.
const COLUMNS_INLINE: usize = 12;

/// One record to be written.
#[derive(Debug)]
pub struct Item {
    /// What it says.
    pub kind: RecordKind,
    /// Of which block.
    pub key: Key,
    /// What is stored for it; none for a zero range.
    pub fragment: Option<Fragment>,
}

/// How much room items take, as far as that can be told without placing them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Room {
    records: usize,
    slots: usize,
    raw_sectors: usize,
}

impl Room {
    /// Adds an item.
    pub fn add(&mut self, item: &Item) {
        self.records += 1;
        match &item.fragment {
            Some(fragment) if takes_sector(fragment) => self.raw_sectors += 1,
            Some(fragment) => {
                assert!(
                    fragment.slots() <= SLOTS_PER_SECTOR,
                    "a fragment is no larger than its block"
                );
                self.slots += fragment.slots();
            }
            None => {}
        }
    }

    /// The room that this and `items` take together.
    pub fn with(mut self, items: &[Item]) -> Self {
        items.iter().for_each(|item| self.add(item));
        self
    }

    /// The room that both take together.
    pub fn and(self, other: Room) -> Self {
        Room {
            records: self.records + other.records,
            slots: self.slots + other.slots,
            raw_sectors: self.raw_sectors + other.raw_sectors,
        }
    }

    /// The room without a part of it.
    pub fn without(self, part: Room) -> Self {
        let less = |all: usize, part: usize| {
            all.checked_sub(part).expect("a part is no more than the whole")
        };
        Room {
            records: less(self.records, part.records),
            slots: less(self.slots, part.slots),
            raw_sectors: less(self.raw_sectors, part.raw_sectors),
        }
    }

    /// Records counted.
    pub fn records(self) -> usize {
        self.records
    }

    /// The most room that a unit of so many blocks can take: none of them is compressed, and each
    /// is placed like one that is.
    const fn of_unit(blocks: usize) -> Self {
        Room { records: blocks, slots: blocks * SLOTS_PER_SECTOR, raw_sectors: 0 }
    }

    /// Whether [`place`] places it in a batch of `rows_max` rows of `data` columns, whatever the
    /// order of fragments.
    pub fn surely_fits(self, data: usize, rows_max: u32) -> bool {
        self.records <= RECORDS_MAX && self.rows_enough(data) <= rows_max
    }

    /// Rows of `data` columns in which [`place`] always finds a place for every fragment: the
    /// fewest that could hold them, and one more if any fragment is smaller than a sector. Proof:
    ///
    /// - *Sectors.* Fragments of a whole sector take sectors that the header leaves free. Header
    ///   and fragments together are no larger than the fewest rows, so there are enough of these.
    /// - *Slots.* Say that [`place`] finds no gap for a fragment of `s` slots. Then each gap has at
    ///   most `s - 1` slots, and there are at most `data + 1` gaps: one behind the header and one
    ///   at the end of each column. So at most `(data + 1) * (s - 1)` slots are free. But one row
    ///   more than the fewest leaves at least one row's slots and the fragment's own free: `data *
    ///   64 + s`. The second less the first is `data * (65 - s) + 1`, which is above zero because
    ///   no fragment has more than 64 slots: a contradiction.
    pub fn rows_enough(self, data: usize) -> u32 {
        self.rows_min(data) + u32::from(self.slots > 0)
    }

    /// Fewest rows of `data` columns that could hold it.
    pub fn rows_min(self, data: usize) -> u32 {
        self.rows_with_header(header_bytes(self.records, None) + GEOMETRY_BYTES_MAX, data)
    }

    fn rows_with_header(self, header_bytes: usize, data: usize) -> u32 {
        let slots =
            header_bytes.div_ceil(SLOT_BYTES) + self.slots + self.raw_sectors * SLOTS_PER_SECTOR;
        slots.div_ceil(SLOTS_PER_SECTOR * data).max(header_bytes.div_ceil(SECTOR_BYTES)) as u32
    }

    /// Part of the data columns' bytes that would be header or padding.
    pub fn waste(self, data: usize) -> f64 {
        let rows = self.rows_min(data) as usize * data * SLOTS_PER_SECTOR;
        1.0 - (self.slots + self.raw_sectors * SLOTS_PER_SECTOR) as f64 / rows as f64
    }
}

/// Rows of `data` columns that fragments take which are written together, in batches of up to
/// `rows_max` rows.
pub fn rows_of(fragments: Occupancy, data: usize, rows_max: u32) -> f64 {
    let (row_bytes, count) = ((data * SECTOR_BYTES) as u64, fragments.fragments as f64);
    let each = fragments.bytes() as f64 / count;
    let room = u64::from(rows_max) * row_bytes - FIXED_BYTES as u64;
    let records = (room as f64 / each).floor().clamp(1.0, RECORDS_MAX as f64);
    let rows = ((FIXED_BYTES as f64 + records * each) / row_bytes as f64).ceil();
    count / records * rows
}

/// A slot of a column, counted from the batch's first row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    column: u8,
    slot: u16,
}

/// Free slots at the end of a column, or behind the header in its last sector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Gap {
    column: u8,
    slot: u16,
    slots: u16,
}

impl Gap {
    fn new(column: usize, slots: Range<usize>) -> Self {
        Gap { column: column as u8, slot: slots.start as u16, slots: slots.len() as u16 }
    }

    /// Takes the first slots of it.
    fn take(&mut self, slots: usize) -> Place {
        let place = Place { column: self.column, slot: self.slot };
        self.slot += slots as u16;
        self.slots -= slots as u16;
        place
    }

    /// Its bytes, if columns of that many bytes lie one behind the other.
    fn bytes(&self, column_bytes: usize) -> Range<usize> {
        let start = usize::from(self.column) * column_bytes + usize::from(self.slot) * SLOT_BYTES;
        start..start + usize::from(self.slots) * SLOT_BYTES
    }
}

type Gaps = SmallVec<[Gap; COLUMNS_INLINE]>;

/// Where the fragments of a batch go.
#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// Rows of the batch.
    pub rows: u32,
    /// The place of each item's fragment.
    places: SmallVec<[Option<Place>; RECORDS_MAX]>,
    /// What is left free.
    gaps: Gaps,
}

/// Places `items` in the fewest rows that hold them, up to `rows_max`. Where [`Room::surely_fits`]
/// says yes, it does; where that says no, it may still find a place, or return `None`.
pub fn place(
    items: &[Item],
    data: usize,
    rows_max: u32,
    geometry: Option<&Geometry>,
) -> Option<Placement> {
    let room = Room::default().with(items);
    if room.records > RECORDS_MAX {
        return None;
    }
    let (header, rows_enough) = (header_bytes(items.len(), geometry), room.rows_enough(data));
    let placement = (room.rows_with_header(header, data)..=rows_enough.min(rows_max))
        .find_map(|rows| place_in(items, data, rows as usize, header));
    let is_promised = rows_enough <= rows_max;
    assert!(
        placement.is_some() || !is_promised,
        "see Room::rows_enough: {room:?} in {data} columns"
    );
    placement
}

fn place_in(items: &[Item], data: usize, rows: usize, header: usize) -> Option<Placement> {
    let header_sectors = header.div_ceil(SECTOR_BYTES);
    let mut places = smallvec![None; items.len()];
    // Raw fragments first, in order, each on a sector: a range that was written together is read
    // together.
    let mut sectors = (0..data).flat_map(|column| {
        (if column == 0 { header_sectors } else { 0 }..rows).map(move |row| (column, row))
    });
    for (index, item) in items.iter().enumerate() {
        if item.fragment.as_ref().is_some_and(takes_sector) {
            let (column, row) = sectors.next()?;
            places[index] =
                Some(Place { column: column as u8, slot: (row * SLOTS_PER_SECTOR) as u16 });
        }
    }
    let mut gaps = gaps(sectors.next(), data, rows, header);
    for (index, item) in items.iter().enumerate() {
        let Some(fragment) = item.fragment.as_ref().filter(|fragment| !takes_sector(fragment))
        else {
            continue;
        };
        let needed = fragment.slots();
        let gap = gaps.iter_mut().find(|gap| usize::from(gap.slots) >= needed)?;
        places[index] = Some(gap.take(needed));
    }
    Some(Placement { rows: rows as u32, places, gaps })
}

/// What the header and the raw fragments left: `next` is the first sector that they did not take.
fn gaps(next: Option<(usize, usize)>, data: usize, rows: usize, header: usize) -> Gaps {
    let header_end = header.div_ceil(SLOT_BYTES);
    let mut gaps: Gaps =
        smallvec![Gap::new(0, header_end..header_end.next_multiple_of(SLOTS_PER_SECTOR))];
    let Some((first, row)) = next else { return gaps };
    let ends = (first..data).map(|column| {
        let slot = if column == first { row * SLOTS_PER_SECTOR } else { 0 };
        Gap::new(column, slot..rows * SLOTS_PER_SECTOR)
    });
    gaps.extend(ends);
    gaps
}

fn takes_sector(fragment: &Fragment) -> bool {
    fragment.codec == Codec::Raw && fragment.slots() == SLOTS_PER_SECTOR
}

/// What a batch is part of.
pub struct BatchPlace {
    pub segment: SegmentId,
    pub geometry: Rc<Geometry>,
    pub row: u32,
    pub incarnation: Incarnation,
    pub first_lsn: Lsn,
    pub lsn: Lsn,
    pub complete_through: Lsn,
}

/// Bytes of every column of a batch, parity included.
pub struct Columns {
    /// One behind the other, in a buffer that may be larger.
    buf: Bytes,
    column_bytes: usize,
    count: usize,
    /// Columns in `buf`: one if all are alike.
    distinct: usize,
}

impl Columns {
    /// One after the other.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Bytes> {
        (0..self.count).map(|index| {
            let start = index % self.distinct * self.column_bytes;
            self.buf.slice(start..start + self.column_bytes)
        })
    }

    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        (self.column_bytes * self.count) as u64
    }

    /// The buffer that they are in.
    pub fn into_buf(self) -> Bytes {
        self.buf
    }
}

/// What building batches needs, one after the other.
#[derive(Default)]
pub struct Scratch {
    /// The memory of rows.
    pub rows: RowBuffers,
    records: Vec<Record>,
    header: Vec<u8>,
}

/// The rows of a batch that lack their parity.
pub struct Rows {
    buf: BytesMut,
    column_bytes: usize,
    data: usize,
    count: usize,
    distinct: usize,
}

impl Rows {
    /// Whether parity is more than copies, and takes time.
    pub fn want_parity(&self) -> bool {
        self.distinct > self.data
    }

    /// The bytes of all columns.
    pub fn with_parity(self) -> Columns {
        let Rows { mut buf, column_bytes, data, count, distinct } = self;
        let (rows, parities) = buf[..distinct * column_bytes].split_at_mut(data * column_bytes);
        add_parity(rows, parities, column_bytes);
        Columns { buf: buf.freeze(), column_bytes, count, distinct }
    }
}

/// The rows of a batch. `pointers` is given where each item's fragment will be.
pub fn build(
    items: &[Item],
    placement: &Placement,
    place: &BatchPlace,
    secret: &Secret,
    scratch: &mut Scratch,
    pointers: &mut Vec<Option<Pointer>>,
) -> Rows {
    let (data, column_bytes) = (place.geometry.data(), placement.rows as usize * SECTOR_BYTES);
    // With one data column every parity is a copy of it: it is shared instead.
    let count = place.geometry.columns.len();
    let distinct = if data == 1 { 1 } else { count };
    let mut buf = scratch.rows.take(distinct * column_bytes);
    let rows = &mut buf[..data * column_bytes];
    pointers.extend(items.iter().zip(&placement.places).map(|(item, slot)| {
        let (fragment, slot) = item.fragment.as_ref().zip(*slot)?;
        Some(put_fragment(rows, column_bytes, fragment, slot, place))
    }));
    put_header(rows, items, pointers, placement.rows, place, secret, scratch);
    placement.gaps.iter().for_each(|gap| rows[gap.bytes(column_bytes)].fill(0));
    Rows { buf, column_bytes, data, count, distinct }
}

/// Copies a fragment to its place; returns where that will be.
fn put_fragment(
    rows: &mut [u8],
    column_bytes: usize,
    fragment: &Fragment,
    slot: Place,
    place: &BatchPlace,
) -> Pointer {
    let (column, slot, bytes) =
        (usize::from(slot.column), u32::from(slot.slot), fragment.bytes.len());
    let start = column * column_bytes + slot as usize * SLOT_BYTES;
    put_padded(&mut rows[start..], &fragment.bytes);
    copies::note(bytes);
    let slot = place.row * SLOTS_PER_SECTOR as u32 + slot;
    let location = Location::new(place.segment, column, slot, bytes, fragment.codec);
    Pointer { location, crc: fragment.crc }
}

/// Copies `bytes` to the start of `rows`, and zeros to the rest of its last slot.
fn put_padded(rows: &mut [u8], bytes: &[u8]) {
    rows[..bytes.len()].copy_from_slice(bytes);
    rows[bytes.len()..bytes.len().next_multiple_of(SLOT_BYTES)].fill(0);
}

fn put_header(
    rows: &mut [u8],
    items: &[Item],
    pointers: &[Option<Pointer>],
    row_count: u32,
    place: &BatchPlace,
    secret: &Secret,
    scratch: &mut Scratch,
) {
    scratch.records.clear();
    scratch.records.extend(items.iter().zip(pointers).map(|(item, pointer)| {
        let location = pointer.map(|pointer| pointer.location);
        Record {
            kind: item.kind,
            key: item.key,
            location,
            crc: pointer.map_or(0, |pointer| pointer.crc),
        }
    }));
    let header = BatchHeader {
        rows: row_count,
        segment: place.segment,
        row: place.row,
        incarnation: place.incarnation,
        first_lsn: place.first_lsn,
        lsn: place.lsn,
        complete_through: place.complete_through,
        records: &scratch.records[..],
        geometry: (place.row == 0).then(|| (*place.geometry).clone()),
    };
    scratch.header = header.encode_into(secret, std::mem::take(&mut scratch.header));
    put_padded(rows, &scratch.header);
}

fn add_parity(rows: &[u8], parities: &mut [u8], column_bytes: usize) {
    let sources: SmallVec<[&[u8]; COLUMNS_INLINE]> = rows.chunks_exact(column_bytes).collect();
    let mut parities: SmallVec<[&mut [u8]; COLUMNS_INLINE]> =
        parities.chunks_exact_mut(column_bytes).collect();
    parity::encode(&sources, &mut parities);
}

#[cfg(test)]
mod tests;
