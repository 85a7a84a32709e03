//! Every way to have sectors of one column: as its drive gave them, or made of the other columns.
//!
//! A drive may give wrong bytes without saying so, and so may those that a column is reconstructed from. Only the
//! caller can tell right bytes, by a checksum over all of them. So ways are tried until the caller accepts one.
//!
//! The number of ways grows fast: a column of 20+4 can be made of the others in 1,771 ways, and two sectors of it in
//! three million. What is likely comes first, nothing is made before it is tried, ways that must give the same are
//! tried once, and there is a bound.

use std::cell::LazyCell;

use smallvec::SmallVec;

use crate::geometry::{COLUMNS_MAX, ColumnMask};
use crate::parity;

/// Ways to combine rows that are tried at most, beyond those in which all rows are had alike. Two rows of up to 8+3
/// columns have 2,116.
const MIXED_MAX: usize = 1 << 14;

/// The sectors of one column in consecutive rows, and what they can be made of.
pub struct Ways<'a> {
    data: usize,
    column: usize,
    rows: Vec<Row<'a>>,
}

/// The sectors of all columns in one row; empty where one cannot be read.
struct Row<'a>(Vec<&'a [u8]>);

/// How the column's sector is had.
#[derive(Clone, Copy)]
enum Way {
    AsItIs,
    MadeOf(ColumnMask),
}

impl<'a> Ways<'a> {
    /// The ways to have `column` of a stripe of `data` data columns, in no row yet.
    pub fn new(data: usize, column: usize) -> Self {
        Ways { data, column, rows: Vec::new() }
    }

    /// The next row: the sector of each column, empty where it cannot be read.
    pub fn add_row(&mut self, columns: Vec<&'a [u8]>) {
        self.rows.push(Row(columns));
    }

    /// The column's sectors, one behind the other, in the first way that `accept` takes. Rows are had alike at first,
    /// then each in its own way: neighbouring rows may have lost different columns.
    pub fn find(&self, mut accept: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let readable = self.rows.iter().map(|row| row.readable()).reduce(ColumnMask::and)?;
        let alike = self.ways(readable).map(|way| self.all_rows(way)).find(|bytes| accept(bytes));
        alike.or_else(|| (self.rows.len() > 1).then(|| self.find_mixed(accept))?)
    }

    fn find_mixed(&self, mut accept: impl FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let rows: Vec<Vec<Vec<u8>>> =
            self.rows.iter().map(|row| self.distinct(row, |_| true).collect()).collect();
        let all = rows.iter().fold(1, |all: usize, row| all.saturating_mul(row.len()));
        let mixed = |mut nth: usize| {
            let chosen = rows.iter().map(|row| {
                let sector = &row[nth % row.len()];
                nth /= row.len();
                sector.as_slice()
            });
            chosen.collect::<Vec<_>>().concat()
        };
        (0..all.min(MIXED_MAX)).map(mixed).find(|bytes| accept(bytes))
    }

    /// All that the first row's sector may be, each once, if its first bytes look right. Only those are made of the
    /// others for a look.
    pub fn first_sectors(&self, looks_right: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Vec<u8>> {
        self.rows.first().map(|row| self.distinct(row, looks_right)).into_iter().flatten()
    }

    fn distinct(&self, row: &Row<'a>, looks_right: impl Fn(&[u8]) -> bool) -> impl Iterator<Item = Vec<u8>> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let is_new = move |sector: &Vec<u8>| {
            let is_new = !seen.contains(sector);
            if is_new {
                seen.push(sector.clone());
            }
            is_new
        };
        self.ways_of(row)
            .filter(move |way| looks_right(&self.bytes(row, *way, LOOK_BYTES)))
            .map(|way| self.bytes(row, way, usize::MAX))
            .filter(is_new)
    }

    /// The ways to have one row's sector; just one of them where all give the same. Most rows are of that sort: what
    /// was written whole, and what never was written.
    fn ways_of(&self, row: &Row<'a>) -> impl Iterator<Item = Way> {
        let all_alike = LazyCell::new(|| self.agree(row));
        self.ways(row.readable())
            .enumerate()
            .take_while(move |(nth, _)| *nth == 0 || !*all_alike)
            .map(|(_, way)| way)
    }

    /// Whether all columns of a row that can be read are of one stripe, so that it is the same which of them are taken.
    fn agree(&self, row: &Row<'a>) -> bool {
        let readable = row.readable();
        let read: Vec<usize> = (0..row.0.len()).filter(|column| readable.has(*column)).collect();
        let Some((sources, targets)) = read.split_at_checked(self.data) else { return true };
        let sources = sources.iter().copied().collect();
        let agree_in = |bytes_max: usize| {
            let columns = row.starts(bytes_max);
            let mut made = vec![vec![0; columns[read[0]].len()]; targets.len()];
            let mut outs: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
            parity::reconstruct(self.data, sources, &columns, targets, &mut outs);
            targets.iter().zip(&made).all(|(target, made)| columns[*target] == *made)
        };
        // What does not agree mostly differs at once.
        agree_in(LOOK_BYTES) && agree_in(usize::MAX)
    }

    /// As it is comes first, if that can be read.
    fn ways(&self, readable: ColumnMask) -> impl Iterator<Item = Way> + use<> {
        let column = self.column;
        let as_it_is = readable.has(column).then_some(Way::AsItIs);
        let others = (0..COLUMNS_MAX).filter(|other| *other != column && readable.has(*other));
        as_it_is.into_iter().chain(choices(others.collect(), self.data).map(Way::MadeOf))
    }

    fn all_rows(&self, way: Way) -> Vec<u8> {
        self.rows.iter().flat_map(|row| self.bytes(row, way, usize::MAX)).collect()
    }

    /// The first bytes of the column's sector, as many as there are up to `bytes_max`.
    fn bytes(&self, row: &Row<'a>, way: Way, bytes_max: usize) -> Vec<u8> {
        let columns = row.starts(bytes_max);
        match way {
            Way::AsItIs => columns[self.column].to_vec(),
            Way::MadeOf(sources) => {
                let bytes = columns.iter().map(|sector| sector.len()).max().unwrap_or(0);
                let mut out = vec![0; bytes];
                parity::reconstruct(self.data, sources, &columns, &[self.column], &mut [&mut out]);
                out
            }
        }
    }
}

/// Bytes that tell whether a sector looks right: the fewest that parity is made of.
const LOOK_BYTES: usize = parity::TILE_BYTES;

impl<'a> Row<'a> {
    /// The first bytes of each column, as many as there are up to `bytes_max`.
    fn starts(&self, bytes_max: usize) -> SmallVec<[&'a [u8]; COLUMNS_MAX]> {
        self.0.iter().map(|sector| &sector[..sector.len().min(bytes_max)]).collect()
    }

    fn readable(&self) -> ColumnMask {
        (0..self.0.len()).filter(|column| !self.0[*column].is_empty()).collect()
    }
}

/// Every choice of `count` columns among `readable`; none if there are fewer.
pub(crate) fn choices(readable: ColumnMask, count: usize) -> impl Iterator<Item = ColumnMask> {
    let columns: Vec<usize> = (0..COLUMNS_MAX).filter(|column| readable.has(*column)).collect();
    let left_out = columns.len().checked_sub(count).map(|extra| subsets(columns.len(), extra));
    left_out.into_iter().flatten().map(move |left_out| {
        (0..columns.len()).filter(|nth| left_out >> nth & 1 == 0).map(|nth| columns[nth]).collect()
    })
}

/// All sets of `size` of the numbers below `of`, as bits, in ascending order (Knuth, TAOCP 4A, 7.1.3: the next
/// larger word with as many ones).
fn subsets(of: usize, size: usize) -> impl Iterator<Item = u64> {
    let next = |set: &u64| {
        let lowest = set & set.wrapping_neg();
        let ripple = set + lowest;
        (lowest > 0).then(|| ripple | (((set ^ ripple) >> 2) / lowest))
    };
    std::iter::successors(Some((1u64 << size) - 1), next).take_while(move |set| *set < 1 << of)
}

#[cfg(test)]
mod tests;
