//! Parity over GF(2⁸) with polynomial 0x11d, and its reversal.
//!
//! Parity *j* of a row is Σᵢ (2ʲ)ⁱ·Dᵢ over the data columns *i* (H. P. Anvin, "The mathematics of RAID-6"). With up to
//! three of them, and with four over up to [`crate::DATA_COLUMNS_MAX`] data columns, any as many lost columns as there are
//! parities can be solved for; over more data columns four parities have patterns that cannot.

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

/// Recomputes the columns `targets` into `outs`, from the columns of `sources`, of which there are as many as data columns. Each
/// of them is read once for all targets.
///
/// `columns` gives the bytes of each column in `sources`; others are not looked at.
///
/// # Panics
/// If `sources` are not as many as data columns, or `targets` not as many as `outs`, or more than [`PARITY_MAX`].
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

/// How much of each of the columns `chosen` each target is: the rows of the generator matrix that belong to the chosen ones are
/// inverted, and the target's row is expressed by them.
fn solve(data_columns: usize, chosen: &[usize], targets: &[usize]) -> [[u8; COLUMNS_MAX]; PARITY_MAX] {
    let inverse = invert(chosen.iter().map(|column| generator_row(data_columns, *column)).collect());
    let mut factors = [[0; COLUMNS_MAX]; PARITY_MAX];
    for (factors, target) in factors.iter_mut().zip(targets) {
        let wanted = generator_row(data_columns, *target);
        for (source, factor) in factors[..chosen.len()].iter_mut().enumerate() {
            let products = (0..data_columns).map(|data| multiply(wanted[data], inverse[data][source]));
            *factor = products.fold(0, |sum, product| sum ^ product);
        }
    }
    factors
}

/// How `column` is made of the data columns.
fn generator_row(data_columns: usize, column: usize) -> Vec<u8> {
    (0..data_columns)
        .map(|data| match column.checked_sub(data_columns) {
            None => u8::from(data == column),
            Some(parity) => coefficient(parity, data),
        })
        .collect()
}

/// Gauss-Jordan over GF(2⁸).
fn invert(mut matrix: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let size = matrix.len();
    let mut result: Vec<Vec<u8>> =
        (0..size).map(|row| (0..size).map(|c| u8::from(c == row)).collect()).collect();
    for column in 0..size {
        let pivot =
            (column..size).find(|row| matrix[*row][column] != 0).expect("any d columns are independent");
        matrix.swap(column, pivot);
        result.swap(column, pivot);
        let scale = inverse(matrix[column][column]);
        scale_row(&mut matrix[column], scale);
        scale_row(&mut result[column], scale);
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column];
            // Most rows are of data columns, which are made of nothing but themselves.
            if factor != 0 {
                subtract_row(&mut matrix, row, column, factor);
                subtract_row(&mut result, row, column, factor);
            }
        }
    }
    result
}

fn scale_row(row: &mut [u8], factor: u8) {
    if factor == 1 {
        return;
    }
    row.iter_mut().for_each(|value| *value = multiply(*value, factor));
}

fn subtract_row(matrix: &mut [Vec<u8>], row: usize, source: usize, factor: u8) {
    for column in 0..matrix[row].len() {
        let product = multiply(matrix[source][column], factor);
        matrix[row][column] ^= product;
    }
}

#[cfg(test)]
mod tests;
