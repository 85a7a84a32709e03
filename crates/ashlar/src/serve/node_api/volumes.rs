//! What changes volumes.

use ashlar_control::types::{ChangeVolume, CreateVolume, NameHosts, Volume};
use ashlar_control::{ApiError, Consent, ErrorCode};
use ashlar_volume::{
    AccessChange, AccessList, NodeError, PoolReport, QosChoice, Resize, VolumeChange, VolumeReport,
    check_volume_size,
};

use super::super::errors::api_error;
use super::super::{convert, requests};
use super::Shared;
use super::qos::choice;

/// What a client asks for, where each part of it can be.
fn change_of(request: &ChangeVolume, consent: Consent) -> Result<VolumeChange, ApiError> {
    let name = request.name.as_deref().map(str::parse).transpose();
    let may_shrink = consent == Consent::Given;
    let size = request.size_bytes.map(|size_bytes| Resize { size_bytes, may_shrink });
    Ok(VolumeChange {
        name: name.map_err(|error| api_error(NodeError::Name(error)))?,
        size,
        compression: request.compression.as_deref().map(requests::compression).transpose()?,
        write_protected: request.write_protected,
        atomic: request.atomic_write_bytes.map(requests::atomic).transpose()?,
        qos: request.qos.as_deref().map(choice).map(QosChoice::Policy),
    })
}

/// Refuses to change nothing.
fn check_something_changes(request: &ChangeVolume) -> Result<(), ApiError> {
    if *request != ChangeVolume::default() {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::NothingToChange,
        "no name, size, compression, policy, write protection or atomic write size is given",
    ))
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
        check_something_changes(&request)?;
        let change = change_of(&request, consent)?;
        self.check_available(&pool).await?;
        let before = self.volume_report(&pool, &volume).await?;
        self.consent_to_change(consent, &before, &request)?;
        let changed = self.node.change_volume(&pool, volume, change).await.map_err(api_error)?;
        Ok(convert::volume(&changed))
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
