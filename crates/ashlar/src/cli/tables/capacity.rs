//! The ledger of a pool, and what a proof of it has come to.

use ashlar_control::Span;
use ashlar_control::types::{Pool, VerifiedFigure, Volume};

use super::grid::{Kind, Text, sheet, table};
use super::{known, ratio, size};

/// What the room of a pool is used for, and that of each volume.
pub fn capacity(pool: &Pool, volumes: &[Volume]) -> String {
    let sheet = sheet(rows(pool));
    match volumes.is_empty() {
        true => sheet,
        false => format!("{sheet}\n\n{}", of_volumes(volumes)),
    }
}

fn rows(pool: &Pool) -> Vec<(&'static str, String)> {
    let by_ratio = known(pool.compression_ratio, ratio);
    vec![
        ("name", pool.name.clone()),
        ("promised to volumes", known(pool.promised_bytes, size)),
        ("formatted", known(pool.formatted_bytes, size)),
        ("provisioned", known(pool.provisioned_bytes, size)),
        ("written", known(pool.logical_used_bytes, size)),
        ("zeros, or never written", known(pool.zero_bytes, size)),
        ("stored (compressed)", known(pool.stored_bytes, size)),
        ("compression ratio", by_ratio),
        ("maps and records", known(pool.map_bytes, size)),
        ("garbage to reclaim", known(pool.garbage_bytes, size)),
        ("parity and copies", known(pool.parity_bytes, size)),
        ("free on drives", known(pool.free_raw_bytes, size)),
        ("of all that drives give", known(pool.raw_bytes, size)),
        ("safe to write at that ratio", known(pool.safe_alike_bytes, size)),
        ("safe to write at worst (1:1)", known(pool.safe_noise_bytes, size)),
        ("full at the last hour's rate", known(pool.full_in_seconds, in_so_long)),
    ]
}

/// `in 3h 20m`.
pub(super) fn in_so_long(seconds: u64) -> String {
    format!("in {}", Span(seconds))
}

fn of_volumes(volumes: &[Volume]) -> String {
    let columns = [
        ("volume", Kind::Name),
        ("promised", Kind::Figure),
        ("written", Kind::Figure),
        ("zeros", Kind::Figure),
        ("stored", Kind::Figure),
        ("ratio", Kind::Figure),
    ];
    let row = |volume: &Volume| {
        vec![
            Text::from(&volume.name),
            size(volume.size_bytes).into(),
            size(volume.logical_used_bytes).into(),
            size(volume.zero_bytes).into(),
            size(volume.physical_used_bytes).into(),
            known(volume.compression_ratio, ratio).into(),
        ]
    };
    table(&columns, volumes.iter().map(row).collect())
}

/// What was compared.
pub fn verified(figures: &[VerifiedFigure]) -> String {
    let columns = [
        ("figure", Kind::Figure),
        ("counted", Kind::Figure),
        ("found", Kind::Figure),
        ("verdict", Kind::Figure),
    ];
    let row = |figure: &VerifiedFigure| {
        let VerifiedFigure { name, counted_bytes, found_bytes } = figure;
        let verdict = if counted_bytes == found_bytes { "same" } else { "DIFFERS" };
        vec![
            Text::from(name),
            size(*counted_bytes).into(),
            size(*found_bytes).into(),
            verdict.into(),
        ]
    };
    table(&columns, figures.iter().map(row).collect())
}
