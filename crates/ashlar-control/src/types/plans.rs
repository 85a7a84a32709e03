//! What would come of it if drives were taken.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::DriveInfo;

/// A pool that could be made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct PoolPlan {
    /// Its name.
    pub name: String,
    /// Its level.
    pub level: String,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Its members' chunks, redundancy included.
    pub raw_bytes: u64,
    /// What is left of that when redundancy is taken off.
    pub usable_bytes: u64,
    /// What of the usable may be live.
    pub limit_bytes: u64,
    /// Its drives, with what they hold: that would be lost.
    pub drives: Vec<DriveInfo>,
    /// What there is to say of it, as sentences.
    pub notes: Vec<String>,
}

/// A drive that a pool might take.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanDrive {
    /// The drive.
    pub drive: String,
    /// Also if it holds something: that would be lost.
    #[serde(default)]
    pub force: bool,
    /// The member that would go: its name, its number, or where it is.
    #[serde(default)]
    pub replaces: Option<String>,
}

/// A drive that a pool could take.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct DrivePlan {
    /// The pool.
    pub pool: String,
    /// The drive, with what it holds: that would be lost.
    pub drive: DriveInfo,
    /// The room that it would bring, redundancy included.
    pub raw_bytes: u64,
    /// The member that would go.
    pub replaces: Option<String>,
}
