//! The volumes of a node.

use super::Node;
use super::activity::reset;
use crate::access::AccessChange;
use crate::dispatcher::Dispatcher;
use crate::door::Nsid;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::reactor_pools::{NewVolume, VolumeChange};
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

    /// Changes a volume: all of it, or nothing.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn change_volume(
        &self,
        pool: &str,
        name: String,
        change: VolumeChange,
    ) -> Result<VolumeReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.change_volume(uuid, name, change).await },
        )
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
