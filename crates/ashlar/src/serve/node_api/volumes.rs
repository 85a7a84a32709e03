//! What changes volumes.

use ashlar_control::types::{ChangeVolume, CreateVolume, NameHosts, Volume};
use ashlar_control::{ApiError, Consent, ErrorCode};
use ashlar_store::Compression;
use ashlar_volume::qos::VolumeQos;
use ashlar_volume::{
    AccessChange, AccessList, AtomicWrites, NodeError, PoolReport, QosChoice, VolumeName,
    VolumeReport, check_volume_size,
};

use super::super::errors::api_error;
use super::super::{convert, requests};
use super::Shared;
use super::qos::choice;

/// What is to change of a volume, each of which can be.
struct Changes {
    is_protected: Option<bool>,
    compression: Option<Compression>,
    atomic: Option<AtomicWrites>,
    qos: Option<VolumeQos>,
    size_bytes: Option<u64>,
    name: Option<VolumeName>,
}

impl Changes {
    fn of(request: &ChangeVolume) -> Result<Self, ApiError> {
        let name = request.name.as_deref().map(str::parse).transpose();
        Ok(Changes {
            is_protected: request.write_protected,
            compression: request.compression.as_deref().map(requests::compression).transpose()?,
            atomic: request.atomic_write_bytes.map(requests::atomic).transpose()?,
            qos: request.qos.as_deref().map(choice),
            size_bytes: request.size_bytes,
            name: name.map_err(|error| api_error(NodeError::Name(error)))?,
        })
    }
}

impl Shared {
    /// Makes a volume. Its number is noted before: a number that a host may have seen is never
    /// another volume's, whatever happens in between.
    pub(super) async fn create_volume(&self, request: CreateVolume) -> Result<Volume, ApiError> {
        let new = requests::new_volume(&request)?;
        self.check_available(&request.pool).await?;
        let nsid = self.node.table().claim_new().map_err(api_error)?;
        let high = self.node.table().nsid_high();
        let noted = self.memory().remember_new_nsids(high);
        noted.inspect_err(|_| self.node.table().take_back(nsid))?;
        let made = self.node.create_volume(&request.pool, nsid, new).await;
        if made.is_err() {
            self.memory().take_back_nsids(self.node.table().nsid_high());
        }
        Ok(convert::volume(&made.map_err(api_error)?))
    }

    pub(super) async fn change_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangeVolume,
        consent: Consent,
    ) -> Result<Volume, ApiError> {
        let changes = Changes::of(&request)?;
        self.check_available(&pool).await?;
        let before = self.volume_report(&pool, &volume).await?;
        self.consent_to_change(consent, &before, &request)?;
        let changed =
            self.make_changes(&pool, volume, changes, consent).await.map_err(api_error)?;
        let nothing = || {
            ApiError::new(
                ErrorCode::NothingToChange,
                "no name, size, compression, policy, write protection or atomic write size is given",
            )
        };
        changed.as_ref().map(convert::volume).ok_or_else(nothing)
    }

    /// Makes one change after the other, and the name last: the others find the volume by it.
    async fn make_changes(
        &self,
        pool: &str,
        volume: String,
        changes: Changes,
        consent: Consent,
    ) -> Result<Option<VolumeReport>, NodeError> {
        let Changes { is_protected, compression, atomic, qos, size_bytes, name } = changes;
        let mut report = None;
        if let Some(is_protected) = is_protected {
            report = Some(self.node.protect_volume(pool, volume.clone(), is_protected).await?);
        }
        if let Some(compression) = compression {
            report = Some(self.node.set_compression(pool, volume.clone(), compression).await?);
        }
        if let Some(atomic) = atomic {
            report = Some(self.node.set_atomic(pool, volume.clone(), atomic).await?);
        }
        if let Some(qos) = qos {
            let choice = QosChoice::Policy(qos);
            report = Some(self.node.set_volume_qos(pool, volume.clone(), choice).await?);
        }
        if let Some(bytes) = size_bytes {
            let may_shrink = consent == Consent::Given;
            report = Some(self.node.resize_volume(pool, volume.clone(), bytes, may_shrink).await?);
        }
        if let Some(name) = name {
            report = Some(self.node.rename_volume(pool, volume, name).await?);
        }
        Ok(report)
    }

    /// To all of it or to nothing.
    fn consent_to_change(
        &self,
        consent: Consent,
        before: &VolumeReport,
        request: &ChangeVolume,
    ) -> Result<(), ApiError> {
        if let Some(bytes) = request.size_bytes {
            let is_protected = request.write_protected.unwrap_or(before.write_protected);
            check_size(before, bytes, is_protected).map_err(api_error)?;
        }
        if let Some(is_protected) = request.write_protected {
            self.consent_to_protect(consent, before, is_protected)?;
        }
        request.size_bytes.map_or(Ok(()), |bytes| self.consent_to_resize(consent, before, bytes))
    }

    pub(super) async fn wipe_volume(
        &self,
        pool: String,
        volume: String,
        consent: Consent,
    ) -> Result<Volume, ApiError> {
        self.check_available(&pool).await?;
        let report = self.volume_report(&pool, &volume).await?;
        // Nobody is asked whether data may be lost that stay.
        let of_pool = self.node.report(&pool).await.map_err(api_error)?;
        check_wipe(&of_pool, &report).map_err(api_error)?;
        self.consent_to_wipe(consent, &report)?;
        let wiped = self.node.wipe_volume(&pool, volume).await.map_err(api_error)?;
        Ok(convert::volume(&wiped))
    }

    pub(super) async fn delete_volume(
        &self,
        pool: String,
        volume: String,
        consent: Consent,
    ) -> Result<(), ApiError> {
        self.check_available(&pool).await?;
        let report = self.volume_report(&pool, &volume).await?;
        self.consent_to_delete(consent, &report)?;
        self.node.delete_volume(&pool, volume).await.map_err(api_error)
    }

    pub(super) async fn allow(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Result<Volume, ApiError> {
        self.change_access(pool, volume, requests::allow(&request)?, consent).await
    }

    pub(super) async fn deny(
        &self,
        pool: String,
        volume: String,
        request: NameHosts,
        consent: Consent,
    ) -> Result<Volume, ApiError> {
        self.change_access(pool, volume, requests::deny(&request)?, consent).await
    }

    async fn change_access(
        &self,
        pool: String,
        volume: String,
        change: AccessChange,
        consent: Consent,
    ) -> Result<Volume, ApiError> {
        self.check_available(&pool).await?;
        let before = self.volume_report(&pool, &volume).await?;
        let after = change.apply(&format!("{}/{}", before.pool, before.name), &before.access);
        let after: AccessList = after.map_err(api_error)?;
        self.consent_to_access(consent, &before, &after)?;
        let report = self.node.change_access(&pool, volume, change).await.map_err(api_error)?;
        Ok(convert::volume(&report))
    }

    pub(super) async fn volume_report(
        &self,
        pool: &str,
        volume: &str,
    ) -> Result<VolumeReport, ApiError> {
        let report = self.node.report(pool).await.map_err(api_error)?;
        let missing = || {
            api_error(NodeError::NoSuchVolume {
                pool: report.status.name.clone(),
                volume: volume.to_owned(),
            })
        };
        report.volumes.iter().find(|found| found.name == volume).cloned().ok_or_else(missing)
    }
}

/// Refuses to wipe what cannot be written to.
fn check_wipe(pool: &PoolReport, volume: &VolumeReport) -> Result<(), NodeError> {
    let VolumeReport { pool: name, name: volume_name, .. } = volume;
    if let Some(why) = pool.read_only() {
        return Err(NodeError::ReadOnly { pool: name.clone(), why });
    }
    if volume.write_protected {
        return Err(NodeError::WipesProtected { volume: format!("{name}/{volume_name}") });
    }
    Ok(())
}

/// Refuses a size before anybody is asked whether what lies beyond it may be lost.
fn check_size(volume: &VolumeReport, size_bytes: u64, is_protected: bool) -> Result<(), NodeError> {
    check_volume_size(size_bytes)?;
    if size_bytes < volume.size_bytes && is_protected {
        let VolumeReport { pool, name, .. } = volume;
        return Err(NodeError::ShrinksProtected { volume: format!("{pool}/{name}") });
    }
    Ok(())
}
