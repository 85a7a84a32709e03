//! What has happened in a pool, as it goes over the wire.

use ashlar_control::types::{PoolCounters, PoolSteps, StepCounts};
use ashlar_store::{PoolStatus, StepCounters, Steps};

use super::health;

/// What has happened in a pool since it was opened.
pub fn of(status: &PoolStatus) -> PoolCounters {
    let counters = status.counters;
    PoolCounters {
        blocks_written: counters.hosts.blocks_written,
        blocks_read: counters.hosts.blocks_read,
        stored_bytes: counters.hosts.bytes_stored,
        drive_written_bytes: counters.drives.bytes_to_drives,
        blocks_moved: counters.jobs.fragments_moved,
        blocks_recompressed: counters.jobs.fragments_recompressed,
        dictionaries_made: counters.jobs.dictionaries_made,
        segments_collected: counters.jobs.segments_collected,
        columns_restored: counters.jobs.columns_restored,
        columns_moved: counters.jobs.columns_moved,
        checkpoints: counters.jobs.checkpoints,
        map_pages_read: counters.reads.map_pages_read,
        blocks_reconstructed: counters.reads.blocks_reconstructed,
        blocks_spared: counters.reads.blocks_spared,
        wrong_blocks_corrected: counters.reads.corrupt_reads_corrected,
        sectors_repaired: counters.repairs.sectors_repaired,
        sectors_healed: counters.repairs.sectors_healed,
        trimmed_bytes: counters.drives.bytes_discarded,
        trims_refused: counters.drives.discards_failed,
        blocks_unrecovered: counters.reads.blocks_unrecovered,
        unclean_starts: status.unclean_starts,
        write_amplification: health::write_amplification(
            status.lifetime.bytes_to_drives,
            status.lifetime.blocks_written,
        ),
        steps: steps(&counters.steps),
    }
}

fn steps(steps: &Steps) -> PoolSteps {
    PoolSteps {
        batch: step(&steps.batch),
        compress: step(&steps.compress),
        parity: step(&steps.parity),
        map: step(&steps.map),
    }
}

fn step(step: &StepCounters) -> StepCounts {
    StepCounts {
        operations: step.operations,
        latency_seconds: step.latency.as_secs_f64(),
        busy_seconds: step.busy.as_secs_f64(),
    }
}
