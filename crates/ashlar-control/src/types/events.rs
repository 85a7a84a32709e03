//! What has happened.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that has happened, as the log of events keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Event {
    /// Grows by one from event to event, and from one start of the daemon to the next, unless its
    /// clock was set back.
    pub seq: u64,
    /// When it was noticed: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub time: String,
    /// What it was.
    #[serde(flatten)]
    pub what: Happening,
}

/// Something that has happened.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Happening {
    /// How bad it is.
    pub severity: Severity,
    /// What has happened: `daemon_started`, `daemon_stopping`, `pool_opened`, `pool_closed`,
    /// `pool_state_entered`, `pool_state_left`, `drive_added`, `drive_removed`, `drive_state`,
    /// `rebuild_began`, `rebuild_progress` (each tenth), `rebuild_ended`, the same of `evacuation`
    /// and `rebalance`, `host_connected`, `host_disconnected`, `hosts`, `spare_taken`,
    /// `spares_used_up`, `spare_refused`, `drive_refused`, `drive_hot`, `drive_worn`,
    /// `drive_spare_low`, `drive_failing`, `drive_media_errors`, `drive_link_degraded`,
    /// `drive_warning_ended` (of the kind in `states`), `scrub_finished`, `trim_finished`,
    /// `state_not_written`, `state_written`; `change` (a client has asked for one), `changes`.
    pub kind: String,
    /// The pool's name.
    pub pool: Option<String>,
    /// The volume's name within the pool.
    pub volume: Option<String>,
    /// What was asked for, as the command line calls it.
    pub operation: Option<String>,
    /// What came of it: `done` or `refused`.
    pub result: Option<String>,
    /// The user who asked.
    pub uid: Option<u32>,
    /// The process that asked.
    pub pid: Option<i32>,
    /// The drive's name within the pool.
    pub drive: Option<String>,
    /// The host's NQN.
    pub host: Option<String>,
    /// What was entered or left, in the words of pools and drives; empty if the event is about
    /// something else.
    pub states: Vec<String>,
    /// Part of a rebuild, an evacuation or a rebalance that is done.
    pub done_percent: Option<u8>,
    /// Bytes of columns that are left of it.
    pub left_bytes: Option<u64>,
    /// Seconds until it is done, if it goes on as in the last half minute; null while that is not
    /// known.
    pub eta_seconds: Option<u64>,
    /// For people.
    pub message: String,
}

impl Happening {
    /// One of which no more is known.
    pub(crate) fn new(
        severity: Severity,
        kind: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (kind, message) = (kind.into(), ashlar_block::printable(&message.into()));
        Happening { severity, kind, message, ..Happening::default() }
    }
}

/// How bad an event is.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// To know.
    #[default]
    Info,
    /// To look at.
    Warning,
    /// To do something about.
    Error,
}
