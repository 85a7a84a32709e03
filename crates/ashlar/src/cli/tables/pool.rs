//! A pool with everything.

use std::time::Duration;

use ashlar_block::printable;
use ashlar_control::Span;
use ashlar_control::types::{AfterLoss, Pool, PoolCounters, PoolSettings, PoolSpace, Spare};

use super::capacity::in_so_long;
use super::drives::drives_of_pool;
use super::grid::sheet;
use super::{
    done, drives_lost_by, health, known, moving, or_dash, ratio, scrubbed, size, yes_or_no,
};
use crate::cli::trim::trimmed;
use crate::cli::verify::in_short;

/// A pool with everything, and what its drives say of their health.
pub fn pool_with_health(pool: &Pool) -> String {
    format!("{}\n\n{}", self::pool(pool), health::of_drives(&pool.drives))
}

/// A pool with everything but the health of its drives.
pub fn pool(pool: &Pool) -> String {
    let mut rows = vec![
        ("name", pool.name.clone()),
        ("uuid", pool.uuid.clone()),
        ("level", or_dash(pool.level.as_deref())),
        ("state", pool.states.join(", ")),
    ];
    rows.extend(jobs(pool));
    rows.extend(pool.problem.as_deref().map(|problem| ("problem", printable(problem))));
    rows.extend(pool.notes.iter().map(|note| ("note", printable(note))));
    rows.extend(pool.spares.iter().map(|found| ("spare", spare(found))));
    rows.extend(room(pool));
    rows.extend(counts(pool));
    rows.extend(settings(pool));
    format!("{}\n\n{}", sheet(rows), drives_of_pool(&pool.drives))
}

/// What is done in the background, and what the last of it has come to.
fn jobs(pool: &Pool) -> impl Iterator<Item = (&'static str, String)> {
    let of_scrub = |scrub| ("scrub", scrubbed(scrub) + &drives_lost_by(scrub));
    [
        pool.rebuild().map(|rebuild| (moving(pool).0, done(moving(pool).1, &rebuild))),
        pool.rebalance().map(|rebalance| ("rebalance", done("rebalanced", &rebalance))),
        pool.scrub().map(of_scrub),
        pool.trim().map(|trim| ("trim", trimmed(trim))),
        pool.verify().map(|verify| ("verify", in_short(verify))),
    ]
    .into_iter()
    .flatten()
}

/// How much there is, and how much of it is used.
fn room(pool: &Pool) -> [(&'static str, String); 17] {
    let bytes = |figure: fn(&PoolSpace) -> u64| known(pool.of_space(figure), size);
    let reserve = match pool.of_space(|space| space.reserve_released) {
        Some(true) => "released".to_owned(),
        _ => bytes(|space| space.reserve_bytes),
    };
    let full_in = pool.of_space(|space| space.full_in_seconds).flatten();
    let after_loss = pool.space.as_ref().and_then(|space| space.after_loss.as_ref());
    let compression = pool.of_space(|space| space.compression_ratio).flatten();
    [
        ("raw", bytes(|space| space.raw_bytes)),
        ("usable after redundancy", bytes(|space| space.usable_bytes)),
        ("limit (less over-provisioning)", bytes(|space| space.limit_bytes)),
        ("used (compressed, with maps)", bytes(|space| space.physical_used_bytes)),
        ("garbage to reclaim", bytes(|space| space.garbage_bytes)),
        ("free segments", bytes(|space| space.free_bytes)),
        ("safe to write", bytes(|space| space.safe_to_write_bytes)),
        ("full at the last hour's rate", known(full_in, in_so_long)),
        ("survives one loss", known(after_loss, survives)),
        ("reserve", reserve),
        ("full", known(pool.of_space(|space| space.out_of_space), yes_or_no)),
        ("provisioned", bytes(|space| space.provisioned_bytes)),
        ("formatted", known(pool.space.as_ref(), formatted)),
        ("promised to volumes", bytes(|space| space.promised_bytes)),
        ("logical written", bytes(|space| space.logical_used_bytes)),
        ("compression ratio", known(compression, ratio)),
        ("map memory", bytes(|space| space.map_memory_bytes)),
    ]
}

fn formatted(space: &PoolSpace) -> String {
    format!("{} ({:.2}x)", size(space.formatted_bytes), space.formatted_ratio)
}

/// What an operator has chosen.
fn settings(pool: &Pool) -> [(&'static str, String); 6] {
    let said = |say: fn(&PoolSettings) -> String| known(pool.settings.as_ref(), say);
    [
        ("warns, throttles, stops at", said(levels)),
        ("rebuild's share of the time", said(share_of_rebuild)),
        ("scrub's share of the time", said(|chosen| format!("{} %", chosen.scrub_prio_percent))),
        ("scrub's interval", said(|chosen| interval(chosen.scrub_interval_seconds))),
        ("gives a drive up after", said(gives_up_after)),
        ("drives are told what is free", said(|chosen| yes_or_no(chosen.autotrim))),
    ]
}

/// What has been counted.
fn counts(pool: &Pool) -> [(&'static str, String); 7] {
    let count = |of: fn(&PoolCounters) -> u64| {
        known(pool.counters.as_ref().map(of), |count| count.to_string())
    };
    [
        ("blocks read from parity", count(|counters| counters.blocks_reconstructed)),
        ("blocks read around slow drives", count(|counters| counters.blocks_spared)),
        ("wrong blocks corrected", count(|counters| counters.wrong_blocks_corrected)),
        ("sectors repaired", count(|counters| counters.sectors_repaired)),
        ("unrecovered blocks", count(|counters| counters.blocks_unrecovered)),
        ("unclean starts", count(|counters| counters.unclean_starts)),
        (
            "write amplification",
            known(pool.counters.and_then(|counters| counters.write_amplification), |it| {
                format!("{it:.2} since it was made")
            }),
        ),
    ]
}

/// Whether one more drive may be lost, and with how much room.
fn survives(after: &AfterLoss) -> String {
    match (after.spare_bytes, after.short_bytes) {
        (Some(spare), _) => format!("yes, with {} to spare", size(spare)),
        (None, Some(short)) => format!("no: {} short", size(short)),
        (None, None) => {
            format!("no: {}", after.problem.as_deref().unwrap_or("it is not known why"))
        }
    }
}

fn gives_up_after(chosen: &PoolSettings) -> String {
    let PoolSettings { fault_threshold, io_timeout_seconds, .. } = chosen;
    let faults =
        (*fault_threshold > 0).then(|| format!("{fault_threshold} faults within 10 minutes"));
    let silence =
        (*io_timeout_seconds > 0).then(|| format!("{io_timeout_seconds}s without an answer"));
    let reasons: Vec<String> = faults.into_iter().chain(silence).collect();
    if reasons.is_empty() {
        "its failure alone (both limits are off)".to_owned()
    } else {
        reasons.join(", or ")
    }
}

fn levels(chosen: &PoolSettings) -> String {
    let PoolSettings { warn_percent, throttle_percent, stop_percent, .. } = chosen;
    format!("{warn_percent} %, {throttle_percent} %, {stop_percent} %")
}

fn share_of_rebuild(chosen: &PoolSettings) -> String {
    match Duration::from_micros(chosen.recon_p99_us) {
        Duration::ZERO => format!("{} %", chosen.recon_prio_percent),
        target => format!("what a p99 of {target:?} leaves"),
    }
}

fn spare(spare: &Spare) -> String {
    let Spare { spec, problem } = spare;
    let taken = problem.as_ref().map(|why| format!("{spec}, which could not be taken: {why}"));
    printable(&taken.unwrap_or_else(|| spec.clone()))
}

fn interval(seconds: u64) -> String {
    if seconds == 0 { "off".to_owned() } else { Span(seconds).to_string() }
}
