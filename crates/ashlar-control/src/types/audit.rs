//! Who has asked for which change.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Role;

/// A change that somebody has asked for, as the audit log keeps it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Grows from entry to entry.
    pub seq: u64,
    /// When it was answered: RFC 3339, UTC.
    #[schema(format = DateTime)]
    pub time: String,
    /// What it was.
    #[serde(flatten)]
    pub what: Deed,
}

/// A change that somebody has asked for, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Deed {
    /// Who has asked, for people.
    pub caller: String,
    /// What they may do.
    pub role: Role,
    /// The user of this machine, if it was one.
    pub uid: Option<u32>,
    /// Their process.
    pub pid: Option<i32>,
    /// Where they come from, if that is another machine.
    pub address: Option<String>,
    /// What was asked for, as the OpenAPI document calls it.
    pub operation: String,
    /// The same, as the command line calls it.
    pub command: String,
    /// The pool's name, as it was asked for.
    pub pool: Option<String>,
    /// The pool's identity, which it keeps under another name. Null: there was no such pool, or the
    /// entry is of an earlier release.
    #[serde(default)]
    pub pool_uuid: Option<String>,
    /// The volume's name within the pool.
    pub volume: Option<String>,
    /// What else it was about, by its name: a token, key, policy, drive, receiver or kind of job.
    pub target: Option<String>,
    /// What the request has brought, cut at 4KiB, or at 256 bytes where it was not done.
    pub request: String,
    /// What came of it: `done`, `failed` (it may be done in part), `refused`, or `asked` (the
    /// client was asked for confirmation).
    pub result: String,
    /// The code of the refusal.
    pub code: Option<String>,
    /// Why it failed or was refused, for people.
    pub problem: Option<String>,
}
