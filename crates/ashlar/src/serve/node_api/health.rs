//! Drives are asked for their health.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ashlar_block::PoolUuid;
use ashlar_drive::DriveHealth;
use ashlar_volume::{DriveFacts, DrivesHealth, PoolReport};
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
            self.node.table().set_drives_health(self.drives_health(&reports));
        }
    }

    async fn ask(self: Arc<Self>, drive: Asked) {
        let answer = answer(ask(drive.kernel_name.clone())).await;
        self.healths.take(&drive, answer, Instant::now());
    }

    /// What hosts are told of the drives of each pool: as far as they have answered by now.
    fn drives_health(&self, reports: &[PoolReport]) -> BTreeMap<PoolUuid, DrivesHealth> {
        let of_drive = |drive: &Asked| {
            let DriveHealth { used_percent, temperature_celsius, .. } =
                self.healths.of(drive).health;
            DrivesHealth { used_percent: used_percent.unwrap_or(0), celsius: temperature_celsius }
        };
        let of_pool = |report: &PoolReport| {
            let asked = report.drives.iter().filter_map(Asked::of);
            let worst = asked
                .map(|drive| of_drive(&drive))
                .fold(DrivesHealth::default(), DrivesHealth::worst);
            (report.status.uuid, worst)
        };
        reports.iter().map(of_pool).collect()
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
