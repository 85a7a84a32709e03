//! What is known of a pool while it is open: its room, its settings, what has happened and what is
//! done in the background.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DataMove, JobKind, Pool, Scrub, Trim, Verify};

impl Pool {
    /// A figure of its room. None: it is not open.
    pub fn of_space<T>(&self, figure: impl FnOnce(&PoolSpace) -> T) -> Option<T> {
        self.space.as_ref().map(figure)
    }

    /// The rebuild that goes on, or waits.
    pub fn rebuild(&self) -> Option<Progress> {
        self.jobs.as_ref()?.rebuild
    }

    /// A drive that is lost, by its name: the first of them.
    pub(crate) fn lost_drive(&self) -> Option<&str> {
        let is_lost = |state: &String| state == "failed" || state == "absent";
        let lost = self.drives.iter().find(|drive| drive.states.iter().any(is_lost));
        lost.map(|drive| drive.name.as_str())
    }

    /// Something lacks redundancy that a lost drive held, and nothing of it is being restored.
    pub(crate) fn needs_rebuild(&self) -> bool {
        self.states.iter().any(|state| state == "need-rebuild")
    }

    /// Why what lived on a lost drive is not restored, where that is known.
    pub(crate) fn rebuild_problem(&self) -> Option<String> {
        let met = || self.rebuild()?.obstacle.map(|obstacle| obstacle.text().to_owned());
        self.problem.clone().or_else(met)
    }

    /// The rebalance that goes on, or waits.
    pub fn rebalance(&self) -> Option<Progress> {
        self.jobs.as_ref()?.rebalance
    }

    /// The move of data of that kind that goes on, or else the last one.
    pub fn data_move(&self, kind: JobKind) -> Option<&DataMove> {
        self.jobs.as_ref()?.moves.iter().find(|one| one.kind == kind)
    }

    /// The scrub that goes on, or else the last one.
    pub fn scrub(&self) -> Option<&Scrub> {
        self.jobs.as_ref()?.scrub.as_ref()
    }

    /// The trim that goes on, or else the last one.
    pub fn trim(&self) -> Option<&Trim> {
        self.jobs.as_ref()?.trim.as_ref()
    }

    /// The proof of the ledger that goes on, or else the last one.
    pub fn verify(&self) -> Option<&Verify> {
        self.jobs.as_ref()?.verify.as_ref()
    }
}

/// The room of a pool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolSpace {
    /// The members' chunks, redundancy included.
    pub raw_bytes: u64,
    /// What is left of that when redundancy is taken off.
    pub usable_bytes: u64,
    /// What of the usable may be live; the rest lets garbage collection work.
    pub limit_bytes: u64,
    /// What an operator may let hosts have beyond the limit when the pool is full; 0 once that is
    /// released.
    pub reserve_bytes: u64,
    /// The reserve has been released, and is a part of the limit until so much is free again.
    pub reserve_released: bool,
    /// Live data and maps after compression, before redundancy. May be too high for a while, never
    /// too low.
    pub physical_used_bytes: u64,
    /// Blocks of its volumes that hold data.
    pub logical_used_bytes: u64,
    /// What the written blocks take after compression.
    pub stored_bytes: u64,
    /// What volumes are promised and hold no data: it was never written, was trimmed or is zeros.
    /// It takes no room.
    pub zero_bytes: u64,
    /// Pages of the maps, and the records of what is stored.
    pub map_bytes: u64,
    /// Parity and copies of all segments.
    pub parity_bytes: u64,
    /// Written, no longer live, not reclaimed yet.
    pub garbage_bytes: u64,
    /// Room in segments that can be placed now.
    pub free_bytes: u64,
    /// Chunks of the members that no segment has, redundancy included.
    pub free_raw_bytes: u64,
    /// Logical over stored data. Null: nothing is stored.
    pub compression_ratio: Option<f64>,
    /// What volumes are promised: their sizes.
    pub promised_bytes: u64,
    /// What holds data of hosts, after redundancy, over-provisioning and reserve.
    pub provisioned_bytes: u64,
    /// What volumes may be promised: see `overcommit`. Never less than `provisioned_bytes`.
    pub formatted_bytes: u64,
    /// That over `provisioned_bytes`.
    pub formatted_ratio: f64,
    /// What is safe to be formatted, if data go on to compress as what is stored.
    pub safe_to_format_bytes: u64,
    /// Compressed data that can surely be written now; 0 where nothing can be, as while it is
    /// `read-only` or `out-of-room`. While it is `full`, writes of less than that still fit.
    pub safe_to_write_bytes: u64,
    /// What hosts can surely write now, whatever it is: noise is stored as it is.
    pub safe_noise_bytes: u64,
    /// What hosts can write now if it compresses as what is stored. Null: nothing is stored.
    pub safe_alike_bytes: Option<u64>,
    /// Seconds until it is full at the last hour's rate. Null: nobody can say, it does not grow, or
    /// that is months away.
    pub full_in_seconds: Option<u64>,
    /// What would be if one more drive were lost. Null: no drive takes data.
    pub after_loss: Option<AfterLoss>,
    /// Some or all new data is refused for lack of space: from the first refusal until what was
    /// refused fits.
    pub out_of_space: bool,
    /// Memory of the map.
    pub map_memory_bytes: u64,
}

/// What an operator has chosen for a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolSettings {
    /// Part of the time that rebuilds and rebalances may have, in percent.
    pub recon_prio_percent: u8,
    /// Instead of that, the time within which 99 of 100 answers to hosts are to come while there is
    /// one, in microseconds; 0: `recon_prio_percent` counts.
    pub recon_p99_us: u64,
    /// Part of the time that scrubs may have, in percent.
    pub scrub_prio_percent: u8,
    /// Seconds from the end of one scrub to the next; 0: only on demand.
    pub scrub_interval_seconds: u64,
    /// Refused reads and wrong answers of a drive within ten minutes for which it is given up,
    /// where redundancy allows; 0: never.
    pub fault_threshold: u32,
    /// Seconds for which a drive may give no answer at all before it is given up, where redundancy
    /// allows; 0: for ever.
    pub io_timeout_seconds: u64,
    /// Drives are told of space as it becomes free.
    pub autotrim: bool,
    /// Volumes may be promised more than is formatted.
    pub overcommit: bool,
    /// How far what may live is used, in percent, when the pool is `nearly-full`.
    pub warn_percent: u8,
    /// The same when hosts begin to write slower.
    pub throttle_percent: u8,
    /// The same when new data is refused.
    pub stop_percent: u8,
}

/// What is done in the background of a pool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolJobs {
    /// How far the rebuild of what was on lost drives is; null if nothing is to be restored.
    pub rebuild: Option<Progress>,
    /// How far it is that what lives is spread over all drives; null if nobody has asked for that,
    /// or it is done.
    pub rebalance: Option<Progress>,
    /// Of rebuild, evacuation and rebalance the one that goes on, or else the last one since the
    /// pool was opened: at most one of each.
    pub moves: Vec<DataMove>,
    /// The scrub that is under way, or else the last one; null if there was none.
    pub scrub: Option<Scrub>,
    /// The trim that goes on, or else the last one since the daemon was started; null if there was
    /// none.
    pub trim: Option<Trim>,
    /// The proof of the ledger that goes on, or else the last one since the daemon was started;
    /// null if there was none.
    pub verify: Option<Verify>,
}

/// What would be if one more drive of a pool were lost: the one whose loss would be worst.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct AfterLoss {
    /// Hosts' writes would go on, and all that lived on it would be restored on others.
    pub survives: bool,
    /// The drive's name within the pool.
    pub drive: String,
    /// What may be written before it no longer survives. Null: it does not.
    pub spare_bytes: Option<u64>,
    /// So much more lives than may without the drive: new data would be refused. Null: room is not
    /// what it lacks.
    pub short_bytes: Option<u64>,
    /// Why it does not survive. Null: it does.
    pub problem: Option<String>,
}

/// How far a rebuild or a rebalance is.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Part that is done, by this daemon and those before it.
    pub done_percent: f64,
    /// Bytes of columns that are to be restored, or to be elsewhere.
    pub left_bytes: u64,
    /// Seconds until it is done, if it goes on as in the last half minute. Null: it has only begun,
    /// or was begun anew by a start.
    pub eta_seconds: Option<u64>,
    /// What keeps it from going on. Null: nothing.
    pub obstacle: Option<Obstacle>,
}

/// Why nothing is moved, though there is something to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// There is no room where it could go. It goes on by itself once there is.
    NoRoom,
    /// It cannot be read from the drives that are left. It is tried again from time to time.
    Unreadable,
}

impl Obstacle {
    /// What stands in the way, and what takes it away.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Obstacle::NoRoom => "there is no room: delete or trim data, or add a drive",
            Obstacle::Unreadable => {
                "the drives that are left do not have it: bring lost drives back"
            }
        }
    }
}

/// What has happened in a pool since it was opened.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolCounters {
    /// Blocks that hosts have written.
    pub blocks_written: u64,
    /// Blocks that hosts have read.
    pub blocks_read: u64,
    /// Bytes that the written blocks took after compression.
    pub stored_bytes: u64,
    /// Bytes written to drives in all.
    pub drive_written_bytes: u64,
    /// Blocks moved by garbage collection.
    pub blocks_moved: u64,
    /// Those of them that are stored in another form since.
    pub blocks_recompressed: u64,
    /// Dictionaries that were made for volumes, and kept.
    pub dictionaries_made: u64,
    /// Segments reclaimed.
    pub segments_collected: u64,
    /// Columns of segments that were on lost drives and are on others now.
    pub columns_restored: u64,
    /// Columns of segments that went to other drives for a rebalance.
    pub columns_moved: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Pages of the map that were not in memory and had to be read from drives.
    pub map_pages_read: u64,
    /// Blocks read from parity because a drive could not be read.
    pub blocks_reconstructed: u64,
    /// Blocks that were reconstructed because a drive is slow.
    pub blocks_spared: u64,
    /// Blocks that a drive gave wrong, and that were read right all the same.
    pub wrong_blocks_corrected: u64,
    /// Sectors that were wrong or unreadable and have been repaired.
    pub sectors_repaired: u64,
    /// Those of them that a read has found, and no scrub.
    pub sectors_healed: u64,
    /// Bytes of free space that drives were told of.
    pub trimmed_bytes: u64,
    /// Times that a drive has refused that.
    pub trims_refused: u64,
    /// Blocks that could not be read right.
    pub blocks_unrecovered: u64,
    /// Starts that found no clean end before them, since the pool was made.
    pub unclean_starts: u64,
    /// Bytes written to drives over bytes that hosts have written, since the pool was made. Null:
    /// they wrote nothing.
    pub write_amplification: Option<f64>,
    /// What the steps of its data path took.
    pub steps: PoolSteps,
}

/// What the steps of a pool's data path took since it was opened.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PoolSteps {
    /// Writes of hosts, from when they are compressed until their batch is on stable media. It is
    /// busy while a batch of hosts is on its way to the drives.
    pub batch: StepCounts,
    /// Compressing what hosts write, by the command. Decompressing is not in it, nor what
    /// background jobs compress.
    pub compress: StepCounts,
    /// Making parity, by the batch, whoever writes it; and making of the other columns what one has
    /// lost.
    pub parity: StepCounts,
    /// Looking up where the blocks of a read are, which waits for pages of the map that are not in
    /// memory; and noting where a batch of hosts is. What background jobs do with the map is not in
    /// it.
    pub map: StepCounts,
}

/// What one step took. Of two answers the differences are what came between.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct StepCounts {
    /// How often it was done.
    pub operations: u64,
    /// From begin to end, all together: over `operations` it is the mean.
    pub latency_seconds: f64,
    /// For how long it was busy: over the time that has gone by it is the part of the time. Of
    /// compress, parity and map that is time of the pool's reactor, which they share.
    pub busy_seconds: f64,
}
