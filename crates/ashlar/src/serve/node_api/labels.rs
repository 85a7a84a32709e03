//! Labels that are taken off drives, and given back.

use ashlar_control::types::{DriveInfo, NameDrive};
use ashlar_control::{ApiError, Consent, ErrorCode};
use ashlar_volume::{DriveContent, DriveReading, NodeError};

use super::super::convert;
use super::super::errors::api_error;
use super::{Shared, consent};

impl Shared {
    pub(super) async fn clear_label(
        &self,
        request: NameDrive,
        consent: Consent,
    ) -> Result<DriveInfo, ApiError> {
        let _changing = self.changing.next().await?;
        self.check_no_spare([&request.drive])?;
        self.check_not_opening(std::slice::from_ref(&request.drive))?;
        let held = self.node.inspect_drive(request.drive.clone()).await.map_err(api_error)?;
        check_label(&held, request.force)?;
        consent.check(|| consent::clearing(&held))?;
        let reading =
            self.node.clear_label(request.drive, request.force).await.map_err(api_error)?;
        self.finder.look_again();
        Ok(convert::drive_info(&reading))
    }

    pub(super) async fn restore_label(
        &self,
        request: NameDrive,
        consent: Consent,
    ) -> Result<DriveInfo, ApiError> {
        let _changing = self.changing.next().await?;
        self.check_no_spare([&request.drive])?;
        self.check_not_opening(std::slice::from_ref(&request.drive))?;
        let (held, label) =
            self.node.restorable_label(request.drive.clone()).await.map_err(api_error)?;
        consent.check(|| consent::restoring(&held, &label))?;
        let reading = self.node.restore_label(request.drive).await.map_err(api_error)?;
        self.finder.look_again();
        Ok(convert::drive_info(&reading))
    }
}

/// Refuses a drive that has no label to be cleared, before anybody is asked whether it may be.
fn check_label(held: &DriveReading, force: bool) -> Result<(), ApiError> {
    let spec = &held.facts.spec;
    match &held.content {
        DriveContent::Blank => {
            let message =
                format!("{spec} carries no label: it is free, and there is nothing to clear");
            Err(ApiError::new(ErrorCode::NoLabel, message))
        }
        DriveContent::Foreign(what) if !force => {
            Err(api_error(NodeError::holds_foreign(spec, what)))
        }
        _ => Ok(()),
    }
}
