//! What could not be remembered, and is as soon as that can be.

use std::sync::Arc;

use ashlar_control::Warning;

use super::super::state::RETRY_INTERVAL;
use super::Shared;

impl Shared {
    /// Remembers what could not be remembered: for as long as it is polled. While nothing has
    /// failed it only looks at that.
    pub(super) async fn keep_remembering(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RETRY_INTERVAL).await;
            self.write_again();
        }
    }

    fn write_again(&self) {
        self.memory().write_again();
        self.deaths.write_again();
    }

    pub(super) fn remember_at_end(&self) {
        self.write_again();
        for Warning { message, .. } in self.warnings() {
            tracing::error!("the daemon ends: {message}");
        }
    }

    /// What is not remembered, by the file that it should be in.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        let of_state = self.memory().warning();
        of_state.into_iter().chain(self.deaths.warning()).collect()
    }
}
