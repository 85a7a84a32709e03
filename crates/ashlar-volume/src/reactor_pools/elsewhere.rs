//! Drives that another machine may have in use: whoever takes one by force looks first.

use ashlar_store::format::superblock::Superblock;
use futures_util::future::join_all;

use super::ReactorPools;
use crate::drive_provider::{DriveProvider, ProvidedDrive, read_superblock};
use crate::error::NodeError;

impl<B: DriveProvider> ReactorPools<B> {
    /// Makes sure that none of these drives, which are to lose what they hold, belongs to a pool
    /// that another machine has open. One that was not closed is watched for some seconds.
    ///
    /// # Errors
    /// [`NodeError::InUseElsewhere`].
    pub(super) async fn check_not_elsewhere(
        &self,
        drives: impl IntoIterator<Item = &ProvidedDrive<B::Device>>,
    ) -> Result<(), NodeError> {
        let checked = join_all(drives.into_iter().map(|drive| self.check_one(drive))).await;
        checked.into_iter().collect()
    }

    async fn check_one(&self, drive: &ProvidedDrive<B::Device>) -> Result<(), NodeError> {
        let spec = &drive.facts.spec;
        let labelled = async { Ok(read_superblock(&drive.device).await.ok()) };
        match self.in_time(spec, labelled).await? {
            Some(label) => self.check_not_open_elsewhere(drive, &label).await,
            None => Ok(()),
        }
    }

    /// The same of a drive of which the label is known.
    pub(super) async fn check_not_open_elsewhere(
        &self,
        drive: &ProvidedDrive<B::Device>,
        label: &Superblock,
    ) -> Result<(), NodeError> {
        let (spec, world, device) = (&drive.facts.spec, &self.world, &drive.device);
        let watched = async { Ok(ashlar_store::live_holder(world, device, label.pool).await) };
        match self.in_time(spec, watched).await? {
            None => Ok(()),
            Some(holder) => {
                let (spec, pool) = (spec.clone(), label.pool_name.clone());
                Err(NodeError::InUseElsewhere { spec, pool, holder })
            }
        }
    }
}
