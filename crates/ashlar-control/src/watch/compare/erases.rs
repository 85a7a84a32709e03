//! Drives whose pool was destroyed, and that are erased since, or could not be. Pure.

use crate::events::EventKind::{EraseFailed, EraseFinished};
use crate::types::{DriveErase, Happening, Severity};

/// Erases that have come to their end since.
pub(super) fn happenings(before: &[DriveErase], now: &[DriveErase]) -> Vec<Happening> {
    let goes_on = |erase: &DriveErase| erase.is("running");
    let had_ended = |erase: &DriveErase| {
        let is_it =
            |old: &&DriveErase| (&old.spec, &old.pool_uuid) == (&erase.spec, &erase.pool_uuid);
        before.iter().find(is_it).is_some_and(|old| !goes_on(old))
    };
    now.iter().filter(|erase| !goes_on(erase) && !had_ended(erase)).map(ended).collect()
}

fn ended(erase: &DriveErase) -> Happening {
    let drive = format!("{}, which was a drive of pool '{}',", erase.spec, erase.pool);
    let happening = if erase.is("finished") {
        Happening::new(Severity::Info, EraseFinished, format!("{drive} is erased"))
    } else {
        Happening::new(Severity::Error, EraseFailed, format!("{drive} is not erased"))
            .because(erase.problem.as_deref())
    };
    Happening { pool: Some(erase.pool.clone()), ..happening }
}

#[cfg(test)]
mod tests;
