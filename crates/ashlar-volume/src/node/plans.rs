//! New pools and drives: where they go, and what would come of it.

use super::{Node, check_unused};
use crate::dispatcher::Dispatcher;
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::reactor_pools::{CreateRequest, DrivePlan, PoolPlan};
use crate::table::ReactorIndex;

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// What [`Self::create_pool`] would make. Nothing is written.
    ///
    /// # Errors
    /// What it would refuse.
    pub async fn plan_pool(
        &self,
        new: ashlar_store::NewPool,
        drives: Vec<String>,
        force: bool,
    ) -> Result<PoolPlan, NodeError> {
        let (home, request) = self.new_pool(new, drives, force).await?;
        self.dispatcher.call(home, move |home| async move { home.plan_pool(request).await }).await?
    }

    /// Where a new pool is to live, and what is asked there.
    pub(super) async fn new_pool(
        &self,
        new: ashlar_store::NewPool,
        drives: Vec<String>,
        force: bool,
    ) -> Result<(ReactorIndex, CreateRequest), NodeError> {
        let reports = self.reports().await?;
        if reports.iter().any(|report| report.status.name == new.name) {
            return Err(NodeError::PoolExists(new.name));
        }
        check_unused(&self.held().await?, &drives)?;
        let request = CreateRequest { new, drives, force, options: self.options.clone() };
        Ok((self.least_loaded(&reports), request))
    }

    /// What [`Self::add_drive`] would do. Nothing is written.
    ///
    /// # Errors
    /// What it would refuse.
    pub async fn plan_drive(
        &self,
        pool: &str,
        spec: String,
        force: bool,
    ) -> Result<DrivePlan, NodeError> {
        check_unused(&self.held().await?, std::slice::from_ref(&spec))?;
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.plan_drive(uuid, spec, force).await })
            .await
    }
}
