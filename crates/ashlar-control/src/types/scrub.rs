//! What a scrub has come to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The longest time between scrubs, in seconds: who wants none for ten years turns them off.
pub const SCRUB_INTERVAL_S_MAX: u64 = 3650 * 86_400;

/// A scrub: a look at all that is stored, which makes right what is wrong.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Scrub {
    /// `running`, `finished` or `stopped`.
    pub state: String,
    /// Part that is done.
    pub percent: f64,
    /// Unix seconds.
    pub started_at: u64,
    /// Unix seconds; null while it runs.
    pub finished_at: Option<u64>,
    /// Bytes that were looked at, redundancy included.
    pub bytes_checked: u64,
    /// About as many are left, by the part that is done. Null unless it runs, and until something is done.
    #[serde(default)]
    pub bytes_left: Option<u64>,
    /// Seconds until it is done, if it goes on as it has since it began. Null as above.
    #[serde(default)]
    pub eta_s: Option<u64>,
    /// Sectors of 4096 bytes that held something else than they should.
    pub wrong: u64,
    /// Sectors that a drive refused to read.
    pub unreadable: u64,
    /// Of both, those that were made right.
    pub repaired: u64,
    /// Those that could not be.
    pub unrepaired: u64,
    /// Drives on which there were any.
    pub drives: Vec<ScrubbedDrive>,
}

/// What a scrub has found on a drive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ScrubbedDrive {
    /// Its name within the pool.
    pub name: String,
    /// Where it is, or was last.
    #[serde(default)]
    pub spec: Option<String>,
    /// See [`Scrub::wrong`].
    #[serde(default)]
    pub wrong: u64,
    /// The same as `wrong`, which is the word for it everywhere else.
    pub lies: u64,
    /// See [`Scrub::unreadable`].
    pub unreadable: u64,
    /// See [`Scrub::repaired`].
    pub repaired: u64,
    /// See [`Scrub::unrepaired`].
    pub unrepaired: u64,
    /// Why the pool has given the drive up since; null: it has not.
    #[serde(default)]
    pub given_up: Option<String>,
}
