//! Data that reads could not get right, and data that they got right all the same. Pure.
//!
//! Pools count both. A disk that goes bad gives thousands: an event says how many there were since
//! the one before it.

use std::time::Duration;

use super::about;
use crate::events::EventKind::{DataUnreadable, WrongDataRepaired};
use crate::types::{Happening, Pool, PoolCounters, PoolDrive, Severity};

/// A pool has one event of each kind within so long.
const APART: Duration = Duration::from_secs(60);

/// What of a pool's damage was told.
#[derive(Clone, Copy, Default)]
pub struct ToldDamage {
    unreadable: Told,
    wrong: Told,
    healed: u64,
}

/// A count as of the last event of it, and when that was.
#[derive(Clone, Copy, Default)]
struct Told {
    count: u64,
    last: Option<Duration>,
}

impl ToldDamage {
    /// The same, of which what was counted before the pool was opened anew is forgotten.
    fn of_counts_up_to(mut self, counters: &PoolCounters) -> Self {
        let forget = |count: &mut u64, now: u64| *count = if *count > now { 0 } else { *count };
        forget(&mut self.unreadable.count, counters.blocks_unrecovered);
        forget(&mut self.wrong.count, counters.wrong_blocks_corrected);
        forget(&mut self.healed, counters.sectors_healed);
        self
    }
}

impl Told {
    /// How much the count has grown by, where that is to be told now. `other` is what is told
    /// together with it.
    fn growth(self, at: Duration, count: u64, other: u64) -> Option<u64> {
        let grown = count - self.count;
        let is_due = self.last.is_none_or(|last| at.saturating_sub(last) >= APART);
        (is_due && grown + other > 0).then_some(grown)
    }
}

/// What is to be told of a pool, of which `told` was, and what was told then. One that is not open
/// counts nothing, and begins anew.
pub(super) fn happenings(
    told: ToldDamage,
    at: Duration,
    pool: &Pool,
) -> (ToldDamage, Vec<Happening>) {
    let counters = pool.counters.unwrap_or_default();
    let PoolCounters { blocks_unrecovered, wrong_blocks_corrected, sectors_healed, .. } = counters;
    let (mut next, mut all) = (told.of_counts_up_to(&counters), Vec::new());
    let told = next;
    if let Some(blocks) = told.unreadable.growth(at, blocks_unrecovered, 0) {
        next.unreadable = Told { count: blocks_unrecovered, last: Some(at) };
        all.push(unreadable(pool, blocks));
    }
    let healed = sectors_healed - told.healed;
    if let Some(blocks) = told.wrong.growth(at, wrong_blocks_corrected, healed) {
        next.wrong = Told { count: wrong_blocks_corrected, last: Some(at) };
        next.healed = sectors_healed;
        all.push(wrong(pool, blocks, healed));
    }
    (next, all)
}

fn unreadable(pool: &Pool, blocks: u64) -> Happening {
    let message = format!("{} of pool '{}' could not be read right", many(blocks), pool.name);
    about(pool, Severity::Error, DataUnreadable, message).because(by_drives(pool).as_deref())
}

fn wrong(pool: &Pool, blocks: u64, healed: u64) -> Happening {
    let repaired = match healed {
        1 => "one sector that was wrong or unreadable is repaired".to_owned(),
        _ => format!("{healed} sectors that were wrong or unreadable are repaired"),
    };
    let message = match (blocks, healed) {
        (0, _) => format!("of pool '{}' {repaired}", pool.name),
        (_, 0) => {
            format!("{} of pool '{}' came wrong, and were made right", many(blocks), pool.name)
        }
        _ => format!(
            "{} of pool '{}' came wrong, and were made right; {repaired}",
            many(blocks),
            pool.name
        ),
    };
    about(pool, Severity::Warning, WrongDataRepaired, message).because(by_drives(pool).as_deref())
}

fn many(blocks: u64) -> String {
    if blocks == 1 { "one block".to_owned() } else { format!("{blocks} blocks") }
}

/// Which drives may have brought it about, since the pool was opened.
pub(crate) fn by_drives(pool: &Pool) -> Option<String> {
    let of_drive = |drive: &PoolDrive| {
        let counted = |count: Option<u64>, what: &str| {
            count.filter(|count| *count > 0).map(|count| format!("{what} {count}"))
        };
        let is_lost = drive.states.iter().any(|state| state == "failed" || state == "absent");
        let parts: Vec<String> = [
            is_lost.then(|| "lost".to_owned()),
            counted(drive.read_errors, "reads refused:"),
            counted(drive.wrong_answers, "reads answered wrong:"),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!parts.is_empty()).then(|| format!("{} ({})", drive.name, parts.join(", ")))
    };
    let drives: Vec<String> = pool.drives.iter().filter_map(of_drive).collect();
    (!drives.is_empty()).then(|| drives.join(", "))
}

#[cfg(test)]
mod tests;
