//! What drives have begun to warn of, and what is over.

use super::about_drive;
use crate::events::EventKind::{self, DriveFailing, DriveWarningEnded};
use crate::types::{DriveWarning, Happening, Pool, PoolDrive, Severity};

/// A warning is told of once, and again when it becomes worse or better.
pub(super) fn happenings(
    pool: &Pool,
    before: Option<&PoolDrive>,
    now: &PoolDrive,
) -> Vec<Happening> {
    // One that has gone, or whose pool is not open, is not well for that.
    if now.health.answer_age_seconds.is_none() {
        return Vec::new();
    }
    let before: &[DriveWarning] = before.map_or(&[], |before| &before.health.warnings);
    let same = |all: &[DriveWarning], warning: &DriveWarning| {
        all.iter().find(|other| other.kind == warning.kind).map(|other| other.severity)
    };
    let is_new = |warning: &&DriveWarning| same(before, warning) != Some(warning.severity);
    let is_over = |old: &&DriveWarning| same(&now.health.warnings, old).is_none();
    let begun = now.health.warnings.iter().filter(is_new).map(|it| begun(pool, now, it));
    let over = before.iter().filter(is_over).map(|it| over(pool, now, it));
    begun.chain(over).collect()
}

fn begun(pool: &Pool, drive: &PoolDrive, warning: &DriveWarning) -> Happening {
    let message = format!("{} of pool '{}'", drive.name, pool.name);
    let kind = EventKind::of_word(&format!("drive_{}", warning.kind)).unwrap_or(DriveFailing);
    let happening = about_drive(pool, drive, warning.severity, kind, message);
    told(happening.because(Some(&warning.message)), warning)
}

fn over(pool: &Pool, drive: &PoolDrive, warning: &DriveWarning) -> Happening {
    let kind = warning.kind.replace('_', " ");
    let message = format!("{} of pool '{}' is no longer warned of: {kind}", drive.name, pool.name);
    told(about_drive(pool, drive, Severity::Info, DriveWarningEnded, message), warning)
}

fn told(happening: Happening, warning: &DriveWarning) -> Happening {
    Happening { states: vec![warning.kind.clone()], ..happening }
}

#[cfg(test)]
mod tests;
