//! Parity over GF(2⁸) with polynomial 0x11d, and its reversal.
//!
//! Parity *j* of a row is Σᵢ (2ʲ)ⁱ·Dᵢ over the data columns *i* (H. P. Anvin, "The mathematics of
//! RAID-6"). With up to three of them, and with four over up to [`crate::DATA_COLUMNS_MAX`] data
//! columns, any as many lost columns as there are parities can be solved for; over more data
//! columns four parities have patterns that cannot.

use smallvec::SmallVec;

use crate::field::{exp, inverse, multiply};
use crate::geometry::{COLUMNS_MAX, ColumnMask};
pub use crate::kernels::{Kernel, TILE_BYTES};

/// Parity columns for which every pattern of losses is solvable.
pub const PARITY_MAX: usize = 4;

/// What data column `column` is multiplied by in parity `parity`.
fn coefficient(parity: usize, column: usize) -> u8 {
    exp(parity * column)
}

/// Computes `parities` from `data`. All slices have one length, a multiple of [`TILE_BYTES`].
pub fn encode(data: &[&[u8]], parities: &mut [&mut [u8]]) {
    encode_with(Kernel::best(), data, parities);
}

/// The same by a certain kernel.
pub fn encode_with(kernel: Kernel, data: &[&[u8]], parities: &mut [&mut [u8]]) {
    assert!(parities.len() <= PARITY_MAX, "{} parities", parities.len());
    if !parities.is_empty() {
        kernel.combine(data, coefficient, parities);
    }
}

/// Recomputes the columns `targets` into `outs`, from the columns of `sources`, of which there are
/// as many as data columns. Each of them is read once for all targets.
///
/// `columns` gives the bytes of each column in `sources`; others are not looked at.
///
/// # Panics
/// If `sources` are not as many as data columns, or `targets` not as many as `outs`, or more than
/// [`PARITY_MAX`].
pub fn reconstruct(
    data_columns: usize,
    sources: ColumnMask,
    columns: &[&[u8]],
    targets: &[usize],
    outs: &mut [&mut [u8]],
) {
    reconstruct_with(Kernel::best(), data_columns, sources, columns, targets, outs);
}

/// The same by a certain kernel.
pub fn reconstruct_with(
    kernel: Kernel,
    data_columns: usize,
    sources: ColumnMask,
    columns: &[&[u8]],
    targets: &[usize],
    outs: &mut [&mut [u8]],
) {
    assert_eq!(sources.count(), data_columns, "as many sources as data columns");
    assert_eq!(targets.len(), outs.len(), "a place for each column");
    assert!(targets.len() <= PARITY_MAX, "{} columns at once", targets.len());
    let mut chosen = [0; COLUMNS_MAX];
    let mut read: [&[u8]; COLUMNS_MAX] = [&[]; COLUMNS_MAX];
    for (nth, column) in (0..columns.len()).filter(|column| sources.has(*column)).enumerate() {
        (chosen[nth], read[nth]) = (column, columns[column]);
    }
    let factors = solve(data_columns, &chosen[..data_columns], targets);
    kernel.combine(&read[..data_columns], |target, source| factors[target][source], outs);
}

/// How one column is made of certain others. Worth keeping where many rows are to be made alike.
#[derive(Clone, Copy)]
pub struct Recipe {
    sources: ColumnMask,
    /// By column; of no meaning where it is no source.
    factors: [u8; COLUMNS_MAX],
}

impl Recipe {
    /// How `target` is made of `sources`, as many as there are data columns.
    pub fn new(data_columns: usize, sources: ColumnMask, target: usize) -> Self {
        assert_eq!(sources.count(), data_columns, "as many sources as data columns");
        let chosen: SmallVec<[usize; COLUMNS_MAX]> = sources.iter().collect();
        let [solved, ..] = solve(data_columns, &chosen, &[target]);
        let mut factors = [0; COLUMNS_MAX];
        chosen.iter().zip(solved).for_each(|(column, factor)| factors[*column] = factor);
        Recipe { sources, factors }
    }

    /// Whether what it makes of `columns` begins with `start`. Little is computed where it does
    /// not.
    pub fn begins_with(&self, columns: &[&[u8]], start: &[u8]) -> bool {
        let product =
            |column: usize, at: usize| multiply(self.factors[column], columns[column][at]);
        let byte = |at: usize| self.sources.iter().fold(0, |sum, column| sum ^ product(column, at));
        start.iter().enumerate().all(|(at, wanted)| byte(at) == *wanted)
    }

    /// Makes the column of `columns`.
    pub fn make(&self, columns: &[&[u8]], out: &mut [u8]) {
        let chosen: SmallVec<[usize; COLUMNS_MAX]> = self.sources.iter().collect();
        let read: SmallVec<[&[u8]; COLUMNS_MAX]> =
            chosen.iter().map(|column| columns[*column]).collect();
        Kernel::best().combine(&read, |_, source| self.factors[chosen[source]], &mut [out]);
    }
}

/// How much of each of the columns `chosen` each target is.
///
/// Each chosen parity is a sum over all data columns. What is chosen of these is taken off it, and
/// what is left are as many equations as there are data columns not chosen: at most [`PARITY_MAX`],
/// however wide the stripe is.
fn solve(
    data_columns: usize,
    chosen: &[usize],
    targets: &[usize],
) -> [[u8; COLUMNS_MAX]; PARITY_MAX] {
    let parities: Few =
        chosen.iter().filter_map(|column| column.checked_sub(data_columns)).collect();
    let missing: Few = (0..data_columns).filter(|column| !chosen.contains(column)).collect();
    let inverse = invert(parts_of(&parities, &missing), missing.len());
    let missing_of = |nth: usize, column: usize| match column.checked_sub(data_columns) {
        Some(parity) => parities
            .iter()
            .zip(inverse[nth])
            .find(|(own, _)| **own == parity)
            .map_or(0, |own| own.1),
        None => sum(parities
            .iter()
            .zip(inverse[nth])
            .map(|(own, part)| multiply(part, coefficient(*own, column)))),
    };
    let mut factors = [[0; COLUMNS_MAX]; PARITY_MAX];
    for (factors, target) in factors.iter_mut().zip(targets) {
        let wanted = |data: usize| match target.checked_sub(data_columns) {
            Some(parity) => coefficient(parity, data),
            None => u8::from(data == *target),
        };
        for (factor, column) in factors.iter_mut().zip(chosen) {
            let of_missing = missing.iter().enumerate().map(|(nth, data)| match wanted(*data) {
                0 => 0,
                part => multiply(part, missing_of(nth, *column)),
            });
            let itself = if *column < data_columns { wanted(*column) } else { 0 };
            *factor = itself ^ sum(of_missing);
        }
    }
    factors
}

/// Columns of which there are as many as parities.
type Few = SmallVec<[usize; PARITY_MAX]>;
/// A matrix of which the first rows and columns are used.
type Square = [[u8; PARITY_MAX]; PARITY_MAX];

/// What the parities have of the missing columns: an equation in each row.
fn parts_of(parities: &Few, missing: &Few) -> Square {
    let mut matrix = Square::default();
    for (row, parity) in matrix.iter_mut().zip(parities) {
        for (value, column) in row.iter_mut().zip(missing) {
            *value = coefficient(*parity, *column);
        }
    }
    matrix
}

fn sum(values: impl Iterator<Item = u8>) -> u8 {
    values.fold(0, |sum, value| sum ^ value)
}

/// Gauss-Jordan over GF(2⁸).
fn invert(mut matrix: Square, size: usize) -> Square {
    let mut result = Square::default();
    (0..size).for_each(|nth| result[nth][nth] = 1);
    for column in 0..size {
        let pivot = (column..size).find(|row| matrix[*row][column] != 0);
        let pivot = pivot.expect("any as many columns as data columns are independent");
        matrix.swap(column, pivot);
        result.swap(column, pivot);
        let scale = inverse(matrix[column][column]);
        scale_row(&mut matrix[column], scale);
        scale_row(&mut result[column], scale);
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column];
            subtract_row(&mut matrix, row, column, factor);
            subtract_row(&mut result, row, column, factor);
        }
    }
    result
}

fn scale_row(row: &mut [u8], factor: u8) {
    row.iter_mut().for_each(|value| *value = multiply(*value, factor));
}

fn subtract_row(matrix: &mut Square, row: usize, source: usize, factor: u8) {
    let source = matrix[source];
    matrix[row]
        .iter_mut()
        .zip(source)
        .for_each(|(value, source)| *value ^= multiply(source, factor));
}

#[cfg(test)]
mod tests;
