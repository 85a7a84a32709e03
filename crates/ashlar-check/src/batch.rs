//! What every byte of a batch should be, and what of it is otherwise.
//!
//! Its header and its fragments, each by its checksum, and zeros between them, are what the data
//! columns hold; parity follows from that. A fragment that is not right as it was read is made of
//! the others of its rows, in every way that there is: what is known of them counts, not what was
//! read of them.

use std::collections::BTreeMap;
use std::ops::Range;

use ashlar_block::{Device, SECTOR_BYTES};
use ashlar_format::codec::crc32c;
use ashlar_format::header::{BatchHeader, Record};
use ashlar_format::location::{Location, SLOT_BYTES};
use ashlar_raid::{ColumnMask, parity};

use crate::report::Kind;
use crate::rows::Rows;

/// A batch of which the header has been found.
pub(crate) struct Batch {
    pub header: BatchHeader,
    pub header_bytes: Vec<u8>,
}

/// A sector that is not what was written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Wrong {
    pub column: usize,
    pub row: u32,
    pub kind: Kind,
    pub is_unreadable: bool,
    /// Nobody knows what it should be.
    pub is_lost: bool,
}

/// What a look at a batch has come to.
#[derive(Default)]
pub(crate) struct Looked {
    pub wrong: Vec<Wrong>,
    /// Fragments that cannot be had.
    pub lost: Vec<Location>,
    /// Sectors on drives that are not there that were made of the others.
    pub restored: u64,
}

impl Batch {
    pub fn rows(&self) -> Range<u32> {
        self.header.row..self.header.row + self.header.rows
    }

    /// The fragments, in the order of their places.
    fn fragments(&self) -> Vec<(Location, u32)> {
        let placed = |record: &Record| Some((record.location?, record.crc));
        let mut fragments: Vec<(Location, u32)> =
            self.header.records.iter().filter_map(placed).collect();
        fragments.sort_unstable();
        fragments
    }

    /// Two fragments that lie over each other, or one over the header.
    pub fn overlap(&self) -> Option<Location> {
        let header_slots = self.header_bytes.len().div_ceil(SLOT_BYTES) as u64;
        let mut end = (0, self.first_slot() + header_slots);
        self.fragments().into_iter().map(|(location, _)| location).find(|location| {
            let start = u64::from(location.slot());
            let overlaps = location.column() == end.0 && start < end.1;
            end = (location.column(), start + location.slots());
            overlaps
        })
    }

    fn first_slot(&self) -> u64 {
        u64::from(self.header.row) * (SECTOR_BYTES / SLOT_BYTES) as u64
    }

    /// Looks at every byte. The batch's rows are in memory.
    pub fn look<D: Device>(&self, rows: &Rows<'_, D>) -> Looked {
        if let Some(restored) = self.is_right(rows) {
            return Looked { restored, ..Looked::default() };
        }
        let mut content = Content::read(self, rows);
        content.restore();
        content.compare()
    }

    /// Whether all is as it should be on the drives that are there: then, how many sectors of the
    /// others were made of that. Whole columns are made at once, which is much less work than
    /// sector by sector.
    fn is_right<D: Device>(&self, rows: &Rows<'_, D>) -> Option<u64> {
        let (data, total, span) = (rows.geometry.data(), rows.geometry.columns.len(), self.rows());
        let missing: Vec<usize> = (0..data).filter(|column| !rows.is_there(*column)).collect();
        let sources: ColumnMask =
            (0..total).filter(|column| rows.is_there(*column)).take(data).collect();
        if !rows.are_readable(&span) || sources.count() < data {
            return None;
        }
        let mut columns: Vec<&[u8]> = (0..total).map(|column| rows.column(column, &span)).collect();
        let mut restored = vec![vec![0; self.header.rows as usize * SECTOR_BYTES]; missing.len()];
        if !missing.is_empty() {
            let mut outs: Vec<&mut [u8]> = restored.iter_mut().map(Vec::as_mut_slice).collect();
            parity::reconstruct(data, sources, &columns, &missing, &mut outs);
        }
        missing.iter().zip(&restored).for_each(|(column, bytes)| columns[*column] = bytes);
        let is_header = columns[0].starts_with(&self.header_bytes);
        if !is_header || !self.fragments_are_right(&columns[..data]) {
            return None;
        }
        let mut parities = vec![vec![0; columns[0].len()]; total - data];
        let mut outs: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
        parity::encode(&columns[..data], &mut outs);
        let is_right =
            |nth: usize| !rows.is_there(data + nth) || parities[nth][..] == *columns[data + nth];
        let sectors = missing.len() as u64 * u64::from(self.header.rows);
        (0..total - data).all(is_right).then_some(sectors)
    }

    /// Whether fragments have their checksums, and there are zeros between them.
    fn fragments_are_right(&self, columns: &[&[u8]]) -> bool {
        let is_zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let (mut column, mut end) = (0, self.header_bytes.len());
        for (location, crc) in self.fragments() {
            while column < location.column() {
                if !is_zeros(&columns[column][end..]) {
                    return false;
                }
                (column, end) = (column + 1, 0);
            }
            let start = self.start_of(location);
            let bytes = &columns[column][start..start + location.bytes()];
            if start < end || !is_zeros(&columns[column][end..start]) || crc32c(bytes) != crc {
                return false;
            }
            end = start + location.bytes();
        }
        is_zeros(&columns[column][end..])
            && columns[column + 1..].iter().all(|column| is_zeros(column))
    }

    /// Where in the batch's part of its column a fragment begins.
    fn start_of(&self, location: Location) -> usize {
        (u64::from(location.slot()) - self.first_slot()) as usize * SLOT_BYTES
    }
}

/// What the data columns should hold, as far as that is known.
struct Content<'a, D> {
    batch: &'a Batch,
    rows: &'a Rows<'a, D>,
    columns: Vec<Vec<u8>>,
    /// Fragments that are not known.
    unknown: Vec<(Location, u32)>,
    /// How many of them each sector has a part of, row by row.
    unknown_in: Vec<u16>,
}

impl<'a, D: Device> Content<'a, D> {
    /// The header, and those fragments that are right as they were read.
    fn read(batch: &'a Batch, rows: &'a Rows<'a, D>) -> Self {
        let bytes = batch.header.rows as usize * SECTOR_BYTES;
        let mut columns = vec![vec![0; bytes]; rows.geometry.data()];
        columns[0][..batch.header_bytes.len()].copy_from_slice(&batch.header_bytes);
        let sectors = batch.header.rows as usize * rows.geometry.data();
        let unknown_in = vec![0; sectors];
        let mut content = Content { batch, rows, columns, unknown: Vec::new(), unknown_in };
        for (location, crc) in batch.fragments() {
            let sectors = location.sectors().map(|row| rows.sector(location.column(), row));
            let read: Option<Vec<&[u8]>> = sectors.collect();
            if !read.is_some_and(|read| content.take(location, crc, &read.concat())) {
                content.unknown.push((location, crc));
                location.sectors().for_each(|row| *content.unknown_at(location.column(), row) += 1);
            }
        }
        content
    }

    fn unknown_at(&mut self, column: usize, row: u32) -> &mut u16 {
        let data = self.rows.geometry.data();
        &mut self.unknown_in[(row - self.batch.header.row) as usize * data + column]
    }

    /// Takes the fragment from its sectors, if they have it.
    fn take(&mut self, location: Location, crc: u32, sectors: &[u8]) -> bool {
        let fragment = &sectors[location.within_sectors()];
        let is_it = crc32c(fragment) == crc;
        if is_it {
            let start = self.batch.start_of(location);
            self.columns[location.column()][start..start + fragment.len()]
                .copy_from_slice(fragment);
        }
        is_it
    }

    fn is_known(&self, column: usize, row: u32) -> bool {
        let data = self.rows.geometry.data();
        self.unknown_in[(row - self.batch.header.row) as usize * data + column] == 0
    }

    fn sector(&self, column: usize, row: u32) -> &[u8] {
        &self.columns[column][(row - self.batch.header.row) as usize * SECTOR_BYTES..]
            [..SECTOR_BYTES]
    }

    /// Makes unknown fragments of what is known, for as long as another one becomes known by that.
    fn restore(&mut self) {
        loop {
            let before = self.unknown.len();
            let mut made: BTreeMap<(usize, u32), Vec<Vec<u8>>> = BTreeMap::new();
            for (location, crc) in self.unknown.clone() {
                for row in location.sectors() {
                    let place = (location.column(), row);
                    made.entry(place).or_insert_with(|| self.candidates(place.0, place.1));
                }
                let ways: Vec<&Vec<Vec<u8>>> =
                    location.sectors().map(|row| &made[&(location.column(), row)]).collect();
                if self.take_any(location, crc, &ways) {
                    self.unknown.retain(|(other, _)| *other != location);
                    location
                        .sectors()
                        .for_each(|row| *self.unknown_at(location.column(), row) -= 1);
                }
            }
            if self.unknown.is_empty() || self.unknown.len() == before {
                return;
            }
        }
    }

    /// Takes the fragment in any combination of what its sectors may be: of one or two of them.
    fn take_any(&mut self, location: Location, crc: u32, ways: &[&Vec<Vec<u8>>]) -> bool {
        let all = ways.iter().map(|ways| ways.len()).product();
        (0..all).any(|mut nth: usize| {
            let sectors: Vec<&[u8]> = ways
                .iter()
                .map(|ways| {
                    let chosen = &ways[nth % ways.len()];
                    nth /= ways.len();
                    chosen.as_slice()
                })
                .collect();
            self.take(location, crc, &sectors.concat())
        })
    }

    /// What a sector of which something is unknown may be: as it was read, and as parities make it
    /// of what is known of its row, in each choice of them.
    fn candidates(&self, column: usize, row: u32) -> Vec<Vec<u8>> {
        let data = self.rows.geometry.data();
        let unknown: Vec<usize> = (0..data).filter(|column| !self.is_known(*column, row)).collect();
        let total = self.rows.geometry.columns.len();
        let parities: Vec<usize> =
            (data..total).filter(|parity| self.rows.sector(*parity, row).is_some()).collect();
        let mut candidates: Vec<Vec<u8>> =
            self.rows.sector(column, row).map(<[u8]>::to_vec).into_iter().collect();
        let choices =
            (0..1u32 << parities.len()).filter(|set| set.count_ones() as usize == unknown.len());
        for choice in choices {
            let chosen = parities.iter().enumerate().filter(|(nth, _)| choice >> nth & 1 == 1);
            let known = (0..data).filter(|column| !unknown.contains(column));
            let sources: ColumnMask = known.chain(chosen.map(|(_, parity)| *parity)).collect();
            let columns: Vec<&[u8]> = (0..total)
                .map(|column| match column < data {
                    true => self.sector(column, row),
                    false => self.rows.sector(column, row).unwrap_or_default(),
                })
                .collect();
            let mut made = vec![0; SECTOR_BYTES];
            parity::reconstruct(data, sources, &columns, &[column], &mut [&mut made]);
            candidates.push(made);
        }
        candidates
    }

    /// What was read and is not what it should be.
    fn compare(self) -> Looked {
        let (data, total) = (self.rows.geometry.data(), self.rows.geometry.columns.len());
        let mut looked = Looked::default();
        let parities = self.parities();
        for column in 0..total {
            for row in self.batch.rows() {
                let at = (row - self.batch.header.row) as usize * SECTOR_BYTES;
                let is_known = match column < data {
                    true => self.is_known(column, row),
                    false => (0..data).all(|column| self.is_known(column, row)),
                };
                if !self.rows.is_there(column) {
                    looked.restored += u64::from(is_known && column < data);
                    continue;
                }
                let right = match column.checked_sub(data) {
                    None => &self.columns[column][at..at + SECTOR_BYTES],
                    Some(parity) => &parities[parity][at..at + SECTOR_BYTES],
                };
                let read = self.rows.sector(column, row);
                let is_wrong =
                    read.is_none() || if is_known { read != Some(right) } else { column < data };
                if is_wrong {
                    let kind = self.kind_of(column, row, read);
                    let (is_unreadable, is_lost) = (read.is_none(), !is_known);
                    looked.wrong.push(Wrong { column, row, kind, is_unreadable, is_lost });
                }
            }
        }
        looked.lost = self.unknown.iter().map(|(location, _)| *location).collect();
        looked
    }

    fn parities(&self) -> Vec<Vec<u8>> {
        let sources: Vec<&[u8]> = self.columns.iter().map(Vec::as_slice).collect();
        let mut parities = vec![vec![0; sources[0].len()]; self.rows.geometry.parity()];
        parity::encode(
            &sources,
            &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(),
        );
        parities
    }

    /// What is wrong of a sector: the header comes before fragments, and these before padding.
    fn kind_of(&self, column: usize, row: u32, read: Option<&[u8]>) -> Kind {
        if column >= self.rows.geometry.data() {
            return Kind::Parity;
        }
        let right = self.sector(column, row);
        let sector_start = (row - self.batch.header.row) as usize * SECTOR_BYTES;
        // What of these bytes of the column is in the sector differs.
        let differs = |bytes: Range<usize>| {
            let (start, end) =
                (bytes.start.max(sector_start), bytes.end.min(sector_start + SECTOR_BYTES));
            let within = start.saturating_sub(sector_start)..end.saturating_sub(sector_start);
            start < end && read.is_none_or(|read| read[within.clone()] != right[within])
        };
        if column == 0 && differs(0..self.batch.header_bytes.len()) {
            return Kind::Header;
        }
        let of_column =
            self.batch.fragments().into_iter().filter(|(location, _)| location.column() == column);
        let mut places = of_column.map(|(location, _)| {
            let start = self.batch.start_of(location);
            start..start + location.bytes()
        });
        let is_fragment = !self.is_known(column, row) || places.any(differs);
        if is_fragment { Kind::Fragment } else { Kind::Padding }
    }
}
