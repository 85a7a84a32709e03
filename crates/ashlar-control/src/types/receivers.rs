//! Webhooks and mail: who is told of events.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Severity;

/// Somebody who is told of events.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Receiver {
    /// Its name in the configuration; `mail` for mail.
    pub name: String,
    /// `webhook` or `mail`.
    pub kind: String,
    /// Where events go: a URL without what may be a secret of it, or addresses of mail.
    pub address: String,
    /// Events that are at least as bad are sent.
    pub severity: Severity,
    /// Only events of these kinds are sent; empty: of all.
    pub kinds: Vec<String>,
    /// `ready`, or `failing` since the last attempt.
    pub states: Vec<String>,
    /// Why the last attempt has failed, or what is wrong though it has not; null otherwise.
    pub problem: Option<String>,
    /// The number of the last event that needs not be sent any more.
    pub delivered_seq: u64,
    /// When it has taken an event last, since the daemon was started: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub delivered_at: Option<String>,
    /// Events that it has taken since the daemon was started, tests left out.
    pub sent_events: u64,
    /// Times that it has not taken what was sent to it, since the daemon was started.
    pub failed_attempts: u64,
    /// Events that are still to be sent to it: at least so many, as only those count that are in
    /// the daemon's memory, the last 1024.
    pub queued_events: u64,
    /// Events that it has not taken and will not be sent any more, since the daemon was started: at
    /// least so many, as nobody knows how many there are in what cannot be read.
    pub dropped_events: u64,
}

/// What has come of a test.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ReceiverTest {
    /// The receiver.
    pub name: String,
    /// What it has answered, for people.
    pub answer: String,
}
