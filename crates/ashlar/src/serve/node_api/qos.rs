//! What changes policies.

use ashlar_control::types::{ChangePolicy, ChooseDefaultPolicy, CreatePolicy, QosPolicy, Volume};
use ashlar_control::{Answer, ApiError, QosApi};
use ashlar_volume::qos::{Policy, QosError, VolumeQos};
use ashlar_volume::{NodeError, PoliciesReport, QosChoice, VolumeChange};

use super::super::convert;
use super::super::convert::qos;
use super::super::errors::api_error;
use super::{ServedNode, Shared};

/// What `volume set --qos` says instead of a policy's name.
const NONE: &str = "none";
const DEFAULT: &str = "default";

/// What is said of a volume by a name.
pub(super) fn choice(name: &str) -> VolumeQos {
    match name {
        NONE => VolumeQos::Unlimited,
        DEFAULT => VolumeQos::PoolDefault,
        name => VolumeQos::Named(name.to_owned()),
    }
}

impl QosApi for ServedNode {
    fn policies(&self) -> Answer<'_, Vec<QosPolicy>> {
        Box::pin(self.shared.policies())
    }

    fn create_policy(&self, pool: String, request: CreatePolicy) -> Answer<'_, QosPolicy> {
        self.change(|node| async move { node.create_policy(pool, request).await })
    }

    fn change_policy(
        &self,
        pool: String,
        policy: String,
        request: ChangePolicy,
    ) -> Answer<'_, QosPolicy> {
        self.change(move |node| async move { node.change_policy(pool, policy, request).await })
    }

    fn delete_policy(&self, pool: String, policy: String) -> Answer<'_, ()> {
        self.change(|node| async move { node.delete_policy(pool, policy).await })
    }

    fn choose_default_policy(
        &self,
        pool: String,
        request: ChooseDefaultPolicy,
    ) -> Answer<'_, Vec<QosPolicy>> {
        self.change(|node| async move { node.choose_default_policy(pool, request).await })
    }

    fn limit_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangePolicy,
    ) -> Answer<'_, Volume> {
        self.change(move |node| async move { node.limit_volume(pool, volume, request).await })
    }
}

impl Shared {
    pub(super) async fn policies(&self) -> Result<Vec<QosPolicy>, ApiError> {
        let pools = self.node.policies().await.map_err(|gone| api_error(gone.into()))?;
        Ok(qos::policies(&pools))
    }

    pub(super) async fn create_policy(
        &self,
        pool: String,
        request: CreatePolicy,
    ) -> Result<QosPolicy, ApiError> {
        let CreatePolicy { name, limits, weight } = request;
        let change = qos::policy_change(&ChangePolicy { limits, weight })?;
        let policy = change.apply(Policy::default()).map_err(QosError::Invalid);
        let policy = policy.map_err(|error| api_error(error.into()))?;
        self.check_available(&pool).await?;
        let made = self.node.create_policy(&pool, name.clone(), policy).await;
        the_one(made, &name)
    }

    pub(super) async fn change_policy(
        &self,
        pool: String,
        name: String,
        request: ChangePolicy,
    ) -> Result<QosPolicy, ApiError> {
        let change = qos::policy_change(&request)?;
        self.check_available(&pool).await?;
        let changed = self.node.change_policy(&pool, name.clone(), change).await;
        the_one(changed, &name)
    }

    pub(super) async fn delete_policy(&self, pool: String, name: String) -> Result<(), ApiError> {
        self.check_available(&pool).await?;
        self.node.delete_policy(&pool, name).await.map(drop).map_err(api_error)
    }

    pub(super) async fn choose_default_policy(
        &self,
        pool: String,
        request: ChooseDefaultPolicy,
    ) -> Result<Vec<QosPolicy>, ApiError> {
        self.check_available(&pool).await?;
        let name = request.policy.filter(|name| name != NONE);
        let chosen = self.node.set_default_policy(&pool, name).await.map_err(api_error)?;
        Ok(qos::policies(&[chosen]))
    }

    pub(super) async fn limit_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangePolicy,
    ) -> Result<Volume, ApiError> {
        let change = qos::policy_change(&request)?;
        self.check_available(&pool).await?;
        let change = VolumeChange { qos: Some(QosChoice::Own(change)), ..Default::default() };
        let limited = self.node.change_volume(&pool, volume, change).await;
        Ok(convert::volume(&limited.map_err(api_error)?))
    }
}

/// The policy of that name among those of its pool.
fn the_one(changed: Result<PoliciesReport, NodeError>, name: &str) -> Result<QosPolicy, ApiError> {
    let report = changed.map_err(api_error)?;
    let found = qos::policies(&[report]).into_iter().find(|policy| policy.name == name);
    Ok(found.expect("it has just been written"))
}
