//! `ashlar volume estimate`: how much room data would take in a volume, and how fast they would be
//! stored, by a sample of them.

mod measure;
mod sample;

use std::path::Path;

use anyhow::bail;
use ashlar_block::{BLOCK_BYTES, ByteSize, counted, printable};
use serde::Serialize;

use super::tables;
use crate::args::Output;
use crate::stdio::print_line;
use measure::{Measured, measure};
use sample::Sample;

/// What can be sampled at least and at most: it is all in memory.
const SAMPLE_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=4 << 30;

/// What data would take.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// What was looked at.
    pub data: String,
    /// Its size.
    pub data_bytes: u64,
    /// How much of it was read.
    pub sampled_bytes: u64,
    /// Part of that which is zeros, in percent: it takes no room.
    pub zero_percent: f64,
    /// Files that could not be read.
    pub files_unreadable: u64,
    /// With each codec.
    pub codecs: Vec<ByCodec>,
}

/// What data would take with a codec.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ByCodec {
    /// As `volume create --compression` takes it.
    pub compression: String,
    /// Bytes that are no zeros over what they take, before redundancy. Null: all are zeros.
    pub ratio: Option<f64>,
    /// In 95 of 100 samples the ratio of all data is no less than this, and no more than the next.
    pub ratio_low: Option<f64>,
    pub ratio_high: Option<f64>,
    /// What all data would take, before redundancy.
    pub stored_bytes: u64,
    /// On one processor: bytes per second that hosts can write.
    pub compressed_bytes_per_second: Option<f64>,
    /// The same of what they read.
    pub decompressed_bytes_per_second: Option<f64>,
}

/// Estimates, and prints it.
pub fn run(data: &Path, sample: ByteSize, output: Output) -> anyhow::Result<()> {
    if !SAMPLE_BYTES.contains(&sample.0) {
        let (least, most) = (ByteSize(*SAMPLE_BYTES.start()), ByteSize(*SAMPLE_BYTES.end()));
        bail!("a sample of {sample} cannot be: choose {least} to {most}");
    }
    let estimate = estimate(data, sample.0)?;
    Ok(print_line(output.text(&estimate, as_text)?)?)
}

fn estimate(data: &Path, bytes_max: u64) -> anyhow::Result<Estimate> {
    let sample = Sample::of(data, bytes_max)?;
    let blocks = sample.extents.iter().flat_map(|extent| extent.chunks(BLOCK_BYTES));
    let zeros = blocks.filter(|block| block.iter().all(|byte| *byte == 0)).count() * BLOCK_BYTES;
    let sampled_bytes: usize = sample.extents.iter().map(bytes::Bytes::len).sum();
    let of_sample = zeros as f64 / sampled_bytes as f64;
    let not_zero = sample.data_bytes as f64 * (1.0 - of_sample);
    let codecs = measure(&sample.extents).into_iter().map(|by| by_codec(&by, not_zero)).collect();
    Ok(Estimate {
        data: printable(&data.to_string_lossy()),
        data_bytes: sample.data_bytes,
        sampled_bytes: sampled_bytes as u64,
        zero_percent: of_sample * 100.0,
        files_unreadable: sample.files_unreadable,
        codecs,
    })
}

fn by_codec(measured: &Measured, not_zero_bytes: f64) -> ByCodec {
    let (ratio, margin) = (measured.ratio(), measured.margin());
    ByCodec {
        compression: measured.compression.to_string(),
        ratio,
        ratio_low: ratio.zip(margin).map(|(ratio, margin)| (ratio - margin).max(0.0)),
        ratio_high: ratio.zip(margin).map(|(ratio, margin)| ratio + margin),
        stored_bytes: ratio.map_or(0, |ratio| (not_zero_bytes / ratio) as u64),
        compressed_bytes_per_second: measured.bytes_per_second(measured.compressing),
        decompressed_bytes_per_second: measured.bytes_per_second(measured.decompressing),
    }
}

fn as_text(estimate: &Estimate) -> String {
    let (of, sampled) = (ByteSize(estimate.data_bytes), ByteSize(estimate.sampled_bytes));
    let mut text = format!(
        "{}: {of}\n{sampled} of that were read; {:.0}% of these are zeros, which take no room\n\n{}\n\n\
         RATIO and STORED are before redundancy. 'auto' is shown as it is once data are\n\
         cold: hosts write at the speed of lz4.",
        estimate.data,
        estimate.zero_percent,
        tables::estimate(&estimate.codecs)
    );
    if estimate.files_unreadable > 0 {
        let files = counted(estimate.files_unreadable as usize, "file");
        text.push_str(&format!("\n{files} could not be read, and count for nothing."));
    }
    text
}

#[cfg(test)]
mod tests;
