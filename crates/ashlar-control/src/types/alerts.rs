//! What is not well now.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Severity;

/// Something that is not well, for as long as it is not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Alert {
    /// How bad it is.
    pub severity: Severity,
    /// A word that does not change: the state of the pool or drive, the `kind` of what the drive
    /// warns of, `spare_refused`, `reserve_released`, `no_second_loss`, `data_unreadable`,
    /// `scrub_unrepaired`, `ledger_differs`, `rebuild_stuck` or `daemon_warning`.
    pub code: String,
    /// The pool that it is about. Null: the daemon.
    pub pool: Option<String>,
    /// The drive that it is about, by its name within the pool.
    pub drive: Option<String>,
    /// For people: what, and why.
    pub message: String,
    /// For people: what to do. Null: nothing, or the message says it.
    pub hint: Option<String>,
}
