//! The policies of pools and volumes.

use std::rc::Rc;

use super::Node;
use crate::dispatcher::{Dispatcher, Gone};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::qos::{Policy, PolicyChange};
use crate::reactor_pools::{PoliciesReport, ReactorPools};
use crate::table::ReactorIndex;

impl<B: DriveProvider, C: Dispatcher<B> + Send + Sync> Node<B, C> {
    /// The policies of all pools that are open, by the names of the pools.
    ///
    /// # Errors
    /// [`Gone`].
    pub async fn policies(&self) -> Result<Vec<PoliciesReport>, Gone> {
        let mut all = Vec::new();
        for reactor in 0..self.dispatcher.reactors() {
            let told = |home: Rc<ReactorPools<B>>| async move { home.policies() };
            all.extend(self.dispatcher.call(ReactorIndex(reactor), told).await?);
        }
        all.sort_by(|one: &PoliciesReport, other| one.pool.cmp(&other.pool));
        Ok(all)
    }

    /// Makes a policy of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn create_policy(
        &self,
        pool: &str,
        name: String,
        policy: Policy,
    ) -> Result<PoliciesReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.create_policy(uuid, name, policy).await },
        )
        .await
    }

    /// Changes a policy of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn change_policy(
        &self,
        pool: &str,
        name: String,
        change: PolicyChange,
    ) -> Result<PoliciesReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(
            at,
            move |home, uuid| async move { home.change_policy(uuid, name, change).await },
        )
        .await
    }

    /// Deletes a policy of a pool.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn delete_policy(
        &self,
        pool: &str,
        name: String,
    ) -> Result<PoliciesReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.delete_policy(uuid, name).await })
            .await
    }

    /// Says which policy counts for volumes of which nothing is said.
    ///
    /// # Errors
    /// [`NodeError`].
    pub async fn set_default_policy(
        &self,
        pool: &str,
        name: Option<String>,
    ) -> Result<PoliciesReport, NodeError> {
        let at = self.locate(pool).await?;
        self.at_pool(at, move |home, uuid| async move { home.set_default_policy(uuid, name).await })
            .await
    }
}
