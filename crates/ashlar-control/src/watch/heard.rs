//! What the node has put down when it happened. Pure.
//!
//! Erases of volumes are told as they come, up to a bound: a host may ask for as many as it likes.
//! What a pool has lost waits for the look that knows of it, so that what has become of it since is
//! told behind it, and neither is told twice.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use super::flood::Flood;
use super::visits::Told;
use crate::events::EventKind::{EraseFailed, VolumeErased};
use crate::node_api::{Erase, ErasedBy, Loss, Occurred, Occurrence, Occurrences};
use crate::types::{Happening, Severity};

/// Erases that are told of one by one in an interval.
const ERASES_TOLD: (u32, Duration) = (32, Duration::from_secs(60));
/// Losses that wait: none is found by looking that came before these.
const WAITING_MAX: usize = 1024;

/// What was heard of, and not told yet.
pub struct Heard {
    erases: Flood,
    /// Of those that were not told of, the ones that have failed.
    failed: u64,
    /// Those of which nothing is known.
    lost: u64,
    losses: VecDeque<PoolLoss>,
}

/// Something that a pool has lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolLoss {
    /// When.
    pub at: SystemTime,
    /// The pool's UUID.
    pub pool: String,
    /// What.
    pub what: Loss,
    number: u64,
}

impl Default for Heard {
    fn default() -> Self {
        let (most, interval) = ERASES_TOLD;
        let erases = Flood::new(most, interval);
        Heard { erases, failed: 0, lost: 0, losses: VecDeque::new() }
    }
}

impl Heard {
    /// What is to be told of these now, and of those before that were too many.
    pub fn hear(&mut self, now: Instant, taken: Occurrences) -> Vec<Told> {
        let mut all: Vec<Told> = self.untold(now).into_iter().collect();
        self.lost += taken.lost;
        for Occurrence { at, number, pool_uuid: pool, what } in taken.all {
            match what {
                Occurred::Lost(what) => {
                    if self.losses.len() == WAITING_MAX {
                        self.losses.pop_front();
                    }
                    self.losses.push_back(PoolLoss { at, pool, what, number });
                }
                Occurred::Erased(erase) if self.erases.admits(now) => {
                    all.push((Some(at), erased(erase)));
                }
                Occurred::Erased(erase) => self.failed += u64::from(erase.failed.is_some()),
            }
        }
        all
    }

    /// The losses that a look knows of, in their order. `known`: the number of the last one of a
    /// pool that it knows of. One that is not open has none to come.
    pub fn take_losses(&mut self, known: impl Fn(&str) -> Option<u64>) -> Vec<PoolLoss> {
        let is_known = |loss: &PoolLoss| known(&loss.pool).is_none_or(|last| loss.number <= last);
        let (taken, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.losses).into_iter().partition(is_known);
        self.losses = left.into();
        taken
    }

    /// Those that were not told one by one. What the node had no room for was erases, too: drives
    /// and pools are not that many.
    fn untold(&mut self, now: Instant) -> Option<Told> {
        let untold = self.erases.take_untold(now) + std::mem::take(&mut self.lost);
        if untold == 0 {
            return None;
        }
        let failed = std::mem::take(&mut self.failed);
        let (severity, kind) = match failed {
            0 => (Severity::Info, VolumeErased),
            _ => (Severity::Error, EraseFailed),
        };
        let message = format!(
            "{untold} more volumes were erased, or were to be, than are told of one by one; \
             {failed} of them are known to have failed"
        );
        Some((None, Happening::new(severity, kind, message)))
    }
}

fn erased(erase: Erase) -> Happening {
    let Erase { pool, volume, by, failed } = erase;
    let (who, what, host) = match by {
        ErasedBy::Format(host) => (format!("host {host}"), "formatted", Some(host)),
        ErasedBy::Sanitize(host) => (format!("host {host}"), "sanitized", Some(host)),
        ErasedBy::Start => ("the daemon".to_owned(), "gone on to erase", None),
    };
    let (severity, kind) = match failed {
        None => (Severity::Info, VolumeErased),
        Some(_) => (Severity::Error, EraseFailed),
    };
    let message = match failed {
        None => format!("{who} has {what} {pool}/{volume}: what it held is erased"),
        Some(_) => format!("{who} has {what} {pool}/{volume}, and what it held is not erased"),
    };
    let happening = Happening::new(severity, kind, message).because(failed.as_deref());
    Happening { pool: Some(pool), volume: Some(volume), host, ..happening }
}

#[cfg(test)]
mod tests;
