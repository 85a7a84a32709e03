//! What moving data has come to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::JobKind;

/// A rebuild, an evacuation or a rebalance: data is written to other drives than it was on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, ToSchema)]
pub struct DataMove {
    /// `rebuild`, `evacuation` or `rebalance`.
    pub kind: JobKind,
    /// One of `running`, `finished`, `stopped` (what was not moved stays where it is) and `failed`
    /// (see `problem`).
    pub states: Vec<String>,
    /// The drives that were lost, or are to leave the pool: names within the pool. Empty: of a
    /// rebalance.
    pub drives: Vec<String>,
    /// Part that is done, or was when it ended.
    pub done_percent: f64,
    /// RFC 3339, UTC. Null: before the pool was opened.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// RFC 3339, UTC; null while it goes on.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// Seconds from its beginning to its end. Null: it goes on, or began before the pool was
    /// opened.
    pub took_seconds: Option<u64>,
    /// Bytes of columns that were written meanwhile. What a rebuild and an evacuation write at the
    /// same time counts for both.
    pub moved_bytes: u64,
    /// Why it has failed. Null: it has not.
    pub problem: Option<String>,
}

impl DataMove {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }
}
