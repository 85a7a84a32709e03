//! Which pools are on the drives of this machine and could be imported, and which drives could be
//! taken. Nothing changes.

use std::collections::BTreeMap;

use ashlar_control::ApiError;
use ashlar_control::types::{DriveInfo, FindDrives, FindPools, ImportablePool};
use ashlar_drive::{Machine, unread_by_name, unread_by_state};
use ashlar_volume::{DriveContent, DriveReading, NodeError};
use futures_util::stream::{self, StreamExt};

use super::super::apart::apart;
use super::super::convert::drive_info;
use super::super::errors::api_error;
use super::super::requests;
use super::Shared;

/// A drive, and what was read of it.
type Reading = (String, Result<DriveReading, NodeError>);

/// Drives that are read at a time.
const READS_MAX: usize = 32;

impl Shared {
    /// The pools on these drives that are not open here, by name.
    pub(super) async fn find_pools(
        &self,
        request: FindPools,
    ) -> Result<Vec<ImportablePool>, ApiError> {
        let reads = self.readings(&request.drives).await?;
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let open: Vec<String> =
            reports.iter().map(|report| report.status.uuid.to_string()).collect();
        let mut found = by_pool(reads);
        found.retain(|pool| !open.contains(&pool.uuid));
        Ok(found)
    }

    /// The drives among these that no pool here has, and nothing else.
    pub(super) async fn find_drives(
        &self,
        request: FindDrives,
    ) -> Result<Vec<DriveInfo>, ApiError> {
        let reads = self.readings(&request.drives).await?;
        let mut found = Vec::new();
        for (drive, mut reading) in reads {
            // A disk and its partitions are in each other's way.
            if matches!(reading, Err(NodeError::Drive(_))) {
                reading = self.node.inspect_drive(drive.clone()).await;
            }
            let is_wanted = self.check_no_spare([&drive]).is_ok()
                && self.check_not_opening(std::slice::from_ref(&drive)).is_ok();
            found.extend(reading.ok().filter(|_| is_wanted).map(|it| drive_info(&it)));
        }
        Ok(found)
    }

    /// What these drives hold, or all of the machine if none is named.
    async fn readings(&self, named: &[String]) -> Result<Vec<Reading>, ApiError> {
        let drives = match named.is_empty() {
            true => self.block_devices().await,
            false => requests::expand_directories(named)?.0,
        };
        let read = |drive: String| async {
            let reading = self.node.inspect_drive(drive.clone()).await;
            (drive, reading)
        };
        Ok(stream::iter(drives).map(read).buffered(READS_MAX).collect().await)
    }

    /// Those that something else has are left out, and so are volumes of this node.
    async fn block_devices(&self) -> Vec<String> {
        let own_nqn = self.nqn.clone();
        let list = move || {
            let machine = Machine::default();
            let devices = machine.devices().into_iter();
            let readable = devices.filter(|device| unread_by_name(device).is_none());
            let described = readable.filter_map(|device| machine.describe(device.number));
            let free = described.filter(|device| unread_by_state(device, &own_nqn).is_none());
            free.map(|device| device.node.display().to_string()).collect()
        };
        match apart("list-devices", list) {
            Ok(listed) => listed.await.unwrap_or_default(),
            Err(_) => Vec::new(),
        }
    }
}

/// The pools of what was read, by name; what is damaged or cannot be read belongs to none.
fn by_pool(reads: Vec<Reading>) -> Vec<ImportablePool> {
    let mut pools = BTreeMap::<(String, String), ImportablePool>::new();
    for (place, reading) in reads {
        let Ok(DriveReading { content, .. }) = reading else { continue };
        let Some(label) = content.label() else { continue };
        let key = (label.pool_name.clone(), label.pool.to_string());
        let pool = pools.entry(key).or_insert_with(|| ImportablePool {
            name: label.pool_name.clone(),
            uuid: label.pool.to_string(),
            level: label.level().to_string(),
            drives_made_with: label.member_count,
            drives: Vec::new(),
            notes: Vec::new(),
        });
        match content {
            DriveContent::Member(_) => pool.drives.push(place),
            _ => pool.notes.push(format!("{place} holds {}", content.describe())),
        }
    }
    pools.into_values().collect()
}
