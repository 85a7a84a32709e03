//! Rows of a segment in memory, read front to back in large pieces, of all columns at once.

use std::ops::Range;

use ashlar_block::{AlignedBuf, Device, SECTOR_BYTES};
use ashlar_raid::Geometry;
use futures_util::future::join_all;

use crate::pool::Pool;

/// Rows that are read at a time: 512 KiB of each column.
const ROWS_AT_A_TIME: u32 = 128;

/// One column.
pub(crate) struct Column {
    /// Its drive is there.
    pub is_there: bool,
    bytes: Vec<u8>,
    /// Rows that cannot be read, from the first one that is in memory on. Empty: all can.
    bad: Vec<bool>,
}

/// What is in memory of a segment.
pub(crate) struct Rows<'a, D> {
    pool: &'a Pool<D>,
    pub geometry: &'a Geometry,
    first: u32,
    end: u32,
    columns: Vec<Column>,
    /// Bytes that were read.
    pub read_bytes: u64,
}

impl<'a, D: Device> Rows<'a, D> {
    pub fn new(pool: &'a Pool<D>, geometry: &'a Geometry) -> Self {
        let column = |chunk: &ashlar_raid::ChunkAddr| Column {
            is_there: pool.offset(*chunk, 0).is_some(),
            bytes: Vec::new(),
            bad: Vec::new(),
        };
        let columns = geometry.columns.iter().map(column).collect();
        Rows { pool, geometry, first: 0, end: 0, columns, read_bytes: 0 }
    }

    /// Has these rows in memory, and forgets those before them. `limit`: no row from there on is
    /// read ahead.
    pub async fn load(&mut self, rows: Range<u32>, limit: u32) {
        self.forget_before(rows.start);
        while self.end < rows.end {
            let end = (self.end + ROWS_AT_A_TIME).min(limit.max(rows.end)).min(self.pool.rows);
            if end <= self.end {
                return;
            }
            self.read(self.end..end).await;
        }
    }

    fn forget_before(&mut self, row: u32) {
        if row >= self.end {
            self.columns.iter_mut().for_each(|column| {
                column.bytes.clear();
                column.bad.clear();
            });
            (self.first, self.end) = (row, row);
            return;
        }
        // Moving what is left has its price: not for each batch.
        let gone = row.saturating_sub(self.first);
        if gone < ROWS_AT_A_TIME {
            return;
        }
        for column in &mut self.columns {
            column.bytes.drain(..column.bytes.len().min(gone as usize * SECTOR_BYTES));
            column.bad.drain(..column.bad.len().min(gone as usize));
        }
        self.first = row;
    }

    async fn read(&mut self, rows: Range<u32>) {
        let (pool, geometry) = (self.pool, self.geometry);
        let count = rows.end - rows.start;
        let reads = geometry.columns.iter().map(|chunk| pool.read_rows(*chunk, rows.start, count));
        let pieces = join_all(reads).await;
        for (nth, piece) in pieces.into_iter().enumerate() {
            if !self.columns[nth].is_there {
                continue;
            }
            self.read_bytes += u64::from(count) * SECTOR_BYTES as u64;
            match piece {
                Some(piece) => self.put(nth, &piece),
                None => self.read_each(nth, rows.clone()).await,
            }
        }
        self.end = rows.end;
    }

    fn put(&mut self, nth: usize, piece: &AlignedBuf) {
        let column = &mut self.columns[nth];
        column.bytes.extend_from_slice(piece);
        if !column.bad.is_empty() {
            column.bad.resize(column.bytes.len() / SECTOR_BYTES, false);
        }
    }

    /// Sector by sector, as a part of them cannot be read.
    async fn read_each(&mut self, nth: usize, rows: Range<u32>) {
        let (pool, chunk) = (self.pool, self.geometry.columns[nth]);
        let sectors = join_all(rows.map(|row| pool.read_rows(chunk, row, 1))).await;
        let column = &mut self.columns[nth];
        column.bad.resize(column.bytes.len() / SECTOR_BYTES, false);
        for sector in sectors {
            column.bad.push(sector.is_none());
            match sector {
                Some(sector) => column.bytes.extend_from_slice(&sector),
                None => column.bytes.extend([0; SECTOR_BYTES]),
            }
        }
    }

    pub fn is_there(&self, column: usize) -> bool {
        self.columns[column].is_there
    }

    /// A column's part of rows that are in memory; none of one whose drive is not there.
    pub fn column(&self, column: usize, rows: &Range<u32>) -> &[u8] {
        let at = |row: u32| (row - self.first) as usize * SECTOR_BYTES;
        self.columns[column].bytes.get(at(rows.start)..at(rows.end)).unwrap_or_default()
    }

    /// A sector, as its drive gave it.
    pub fn sector(&self, column: usize, row: u32) -> Option<&[u8]> {
        let within = (row - self.first) as usize;
        let of = &self.columns[column];
        let is_bad = !of.is_there || of.bad.get(within).copied().unwrap_or(false);
        if is_bad { None } else { of.bytes.get(within * SECTOR_BYTES..(within + 1) * SECTOR_BYTES) }
    }

    /// All columns of the rows that are there can be read.
    pub fn are_readable(&self, rows: &Range<u32>) -> bool {
        let is_bad = |column: &Column, row: u32| {
            column.bad.get((row - self.first) as usize).copied().unwrap_or(false)
        };
        self.columns
            .iter()
            .all(|column| column.bad.is_empty() || !rows.clone().any(|row| is_bad(column, row)))
    }
}
