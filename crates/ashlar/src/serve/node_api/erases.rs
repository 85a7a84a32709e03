//! Destroying pools, and erasing their drives.

use ashlar_control::types::DriveErase;
use ashlar_control::{ApiError, Consent};
use ashlar_volume::NodeError;

use super::super::convert;
use super::super::errors::api_error;
use super::Shared;

impl Shared {
    pub(super) async fn destroy_pool(
        &self,
        pool: String,
        consent: Consent,
    ) -> Result<(), ApiError> {
        self.destroy(&pool, consent, false).await.map(drop)
    }

    /// The pool is gone when this returns; its drives are erased from then on.
    pub(super) async fn destroy_and_erase_pool(
        &self,
        pool: String,
        consent: Consent,
    ) -> Result<Vec<DriveErase>, ApiError> {
        let uuid = self.destroy(&pool, consent, true).await?;
        let erases = self.drive_erases().await?;
        Ok(erases.into_iter().filter(|erase| erase.pool_uuid == uuid).collect())
    }

    pub(super) async fn drive_erases(&self) -> Result<Vec<DriveErase>, ApiError> {
        let erases = self.node.drive_erases().await;
        let erases = erases.map_err(|gone| api_error(NodeError::from(gone)))?;
        Ok(erases.iter().map(convert::drive_erase).collect())
    }

    async fn destroy(
        &self,
        pool: &str,
        consent: Consent,
        erases: bool,
    ) -> Result<String, ApiError> {
        let _changing = self.turn_to_change(pool).await?;
        let report = self.node.report(pool).await.map_err(api_error)?;
        self.consent_to_destroy(consent, &report, erases)?;
        let uuid = report.status.uuid.to_string();
        let destroyed = match erases {
            true => self.node.destroy_and_erase_pool(pool).await,
            false => self.node.destroy_pool(pool).await,
        };
        let destroyed = destroyed.map_err(api_error);
        self.finder.look_again();
        if destroyed.is_err() && self.node.report(&uuid).await.is_ok() {
            return destroyed.map(|_| uuid);
        }
        self.forget(&uuid);
        destroyed.map(|_| uuid)
    }
}
