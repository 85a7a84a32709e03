//! Which pools are on the drives of this machine and could be imported. Nothing changes.

use std::collections::BTreeMap;

use ashlar_control::ApiError;
use ashlar_control::types::{FindPools, ImportablePool};
use ashlar_drive::{Machine, unread_by_name, unread_by_state};
use ashlar_volume::{DriveContent, DriveReading, NodeError};
use futures_util::stream::{self, StreamExt};

use super::super::apart::apart;
use super::super::errors::api_error;
use super::super::requests;
use super::Shared;

/// Drives that are read at a time.
const READS_MAX: usize = 32;

impl Shared {
    /// The pools on these drives that are not open here, by name.
    pub(super) async fn find_pools(
        &self,
        request: FindPools,
    ) -> Result<Vec<ImportablePool>, ApiError> {
        let drives = match request.drives.is_empty() {
            true => self.block_devices().await,
            false => requests::expand_directories(&request.drives)?.0,
        };
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let open: Vec<String> =
            reports.iter().map(|report| report.status.uuid.to_string()).collect();
        let read = |drive: String| async {
            let reading = self.node.inspect_drive(drive.clone()).await;
            (drive, reading)
        };
        let reads = stream::iter(drives).map(read).buffered(READS_MAX).collect::<Vec<_>>().await;
        let mut found = by_pool(reads);
        found.retain(|pool| !open.contains(&pool.uuid));
        Ok(found)
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
fn by_pool(reads: Vec<(String, Result<DriveReading, NodeError>)>) -> Vec<ImportablePool> {
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
