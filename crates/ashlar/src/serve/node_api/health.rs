//! Drives are asked for their health.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_volume::{DriveFacts, PoolReport};
use tokio::sync::oneshot;

use super::super::convert;
use super::super::health::{Answer, Asked, Said, ask};
use super::Shared;

/// How long somebody waits for what a drive says that no pool has.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

impl Shared {
    /// Asks the drives of all open pools now and then: for as long as it is polled.
    pub(super) async fn keep_asking(self: Arc<Self>) {
        loop {
            self.healths.next().await;
            // Without reactors there is no pool any more: the daemon ends.
            let Ok(reports) = self.node.reports().await else { return };
            for drive in self.healths.to_ask(drives_of(&reports), Instant::now()) {
                tokio::spawn(self.clone().ask(drive));
            }
        }
    }

    async fn ask(self: Arc<Self>, drive: Asked) {
        let answer = answer(ask(drive.kernel_name.clone())).await;
        self.healths.take(&drive, answer, Instant::now());
    }

    /// What a drive says that no pool has open.
    pub(super) async fn health_of(&self, facts: &DriveFacts) -> Said {
        let Some(kernel_name) = facts.kernel.clone() else {
            return Said::nothing(convert::silent(facts));
        };
        match tokio::time::timeout(ANSWER_WAIT, answer(ask(kernel_name))).await {
            Ok(answer) => self.healths.judge(answer),
            Err(_) => Said::nothing(format!("it has not answered for {ANSWER_WAIT:?}")),
        }
    }
}

async fn answer(asked: std::io::Result<oneshot::Receiver<Answer>>) -> Answer {
    match asked {
        Ok(answer) => answer.await.unwrap_or_else(|ended| Err(ended.to_string())),
        Err(error) => Err(format!("there is no thread to ask it: {error}")),
    }
}

/// The block devices that pools have open.
fn drives_of(reports: &[PoolReport]) -> Vec<Asked> {
    let drives = reports.iter().flat_map(|report| &report.drives);
    let mut drives: Vec<Asked> = drives.filter_map(Asked::of).collect();
    drives.sort();
    drives.dedup();
    drives
}
