//! What requests cost, as they are refused where nobody has consented to it.

use ashlar_block::ByteSize;
use ashlar_control::{ApiError, Consent};
use ashlar_store::DriveCondition;
use ashlar_store::format::superblock::Superblock;
use ashlar_volume::{
    AccessList, DriveContent, DriveReading, DriveReport, PoolReport, VolumeReport,
};

use super::super::errors::api_error;
use super::super::users::{Users, named};
use super::Shared;

impl Shared {
    /// The connected hosts that may see one of the volumes.
    fn users<'a>(&self, volumes: impl IntoIterator<Item = &'a VolumeReport>) -> Users {
        Users::of(volumes, &self.target.connected_hosts())
    }

    pub(super) fn consent_to_close(
        &self,
        consent: Consent,
        pool: &PoolReport,
    ) -> Result<(), ApiError> {
        let name = &pool.status.name;
        consent.check(|| {
            format!(
                "exporting pool '{name}' takes its volumes from all hosts. {}",
                self.users(&pool.volumes)
            )
        })
    }

    pub(super) fn consent_to_destroy(
        &self,
        consent: Consent,
        pool: &PoolReport,
        erases: bool,
    ) -> Result<(), ApiError> {
        let name = &pool.status.name;
        consent.check(|| {
            let erased = if erases { ", and its drives are erased" } else { "" };
            let volumes = pool.volumes.iter().map(|volume| volume.name.clone()).collect();
            let held = match pool.volumes.is_empty() {
                true => "it has no volumes".to_owned(),
                false => format!("its volumes are {}", named(volumes)),
            };
            format!(
                "destroying pool '{name}' loses everything in it{erased}: {held}. {}",
                self.users(&pool.volumes)
            )
        })
    }

    pub(super) async fn consent_to_fail(
        &self,
        consent: Consent,
        pool: &str,
        drive: &DriveReport,
    ) -> Result<(), ApiError> {
        let is_lost =
            !matches!(drive.status.condition, DriveCondition::Online | DriveCondition::Leaving);
        if consent == Consent::Given || is_lost {
            return Ok(());
        }
        let report = self.node.report(pool).await.map_err(api_error)?;
        consent.check(|| {
            let cost = cost_of_failing(&report);
            format!(
                "pool '{pool}' will do without {}, {cost}. {}",
                called(drive),
                self.users(&report.volumes)
            )
        })
    }

    pub(super) fn consent_to_delete(
        &self,
        consent: Consent,
        volume: &VolumeReport,
    ) -> Result<(), ApiError> {
        let VolumeReport { pool, name, .. } = volume;
        consent.check(|| {
            format!(
                "deleting volume '{pool}/{name}' loses all that it holds. {}",
                self.users([volume])
            )
        })
    }

    pub(super) fn consent_to_wipe(
        &self,
        consent: Consent,
        volume: &VolumeReport,
    ) -> Result<(), ApiError> {
        let VolumeReport { pool, name, .. } = volume;
        consent.check(|| {
            format!(
                "wiping volume '{pool}/{name}' loses all that it holds, and what was counted of \
                 it; the volume stays. {}",
                self.users([volume])
            )
        })
    }

    /// A larger volume costs nothing.
    pub(super) fn consent_to_resize(
        &self,
        consent: Consent,
        volume: &VolumeReport,
        size_bytes: u64,
    ) -> Result<(), ApiError> {
        let VolumeReport { pool, name, .. } = volume;
        if size_bytes >= volume.size_bytes {
            return Ok(());
        }
        let (from, to) = (ByteSize(volume.size_bytes), ByteSize(size_bytes));
        consent.check_loss(|| {
            format!(
                "volume '{pool}/{name}' would shrink from {from} to {to}, and what lies beyond is lost. {}",
                self.users([volume])
            )
        })
    }

    /// Connected hosts do not lose the right to write unasked.
    pub(super) fn consent_to_protect(
        &self,
        consent: Consent,
        volume: &VolumeReport,
        is_protected: bool,
    ) -> Result<(), ApiError> {
        let VolumeReport { pool, name, .. } = volume;
        let users = self.users([volume]);
        if !is_protected || volume.write_protected || users.is_empty() {
            return Ok(());
        }
        consent
            .check(|| format!("writes to volume '{pool}/{name}' would fail from now on. {users}"))
    }

    /// Whoever is connected does not lose a volume unasked, and no list of hosts is lost unasked.
    pub(super) fn consent_to_access(
        &self,
        consent: Consent,
        volume: &VolumeReport,
        after: &AccessList,
    ) -> Result<(), ApiError> {
        let VolumeReport { pool, name, access, .. } = volume;
        if let (AccessList::Allow(hosts), AccessList::AllowAny) = (access, after)
            && !hosts.is_empty()
        {
            let hosts = hosts.iter().map(ToString::to_string).collect();
            return consent.check(|| {
                format!(
                    "every host may see volume '{pool}/{name}' then, and its list is lost: {}",
                    named(hosts)
                )
            });
        }
        let losers = self.users([volume]).without(after);
        if losers.is_empty() {
            return Ok(());
        }
        consent.check(|| {
            format!("volume '{pool}/{name}' would be taken from connected hosts. {losers}")
        })
    }
}

/// What a pool has when one of its drives is given up.
fn cost_of_failing(report: &PoolReport) -> String {
    let works = |drive: &&DriveReport| {
        matches!(drive.status.condition, DriveCondition::Online | DriveCondition::Leaving)
    };
    let left = report.drives.iter().filter(works).count().saturating_sub(1);
    let parity = report.status.level.parity();
    match (parity, left > parity) {
        (0, _) => "and what lived on it cannot be read: writes fail from then on",
        (_, true) => "and what lived on it has less redundancy until it is rebuilt",
        (_, false) => {
            "and with those that are left new data would not be safe: writes fail until a drive is back or is added"
        }
    }
    .to_owned()
}

/// What the removal of a drive costs.
pub(super) fn removal(pool: &str, drive: &DriveReport) -> String {
    format!(
        "pool '{pool}' will have less room without {}: what lives on it moves to the others, then \
         it leaves the pool",
        called(drive)
    )
}

/// What is given up with the label of a drive.
pub(super) fn clearing(held: &DriveReading) -> String {
    let (drive, content) = (&held.facts.spec, held.content.describe());
    format!("{drive} holds {content}: without its label nothing of that can be used again")
}

/// What it costs to give a drive its label back.
pub(super) fn restoring(held: &DriveReading, label: &Superblock) -> String {
    let (drive, member, pool) = (&held.facts.spec, label.drive, &label.pool_name);
    let is_lost = match &held.content {
        DriveContent::Overwritten { by: Some(by), .. } => {
            format!("what was written there is lost ({by})")
        }
        _ => "what was written there is lost".to_owned(),
    };
    format!(
        "{drive} is {member} of pool '{pool}', and its label was overwritten. It is written again at \
         both ends of the drive: {is_lost}, and the pool's data are not touched"
    )
}

fn called(drive: &DriveReport) -> String {
    let name = drive.name();
    drive.facts.as_ref().map_or_else(|| name.clone(), |facts| format!("{name} ({})", facts.spec))
}
