//! Drives are asked for their health, for as long as pools have them open.

use std::sync::Arc;
use std::time::Instant;

use ashlar_volume::PoolReport;

use super::super::apart::apart;
use super::super::health::{Asked, ask};
use super::Shared;

impl Shared {
    /// Asks the drives of all open pools now and then: for as long as it is polled.
    pub(super) async fn keep_asking(self: Arc<Self>) {
        loop {
            self.healths.next().await;
            // Without reactors there is no pool any more: the daemon ends.
            let Ok(reports) = self.node.reports().await else { return };
            for drive in self.healths.to_ask(drives_of(&reports), Instant::now()) {
                self.clone().ask(drive);
            }
        }
    }

    fn ask(self: Arc<Self>, drive: Asked) {
        let kernel_name = drive.kernel_name.clone();
        let asked = apart("drive-health", move || ask(&kernel_name));
        tokio::spawn(async move {
            let answer = match asked {
                Ok(answer) => answer.await.unwrap_or_else(|ended| Err(ended.to_string())),
                Err(error) => Err(format!("there is no thread to ask it: {error}")),
            };
            self.healths.take(&drive, answer, Instant::now());
        });
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
