//! Long work, of whatever kind, in one shape.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Work that goes on in the background, or the last of its kind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Job {
    /// Its pool and its kind, as `tank/scrub`: its path below `/jobs`. Of an erase the pool is its
    /// UUID, for the name is free again.
    pub id: String,
    /// What is done.
    pub kind: JobKind,
    /// The pool's name.
    pub pool: String,
    /// The pool's identity.
    pub pool_uuid: String,
    /// The drives that it is about, by their names within the pool; of an erase by their places.
    /// Empty: it is about the whole pool.
    pub drives: Vec<String>,
    /// One of `running`, `waiting` (`problem` says for what), `finished`, `stopped`, and `failed`.
    pub states: Vec<String>,
    /// Part that is done.
    pub done_percent: f64,
    /// What it has moved, read, told drives of or erased so far. Null: it counts no bytes.
    pub done_bytes: Option<u64>,
    /// What is left of it. Null: nobody knows, or nothing is.
    pub left_bytes: Option<u64>,
    /// Seconds until it is done. Null: nobody knows, or it is.
    pub eta_seconds: Option<u64>,
    /// RFC 3339, UTC. Null: it began before the pool was opened, or nobody knows.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// RFC 3339, UTC. Null: it goes on, or nobody knows.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// Why it does not go on, or has failed. Null: it goes on, or is done.
    pub problem: Option<String>,
    /// What it has come to so far, in words. Null: there is nothing to say.
    pub result: Option<String>,
    /// It may be stopped now.
    pub can_stop: bool,
}

impl Job {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }

    /// Whether it is still to come to an end.
    pub fn goes_on(&self) -> bool {
        self.is("running") || self.is("waiting")
    }
}

/// What a job does.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// What lived on lost drives is restored on others.
    Rebuild,
    /// What lives on a drive that is to be removed goes to others.
    Evacuation,
    /// What lives is spread over all drives.
    Rebalance,
    /// All that is stored is read, and repaired from parity.
    Scrub,
    /// Drives are told of all space that is free.
    Trim,
    /// The ledger is proved: all that the maps name is counted anew.
    Verify,
    /// The drives of a pool that was destroyed are erased.
    Erase,
}

impl JobKind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            JobKind::Rebuild => "rebuild",
            JobKind::Evacuation => "evacuation",
            JobKind::Rebalance => "rebalance",
            JobKind::Scrub => "scrub",
            JobKind::Trim => "trim",
            JobKind::Verify => "verify",
            JobKind::Erase => "erase",
        }
    }
}
