//! Drives that are erased once their pool is destroyed.

use axum::Json;
use axum::extract::{Path, State};

use super::{Answer, Node};
use crate::consent::Consent;
use crate::error::ErrorBody;
use crate::types::DriveErase;

/// Closes a pool, takes its label off its drives, and begins to erase the drives: `/erases` tells
/// how far that is. Answers with these drives.
#[utoipa::path(post, path = "/pools/{pool}/erase", params(("pool" = String, Path), ("confirm" = Option<bool>, Query)),
    responses((status = 200, body = Vec<DriveErase>), (status = "4XX", body = ErrorBody)))]
pub(super) async fn destroy_and_erase_pool(
    State(node): Node,
    Path(pool): Path<String>,
    consent: Consent,
) -> Answer<Vec<DriveErase>> {
    node.destroy_and_erase_pool(pool, consent).await.map(Json)
}

/// The drives that are being erased, and the last ones that were since the daemon was started.
#[utoipa::path(get, path = "/erases", responses((status = 200, body = Vec<DriveErase>)))]
pub(super) async fn drive_erases(State(node): Node) -> Answer<Vec<DriveErase>> {
    node.drive_erases().await.map(Json)
}
