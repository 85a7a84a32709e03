//! The lights of slots, by which people find drives.

use std::path::Path;
use std::time::Duration;

use ashlar_control::types::{DriveLight, LocateDrive, PoolDrive};
use ashlar_control::{ApiError, ErrorCode};
use ashlar_drive::{slot_at, switch_light};
use ashlar_volume::{DriveSlot, path_of};

use super::super::apart::apart;
use super::super::errors::api_error;
use super::Shared;

/// How long an enclosure may take to switch a light.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

impl Shared {
    pub(super) async fn locate_drive(&self, request: LocateDrive) -> Result<DriveLight, ApiError> {
        let LocateDrive { drive, on } = request;
        let slot = match self.slot_of_member(&drive).await? {
            Some(slot) => slot,
            None => of_device(&drive).await?,
        };
        let DriveSlot { name, light } = slot.ok_or_else(|| no_slot(&drive))?;
        let switched = in_time(&drive, move || switch_light(&light, on)).await?;
        switched.map_err(|error| {
            let message = format!("the light of {drive}, {name}, cannot be switched: {error}");
            ApiError::new(ErrorCode::LightFails, message)
        })?;
        Ok(DriveLight { drive, slot: name, on })
    }

    /// The slot of a member of an open pool. `None`: there is no such member.
    async fn slot_of_member(&self, name: &str) -> Result<Option<Option<DriveSlot>>, ApiError> {
        let reports = self.node.reports().await.map_err(|gone| api_error(gone.into()))?;
        let slots = reports.iter().flat_map(|report| {
            let drives = self.pool(report).drives.into_iter();
            drives.zip(report.drives.iter().map(|drive| drive.facts.as_ref()?.slot.clone()))
        });
        // The newest record comes last.
        let named = slots.filter(|(drive, _)| is_meant(drive, name)).last();
        Ok(named.map(|(_, slot)| slot))
    }
}

/// Whether `name` means this drive, and can mean none of another pool.
fn is_meant(drive: &PoolDrive, name: &str) -> bool {
    drive.is_found_by(name) || (name.contains('/') && drive.is_named(name))
}

/// The slot of a block device of the machine that no pool has.
async fn of_device(drive: &str) -> Result<Option<DriveSlot>, ApiError> {
    let path = path_of(drive).to_owned();
    if !path.starts_with('/') {
        let message = format!("{drive} is no drive of an open pool, and no path");
        return Err(ApiError::new(ErrorCode::NoSuchDrive, message));
    }
    let found = in_time(drive, move || slot_at(Path::new(&path))).await?;
    let found = found.map_err(|error| {
        ApiError::new(ErrorCode::DriveUnusable, format!("{drive} is in no slot: {error}"))
    })?;
    Ok(found.map(|slot| DriveSlot { name: slot.name, light: slot.light }))
}

/// Asks the kernel, which asks the enclosure, which may never answer.
async fn in_time<T: Send + 'static>(
    drive: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let hangs = |why: String| ApiError::new(ErrorCode::DriveHangs, format!("{drive}: {why}"));
    let asked = apart("drive-light", work).map_err(|error| hangs(error.to_string()))?;
    match tokio::time::timeout(ANSWER_WAIT, asked).await {
        Ok(done) => done.map_err(|ended| hangs(ended.to_string())),
        Err(_) => Err(hangs(format!("its enclosure has not answered for {ANSWER_WAIT:?}"))),
    }
}

fn no_slot(drive: &str) -> ApiError {
    let message = format!("the kernel knows no slot of {drive} whose light it can switch");
    ApiError::new(ErrorCode::NoSlot, message).with_hint(
        "the driver `ses` (modprobe ses) shows the slots of SAS and SATA enclosures, Linux 6.13 \
         those of NVMe drives; `ashlar drive show` tells the serial number, which is on the drive",
    )
}
