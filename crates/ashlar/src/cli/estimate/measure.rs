//! What each codec makes of a sample.

use std::time::{Duration, Instant};

use ashlar_block::BLOCK_BYTES;
use ashlar_store::codec::Stored;
use ashlar_store::{Compression, ZstdLevel};
use bytes::Bytes;

/// How long a codec is tried, at most, if it has had enough of the sample by then.
const TIME_MAX: Duration = Duration::from_millis(1500);
const EXTENTS_MIN: usize = 32;

/// Standard deviations within which 95 of 100 samples lie.
const DEVIATIONS: f64 = 1.96;

/// What a codec has made of an extent.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OfExtent {
    /// Bytes that are no zeros.
    pub raw: f64,
    /// What they take.
    pub stored: f64,
}

/// What a codec has made of the extents that it had time for.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub compression: Compression,
    pub extents: Vec<OfExtent>,
    pub compressing: Duration,
    pub decompressing: Duration,
}

impl Measured {
    fn sums(&self) -> (f64, f64) {
        self.extents.iter().fold((0.0, 0.0), |(raw, stored), of| (raw + of.raw, stored + of.stored))
    }

    /// None: all are zeros.
    pub fn ratio(&self) -> Option<f64> {
        let (raw, stored) = self.sums();
        (stored > 0.0).then(|| raw / stored)
    }

    /// How far the ratio of all data may be from that of the sample: that of a quotient of two
    /// means (Cochran, "Sampling Techniques", section 2.11). None: too little was read.
    pub fn margin(&self) -> Option<f64> {
        let (ratio, count) = (self.ratio()?, self.extents.len() as f64);
        if count < 2.0 {
            return None;
        }
        let (_, stored) = self.sums();
        let residuals = self.extents.iter().map(|of| (of.raw - ratio * of.stored).powi(2));
        let variance = residuals.sum::<f64>() / (count - 1.0) / count / (stored / count).powi(2);
        Some(DEVIATIONS * variance.sqrt())
    }

    /// None: nothing was done.
    pub fn bytes_per_second(&self, took: Duration) -> Option<f64> {
        let (raw, _) = self.sums();
        (raw > 0.0 && !took.is_zero()).then(|| raw / took.as_secs_f64())
    }
}

/// Tries the codecs, one after the other.
pub fn measure(extents: &[Bytes]) -> Vec<Measured> {
    let levels = [1, 3, 9, 19].into_iter().filter_map(ZstdLevel::new).map(Compression::Zstd);
    let codecs = [Compression::Lz4].into_iter().chain(levels).chain([Compression::Auto]);
    codecs.map(|compression| measure_one(extents, compression)).collect()
}

fn measure_one(extents: &[Bytes], compression: Compression) -> Measured {
    let mut measured = Measured {
        compression,
        extents: Vec::new(),
        compressing: Duration::ZERO,
        decompressing: Duration::ZERO,
    };
    let mut out = [0; BLOCK_BYTES];
    for extent in extents {
        let took = measured.compressing + measured.decompressing;
        if took > TIME_MAX && measured.extents.len() >= EXTENTS_MIN {
            break;
        }
        let begun = Instant::now();
        let written = Stored::of(extent, compression);
        measured.compressing += begun.elapsed();
        let stored = written.become_cold(compression);
        let begun = Instant::now();
        assert!(stored.read(&mut out), "what was compressed has to be readable");
        measured.decompressing += begun.elapsed();
        measured.extents.push(OfExtent {
            raw: (stored.blocks() * BLOCK_BYTES) as f64,
            stored: stored.slot_bytes() as f64,
        });
    }
    measured
}
