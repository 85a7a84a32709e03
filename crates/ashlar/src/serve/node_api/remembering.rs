//! What could not be remembered, and is as soon as that can be.

use std::sync::Arc;

use ashlar_control::Warning;

use super::super::apart::apart;
use super::super::state::RETRY_INTERVAL;
use super::Shared;

impl Shared {
    /// Remembers what could not be remembered: for as long as it is polled. While nothing has
    /// failed it only looks at that. A file system that hangs holds up this alone.
    pub(super) async fn keep_remembering(self: Arc<Self>) {
        loop {
            tokio::time::sleep(RETRY_INTERVAL).await;
            self.write_again().await;
        }
    }

    async fn write_again(self: &Arc<Self>) {
        let shared = self.clone();
        let work = move || {
            let to_write = shared.memory().begin_write();
            if let Some(written) = to_write.write_if_missing() {
                shared.memory().note_written(written);
            }
            shared.deaths.write_again();
        };
        if let Ok(done) = apart("remember", work) {
            let _ = done.await;
        }
    }

    pub(super) async fn remember_at_end(self: &Arc<Self>) {
        self.write_again().await;
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
