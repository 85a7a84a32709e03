//! How long operations of a drive take, where that is not left to chance.

use std::time::Duration;

use ashlar_block::{DeviceOp, Nanos};

/// A drive whose operations wait for each other.
pub trait Service {
    /// An operation comes: how long it takes until it is done, what it waits for others included.
    fn take(&mut self, now: Nanos, op: DeviceOp, offset: u64, bytes: usize) -> Duration;
}

#[cfg(test)]
mod given {
    use super::*;

    const NANOS_PER_SECOND: u64 = 1_000_000_000;

    /// It does one operation at a time: whoever comes while it is busy waits.
    #[derive(Clone, Copy)]
    pub struct OneAtATime {
        /// Of each operation, however small.
        per_operation: Duration,
        bytes_per_second: u64,
        /// All operations before the next one are done.
        free_at: Nanos,
    }

    impl OneAtATime {
        /// A drive that is idle.
        pub fn new(per_operation: Duration, bytes_per_second: u64) -> Self {
            OneAtATime { per_operation, bytes_per_second, free_at: Nanos(0) }
        }
    }

    impl Service for OneAtATime {
        fn take(&mut self, now: Nanos, _: DeviceOp, _: u64, bytes: usize) -> Duration {
            let transfer =
                Duration::from_nanos(bytes as u64 * NANOS_PER_SECOND / self.bytes_per_second);
            let begins = self.free_at.max(now);
            self.free_at = Nanos(begins.0 + (self.per_operation + transfer).as_nanos() as u64);
            self.free_at.since(now)
        }
    }

    /// As fast as a class of drives.
    impl Service for ashlar_drive::Timing {
        fn take(&mut self, now: Nanos, op: DeviceOp, offset: u64, bytes: usize) -> Duration {
            self.begin(now, op, offset, bytes as u64).since(now)
        }
    }
}

#[cfg(test)]
pub use given::OneAtATime;

#[cfg(test)]
mod tests;
