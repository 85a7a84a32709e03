//! What volumes may take of their pool: policies, and what holds volumes to them.
//!
//! | module | what it owns |
//! |---|---|
//! | `policy` | what a policy says, and which one counts for a volume. Pure |
//! | `codec` | policies as they lie in the store, byte by byte. Pure |
//! | `rate` | one limit: how much of it is spent, and when the next command may begin |
//! | `throttle` | the limits of one volume, shared by all reactors |
//! | `gate` | who waits at one reactor for the limits of a volume |
//! | `fair` | who goes first where volumes want more than their pool can do |
//!
//! A limit is the volume's, whatever reactors its hosts are connected to. What waits has taken
//! nothing: no memory, and no data of its host but what came in its capsule.

pub(crate) mod codec;
pub(crate) mod fair;
pub(crate) mod gate;
mod policy;
mod rate;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod throttle;

pub use codec::PoolPolicies;
pub use policy::{
    BURST_DEFAULT, BURST_MAX, BURST_MIN, Flow, Flows, InvalidPolicy, Limit, Limits, POLICIES_MAX,
    Policy, PolicyChange, PolicySource, QosError, Resolved, VolumeQos, WEIGHT_DEFAULT, WEIGHT_MAX,
};
pub use throttle::Delays;
