use std::cell::Cell;

use ashlar_block::{SECTOR_BYTES, XorShift};

use super::*;

/// The sectors of all columns of so many rows of a stripe, parity included.
fn stripe(data: usize, parity: usize, rows: usize) -> Vec<Vec<Vec<u8>>> {
    let mut rng = XorShift::new(3);
    let mut sector = || (0..SECTOR_BYTES).map(|_| rng.next_u64() as u8).collect::<Vec<u8>>();
    let mut rows: Vec<Vec<Vec<u8>>> =
        (0..rows).map(|_| (0..data).map(|_| sector()).collect()).collect();
    for row in &mut rows {
        let mut parities = vec![vec![0; SECTOR_BYTES]; parity];
        let sources: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
        parity::encode(
            &sources,
            &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>(),
        );
        row.extend(parities);
    }
    rows
}

fn ways<'a>(recipes: &'a Recipes, rows: &'a [Vec<Vec<u8>>]) -> Ways<'a> {
    let mut ways = Ways::new(recipes);
    rows.iter().for_each(|row| ways.add_row(row.iter().map(Vec::as_slice)));
    ways
}

/// What the column holds, and the rows with sectors spoilt: by row and column.
fn spoilt(
    data: usize,
    parity: usize,
    wrong: &[(usize, usize)],
    rows: usize,
) -> (Vec<u8>, Vec<Vec<Vec<u8>>>) {
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
        assert_eq!(
            ways(&Recipes::new(4, 0), &rows).find(|bytes| bytes == right).as_deref(),
            Some(&right[..]),
            "{wrong:?}"
        );
    }
}

#[test]
fn neighbouring_rows_may_have_lost_different_columns() {
    let (right, rows) = spoilt(4, 2, &[(0, 0), (0, 1), (1, 0), (1, 5), (2, 0), (2, 3)], 3);
    assert_eq!(ways(&Recipes::new(4, 0), &rows).find(|bytes| bytes == right), Some(right));
}

#[test]
fn a_column_of_lost_drives_is_made_of_what_can_be_read() {
    let (right, mut rows) = spoilt(4, 2, &[], 2);
    rows.iter_mut().for_each(|row| [0, 3].into_iter().for_each(|lost| row[lost].clear()));
    assert_eq!(
        ways(&Recipes::new(4, 0), &rows).find(|bytes| bytes == right).as_deref(),
        Some(&right[..])
    );
    rows[1][4].clear();
    assert_eq!(ways(&Recipes::new(4, 0), &rows).find(|_| true), None, "one too many is lost");
}

/// A header of three sectors that a crash had torn, in stripes of 19+4, had 1,540 ways for each of
/// its sectors. All products of them were made at once, and a start took all the memory of the
/// machine.
#[test]
fn what_cannot_be_found_in_a_wide_stripe_is_given_up_after_a_bounded_number_of_tries() {
    let wrong: Vec<(usize, usize)> =
        (0..3).flat_map(|row| (0..23).map(move |column| (row, column))).collect();
    let mut rows = stripe(19, 4, 3);
    // No two sectors alike: every way gives other bytes.
    wrong.iter().for_each(|(row, column)| rows[*row][*column][*column] ^= 1 + *row as u8);
    let tries = Cell::new(0);
    let found = ways(&Recipes::new(19, 0), &rows).find(|_| {
        tries.set(tries.get() + 1);
        false
    });
    assert_eq!(found, None);
    assert!(tries.get() <= MIXED_MAX + 1541, "{} tries", tries.get());
}

#[test]
fn what_begins_otherwise_is_left_out_and_what_is_found_twice_comes_once() {
    let (right, rows) = spoilt(4, 2, &[(0, 0)], 1);
    let recipes = Recipes::new(4, 0);
    let ways = ways(&recipes, &rows);
    assert_eq!(ways.first_sector(&right[..8]), None, "it is spoilt");
    assert_eq!(ways.first_sectors(&right[..8]), [right]);
}

#[test]
fn columns_that_agree_are_made_of_each_other_in_one_way() {
    let (right, rows) = spoilt(19, 4, &[], 1);
    let recipes = Recipes::new(19, 0);
    let ways = ways(&recipes, &rows);
    assert!(ways.agree(&ways.rows[0], usize::MAX));
    assert_eq!(ways.first_sectors(&[]), [right]);
    assert!(recipes.known.borrow().is_empty(), "no other way is worked out");
}

#[test]
fn a_lost_column_is_made_in_one_way_of_columns_that_agree() {
    let (right, mut rows) = spoilt(19, 4, &[], 1);
    rows[0][0].clear();
    let recipes = Recipes::new(19, 0);
    assert_eq!(ways(&recipes, &rows).first_sectors(&right[..8]), std::slice::from_ref(&right));
    assert_eq!(ways(&recipes, &rows).first_sectors(&[]), [right]);
    assert!(recipes.known.borrow().is_empty(), "no other way is worked out");
}

#[test]
fn zeros_are_looked_at_alone_and_are_what_is_asked_for_if_that_is_zeros() {
    let rows = [vec![vec![0; SECTOR_BYTES]; 6]];
    let recipes = Recipes::new(4, 0);
    assert!(ways(&recipes, &rows).first_sectors(b"magic").is_empty());
    assert!(recipes.checks.borrow().is_empty(), "nothing is made of zeros");
    assert_eq!(ways(&recipes, &rows).first_sectors(&[0; 4]), [rows[0][0].clone()]);
    assert_eq!(ways(&recipes, &rows).first_sectors(&[]), [rows[0][0].clone()]);
}

#[test]
fn a_lost_column_with_too_few_others_is_nothing_at_all() {
    let (_, mut rows) = spoilt(4, 1, &[], 1);
    rows[0][0].clear();
    rows[0][3].clear();
    assert!(ways(&Recipes::new(4, 0), &rows).first_sectors(&[]).is_empty());
}

#[test]
fn a_recipe_makes_what_a_reconstruction_does() {
    let rows = stripe(5, 3, 1);
    let columns: Vec<&[u8]> = rows[0].iter().map(Vec::as_slice).collect();
    for target in 0..8 {
        for sources in choices((0..8).filter(|column| *column != target).collect(), 5) {
            let recipe = Recipe::new(5, sources, target);
            let mut made = vec![0; SECTOR_BYTES];
            recipe.make(&columns, &mut made);
            assert_eq!(made, columns[target], "{target} of {sources:?}");
            assert!(recipe.begins_with(&columns, &columns[target][..8]));
            assert!(!recipe.begins_with(&columns, &[columns[target][0] ^ 1]));
        }
    }
}
