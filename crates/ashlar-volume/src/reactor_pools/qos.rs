//! The policies of a pool and of its volumes: changed one at a time, durably, and held to at once.

use ashlar_block::{Clock, PoolUuid, VolumeId, World};
use ashlar_store::Store;

use super::{OpenPool, ReactorPools};
use crate::drive_provider::DriveProvider;
use crate::error::NodeError;
use crate::qos::{
    Limits, POLICIES_MAX, Policy, PolicyChange, PoolPolicies, QosError, Resolved, VolumeQos,
};

/// The policies of an open pool.
pub(super) struct Policies {
    pub(super) known: PoolPolicies,
    /// Why they are not known, and must not be written.
    unreadable: Option<String>,
}

/// The policies that are kept with a pool. One whose policies cannot be read is served without.
pub(super) fn policies_of<W: World>(store: &Store<W>) -> std::cell::RefCell<Policies> {
    let (known, unreadable) = match PoolPolicies::decode(&store.pool_attributes()) {
        Ok(known) => (known, None),
        Err(error) => {
            tracing::error!(pool = store.name(), %error, "its volumes are served without policies");
            (PoolPolicies::default(), Some(error.to_string()))
        }
    };
    Policies { known, unreadable }.into()
}

/// A policy of a pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyReport {
    /// Its name.
    pub name: String,
    /// What it says.
    pub policy: Policy,
    /// It counts for volumes of which nothing is said.
    pub is_default: bool,
    /// The volumes that it counts for, by name.
    pub volumes: Vec<String>,
}

/// The policies of a pool, by name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoliciesReport {
    /// The pool's name.
    pub pool: String,
    /// Its policies.
    pub policies: Vec<PolicyReport>,
}

impl<B: DriveProvider> ReactorPools<B> {
    /// The policies of the pools of this reactor.
    pub fn policies(&self) -> Vec<PoliciesReport> {
        self.of_pools(OpenPool::policies_report)
    }

    /// Makes a policy.
    ///
    /// # Errors
    /// [`NodeError`]; there is no such policy then.
    pub async fn create_policy(
        &self,
        uuid: PoolUuid,
        name: String,
        policy: Policy,
    ) -> Result<PoliciesReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        Policy::check_name(&name).and_then(|()| policy.check()).map_err(QosError::Invalid)?;
        let mut policies = pool.policies_to_change()?;
        if policies.has_name(&name) {
            return Err(QosError::PolicyExists { pool: pool.name(), policy: name }.into());
        }
        if policies.count() >= POLICIES_MAX {
            return Err(QosError::TooManyPolicies { pool: pool.name() }.into());
        }
        policies.put(&name, policy);
        pool.set_policies(policies).await
    }

    /// Changes a policy. Its volumes are held to it at once.
    ///
    /// # Errors
    /// [`NodeError`]; it is as it was.
    pub async fn change_policy(
        &self,
        uuid: PoolUuid,
        name: String,
        change: PolicyChange,
    ) -> Result<PoliciesReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let mut policies = pool.policies_to_change()?;
        let before = *policies.named(&name).ok_or_else(|| pool.no_policy(&name))?;
        policies.put(&name, change.apply(before).map_err(QosError::Invalid)?);
        pool.set_policies(policies).await
    }

    /// Deletes a policy that no volume names, and that is not the default.
    ///
    /// # Errors
    /// [`NodeError`]; it is as it was.
    pub async fn delete_policy(
        &self,
        uuid: PoolUuid,
        name: String,
    ) -> Result<PoliciesReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let mut policies = pool.policies_to_change()?;
        if policies.default_name() == Some(&name) {
            return Err(QosError::PolicyIsDefault { pool: pool.name(), policy: name }.into());
        }
        let users = pool.volumes_that_name(&name);
        if !users.is_empty() {
            let (pool, volumes) = (pool.name(), shortened(&users));
            return Err(QosError::PolicyInUse { pool, policy: name, volumes }.into());
        }
        if !policies.remove(&name) {
            return Err(pool.no_policy(&name));
        }
        pool.set_policies(policies).await
    }

    /// Says which policy counts for volumes of which nothing is said. `None`: none does.
    ///
    /// # Errors
    /// [`NodeError`]; it is as it was.
    pub async fn set_default_policy(
        &self,
        uuid: PoolUuid,
        name: Option<String>,
    ) -> Result<PoliciesReport, NodeError> {
        let pool = self.pool(uuid)?;
        let _changing = pool.changing.lock().await;
        let mut policies = pool.policies_to_change()?;
        if let Some(missing) = name.as_ref().filter(|name| policies.named(name).is_none()) {
            return Err(pool.no_policy(missing));
        }
        policies.set_default(name);
        pool.set_policies(policies).await
    }
}

/// What an operator says of a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QosChoice {
    /// That.
    Policy(VolumeQos),
    /// A policy of its own, with these changes to the one that counts now.
    Own(PolicyChange),
}

/// The first of these names, for an error that is read by people.
fn shortened(names: &[String]) -> String {
    const SHOWN_MAX: usize = 5;
    let shown = names.iter().take(SHOWN_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl<B: DriveProvider> OpenPool<B> {
    fn policies_report(&self) -> PoliciesReport {
        let policies = self.policies.borrow();
        let known = &policies.known;
        let mut reports: Vec<PolicyReport> = known
            .iter()
            .map(|(name, policy)| PolicyReport {
                name: name.to_owned(),
                policy: *policy,
                is_default: known.default_name() == Some(name),
                volumes: Vec::new(),
            })
            .collect();
        for volume in self.all_volumes() {
            let (name, qos) = volume.with_attributes(|it| (it.name.to_string(), it.qos.clone()));
            let Resolved { name: Some(policy), .. } = known.resolve(&qos) else { continue };
            if let Ok(at) = reports.binary_search_by(|it| it.name.cmp(&policy)) {
                reports[at].volumes.push(name);
            }
        }
        reports.iter_mut().for_each(|report| report.volumes.sort_unstable());
        PoliciesReport { pool: self.name(), policies: reports }
    }

    fn no_policy(&self, name: &str) -> NodeError {
        QosError::NoSuchPolicy { pool: self.name(), policy: name.to_owned() }.into()
    }

    fn policies_to_change(&self) -> Result<PoolPolicies, NodeError> {
        let policies = self.policies.borrow();
        match &policies.unreadable {
            None => Ok(policies.known.clone()),
            Some(why) => Err(QosError::Unreadable { pool: self.name(), why: why.clone() }.into()),
        }
    }

    /// Makes these the policies of the pool.
    async fn set_policies(&self, policies: PoolPolicies) -> Result<PoliciesReport, NodeError> {
        self.store.set_pool_attributes(policies.encode().into()).await?;
        self.policies.borrow_mut().known = policies;
        let volumes: Vec<VolumeId> = self.volumes.borrow().keys().copied().collect();
        volumes.into_iter().for_each(|id| self.apply_qos(id));
        Ok(self.policies_report())
    }

    fn volumes_that_name(&self, policy: &str) -> Vec<String> {
        let named = |qos: &VolumeQos| matches!(qos, VolumeQos::Named(name) if name == policy);
        let volumes = self.all_volumes().into_iter();
        let names = volumes
            .filter_map(|it| it.with_attributes(|it| named(&it.qos).then(|| it.name.to_string())));
        names.collect()
    }

    pub(super) fn chosen(
        &self,
        choice: QosChoice,
        before: &VolumeQos,
    ) -> Result<VolumeQos, NodeError> {
        let policies = self.policies.borrow();
        match choice {
            QosChoice::Policy(VolumeQos::Named(name)) if policies.known.named(&name).is_none() => {
                Err(self.no_policy(&name))
            }
            QosChoice::Policy(qos) => Ok(qos),
            QosChoice::Own(change) => {
                let now = policies.known.resolve(before).policy;
                Ok(VolumeQos::Own(change.apply(now).map_err(QosError::Invalid)?))
            }
        }
    }

    /// Holds a volume to its policy as it is now. One whose policy and size are as they were
    /// notices nothing.
    pub(super) fn apply_qos(&self, id: VolumeId) {
        let volumes = self.volumes.borrow();
        let Some(open) = volumes.get(&id) else { return };
        let choice = open.volume.with_attributes(|attributes| attributes.qos.clone());
        let policy = self.policies.borrow().known.resolve(&choice).policy;
        let size_bytes = open.volume.size_bytes();
        let before = open.held_to.replace(Some((policy, size_bytes)));
        open.volume.set_weight(policy.weight);
        if before.map(|(before, bytes)| (before.limits, bytes)) != Some((policy.limits, size_bytes))
        {
            open.throttle.set(&policy.limits, size_bytes, self.store.world().now());
        }
    }

    /// Lets whatever waits for the limits of a volume go on, until they are applied again.
    pub(super) fn lift_limits_of(&self, id: VolumeId) {
        let volumes = self.volumes.borrow();
        let Some(open) = volumes.get(&id) else { return };
        open.held_to.set(None);
        open.throttle.set(&Limits::default(), 0, self.store.world().now());
    }

    /// Lets whatever waits for the limits of volumes go on: the pool is about to be closed.
    pub(super) fn lift_limits(&self) {
        let now = self.store.world().now();
        let volumes = self.volumes.borrow();
        volumes.values().for_each(|open| open.throttle.set(&Limits::default(), 0, now));
    }
}
