//! How far the erase of a drive is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The erase of a drive whose pool was destroyed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DriveErase {
    /// The drive, as it is named; of one that was not there, POOL/DRIVE.
    pub spec: String,
    /// The name that its pool had.
    pub pool: String,
    /// That pool's identity.
    pub pool_uuid: String,
    /// One of `running`, `finished`, `failed`, and `missing`: the drive was not there.
    pub states: Vec<String>,
    /// How: `discard` (the drive is told that nothing of it is needed) or `overwrite` (zeros are
    /// written over all of it). Null: nothing is done to it.
    pub method: Option<String>,
    /// Why it was not erased.
    pub problem: Option<String>,
    /// Its size. Null: it was not there.
    pub size_bytes: Option<u64>,
    /// What of that is erased.
    pub done_bytes: u64,
    /// The same as a part.
    pub done_percent: f64,
}

impl DriveErase {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }
}
