//! What is asked of pools as such, and what has happened in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A pool to be opened.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportPool {
    /// Its name or UUID, if the drives belong to several. Of several pools of one name the UUID
    /// tells which.
    #[serde(default)]
    pub pool: Option<String>,
    /// Where its drives may be.
    pub drives: Vec<String>,
    /// The name that it is to have from then on, instead of its own.
    #[serde(default)]
    pub name: Option<String>,
    /// Open it even if drives are missing, as many as its level survives.
    #[serde(default)]
    pub degraded: bool,
}

/// The formatted capacity of a pool: either of the two.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetCapacity {
    /// So many bytes.
    #[serde(default)]
    pub formatted_bytes: Option<u64>,
    /// So many times what the pool is provisioned with, as `2.4x`.
    #[serde(default)]
    pub factor: Option<String>,
    /// Also more than fits if data go on to compress as what is stored.
    #[serde(default)]
    pub force: bool,
}

/// The new name of a pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenamePool {
    /// It.
    pub name: String,
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
}
