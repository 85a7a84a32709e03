//! Stripes in memory, and what is done with them.

use std::fmt;

use ashlar_block::{AlignedBuf, XorShift};
use ashlar_isal::{Isal, Tables};
use ashlar_raid::ColumnMask;
use ashlar_raid::parity::{Kernel, encode_with, reconstruct_with};
use serde::Serialize;

/// Bytes of a column.
pub const COLUMN_BYTES: usize = 64 << 10;

/// Columns of a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Shape {
    /// Of data.
    pub data: usize,
    /// Of parity.
    pub parity: usize,
}

/// What is done with a stripe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// All parities are computed.
    Encode,
    /// The first data columns, so many, are lost and restored from the others.
    Reconstruct(usize),
}

/// Stripes, one behind the other, and as much memory for what is made of them.
pub struct Memory<'a> {
    shape: Shape,
    stripes: usize,
    data: AlignedBuf,
    /// Of all stripes, as [`Work::Encode`] makes them.
    parities: AlignedBuf,
    /// What is written: as large as the data, for copies.
    out: AlignedBuf,
    isal: Option<(&'a Isal, Vec<(Work, Tables)>)>,
}

impl Shape {
    /// What else than the lost columns is read: the other data columns, and as many parities as are
    /// lost.
    fn sources(self, lost: usize) -> ColumnMask {
        (lost..self.data + lost).fold(ColumnMask::default(), |mask, column| mask.with(column))
    }

    /// How the parities are made of the data.
    fn parity_factors(self) -> Vec<Vec<u8>> {
        // Of a stripe whose columns have one byte that is 1 each, in turn, the parities are the
        // factors.
        let column = |unit: usize, column: usize| {
            vec![u8::from(unit == column); ashlar_raid::parity::TILE_BYTES]
        };
        let mut factors = vec![vec![0; self.data]; self.parity];
        for unit in 0..self.data {
            let data: Vec<Vec<u8>> = (0..self.data).map(|other| column(unit, other)).collect();
            let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            let mut parities = vec![vec![0; ashlar_raid::parity::TILE_BYTES]; self.parity];
            let mut slices: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
            encode_with(Kernel::Portable, &data, &mut slices);
            factors.iter_mut().zip(&parities).for_each(|(row, parity)| row[unit] = parity[0]);
        }
        factors
    }

    /// How the first `lost` data columns are made of the sources, as ISA-L solves it.
    fn solved_by(self, isal: &Isal, lost: usize) -> Vec<Vec<u8>> {
        let unit = |column| (0..self.data).map(|other| u8::from(other == column)).collect();
        let data_rows = (lost..self.data).map(unit);
        let rows: Vec<Vec<u8>> =
            data_rows.chain(self.parity_factors().into_iter().take(lost)).collect();
        let mut inverse = isal.invert(&rows).expect("as many parities as are lost");
        inverse.truncate(lost);
        inverse
    }
}

impl Work {
    /// All that is measured of stripes of a shape.
    pub fn of(shape: Shape) -> impl Iterator<Item = Work> {
        let several = (shape.parity > 1).then_some(Work::Reconstruct(shape.parity));
        [Work::Encode, Work::Reconstruct(1)].into_iter().chain(several)
    }

    fn tables(self, shape: Shape, isal: &Isal) -> Tables {
        isal.tables(&match self {
            Work::Encode => shape.parity_factors(),
            Work::Reconstruct(lost) => shape.solved_by(isal, lost),
        })
    }
}

fn stripe_of(buf: &[u8], stripe: usize, columns: usize) -> impl Iterator<Item = &[u8]> {
    buf[stripe * columns * COLUMN_BYTES..][..columns * COLUMN_BYTES].chunks_exact(COLUMN_BYTES)
}

impl<'a> Memory<'a> {
    /// Random stripes of at least `bytes` of data: one if it is 0.
    pub fn new(shape: Shape, bytes: u64, isal: Option<&'a Isal>) -> Self {
        let stripe_bytes = shape.data * COLUMN_BYTES;
        let stripes = (bytes as usize).div_ceil(stripe_bytes).max(1);
        let mut data = AlignedBuf::zeroed(stripes * stripe_bytes);
        let mut random = XorShift::new(shape.data as u64);
        data.chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
        let mut out = AlignedBuf::zeroed(data.len());
        // Touched, so that no round pays for it.
        out.fill(1);
        let mut parities = AlignedBuf::zeroed(stripes * shape.parity * COLUMN_BYTES);
        for stripe in 0..stripes {
            let sources: Vec<&[u8]> = stripe_of(&data, stripe, shape.data).collect();
            let columns = parities.chunks_exact_mut(COLUMN_BYTES).skip(stripe * shape.parity);
            encode_with(
                Kernel::best(),
                &sources,
                &mut columns.take(shape.parity).collect::<Vec<_>>(),
            );
        }
        let tables = |isal| Work::of(shape).map(|work| (work, work.tables(shape, isal))).collect();
        Memory { shape, stripes, data, parities, out, isal: isal.map(|isal| (isal, tables(isal))) }
    }

    /// Columns of each stripe.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// How many stripes there are.
    pub fn stripes(&self) -> usize {
        self.stripes
    }

    /// Of all stripes.
    pub fn data_bytes(&self) -> u64 {
        self.data.len() as u64
    }

    /// Whether there is something to compare with.
    pub fn has_isal(&self) -> bool {
        self.isal.is_some()
    }

    /// Copies a stripe's data.
    pub fn copy(&mut self, stripe: usize) {
        let bytes = self.shape.data * COLUMN_BYTES;
        let range = stripe * bytes..(stripe + 1) * bytes;
        self.out[range.clone()].copy_from_slice(&self.data[range]);
    }

    /// Does `work` by one of our kernels.
    pub fn run(&mut self, work: Work, kernel: Kernel, stripe: usize) {
        let Memory { shape, data, parities, out, .. } = self;
        let data = stripe_of(data, stripe, shape.data);
        let out = out[stripe * shape.data * COLUMN_BYTES..].chunks_exact_mut(COLUMN_BYTES);
        match work {
            Work::Encode => {
                let mut out: Vec<&mut [u8]> = out.take(shape.parity).collect();
                encode_with(kernel, &data.collect::<Vec<_>>(), &mut out);
            }
            Work::Reconstruct(lost) => {
                let columns: Vec<&[u8]> =
                    data.chain(stripe_of(parities, stripe, shape.parity)).collect();
                let targets: Vec<usize> = (0..lost).collect();
                let mut out: Vec<&mut [u8]> = out.take(lost).collect();
                reconstruct_with(
                    kernel,
                    shape.data,
                    shape.sources(lost),
                    &columns,
                    &targets,
                    &mut out,
                );
            }
        }
    }

    /// Does `work` by ISA-L, which has solved for the lost columns before.
    ///
    /// # Panics
    /// If it is not there.
    pub fn run_isal(&mut self, work: Work, stripe: usize) {
        let Memory { shape, data, parities, out, isal, .. } = self;
        let (isal, tables) = isal.as_ref().expect("it has been loaded");
        let (_, tables) =
            tables.iter().find(|(of, _)| *of == work).expect("every work has its tables");
        let data = stripe_of(data, stripe, shape.data);
        let out = out[stripe * shape.data * COLUMN_BYTES..].chunks_exact_mut(COLUMN_BYTES);
        let (sources, sums): (Vec<&[u8]>, usize) = match work {
            Work::Encode => (data.collect(), shape.parity),
            Work::Reconstruct(lost) => {
                let parities = stripe_of(parities, stripe, shape.parity).take(lost);
                (data.skip(lost).chain(parities).collect(), lost)
            }
        };
        isal.combine(tables, &sources, &mut out.take(sums).collect::<Vec<_>>());
    }

    /// What `run` writes for the first stripe.
    pub fn result(&mut self, run: impl FnOnce(&mut Self)) -> Vec<u8> {
        let bytes = self.shape.parity * COLUMN_BYTES;
        self.out[..bytes].fill(1);
        run(self);
        self.out[..bytes].to_vec()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.data, self.parity)
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Work::Encode => f.write_str("encode"),
            Work::Reconstruct(lost) => write!(f, "reconstruct {lost}"),
        }
    }
}
