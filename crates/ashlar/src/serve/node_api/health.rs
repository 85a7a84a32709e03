//! Drives are asked for their health.

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
            let pools: Arc<[PoolDrives]> = reports.iter().map(PoolDrives::of).collect();
            for drive in self.healths.to_ask(all_drives(&pools), Instant::now()) {
                tokio::spawn(self.clone().ask(drive, pools.clone()));
            }
        }
    }

    /// Asks a drive, and has hosts of its pool told what it says.
    async fn ask(self: Arc<Self>, drive: Asked, pools: Arc<[PoolDrives]>) {
        let answer = answer(ask(drive.kernel_name.clone())).await;
        self.healths.take(&drive, answer, Instant::now());
        for pool in pools.iter().filter(|pool| pool.drives.contains(&drive)) {
            let said = pool.drives.iter().map(|drive| self.told_of(drive));
            let worst = said.fold(DrivesHealth::default(), DrivesHealth::worst);
            self.node.table().set_drives_health(pool.uuid, worst);
        }
    }

    /// What hosts are told of a drive.
    fn told_of(&self, drive: &Asked) -> DrivesHealth {
        let DriveHealth { used_percent, temperature_celsius, .. } = self.healths.of(drive).health;
        DrivesHealth { used_percent: used_percent.unwrap_or(0), celsius: temperature_celsius }
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

/// The block devices that a pool has open.
struct PoolDrives {
    uuid: PoolUuid,
    drives: Vec<Asked>,
}

impl PoolDrives {
    fn of(report: &PoolReport) -> Self {
        let drives = report.drives.iter().filter_map(Asked::of).collect();
        PoolDrives { uuid: report.status.uuid, drives }
    }
}

fn all_drives(pools: &[PoolDrives]) -> Vec<Asked> {
    let mut drives: Vec<Asked> = pools.iter().flat_map(|pool| pool.drives.clone()).collect();
    drives.sort();
    drives.dedup();
    drives
}
