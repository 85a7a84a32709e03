//! What has happened.

use ashlar_block::printable;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::events::EventKind;
use crate::hints;

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
    /// What has happened: `/api/v1/event-kinds` lists which there are.
    pub kind: String,
    /// The pool's name.
    pub pool: Option<String>,
    /// The volume's name within the pool.
    pub volume: Option<String>,
    /// What was asked for, as the command line calls it.
    pub operation: Option<String>,
    /// What came of it: `done`, `failed` (it may be done in part) or `refused`.
    pub result: Option<String>,
    /// The user who asked.
    pub uid: Option<u32>,
    /// The process that asked.
    pub pid: Option<i32>,
    /// The drive's name within the pool.
    pub drive: Option<String>,
    /// The host's NQN.
    pub host: Option<String>,
    /// The NQNs of the hosts, where the event is about many; empty otherwise.
    #[serde(default)]
    #[schema(required = true)]
    pub hosts: Vec<String>,
    /// Where the host's connection, or whoever is kept out, comes from.
    pub address: Option<String>,
    /// The host's controller.
    pub controller_id: Option<u16>,
    /// Why it has ended, for programs: one of `host_disconnected`, `keep_alive_expired`,
    /// `connection_lost`, `host_terminated`, `digest_error`, `protocol_error`, `transfer_timeout`,
    /// `send_failed`, `connect_unfinished` and `daemon_stopping`; null otherwise.
    pub reason: Option<String>,
    /// The receiver of events, by its name, that the event is about.
    pub receiver: Option<String>,
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
    /// For people: what has happened, with its cause.
    pub message: String,
    /// Why, where that is known: the end of the message on its own.
    pub cause: Option<String>,
    /// For people: what to do; null where nothing is to be done.
    pub hint: Option<String>,
    /// The drive that is to be seen to, where the event is about the pool as a whole: the hint
    /// names it.
    #[serde(skip)]
    pub hint_drive: Option<String>,
}

impl Happening {
    /// One of which no more is known. It is as bad as its kind may be: people choose by that what
    /// they are told of.
    pub fn new(severity: Severity, kind: EventKind, message: impl Into<String>) -> Self {
        debug_assert!(kind.severities().contains(&severity), "{kind:?} is no {severity:?}");
        let (hint, kind) = (kind.hint().map(str::to_owned), kind.word().to_owned());
        let message = printable(&message.into());
        Happening { severity, kind, message, hint, ..Happening::default() }
    }

    /// The same, which has come of that.
    pub fn because(mut self, cause: Option<&str>) -> Self {
        if let Some(cause) = cause {
            self.cause = Some(printable(cause));
            self.message = format!("{}: {}", self.message, printable(cause));
        }
        self
    }

    /// The same, about which that is to be done.
    pub(crate) fn with_hint(mut self, hint: Option<&str>) -> Self {
        self.hint = hint.map(str::to_owned).or(self.hint);
        self
    }

    /// The same, with what to do said of the very pool and drive.
    pub(crate) fn settled(mut self) -> Self {
        let drive = self.hint_drive.take().or_else(|| self.drive.clone());
        let settled = |hint: String| hints::settled(&hint, self.pool.as_deref(), drive.as_deref());
        self.hint = self.hint.take().map(settled);
        self
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
