//! A pool with everything.

use std::time::Duration;

use ashlar_block::printable;
use ashlar_control::Span;
use ashlar_control::types::{AfterLoss, Pool, PoolCounters, Spare};

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
    rows.extend(pool.rebuild.map(|rebuild| (moving(pool).0, done(moving(pool).1, &rebuild))));
    rows.extend(pool.rebalance.map(|rebalance| ("rebalance", done("rebalanced", &rebalance))));
    rows.extend(
        pool.scrub.as_ref().map(|scrub| ("scrub", scrubbed(scrub) + &drives_lost_by(scrub))),
    );
    rows.extend(pool.trim.as_ref().map(|trim| ("trim", trimmed(trim))));
    rows.extend(pool.verify.as_ref().map(|verify| ("verify", in_short(verify))));
    rows.extend(pool.problem.as_deref().map(|problem| ("problem", printable(problem))));
    rows.extend(pool.notes.iter().map(|note| ("note", printable(note))));
    rows.extend(pool.spares.iter().map(|found| ("spare", spare(found))));
    rows.extend(room(pool));
    rows.extend(settings(pool));
    rows.extend(counts(pool));
    rows.push(("drives are told what is free", known(pool.autotrim, yes_or_no)));
    format!("{}\n\n{}", sheet(rows), drives_of_pool(&pool.drives))
}

/// How much there is, and how much of it is used.
fn room(pool: &Pool) -> [(&'static str, String); 17] {
    let reserve = match pool.reserve_released {
        Some(true) => "released".to_owned(),
        _ => known(pool.reserve_bytes, size),
    };
    [
        ("raw", known(pool.raw_bytes, size)),
        ("usable after redundancy", known(pool.usable_bytes, size)),
        ("limit (less over-provisioning)", known(pool.limit_bytes, size)),
        ("used (compressed, with maps)", known(pool.physical_used_bytes, size)),
        ("garbage to reclaim", known(pool.garbage_bytes, size)),
        ("free segments", known(pool.free_bytes, size)),
        ("safe to write", known(pool.safe_to_write_bytes, size)),
        ("full at the last hour's rate", known(pool.full_in_seconds, in_so_long)),
        ("survives one loss", known(pool.after_loss.as_ref(), survives)),
        ("reserve", reserve),
        ("full", known(pool.out_of_space, yes_or_no)),
        ("provisioned", known(pool.provisioned_bytes, size)),
        ("formatted", known(pool.formatted_bytes.zip(pool.formatted_ratio), formatted)),
        ("promised to volumes", known(pool.promised_bytes, size)),
        ("logical written", known(pool.logical_used_bytes, size)),
        ("compression ratio", known(pool.compression_ratio, ratio)),
        ("map memory", known(pool.map_memory_bytes, size)),
    ]
}

fn formatted((bytes, ratio): (u64, f64)) -> String {
    format!("{} ({ratio:.2}x)", size(bytes))
}

/// What an operator has chosen.
fn settings(pool: &Pool) -> [(&'static str, String); 5] {
    [
        ("warns, throttles, stops at", levels(pool)),
        (
            "rebuild's share of the time",
            known(pool.recon_prio_percent.zip(pool.recon_p99_us), share_of_rebuild),
        ),
        (
            "scrub's share of the time",
            known(pool.scrub_prio_percent, |percent| format!("{percent} %")),
        ),
        ("scrub's interval", known(pool.scrub_interval_seconds, interval)),
        (
            "gives a drive up after",
            known(pool.fault_threshold.zip(pool.io_timeout_seconds), gives_up_after),
        ),
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

fn gives_up_after((fault_threshold, io_timeout_seconds): (u32, u64)) -> String {
    let faults =
        (fault_threshold > 0).then(|| format!("{fault_threshold} faults within 10 minutes"));
    let silence =
        (io_timeout_seconds > 0).then(|| format!("{io_timeout_seconds}s without an answer"));
    let reasons: Vec<String> = faults.into_iter().chain(silence).collect();
    if reasons.is_empty() {
        "its failure alone (both limits are off)".to_owned()
    } else {
        reasons.join(", or ")
    }
}

fn levels(pool: &Pool) -> String {
    let levels = [pool.warn_percent, pool.throttle_percent, pool.stop_percent];
    levels.map(|level| known(level, |percent| format!("{percent} %"))).join(", ")
}

fn share_of_rebuild((prio_percent, p99_us): (u8, u64)) -> String {
    match Duration::from_micros(p99_us) {
        Duration::ZERO => format!("{prio_percent} %"),
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
