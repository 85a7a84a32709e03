//! Batches: placing fragments into rows, and the bytes that come of it.

use std::rc::Rc;

use ashlar_block::{AlignedBuf, SECTOR_BYTES};
use ashlar_raid::{Geometry, parity};
use bytes::Bytes;

use crate::compress::Fragment;
use crate::format::header::{BatchHeader, GEOMETRY_BYTES_MAX, RECORDS_MAX, Record, RecordKind, header_bytes};
use crate::format::location::{Codec, Location, Pointer, SLOT_BYTES, SegmentId};
use crate::format::superblock::Secret;
use crate::types::{Incarnation, Key, Lsn};

const SLOTS_PER_SECTOR: usize = SECTOR_BYTES / SLOT_BYTES;

/// Batches of one stream that may be in flight. Part of the format: recovery's search depends on it.
pub const IN_FLIGHT_MAX: usize = 8;

/// Blocks that are never split over two batches.
pub const ATOMIC_BLOCKS_MAX: usize = 64;

/// Rows of the largest batch in segments of `data` columns and `segment_rows` rows.
pub fn batch_rows_max(data: usize, segment_rows: u32) -> u32 {
    // An atomic write of raw blocks and its header must fit.
    (ATOMIC_BLOCKS_MAX + 2).div_ceil(data).max(32).min(segment_rows as usize) as u32
}

/// One record to be written.
#[derive(Clone, Debug)]
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
            Some(fragment)
                if fragment.codec == Codec::Raw && fragment.bytes.len() > SECTOR_BYTES - SLOT_BYTES =>
            {
                self.raw_sectors += 1;
            }
            Some(fragment) => self.slots += fragment.slots(),
            None => {}
        }
    }

    /// The room that this and `items` take together.
    pub fn with(mut self, items: &[Item]) -> Self {
        items.iter().for_each(|item| self.add(item));
        self
    }

    /// The room without a part of it.
    pub fn without(self, part: Room) -> Self {
        let less = |all: usize, part: usize| all.checked_sub(part).expect("a part is no more than the whole");
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

    /// Whether a batch of `rows_max` rows of `data` columns has room for it, whatever the order of fragments.
    pub fn surely_fits(self, data: usize, rows_max: u32) -> bool {
        // The end of each column may be too small for the next fragment: all ends together are less than a row.
        let ends = u32::from(self.slots > 0);
        self.records <= RECORDS_MAX && self.rows_min(data) + ends <= rows_max
    }

    /// Fewest rows of `data` columns that could hold it; one more may be needed.
    pub fn rows_min(self, data: usize) -> u32 {
        let header = (header_bytes(self.records, None) + GEOMETRY_BYTES_MAX).div_ceil(SLOT_BYTES);
        let slots = header + self.slots + self.raw_sectors * SLOTS_PER_SECTOR;
        slots.div_ceil(SLOTS_PER_SECTOR * data) as u32
    }

    /// Part of the data columns' bytes that would be header or padding.
    pub fn waste(self, data: usize) -> f64 {
        let rows = self.rows_min(data) as usize * data * SLOTS_PER_SECTOR;
        1.0 - (self.slots + self.raw_sectors * SLOTS_PER_SECTOR) as f64 / rows as f64
    }
}

/// Where the fragments of a batch go: for each item, column and slot within the batch's rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Placement {
    /// Rows of the batch.
    pub rows: u32,
    slots: Vec<Option<(usize, usize)>>,
}

/// Free slots at the end of a column, or behind the header in its last sector.
struct Gap {
    column: usize,
    slot: usize,
    slots: usize,
}

/// Places `items` in the fewest rows up to `rows_max`. `None` if they do not fit.
pub fn place(items: &[Item], data: usize, rows_max: u32, geometry: Option<&Geometry>) -> Option<Placement> {
    let header = header_bytes(items.len(), geometry);
    let room = Room::default().with(items);
    if room.records > RECORDS_MAX {
        return None;
    }
    (1..=rows_max)
        .skip(room.rows_min(data).saturating_sub(2) as usize)
        .find_map(|rows| place_in(items, data, rows as usize, header))
}

fn place_in(items: &[Item], data: usize, rows: usize, header: usize) -> Option<Placement> {
    let header_sectors = header.div_ceil(SECTOR_BYTES);
    if header_sectors > rows {
        return None;
    }
    let mut placed = vec![None; items.len()];
    // Raw fragments first, in order, each on a sector: a range that was written together is read together.
    let mut sectors = (0..data).flat_map(|column| {
        (if column == 0 { header_sectors } else { 0 }..rows).map(move |row| (column, row))
    });
    for (index, item) in items.iter().enumerate() {
        if item.fragment.as_ref().is_some_and(takes_sector) {
            let (column, row) = sectors.next()?;
            placed[index] = Some((column, row * SLOTS_PER_SECTOR));
        }
    }
    let mut gaps = gaps(sectors.next(), data, rows, header);
    for (index, item) in items.iter().enumerate() {
        let Some(fragment) = item.fragment.as_ref().filter(|fragment| !takes_sector(fragment)) else {
            continue;
        };
        let needed = fragment.slots();
        let gap = gaps.iter_mut().find(|gap| gap.slots >= needed)?;
        placed[index] = Some((gap.column, gap.slot));
        gap.slot += needed;
        gap.slots -= needed;
    }
    Some(Placement { rows: rows as u32, slots: placed })
}

/// What the header and the raw fragments left: `next` is the first sector that they did not take.
fn gaps(next: Option<(usize, usize)>, data: usize, rows: usize, header: usize) -> Vec<Gap> {
    let header_end = header.div_ceil(SLOT_BYTES);
    let behind_header = header_end.next_multiple_of(SLOTS_PER_SECTOR) - header_end;
    let mut gaps = vec![Gap { column: 0, slot: header_end, slots: behind_header }];
    let Some((first, row)) = next else { return gaps };
    for column in first..data {
        let slot = if column == first { row * SLOTS_PER_SECTOR } else { 0 };
        gaps.push(Gap { column, slot, slots: rows * SLOTS_PER_SECTOR - slot });
    }
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

/// A batch ready to be written.
pub struct Batch {
    /// Bytes of every column, parity included.
    pub columns: Vec<Bytes>,
    /// Where each item's fragment will be.
    pub pointers: Vec<Option<Pointer>>,
}

/// The bytes of a batch.
pub fn build(items: &[Item], placement: &Placement, place: &BatchPlace, secret: &Secret) -> Batch {
    let (data, rows) = (place.geometry.data(), placement.rows as usize);
    let base_slot = place.row as usize * SLOTS_PER_SECTOR;
    let mut columns: Vec<AlignedBuf> = (0..data).map(|_| AlignedBuf::zeroed(rows * SECTOR_BYTES)).collect();
    let mut pointers = Vec::with_capacity(items.len());
    let mut records = Vec::with_capacity(items.len());
    for (item, slot) in items.iter().zip(&placement.slots) {
        let pointer = item.fragment.as_ref().zip(*slot).map(|(fragment, (column, slot))| {
            columns[column][slot * SLOT_BYTES..][..fragment.bytes.len()].copy_from_slice(&fragment.bytes);
            let slot = (base_slot + slot) as u32;
            let location = Location::new(place.segment, column, slot, fragment.bytes.len(), fragment.codec);
            Pointer { location, crc: fragment.crc }
        });
        let location = pointer.map(|pointer| pointer.location);
        records.push(Record { kind: item.kind, key: item.key, location, crc: pointer.map_or(0, |p| p.crc) });
        pointers.push(pointer);
    }
    let header = BatchHeader {
        rows: placement.rows,
        segment: place.segment,
        row: place.row,
        incarnation: place.incarnation,
        first_lsn: place.first_lsn,
        lsn: place.lsn,
        complete_through: place.complete_through,
        records,
        geometry: (place.row == 0).then(|| (*place.geometry).clone()),
    }
    .encode(secret);
    columns[0][..header.len()].copy_from_slice(&header);
    Batch { columns: with_parity(columns, &place.geometry), pointers }
}

fn with_parity(columns: Vec<AlignedBuf>, geometry: &Geometry) -> Vec<Bytes> {
    let bytes = columns[0].len();
    if geometry.data() == 1 {
        // With one data column every parity is a copy: share the buffer instead.
        let copy = columns.into_iter().next().expect("one column").freeze();
        return vec![copy; geometry.columns.len()];
    }
    let mut parities: Vec<AlignedBuf> = (0..geometry.parity()).map(|_| AlignedBuf::stale(bytes)).collect();
    let sources: Vec<&[u8]> = columns.iter().map(|column| &column[..]).collect();
    parity::encode(&sources, &mut parities.iter_mut().map(|parity| &mut parity[..]).collect::<Vec<_>>());
    columns.into_iter().chain(parities).map(AlignedBuf::freeze).collect()
}

#[cfg(test)]
mod tests;
