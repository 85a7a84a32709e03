//! What the daemon itself takes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The daemon as the kernel sees it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProcessFigures {
    /// Memory that it takes. None: nobody knows.
    pub resident_bytes: Option<u64>,
    /// Files and connections that it has open. None: nobody knows.
    pub open_files: Option<u64>,
    /// Its threads, those of one name together.
    pub threads: Vec<ThreadFigures>,
}

/// Threads of one name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ThreadFigures {
    /// Their name.
    pub name: String,
    /// Processor time that they have taken, all together, since the daemon started.
    pub cpu_seconds: f64,
}
