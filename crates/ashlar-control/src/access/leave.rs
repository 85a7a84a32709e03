//! How long whoever was let in may stay: a token may be revoked, or expire, while its owner is
//! still being answered.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::Accounts;

/// How often it is looked whether a token has expired.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Leave to stay.
#[derive(Clone)]
pub(crate) struct Leave {
    pub accounts: Arc<Accounts>,
    /// What was shown; nothing: the caller came by the socket, and stays.
    pub shown: Option<Arc<str>>,
}

impl Leave {
    /// Ends once whoever was let in would not be let in any more.
    pub async fn ends(self) {
        let Some(shown) = &self.shown else { return std::future::pending().await };
        let mut changes = self.accounts.changes();
        while self.accounts.who_shows(shown).known().is_some() {
            let _ = timeout(LOOK_INTERVAL, changes.changed()).await;
        }
    }
}
