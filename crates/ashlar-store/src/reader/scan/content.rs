//! What a batch holds, byte by byte: which of its sectors cannot be right.

use std::borrow::Cow;

use ashlar_block::{SECTOR_BYTES, World};
use ashlar_format::codec::crc32c;
use ashlar_format::location::SLOT_BYTES;

use super::{Found, Image};

/// Slots of a sector.
const SLOTS: usize = SECTOR_BYTES / SLOT_BYTES;

/// The data columns of a batch, as far as they are known.
pub(super) struct Content<'a> {
    pub columns: Vec<Cow<'a, [u8]>>,
    pub header: &'a Found,
    pub first_row: u32,
}

impl Content<'_> {
    pub fn sector(&self, column: usize, row: u32) -> &[u8] {
        &self.columns[column][(row - self.first_row) as usize * SECTOR_BYTES..][..SECTOR_BYTES]
    }

    pub fn put(&mut self, column: usize, row: u32, sector: &[u8]) -> bool {
        self.columns[column].to_mut()[(row - self.first_row) as usize * SECTOR_BYTES..]
            [..SECTOR_BYTES]
            .copy_from_slice(sector);
        true
    }

    /// The columns to the last byte: what no checksum covers was written as zeros.
    pub fn as_written(&self) -> Vec<Vec<u8>> {
        let mut columns: Vec<Vec<u8>> =
            self.columns.iter().map(|column| vec![0; column.len()]).collect();
        let header = &self.header.header_bytes;
        columns[0][..header.len()].copy_from_slice(header);
        for location in self.header.header.records.iter().filter_map(|record| record.location) {
            let start = (location.slot() as usize - self.first_row as usize * SLOTS) * SLOT_BYTES;
            let bytes = start..start + location.bytes();
            columns[location.column()][bytes.clone()]
                .copy_from_slice(&self.columns[location.column()][bytes]);
        }
        columns
    }

    /// Sectors that cannot be right: unreadable, of a fragment with a wrong checksum, of a header
    /// that differs, or with bytes where there should be none.
    pub fn suspects<W: World>(&self, image: &Image<'_, W>) -> Vec<(usize, u32)> {
        let rows = self.header.header.rows;
        let mut suspects: Vec<(usize, u32)> = self.wrong_sectors();
        for column in 0..self.columns.len() {
            let unreadable = |row: &u32| image.sector(column, *row).is_none();
            suspects.extend(
                (self.first_row..self.first_row + rows).filter(unreadable).map(|row| (column, row)),
            );
        }
        suspects.sort_unstable();
        suspects.dedup();
        suspects
    }

    pub fn is_right(&self) -> bool {
        self.wrong_sectors().is_empty()
    }

    fn wrong_sectors(&self) -> Vec<(usize, u32)> {
        let mut wrong = Vec::new();
        let mut covered: Vec<Vec<bool>> =
            self.columns.iter().map(|column| vec![false; column.len() / SLOT_BYTES]).collect();
        let header = &self.header.header_bytes;
        covered[0][..header.len().div_ceil(SLOT_BYTES)].fill(true);
        wrong.extend(self.wrong_padding(0, header.len()));
        for (at, bytes) in header.chunks(SECTOR_BYTES).enumerate() {
            if !self.sector(0, self.first_row + at as u32).starts_with(bytes) {
                wrong.push((0, self.first_row + at as u32));
            }
        }
        let base_slot = self.first_row as usize * SLOTS;
        for record in &self.header.header.records {
            let Some(location) = record.location else { continue };
            let slot = location.slot() as usize - base_slot;
            covered[location.column()][slot..slot + location.slots() as usize].fill(true);
            if crc32c(&self.columns[location.column()][slot * SLOT_BYTES..][..location.bytes()])
                != record.crc
            {
                wrong.extend(location.sectors().map(|sector| (location.column(), sector)));
            }
            wrong.extend(
                self.wrong_padding(location.column(), slot * SLOT_BYTES + location.bytes()),
            );
        }
        for (column, covered) in covered.iter().enumerate() {
            let stray = |slot: &usize| {
                !covered[*slot]
                    && self.columns[column][slot * SLOT_BYTES..][..SLOT_BYTES] != [0; SLOT_BYTES]
            };
            let stray = (0..covered.len()).filter(stray);
            wrong.extend(stray.map(|slot| (column, self.first_row + (slot / SLOTS) as u32)));
        }
        wrong
    }

    /// The sector of a column in which what ends at byte `end` is not followed by zeros to the end
    /// of its slot. No checksum covers these, and what is reconstructed with their help would be
    /// wrong.
    fn wrong_padding(&self, column: usize, end: usize) -> Option<(usize, u32)> {
        let padding = &self.columns[column][end..end.next_multiple_of(SLOT_BYTES)];
        let sector = || self.first_row + ((end - 1) / SECTOR_BYTES) as u32;
        padding.iter().any(|byte| *byte != 0).then(|| (column, sector()))
    }
}
