//! What a trim has come to.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A trim: drives are told of all space that is free.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Trim {
    /// One of `running`, `finished` and `stopped`.
    pub states: Vec<String>,
    /// Part that is done.
    pub done_percent: f64,
    /// RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub started_at: String,
    /// RFC 3339, UTC; null while it goes on.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
    /// Bytes that were free when it began, on drives that can be told.
    pub free_bytes: u64,
    /// Of these, what is left to be told of.
    pub left_bytes: u64,
    /// Seconds until it is done, if it goes on as it has since it began. Null unless it goes on,
    /// and until something is done.
    pub eta_seconds: Option<u64>,
    /// Times that a drive has refused since it began.
    pub refusals: u64,
    /// Names, within the pool, of drives that cannot be told, or were lost meanwhile.
    pub skipped_drives: Vec<String>,
}

impl Trim {
    /// Whether it is in that state.
    pub fn is(&self, state: &str) -> bool {
        self.states.iter().any(|is| is == state)
    }
}
