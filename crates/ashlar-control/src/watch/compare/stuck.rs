//! A rebuild that does not go on. Pure.

use std::time::Duration;

use super::{about, is, is_closed};
use crate::events::EventKind::{RebuildGoesOn, RebuildStuck};
use crate::progress_text::ProgressText;
use crate::types::{Happening, Pool, Severity};

/// One that goes on by itself within so long is no news: a loss is first made known to the other
/// drives, and collection makes room.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rebuild that stands still.
#[derive(Clone, Copy)]
pub struct Stuck {
    since: Duration,
    /// Whoever sees to the pool has been told, and has to hear of the end.
    pub is_told: bool,
}

/// What is known of it after a look at the pool, and what is to be told. Of one that is not open
/// nothing is: that it cannot be opened is told, and once it is open it begins anew.
pub(super) fn of_stuck(
    before: Option<Stuck>,
    at: Duration,
    pool: &Pool,
) -> (Option<Stuck>, Option<Happening>) {
    if !pool.needs_rebuild() {
        let was_told = before.is_some_and(|stuck| stuck.is_told);
        return (None, (was_told && !is_closed(pool)).then(|| goes_on(pool)));
    }
    let Stuck { since, is_told } = before.unwrap_or(Stuck { since: at, is_told: false });
    let tells = !is_told && at.saturating_sub(since) >= PATIENCE;
    (Some(Stuck { since, is_told: is_told || tells }), tells.then(|| stands(pool)))
}

fn stands(pool: &Pool) -> Happening {
    let message = format!("the rebuild of pool '{}' does not go on", pool.name);
    about(pool, Severity::Error, RebuildStuck, message).because(pool.rebuild_problem().as_deref())
}

fn goes_on(pool: &Pool) -> Happening {
    let message = match pool.rebuild() {
        Some(progress) if is(pool, "degraded") => {
            let goes_on = format!("the rebuild of pool '{}' goes on", pool.name);
            ProgressText::from(&progress).behind(goes_on)
        }
        _ => format!("the rebuild of pool '{}' is over: nothing lacks redundancy", pool.name),
    };
    about(pool, Severity::Info, RebuildGoesOn, message)
}

#[cfg(test)]
mod tests;
