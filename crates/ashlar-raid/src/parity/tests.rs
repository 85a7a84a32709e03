use super::*;
use crate::level::DATA_COLUMNS_MAX;

/// Parity by the definition, a byte at a time.
fn slow_parity(data: &[Vec<u8>], parity: usize) -> Vec<u8> {
    (0..data[0].len())
        .map(|at| {
            data.iter()
                .enumerate()
                .fold(0, |sum, (i, column)| sum ^ multiply(coefficient(parity, i), column[at]))
        })
        .collect()
}

fn columns(count: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut rng = ashlar_block::XorShift::new(seed);
    (0..count).map(|_| (0..128).map(|_| rng.next_u64() as u8).collect()).collect()
}

fn stripe(data_columns: usize, parities: usize) -> Vec<Vec<u8>> {
    let data = columns(data_columns, (data_columns * 7 + parities) as u64);
    let mut parity = vec![vec![0; 128]; parities];
    let sources: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
    encode(&sources, &mut parity.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
    data.into_iter().chain(parity).collect()
}

#[test]
fn encoding_agrees_with_the_definition() {
    for data_columns in 1..=12 {
        let all = stripe(data_columns, PARITY_MAX);
        for parity in 0..PARITY_MAX {
            assert_eq!(all[data_columns + parity], slow_parity(&all[..data_columns], parity));
        }
    }
}

#[test]
fn one_data_column_makes_copies() {
    let all = stripe(1, 3);
    assert!(all.iter().all(|column| *column == all[0]));
}

#[test]
fn every_pattern_of_losses_is_solved_for() {
    for (data_columns, parities) in
        [(1, 1), (1, 2), (2, 1), (4, 1), (4, 2), (8, 2), (8, 3), (5, 3), (8, 4)]
    {
        let all = stripe(data_columns, parities);
        let slices: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let total = data_columns + parities;
        for sources in
            (0u32..1 << total).map(ColumnMask).filter(|mask| mask.count() == data_columns)
        {
            for target in (0..total).filter(|column| !sources.has(*column)) {
                let mut out = vec![0; 128];
                reconstruct(data_columns, sources, &slices, &[target], &mut [&mut out]);
                assert_eq!(
                    out, all[target],
                    "{data_columns}+{parities}, sources {sources:?}, target {target}"
                );
            }
        }
    }
}

/// Every pattern of the widest stripe: nothing but a proof for this field and these coefficients.
#[test]
fn the_widest_stripe_is_solvable_for_every_pattern_of_losses() {
    let columns = DATA_COLUMNS_MAX + PARITY_MAX;
    let all = (1u32 << columns) - 1;
    let mut patterns = 0;
    for sources in (0..=all).map(ColumnMask).filter(|mask| mask.count() == DATA_COLUMNS_MAX) {
        let lost = (0..columns).find(|column| !sources.has(*column)).expect("four are lost");
        // Panics if the sources do not determine it.
        let chosen: Vec<usize> = (0..columns).filter(|column| sources.has(*column)).collect();
        solve(DATA_COLUMNS_MAX, &chosen, &[lost]);
        patterns += 1;
    }
    assert_eq!(patterns, 10_626);
}
