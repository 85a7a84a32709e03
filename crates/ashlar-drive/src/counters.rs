//! What a drive has done, readable from any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counters of one drive since it was opened.
#[derive(Debug, Default)]
pub struct DriveCounters {
    reads: OpCounter,
    writes: OpCounter,
    flushes: OpCounter,
    discards: OpCounter,
    copies: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct OpCounter {
    ended: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    nanos: AtomicU64,
}

/// One kind of operation, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpStats {
    /// Operations that ended, failed ones included.
    pub ended: u64,
    /// Of these, how many failed.
    pub failed: u64,
    /// Bytes of those that succeeded.
    pub bytes: u64,
    /// Time from beginning to end, summed over all.
    pub nanos: u64,
}

/// A drive's counters at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriveStats {
    /// Reads.
    pub reads: OpStats,
    /// Writes.
    pub writes: OpStats,
    /// Flushes.
    pub flushes: OpStats,
    /// Discards.
    pub discards: OpStats,
    /// Writes whose data had to be copied first, because direct I/O could not take it from where it
    /// was.
    pub copies: u64,
}

impl OpCounter {
    pub(crate) fn note(&self, succeeded: bool, bytes: u64, took: Duration) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        if succeeded {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        } else {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn snapshot(&self) -> OpStats {
        OpStats {
            ended: self.ended.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            nanos: self.nanos.load(Ordering::Relaxed),
        }
    }
}

impl DriveCounters {
    pub(crate) fn of(&self, op: ashlar_block::DeviceOp) -> &OpCounter {
        match op {
            ashlar_block::DeviceOp::Read => &self.reads,
            ashlar_block::DeviceOp::Write => &self.writes,
            ashlar_block::DeviceOp::Flush => &self.flushes,
            ashlar_block::DeviceOp::Discard => &self.discards,
        }
    }

    pub(crate) fn note_copy(&self) {
        self.copies.fetch_add(1, Ordering::Relaxed);
    }

    /// The figures now. Each is exact; two of them may be a moment apart.
    pub fn snapshot(&self) -> DriveStats {
        DriveStats {
            reads: self.reads.snapshot(),
            writes: self.writes.snapshot(),
            flushes: self.flushes.snapshot(),
            discards: self.discards.snapshot(),
            copies: self.copies.load(Ordering::Relaxed),
        }
    }
}
