//! Parity beside Intel's ISA-L, which is given the same matrix: byte for byte the same.

use std::io::Write;

use ashlar_block::XorShift;
use ashlar_isal::Isal;
use ashlar_raid::parity::{Kernel, PARITY_MAX, TILE_BYTES, encode_with, reconstruct_with};
use ashlar_raid::{ColumnMask, DATA_COLUMNS_MAX};

/// Lengths that ISA-L is given. Ours are whole tiles: what is beyond the length is zeros.
const LENGTHS: [usize; 8] = [1, 31, 127, 128, 129, 255, 1000, 4097];

/// The library. Without it a test is skipped, or fails where nothing may be: there
/// ASHLAR_SKIP_NOTHING is set.
fn isal() -> Option<Isal> {
    match Isal::load() {
        Ok(isal) => Some(isal),
        Err(error) => {
            assert!(
                std::env::var_os("ASHLAR_SKIP_NOTHING").is_none(),
                "this test cannot run here: {error}"
            );
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {error}");
            None
        }
    }
}

/// Two to the power of `power`, with the polynomial 0x11d.
fn power_of_two(power: usize) -> u8 {
    (0..power).fold(1u8, |value, _| (value << 1) ^ if value >= 0x80 { 0x1d } else { 0 })
}

/// What each data column is multiplied by, for each parity: as the format has it.
fn factors(data: usize, parities: usize) -> Vec<Vec<u8>> {
    let row = |parity: usize| (0..data).map(|column| power_of_two(parity * column)).collect();
    (0..parities).map(row).collect()
}

/// Columns of random bytes at odd addresses: `bytes` of them, then zeros to the end of a tile.
struct Columns {
    memory: Vec<u8>,
    stride: usize,
    padded: usize,
}

impl Columns {
    fn random(count: usize, bytes: usize, random: &mut XorShift) -> Self {
        let padded = bytes.next_multiple_of(TILE_BYTES);
        let stride = padded + 1;
        let mut memory = vec![0; count * stride + 1];
        for column in 0..count {
            memory[column * stride + 1..][..bytes].fill_with(|| random.next_u64() as u8);
        }
        Columns { memory, stride, padded }
    }

    fn slices(&self, bytes: usize) -> Vec<&[u8]> {
        self.memory[1..].chunks_exact(self.stride).map(|column| &column[..bytes]).collect()
    }
}

fn slices_mut(columns: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    columns.iter_mut().map(Vec::as_mut_slice).collect()
}

#[test]
fn every_kernels_parity_is_what_isa_l_makes_of_the_same_matrix() {
    let Some(isal) = isal() else { return };
    let mut random = XorShift::new(11);
    let shapes =
        (1..=DATA_COLUMNS_MAX).flat_map(|data| (1..=PARITY_MAX).map(move |parity| (data, parity)));
    for (data, parities) in shapes {
        let tables = isal.tables(&factors(data, parities));
        for bytes in LENGTHS {
            let columns = Columns::random(data, bytes, &mut random);
            let mut theirs = vec![vec![0xaa; bytes]; parities];
            isal.combine(&tables, &columns.slices(bytes), &mut slices_mut(&mut theirs));
            for kernel in Kernel::all() {
                let mut ours = vec![vec![0x55; columns.padded]; parities];
                encode_with(kernel, &columns.slices(columns.padded), &mut slices_mut(&mut ours));
                let same =
                    ours.iter().zip(&theirs).all(|(ours, theirs)| ours[..bytes] == theirs[..]);
                assert!(same, "{data}+{parities}, {bytes} bytes, {kernel:?}");
            }
        }
    }
}

/// All sets of at most `most` of `columns` columns.
fn losses(columns: usize, most: usize) -> impl Iterator<Item = ColumnMask> {
    (1u32..1 << columns).map(ColumnMask).filter(move |lost| lost.count() <= most)
}

/// The first columns that are left, as many as there are data columns.
fn sources(data: usize, columns: usize, lost: ColumnMask) -> Vec<usize> {
    (0..columns).filter(|column| !lost.has(*column)).take(data).collect()
}

/// What ISA-L makes of the lost data columns, from the inverse of the sources' rows.
fn theirs(
    isal: &Isal,
    data: usize,
    all: &[&[u8]],
    sources: &[usize],
    lost: &[usize],
) -> Vec<Vec<u8>> {
    let unit = |column| (0..data).map(|other| u8::from(other == column)).collect();
    let generator: Vec<Vec<u8>> =
        (0..data).map(unit).chain(factors(data, all.len() - data)).collect();
    let rows: Vec<Vec<u8>> = sources.iter().map(|column| generator[*column].clone()).collect();
    let inverse = isal.invert(&rows).expect("the sources determine the data");
    let wanted: Vec<Vec<u8>> = lost.iter().map(|column| inverse[*column].clone()).collect();
    let read: Vec<&[u8]> = sources.iter().map(|column| all[*column]).collect();
    let mut out = vec![vec![0; all[0].len()]; lost.len()];
    isal.combine(&isal.tables(&wanted), &read, &mut slices_mut(&mut out));
    out
}

#[test]
fn every_pattern_of_losses_is_restored_by_every_kernel_and_by_isa_l_alike() {
    let Some(isal) = isal() else { return };
    let mut random = XorShift::new(12);
    for (data, parities) in [(1, 4), (2, 1), (4, 1), (5, 3), (8, 2), (8, 3), (10, 4), (16, 4)] {
        let total = data + parities;
        let columns = Columns::random(data, TILE_BYTES, &mut random);
        let mut parity = vec![vec![0; TILE_BYTES]; parities];
        encode_with(Kernel::best(), &columns.slices(TILE_BYTES), &mut slices_mut(&mut parity));
        let all: Vec<&[u8]> = columns
            .slices(TILE_BYTES)
            .into_iter()
            .chain(parity.iter().map(Vec::as_slice))
            .collect();
        for lost in losses(total, parities) {
            let sources = sources(data, total, lost);
            let mask =
                sources.iter().fold(ColumnMask::default(), |mask, column| mask.with(*column));
            let targets: Vec<usize> = (0..total).filter(|column| lost.has(*column)).collect();
            for kernel in Kernel::all() {
                let mut out = vec![vec![0x55; TILE_BYTES]; targets.len()];
                reconstruct_with(kernel, data, mask, &all, &targets, &mut slices_mut(&mut out));
                for (target, out) in targets.iter().zip(&out) {
                    assert!(
                        out == all[*target],
                        "{data}+{parities}, lost {lost:?}, column {target}, {kernel:?}"
                    );
                }
            }
            let lost_data: Vec<usize> = (0..data).filter(|column| lost.has(*column)).collect();
            if !lost_data.is_empty() {
                let theirs = theirs(&isal, data, &all, &sources, &lost_data);
                let same =
                    lost_data.iter().zip(&theirs).all(|(column, theirs)| all[*column] == theirs);
                assert!(same, "{data}+{parities}, lost {lost:?}: ISA-L");
            }
        }
    }
}
