//! A drive that does one operation at a time: whoever comes while it is busy waits.

use std::time::Duration;

use ashlar_block::Nanos;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// How long operations take, and when all that have come are done. Nothing in it is left to chance.
#[derive(Clone, Copy)]
pub struct Service {
    /// Of each operation, however small.
    per_operation: Duration,
    bytes_per_second: u64,
    /// All operations before the next one are done.
    free_at: Nanos,
}

impl Service {
    /// A drive that is idle.
    #[cfg(test)]
    pub fn new(per_operation: Duration, bytes_per_second: u64) -> Self {
        Service { per_operation, bytes_per_second, free_at: Nanos(0) }
    }

    /// An operation comes: how long it takes until it is done, those before it included.
    pub fn take(&mut self, now: Nanos, bytes: usize) -> Duration {
        let transfer = Duration::from_nanos(bytes as u64 * NANOS_PER_SECOND / self.bytes_per_second);
        let begins = self.free_at.max(now);
        self.free_at = Nanos(begins.0 + (self.per_operation + transfer).as_nanos() as u64);
        self.free_at.since(now)
    }
}

#[cfg(test)]
mod tests;
