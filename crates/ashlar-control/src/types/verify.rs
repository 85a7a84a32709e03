//! What a proof of the ledger has come to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A proof of a pool's ledger: Ashlar walks over all that the maps name, counts it anew, and
/// compares, while hosts go on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Verify {
    /// One of `running`, `proven` (each figure is what is there), `wrong`, `stopped` (nothing was
    /// compared) and `failed` (it could not be done: see `problem`).
    pub states: Vec<String>,
    /// Part that is done.
    pub done_percent: f64,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// RFC 3339, UTC; null while it goes on.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// Seconds until it is done, if it goes on as it has since it began. Null unless it goes on,
    /// and until something is done.
    pub eta_seconds: Option<u64>,
    /// Why it could not be done. Null: it could, or goes on.
    pub problem: Option<String>,
    /// What was compared. Empty until it is finished.
    pub figures: Vec<VerifiedFigure>,
    /// Volumes that store something, of each of which what is written and what is stored were
    /// compared.
    pub volumes_compared: u64,
    /// Written blocks that are counted and were overwritten since: the maps' next merges take them
    /// off. The pool has less room for them until then, never more.
    pub overwritten_bytes: u64,
    /// What differs, in words: the first hundred. Empty: nothing does.
    pub differences: Vec<String>,
}

/// A figure of a pool, as the ledger and the walk have it at the same moment.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct VerifiedFigure {
    /// `written`, `stored`, `map`, `live`, `garbage`, `parity` or `free`.
    pub name: String,
    /// What is counted.
    pub counted_bytes: u64,
    /// What is there.
    pub found_bytes: u64,
}

impl Verify {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }
}
