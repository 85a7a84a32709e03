//! The audit log: every change that was asked for, by whom and with what result.

use crate::log::{Entry, Log};
use crate::types::{AuditEntry, Deed};

/// The audit log.
pub type AuditLog = Log<AuditEntry>;

impl Entry for AuditEntry {
    type What = Deed;

    fn new(seq: u64, time: String, what: Deed) -> Self {
        AuditEntry { seq, time, what }
    }

    fn seq(&self) -> u64 {
        self.seq
    }
}
