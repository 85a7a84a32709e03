use std::cell::Cell;

use ashlar_block::{SECTOR_BYTES, XorShift};

use super::*;

/// The sectors of all columns of so many rows of a stripe, parity included.
fn stripe(data: usize, parity: usize, rows: usize) -> Vec<Vec<Vec<u8>>> {
    let mut rng = XorShift::new(3);
    let mut sector = || (0..SECTOR_BYTES).map(|_| rng.next_u64() as u8).collect::<Vec<u8>>();
    let mut rows: Vec<Vec<Vec<u8>>> = (0..rows).map(|_| (0..data).map(|_| sector()).collect()).collect();
    for row in &mut rows {
        let mut parities = vec![vec![0; SECTOR_BYTES]; parity];
        let sources: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
        parity::encode(&sources, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        row.extend(parities);
    }
    rows
}

fn ways(data: usize, column: usize, rows: &[Vec<Vec<u8>>]) -> Ways<'_> {
    let mut ways = Ways::new(data, column);
    rows.iter().for_each(|row| ways.add_row(row.iter().map(Vec::as_slice).collect()));
    ways
}

/// What the column holds, and the rows with sectors spoilt: by row and column.
fn spoilt(data: usize, parity: usize, wrong: &[(usize, usize)], rows: usize) -> (Vec<u8>, Vec<Vec<Vec<u8>>>) {
    let mut rows = stripe(data, parity, rows);
    let right = rows.iter().flat_map(|row| row[0].clone()).collect();
    wrong.iter().for_each(|(row, column)| rows[*row][*column].fill(0xa5));
    (right, rows)
}

#[test]
fn choices_are_all_the_ways_to_leave_columns_out() {
    let mask = |columns: &[usize]| {
        let mut mask = ColumnMask::default();
        columns.iter().for_each(|column| mask.add(*column));
        mask
    };
    let of = |columns: &[usize], count| choices(mask(columns), count).collect::<Vec<_>>();
    assert_eq!(of(&[0, 3, 5], 3), [mask(&[0, 3, 5])]);
    assert_eq!(of(&[0, 3, 5], 2), [mask(&[3, 5]), mask(&[0, 5]), mask(&[0, 3])]);
    assert_eq!(of(&[0, 3], 3), []);
    let widest: Vec<usize> = (0..COLUMNS_MAX).collect();
    assert_eq!(choices(mask(&widest), COLUMNS_MAX - 2).count(), 32 * 31 / 2);
}

#[test]
fn a_sector_is_found_whatever_columns_are_wrong_if_enough_are_right() {
    for wrong in [vec![], vec![(0, 0)], vec![(0, 0), (0, 2)], vec![(0, 0), (0, 1), (0, 5)]] {
        let (right, rows) = spoilt(4, 3, &wrong, 1);
        assert_eq!(ways(4, 0, &rows).find(|bytes| bytes == right).as_deref(), Some(&right[..]), "{wrong:?}");
    }
}

#[test]
fn neighbouring_rows_may_have_lost_different_columns() {
    let (right, rows) = spoilt(4, 2, &[(0, 0), (0, 1), (1, 0), (1, 5), (2, 0), (2, 3)], 3);
    assert_eq!(ways(4, 0, &rows).find(|bytes| bytes == right), Some(right));
}

#[test]
fn a_column_of_lost_drives_is_made_of_what_can_be_read() {
    let (right, mut rows) = spoilt(4, 2, &[], 2);
    rows.iter_mut().for_each(|row| [0, 3].into_iter().for_each(|lost| row[lost].clear()));
    assert_eq!(ways(4, 0, &rows).find(|bytes| bytes == right).as_deref(), Some(&right[..]));
    rows[1][4].clear();
    assert_eq!(ways(4, 0, &rows).find(|_| true), None, "one too many is lost");
}

/// A header of three sectors that a crash had torn, in stripes of 19+4, had 1,540 ways for each of its sectors. All
/// products of them were made at once, and a start took all the memory of the machine.
#[test]
fn what_cannot_be_found_in_a_wide_stripe_is_given_up_after_a_bounded_number_of_tries() {
    let wrong: Vec<(usize, usize)> =
        (0..3).flat_map(|row| (0..23).map(move |column| (row, column))).collect();
    let mut rows = stripe(19, 4, 3);
    // No two sectors alike: every way gives other bytes.
    wrong.iter().for_each(|(row, column)| rows[*row][*column][*column] ^= 1 + *row as u8);
    let tries = Cell::new(0);
    let found = ways(19, 0, &rows).find(|_| {
        tries.set(tries.get() + 1);
        false
    });
    assert_eq!(found, None);
    assert!(tries.get() <= MIXED_MAX + 1541, "{} tries", tries.get());
}

#[test]
fn only_what_looks_right_is_made_whole() {
    let (right, rows) = spoilt(4, 2, &[(0, 0)], 1);
    let looked_at = Cell::new(0);
    let ways = ways(4, 0, &rows);
    let first = ways.first_sectors(|start| {
        assert_eq!(start.len(), LOOK_BYTES);
        looked_at.set(looked_at.get() + 1);
        *start == right[..LOOK_BYTES]
    });
    assert_eq!(
        first.collect::<Vec<_>>(),
        [right.clone()],
        "the same one from five choices of columns is one"
    );
    assert_eq!(looked_at.get(), 6);
}

#[test]
fn columns_that_agree_are_looked_at_once() {
    let (_, rows) = spoilt(19, 4, &[], 1);
    let looked_at = Cell::new(0);
    let ways = ways(19, 0, &rows);
    let first = ways.first_sectors(|_| {
        looked_at.set(looked_at.get() + 1);
        false
    });
    assert_eq!((first.count(), looked_at.get()), (0, 1));
}
