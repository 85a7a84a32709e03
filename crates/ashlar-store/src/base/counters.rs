//! Figures of what has happened in a pool.

use std::time::Duration;

/// What has happened since the pool was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// What hosts have done.
    pub hosts: HostCounters,
    /// What reads had to do.
    pub reads: ReadCounters,
    /// What was given to the drives.
    pub drives: DriveCounters,
    /// What background jobs have done.
    pub jobs: JobCounters,
    /// What was written anew because it was wrong.
    pub repairs: RepairCounters,
    /// What the steps of the data path took.
    pub steps: Steps,
}

/// What the steps of the data path took. Whole commands and batches are timed and never single
/// blocks, by two looks at the clock each: 50 ns or so, of the 10 µs and more that the processor
/// spends on a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Writes of hosts, from when they are given to be committed until their batch is durable. It
    /// is busy while a batch of hosts is on its way to the drives.
    pub batch: StepCounters,
    /// Compressing what hosts write, by the command.
    pub compress: StepCounters,
    /// Making parity, by the batch, whoever writes it; and making of the others what a column has
    /// lost.
    pub parity: StepCounters,
    /// Looking up what a command reads, which waits for pages that are not in memory; and noting
    /// where a batch of hosts is.
    pub map: StepCounters,
}

/// What one step of the data path took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StepCounters {
    /// How often it was done.
    pub operations: u64,
    /// From begin to end, all together.
    pub latency: Duration,
    /// For how long it was busy: of compress, parity and map the reactor's time by the clock,
    /// without what it waits for in other turns.
    pub busy: Duration,
}

impl StepCounters {
    /// It was done once, without waiting.
    pub fn worked(&mut self, took: Duration) {
        self.add(StepCounters { operations: 1, latency: took, busy: took });
    }

    /// It was done that often more.
    pub fn add(&mut self, more: StepCounters) {
        self.operations += more.operations;
        self.latency += more.latency;
        self.busy += more.busy;
    }
}

/// What hosts have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Blocks that they wrote, zeros included.
    pub blocks_written: u64,
    /// Blocks that they read.
    pub blocks_read: u64,
    /// Fragment bytes stored for them, before padding.
    pub bytes_stored: u64,
}

/// What reads had to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReadCounters {
    /// Pages of the map that had to be read from the drives.
    pub map_pages_read: u64,
    /// Blocks that had to be reconstructed because a drive was missing or refused to read.
    pub blocks_reconstructed: u64,
    /// Blocks that were reconstructed because a drive is slow.
    pub blocks_spared: u64,
    /// Blocks that a drive returned wrong and that were reconstructed.
    pub corrupt_reads_corrected: u64,
    /// Blocks that could not be read right.
    pub blocks_unrecovered: u64,
}

/// What was given to the drives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DriveCounters {
    /// Bytes of rows written, redundancy included, for whatever reason.
    pub bytes_to_drives: u64,
    /// Bytes of free chunks that drives were told of.
    pub bytes_discarded: u64,
    /// Times that a drive has refused that.
    pub discards_failed: u64,
}

/// What background jobs have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JobCounters {
    /// Fragments that were copied from the journal into stripes.
    pub fragments_destaged: u64,
    /// Fragments that garbage collection copied.
    pub fragments_moved: u64,
    /// Fragments that were stored in another form when they were moved.
    pub fragments_recompressed: u64,
    /// Dictionaries that were made for volumes, and kept.
    pub dictionaries_made: u64,
    /// Segments that garbage collection emptied.
    pub segments_collected: u64,
    /// Columns of segments that were on lost drives and are on others now.
    pub columns_restored: u64,
    /// Columns of segments that went to other drives for a rebalance.
    pub columns_moved: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Sweeps of the whole map that have set segment numbers free.
    pub sweeps: u64,
}

/// What was written anew because it was wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCounters {
    /// Sectors that were wrong or could not be read.
    pub sectors_repaired: u64,
    /// Those of them that a read has found, and no scrub.
    pub sectors_healed: u64,
}
