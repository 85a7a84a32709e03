//! The volumes of a node.

use ashlar_store::Compression;

use super::Node;
use super::activity::reset;
use crate::access::AccessChange;
use crate::atomic::AtomicWrites;
use crate::dispatcher::Dispatcher;
use crate::door::Nsid;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::name::VolumeName;
use crate::reactor_pools::NewVolume;
use crate::report::VolumeReport;

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// Makes a volume under a number that [`Table::claim_new`](crate::Table::claim_new) gave.
    ///
    /// # Errors
    /// [`NodeError`]; where it is certain that there is no such volume, the number is taken back.
    pub async fn create_volume(
        &self,
        pool: &str,
        nsid: Nsid,
        new: NewVolume,
    ) -> Result<VolumeReport, NodeError> {
        let made = self.create_volume_as(pool, nsid, new).await;
        made.inspect_err(|error| match error {
            NodeError::Io(_) | NodeError::Gone(_) | NodeError::Stopped { .. } => {
                self.table.release(nsid)
            }
            _ => self.table.take_back(nsid),
        })
    }

    async fn create_volume_as(
        &self,
        pool: &str,
        nsid: Nsid,
        new: NewVolume,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.create_volume(uuid, nsid, new).await })
            .await
    }

    /// Makes a volume larger, or smaller with `force`.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn resize_volume(
        &self,
        pool: &str,
        name: String,
        size_bytes: u64,
        force: bool,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move {
            home.resize_volume(uuid, name, size_bytes, force).await
        })
        .await
    }

    /// Gives a volume another name.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn rename_volume(
        &self,
        pool: &str,
        name: String,
        new: VolumeName,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.rename_volume(uuid, name, new).await })
            .await
    }

    /// Sets or clears write protection.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn protect_volume(
        &self,
        pool: &str,
        name: String,
        is_protected: bool,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move {
            home.protect_volume(uuid, name, is_protected).await
        })
        .await
    }

    /// Changes how a volume's blocks are stored from now on.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_compression(
        &self,
        pool: &str,
        name: String,
        compression: Compression,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move {
            home.set_compression(uuid, name, compression).await
        })
        .await
    }

    /// Changes what hosts are told of the atomicity of writes.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_atomic(
        &self,
        pool: &str,
        name: String,
        atomic: AtomicWrites,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.set_atomic(uuid, name, atomic).await })
            .await
    }

    /// Changes who may see a volume.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn change_access(
        &self,
        pool: &str,
        name: String,
        change: AccessChange,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.change_access(uuid, name, change).await },
        )
        .await
    }

    /// Erases all that a volume holds, and what was counted of it.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn wipe_volume(&self, pool: &str, name: String) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        let wiped = self
            .at_pool(at, move |home, uuid| async move { home.wipe_volume(uuid, name).await })
            .await?;
        reset(&self.dispatcher, [wiped.uuid].into()).await;
        Ok(wiped)
    }

    /// Deletes a volume.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn delete_volume(&self, pool: &str, name: String) -> Result<(), NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.delete_volume(uuid, name).await })
            .await
    }
}
