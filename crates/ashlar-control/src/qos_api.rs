//! What the API of policies stands before.

use crate::node_api::Answer;
use crate::types::{ChangePolicy, ChooseDefaultPolicy, CreatePolicy, QosPolicy, Volume};

/// A node, as far as policies are concerned. Each method ends once what it says is done and
/// durable.
pub trait QosApi {
    /// The policies of all pools that are open.
    fn policies(&self) -> Answer<'_, Vec<QosPolicy>>;
    /// Makes a policy of a pool.
    fn create_policy(&self, pool: String, request: CreatePolicy) -> Answer<'_, QosPolicy>;
    /// Changes a policy of a pool.
    fn change_policy(
        &self,
        pool: String,
        policy: String,
        request: ChangePolicy,
    ) -> Answer<'_, QosPolicy>;
    /// Deletes a policy of a pool.
    fn delete_policy(&self, pool: String, policy: String) -> Answer<'_, ()>;
    /// Says which policy counts for volumes of which nothing is said.
    fn choose_default_policy(
        &self,
        pool: String,
        request: ChooseDefaultPolicy,
    ) -> Answer<'_, Vec<QosPolicy>>;
    /// Gives a volume a policy of its own.
    fn limit_volume(
        &self,
        pool: String,
        volume: String,
        request: ChangePolicy,
    ) -> Answer<'_, Volume>;
}
