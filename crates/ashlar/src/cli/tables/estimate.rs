//! What data would take.

use super::grid::{Kind, Text, table};
use super::{known, ratio, size};
use crate::cli::estimate::ByCodec;
use crate::cli::figures;

/// With each codec.
pub fn estimate(codecs: &[ByCodec]) -> String {
    let columns = [
        ("codec", Kind::Name),
        ("ratio", Kind::Figure),
        ("95 of 100", Kind::Figure),
        ("stored", Kind::Figure),
        ("write/s", Kind::Figure),
        ("read/s", Kind::Figure),
    ];
    let row = |by: &ByCodec| {
        let range = by.ratio_low.zip(by.ratio_high);
        vec![
            Text::from(&by.compression),
            known(by.ratio, ratio).into(),
            known(range, |(low, high)| format!("{low:.2} to {high:.2}")).into(),
            size(by.stored_bytes).into(),
            known(by.compressed_bytes_per_second, figures::bytes).into(),
            known(by.decompressed_bytes_per_second, figures::bytes).into(),
        ]
    };
    table(&columns, codecs.iter().map(row).collect())
}
