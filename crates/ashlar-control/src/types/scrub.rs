//! What a scrub has come to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest time between scrubs, in seconds: who wants none for ten years turns them off.
pub const SCRUB_INTERVAL_SECONDS_MAX: u64 = 3650 * 86_400;

/// A scrub: it reads all that is stored, and repairs it from parity.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Scrub {
    /// One of `running`, `finished` and `stopped`.
    pub states: Vec<String>,
    /// Part that is done.
    pub done_percent: f64,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// RFC 3339, UTC; null while it runs.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// Bytes that were looked at, redundancy included.
    pub checked_bytes: u64,
    /// About as many are left, by the part that is done. Null unless it runs, and until something
    /// is done.
    pub left_bytes: Option<u64>,
    /// Seconds until it is done, if it goes on as it has since it began. Null as above.
    pub eta_seconds: Option<u64>,
    /// Sectors of 4096 bytes that held something else than they should.
    pub wrong: u64,
    /// Sectors that a drive refused to read.
    pub unreadable: u64,
    /// Of both, those that were repaired.
    pub repaired: u64,
    /// Those that could not be.
    pub unrepaired: u64,
    /// Drives on which there were any.
    pub drives: Vec<ScrubbedDrive>,
}

impl Scrub {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }
}

/// What a scrub has found on a drive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ScrubbedDrive {
    /// Its name within the pool.
    pub name: String,
    /// Where it is, or was last.
    pub spec: Option<String>,
    /// See [`Scrub::wrong`].
    pub wrong: u64,
    /// See [`Scrub::unreadable`].
    pub unreadable: u64,
    /// See [`Scrub::repaired`].
    pub repaired: u64,
    /// See [`Scrub::unrepaired`].
    pub unrepaired: u64,
    /// Why the pool has given the drive up since; null: it has not.
    pub given_up: Option<String>,
}
