//! Parity over GF(2⁸) with polynomial 0x11d, and its reversal.
//!
//! Parity *j* of a row is Σᵢ (2ʲ)ⁱ·Dᵢ over the data columns *i* (H. P. Anvin, "The mathematics of RAID-6"). Up
//! to [`PARITY_MAX`] of them, any as many lost columns as there are parities can be solved for.

use crate::geometry::{COLUMNS_MAX, ColumnMask};

/// Parity columns for which every pattern of losses is solvable.
pub const PARITY_MAX: usize = 3;

/// Bytes that are worked on at a time: small enough for registers and the first cache.
const TILE_BYTES: usize = 64;

const EXP: [u8; 510] = exp_table();
const LOG: [u8; 256] = log_table();

const fn exp_table() -> [u8; 510] {
    let mut table = [0; 510];
    let mut value = 1u8;
    let mut power = 0;
    while power < 510 {
        table[power] = value;
        value = double(value);
        power += 1;
    }
    table
}

const fn log_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut power = 0;
    while power < 255 {
        table[EXP[power] as usize] = power as u8;
        power += 1;
    }
    table
}

const fn double(value: u8) -> u8 {
    (value << 1) ^ if value & 0x80 != 0 { 0x1d } else { 0 }
}

fn multiply(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    EXP[usize::from(LOG[usize::from(a)]) + usize::from(LOG[usize::from(b)])]
}

fn inverse(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    EXP[255 - usize::from(LOG[usize::from(a)])]
}

/// What data column `column` is multiplied by in parity `parity`.
fn coefficient(parity: usize, column: usize) -> u8 {
    EXP[parity * column % 255]
}

/// Computes `parities` from `data`. All slices have one length, a multiple of the tile.
pub fn encode(data: &[&[u8]], parities: &mut [&mut [u8]]) {
    assert!(parities.len() <= PARITY_MAX, "{} parities", parities.len());
    for (power, parity) in parities.iter_mut().enumerate() {
        encode_one(data, parity, power);
    }
}

fn encode_one(data: &[&[u8]], parity: &mut [u8], power: usize) {
    let (last, others) = data.split_last().expect("a row has a data column");
    assert!(
        data.iter().all(|column| column.len() == parity.len()) && parity.len().is_multiple_of(TILE_BYTES)
    );
    for at in (0..parity.len()).step_by(TILE_BYTES) {
        let tile = at..at + TILE_BYTES;
        let mut sum: [u8; TILE_BYTES] = last[tile.clone()].try_into().expect("a whole tile");
        for column in others.iter().rev() {
            for _ in 0..power {
                sum.iter_mut().for_each(|byte| *byte = double(*byte));
            }
            let bytes: &[u8; TILE_BYTES] = column[tile.clone()].try_into().expect("a whole tile");
            sum.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum ^= byte);
        }
        parity[tile].copy_from_slice(&sum);
    }
}

/// A column that is to be recomputed: how much of each source column it is.
struct Recipe {
    factors: [u8; COLUMNS_MAX],
}

/// Recomputes column `target` from the columns of `sources`, of which there are as many as data columns.
///
/// `columns` gives the bytes of each column in `sources`; others are not looked at.
pub fn reconstruct(
    data_columns: usize,
    sources: ColumnMask,
    columns: &[&[u8]],
    target: usize,
    out: &mut [u8],
) {
    assert_eq!(sources.count(), data_columns, "as many sources as data columns");
    let recipe = recipe(data_columns, sources, target);
    out.fill(0);
    for (column, bytes) in columns.iter().enumerate().filter(|(column, _)| sources.has(*column)) {
        add_multiple(out, bytes, recipe.factors[column]);
    }
}

fn add_multiple(out: &mut [u8], bytes: &[u8], factor: u8) {
    match factor {
        0 => {}
        1 => out.iter_mut().zip(bytes).for_each(|(out, byte)| *out ^= byte),
        _ => {
            let products: [u8; 256] = std::array::from_fn(|byte| multiply(factor, byte as u8));
            out.iter_mut().zip(bytes).for_each(|(out, byte)| *out ^= products[usize::from(*byte)]);
        }
    }
}

/// Solves for `target`: the rows of the generator matrix that belong to the sources are inverted, and the
/// target's row is expressed by them.
fn recipe(data_columns: usize, sources: ColumnMask, target: usize) -> Recipe {
    let chosen: Vec<usize> = (0..COLUMNS_MAX).filter(|column| sources.has(*column)).collect();
    let inverse = invert(chosen.iter().map(|column| generator_row(data_columns, *column)).collect());
    let wanted = generator_row(data_columns, target);
    let mut factors = [0; COLUMNS_MAX];
    for (index, column) in chosen.iter().enumerate() {
        factors[*column] = (0..data_columns)
            .map(|data| multiply(wanted[data], inverse[data][index]))
            .fold(0, |sum, product| sum ^ product);
    }
    Recipe { factors }
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
            subtract_row(&mut matrix, row, column, factor);
            subtract_row(&mut result, row, column, factor);
        }
    }
    result
}

fn scale_row(row: &mut [u8], factor: u8) {
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
