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
    /// Its reactors, in their order.
    pub reactors: Vec<ReactorFigures>,
}

/// What a reactor holds at the moment at which it is asked, and how often it went round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReactorFigures {
    /// Tasks that have not ended.
    pub tasks: u64,
    /// Those of them that could go on, and wait for their turn.
    pub ready_tasks: u64,
    /// Operations that the kernel has not ended: of drives, connections and the like.
    pub operations_in_flight: u64,
    /// Times round its loop.
    pub turns: u64,
}

/// Threads of one name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ThreadFigures {
    /// Their name.
    pub name: String,
    /// Processor time that they have taken, all together, since the daemon started.
    pub cpu_seconds: f64,
}
