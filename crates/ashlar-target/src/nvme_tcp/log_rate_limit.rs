//! A rate limit for lines of the log that anybody who reaches a port can cause.
//!
//! Of each kind a few lines are written within [`INTERVAL`]. What happens beyond that is counted,
//! and the next line says how often it has happened. Nothing else depends on these lines: who is
//! connected, and what has happened to hosts, is known from the registry.

use std::cell::Cell;
use std::time::Duration;

use ashlar_block::Nanos;

/// For so long a kind's lines are counted.
const INTERVAL: Duration = Duration::from_secs(10);
/// Lines within it of hosts that come, go or are refused, each with its name: as many as the hosts
/// of a small site.
const HOST_LINES_MAX: u32 = 16;

/// How often something of one kind has happened since the log was told.
pub(super) struct RateLimit {
    lines_max: u32,
    begun: Cell<Option<Nanos>>,
    lines: Cell<u32>,
    since_last_line: Cell<u64>,
}

impl RateLimit {
    /// Writes at most `lines_max` lines within [`INTERVAL`].
    const fn new(lines_max: u32) -> Self {
        RateLimit {
            lines_max,
            begun: Cell::new(None),
            lines: Cell::new(0),
            since_last_line: Cell::new(0),
        }
    }

    /// It has happened again. If a line is to be written: how often since the last one.
    pub(super) fn count(&self, now: Nanos) -> Option<u64> {
        self.since_last_line.set(self.since_last_line.get() + 1);
        if self.begun.get().is_none_or(|begun| now.since(begun) >= INTERVAL) {
            self.begun.set(Some(now));
            self.lines.set(0);
        }
        if self.lines.get() == self.lines_max {
            return None;
        }
        self.lines.set(self.lines.get() + 1);
        Some(self.since_last_line.take())
    }
}

/// What one reactor tells the log of in that way, by kind.
pub(super) struct LogRateLimits {
    /// A host connects: its controller is made.
    pub(super) arrival: RateLimit,
    /// A host's controller goes.
    pub(super) departure: RateLimit,
    /// A host's keep alive timeout expires.
    pub(super) silence: RateLimit,
    /// A connection finds no room.
    pub(super) shortage: RateLimit,
    /// A Connect is refused.
    pub(super) refusal: RateLimit,
    /// A host sends a terminate request.
    pub(super) termination: RateLimit,
    /// A host breaks the protocol.
    pub(super) fault: RateLimit,
    /// A volume fails a host's command.
    pub(super) failure: RateLimit,
    /// A command begins that the limits of its volume do not allow.
    pub(super) excess: RateLimit,
}

impl Default for LogRateLimits {
    fn default() -> Self {
        LogRateLimits {
            arrival: RateLimit::new(HOST_LINES_MAX),
            departure: RateLimit::new(HOST_LINES_MAX),
            silence: RateLimit::new(HOST_LINES_MAX),
            shortage: RateLimit::new(1),
            refusal: RateLimit::new(HOST_LINES_MAX),
            termination: RateLimit::new(1),
            fault: RateLimit::new(1),
            failure: RateLimit::new(1),
            excess: RateLimit::new(1),
        }
    }
}

#[cfg(test)]
mod tests;
