//! What to run, and what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::model::Mismatch;
use crate::initiator::CommandError;
use crate::latency::{Latencies, LatencySummary};

/// How often each kind of operation comes; only the ratio counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mix {
    /// Reads.
    pub read: u32,
    /// Writes.
    pub write: u32,
    /// Deallocations and Write Zeroes.
    pub trim: u32,
    /// Compare and Write of one block; one in four expects what the block cannot hold, and must be
    /// refused.
    pub compare_and_write: u32,
    /// Flushes.
    pub flush: u32,
}

impl Default for Mix {
    fn default() -> Self {
        Mix { read: 50, write: 45, trim: 5, compare_and_write: 0, flush: 0 }
    }
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Operations outstanding at a time; at least 1.
    pub depth: u32,
    /// How long; none for no bound.
    pub duration: Option<Duration>,
    /// Operations that are begun in a second, as long as no more than may be are outstanding. A
    /// latency counts from when its operation was to begin. Without it, each operation begins when
    /// another one ends.
    pub per_second: Option<u32>,
    /// How many operations; none for no bound.
    pub operations_max: Option<u64>,
    /// Which operations.
    pub mix: Mix,
    /// Blocks of the largest operation; most are of one block. Bounded by what the target takes.
    pub blocks_max: u32,
    /// Seed of the choice of operations.
    pub seed: u64,
    /// How often progress is told.
    pub progress_interval: Duration,
    /// Ends it, from wherever.
    pub stop: Stop,
}

/// Ends a run that has no other end. Clones end the same one.
#[derive(Clone, Default, Debug)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// No further operation is begun.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            depth: 32,
            duration: Some(Duration::from_secs(10)),
            per_second: None,
            operations_max: None,
            mix: Mix::default(),
            blocks_max: 32,
            seed: 1,
            progress_interval: Duration::from_millis(200),
            stop: Stop::default(),
        }
    }
}

/// How far a run is.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Time since its start.
    pub elapsed: Duration,
    /// Operations done.
    pub operations: u64,
    /// Blocks of all, if the end is known by them.
    pub blocks_total: Option<u64>,
    /// Blocks done.
    pub blocks: u64,
    /// Operations since the last time that progress was told.
    pub recent: Latencies,
}

/// What a run was.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Its duration.
    pub seconds: f64,
    /// Operations per second, of all kinds.
    pub iops: f64,
    /// Blocks that were read and checked.
    pub blocks_checked: u64,
    /// Blocks that were written.
    pub blocks_written: u64,
    /// Blocks that were trimmed.
    pub blocks_trimmed: u64,
    /// Latency of reads.
    pub read: LatencySummary,
    /// Latency of writes.
    pub write: LatencySummary,
    /// Latency of trims.
    pub trim: LatencySummary,
    /// Times that the connection was lost and made again.
    pub reconnections: u64,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// Wrong data were read.
    #[error("wrong data: {0}")]
    Mismatch(#[from] Mismatch),
    /// A Compare and Write was refused though the block held what was expected, or was done though
    /// it did not.
    #[error(
        "block {block} must hold version {held:?} (0: zeros): a comparison with {expected} ended otherwise"
    )]
    Compared {
        /// The block.
        block: u64,
        /// What it may hold.
        held: Vec<u32>,
        /// What it was compared with.
        expected: u32,
    },
    /// A command failed.
    #[error("{operation} of {count} blocks at {block} failed: {source}")]
    Command {
        /// What was asked.
        operation: &'static str,
        /// Its first block.
        block: u64,
        /// Its blocks.
        count: u32,
        /// Why it failed.
        source: CommandError,
    },
    /// The volume is smaller than the model, or has blocks that do not fit.
    #[error("{0}")]
    Unfit(String),
}
