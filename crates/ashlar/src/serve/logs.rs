//! What the daemon writes down of what has happened: events, and who has asked for what.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ashlar_control::{AuditLog, EventLog};

use super::journal::{Bounds, Journal};

/// Some tens of thousands of events.
const EVENTS: Bounds = Bounds { file_bytes: 1 << 20, total_bytes: 32 << 20 };
/// Entries may repeat what was asked for, and are kept for longer.
const AUDIT: Bounds = Bounds { file_bytes: 1 << 20, total_bytes: 64 << 20 };

/// The logs, and where they are kept.
pub struct Logs {
    /// Events.
    pub events: Arc<EventLog>,
    /// Changes.
    pub audit: Arc<AuditLog>,
    journals: [Arc<Journal>; 2],
}

impl Logs {
    /// Those of the daemon with that directory, which go on where they ended.
    ///
    /// # Errors
    /// When no thread can be started for them.
    pub async fn open(state_dir: &Path) -> io::Result<Self> {
        let events = Arc::new(Journal::start(state_dir.join("events"), EVENTS)?);
        let audit = Arc::new(Journal::start(state_dir.join("audit"), AUDIT)?);
        Ok(Logs {
            events: Arc::new(EventLog::new(Some(events.clone()), events.newest().await)),
            audit: Arc::new(AuditLog::new(Some(audit.clone()), audit.newest().await)),
            journals: [events, audit],
        })
    }

    /// Takes no more, and waits so long for what is on its way to the disk.
    pub async fn end(&self, longest: Duration) {
        let [events, audit] = &self.journals;
        futures_util::future::join(events.end(longest), audit.end(longest)).await;
    }
}
