//! The ledger of a pool, and what a proof of it has come to.

use ashlar_control::Span;
use ashlar_control::types::{Pool, PoolSpace, VerifiedFigure, Volume};

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
    let bytes = |figure: fn(&PoolSpace) -> u64| known(pool.of_space(figure), size);
    let alike = pool.of_space(|space| space.safe_alike_bytes).flatten();
    let full_in = pool.of_space(|space| space.full_in_seconds).flatten();
    let compression = pool.of_space(|space| space.compression_ratio).flatten();
    vec![
        ("name", pool.name.clone()),
        ("promised to volumes", bytes(|space| space.promised_bytes)),
        ("formatted", bytes(|space| space.formatted_bytes)),
        ("provisioned", bytes(|space| space.provisioned_bytes)),
        ("written", bytes(|space| space.logical_used_bytes)),
        ("zeros, or never written", bytes(|space| space.zero_bytes)),
        ("stored (compressed)", bytes(|space| space.stored_bytes)),
        ("compression ratio", known(compression, ratio)),
        ("maps and records", bytes(|space| space.map_bytes)),
        ("garbage to reclaim", bytes(|space| space.garbage_bytes)),
        ("parity and copies", bytes(|space| space.parity_bytes)),
        ("free on drives", bytes(|space| space.free_raw_bytes)),
        ("of all that drives give", bytes(|space| space.raw_bytes)),
        ("safe to write at that ratio", known(alike, size)),
        ("safe to write at worst (1:1)", bytes(|space| space.safe_noise_bytes)),
        ("full at the last hour's rate", known(full_in, in_so_long)),
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
