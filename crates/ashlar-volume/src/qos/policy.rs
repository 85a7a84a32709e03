//! What a policy says, and which one counts for a volume.

use std::num::NonZeroU64;
use std::time::Duration;

use ashlar_block::check_name;

/// Policies of one pool, at most.
pub const POLICIES_MAX: usize = 64;
/// The shortest burst: what a busy machine may be late with its timers.
pub const BURST_MIN: Duration = Duration::from_millis(10);
/// The longest burst.
pub const BURST_MAX: Duration = Duration::from_secs(3600);
/// The burst of a policy that names none: any second holds at most a tenth more than the limit.
pub const BURST_DEFAULT: Duration = Duration::from_millis(100);
/// The largest weight.
pub const WEIGHT_MAX: u16 = 1000;
/// The weight of a volume of which nobody has said anything else.
pub const WEIGHT_DEFAULT: u16 = 100;

/// The slowest limit of bytes: slower ones would have a host wait for minutes for a few large
/// commands.
const BYTES_PER_SECOND_MIN: u64 = 1 << 20;
/// The slowest limit of commands.
const IOPS_MIN: u64 = 10;

/// Which commands a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Flow {
    /// All of them.
    All,
    /// Those by which bytes come.
    Read,
    /// Those by which bytes go, or become zeros.
    Write,
}

impl Flow {
    /// All of them.
    pub const ALL: [Flow; 3] = [Flow::All, Flow::Read, Flow::Write];
}

/// One value for each [`Flow`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flows<T>(pub [T; Flow::ALL.len()]);

impl<T> Flows<T> {
    /// That of a flow.
    pub fn of(&self, flow: Flow) -> &T {
        &self.0[flow as usize]
    }

    /// That of a flow, to be changed.
    pub fn of_mut(&mut self, flow: Flow) -> &mut T {
        &mut self.0[flow as usize]
    }
}

/// A limit that there may be.
pub type Limit = Option<NonZeroU64>;

/// How much may begin in a second. What has no limit is not limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Commands.
    pub iops: Flows<Limit>,
    /// Bytes.
    pub bytes_per_second: Flows<Limit>,
    /// Commands for each GiB of the volume's size. Where there is a limit of commands too, the
    /// lower one counts.
    pub iops_per_gib: Flows<Limit>,
    /// For how long a volume that was idle may save up what it did not take. Whole milliseconds.
    pub burst: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            iops: Flows::default(),
            bytes_per_second: Flows::default(),
            iops_per_gib: Flows::default(),
            burst: BURST_DEFAULT,
        }
    }
}

impl Limits {
    /// Commands of a flow that a volume of that size may begin in a second.
    pub fn iops_of(&self, flow: Flow, size_bytes: u64) -> Limit {
        let by_size = self.iops_per_gib.of(flow).map(|per_gib| {
            let iops = (u128::from(per_gib.get()) * u128::from(size_bytes)) >> 30;
            let iops = u64::try_from(iops).unwrap_or(u64::MAX).max(IOPS_MIN);
            NonZeroU64::new(iops).expect("the least is not zero")
        });
        let limits = [*self.iops.of(flow), by_size];
        limits.into_iter().flatten().min()
    }

    /// Whether anything is limited.
    pub fn limit_anything(&self) -> bool {
        let all = [&self.iops, &self.bytes_per_second, &self.iops_per_gib];
        all.into_iter().any(|flows| flows.0.iter().any(Option::is_some))
    }
}

/// What volumes that name it may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Policy {
    /// How much they may do at most.
    pub limits: Limits,
    /// Their part where volumes want more than the pool can do: twice the weight is twice the part.
    pub weight: u16,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { limits: Limits::default(), weight: WEIGHT_DEFAULT }
    }
}

/// Why a policy cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidPolicy {
    /// A limit that is too low.
    #[error(
        "{given} is too low for {what}: hosts would give commands up while they wait. The least is \
         {least}"
    )]
    TooLow {
        /// Which limit.
        what: &'static str,
        /// What was given.
        given: u64,
        /// The lowest that there can be.
        least: u64,
    },
    /// A burst out of its bounds.
    #[error("a burst is from 0.01 to 3600 seconds, in steps of a millisecond")]
    Burst,
    /// A weight out of its bounds.
    #[error("{0} cannot be a weight: it is from 1 to {WEIGHT_MAX}")]
    Weight(u64),
    /// A name that a policy cannot have.
    #[error("{0}")]
    Name(String),
}

impl Policy {
    /// That it can be.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), InvalidPolicy> {
        let Limits { iops, bytes_per_second, burst, .. } = &self.limits;
        at_least(iops, "a limit of commands per second", IOPS_MIN)?;
        at_least(bytes_per_second, "a limit of bytes per second", BYTES_PER_SECOND_MIN)?;
        let is_whole = burst.subsec_nanos().is_multiple_of(1_000_000);
        if !is_whole || !(BURST_MIN..=BURST_MAX).contains(burst) {
            return Err(InvalidPolicy::Burst);
        }
        match self.weight {
            1..=WEIGHT_MAX => Ok(()),
            weight => Err(InvalidPolicy::Weight(weight.into())),
        }
    }

    /// That a policy can be called so.
    ///
    /// # Errors
    /// Why not.
    pub fn check_name(name: &str) -> Result<(), InvalidPolicy> {
        check_name(name).map_err(|error| InvalidPolicy::Name(error.to_string()))?;
        if ["none", "default", "own"].contains(&name) {
            let why = format!("'{name}' says something else of a volume: no policy is called so");
            return Err(InvalidPolicy::Name(why));
        }
        Ok(())
    }
}

fn at_least(flows: &Flows<Limit>, what: &'static str, least: u64) -> Result<(), InvalidPolicy> {
    let low = flows.0.iter().flatten().map(|limit| limit.get()).find(|given| *given < least);
    low.map_or(Ok(()), |given| Err(InvalidPolicy::TooLow { what, given, least }))
}

/// What is to change of a policy. What it leaves out stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyChange {
    /// See [`Limits::iops`].
    pub iops: Flows<Option<Limit>>,
    /// See [`Limits::bytes_per_second`].
    pub bytes_per_second: Flows<Option<Limit>>,
    /// See [`Limits::iops_per_gib`].
    pub iops_per_gib: Flows<Option<Limit>>,
    /// See [`Limits::burst`].
    pub burst: Option<Duration>,
    /// See [`Policy::weight`].
    pub weight: Option<u16>,
}

impl PolicyChange {
    /// The policy after it.
    ///
    /// # Errors
    /// It cannot be.
    pub fn apply(&self, before: Policy) -> Result<Policy, InvalidPolicy> {
        let changed = |before: Flows<Limit>, change: Flows<Option<Limit>>| {
            Flows(std::array::from_fn(|flow| change.0[flow].unwrap_or(before.0[flow])))
        };
        let limits = before.limits;
        let policy = Policy {
            limits: Limits {
                iops: changed(limits.iops, self.iops),
                bytes_per_second: changed(limits.bytes_per_second, self.bytes_per_second),
                iops_per_gib: changed(limits.iops_per_gib, self.iops_per_gib),
                burst: self.burst.unwrap_or(limits.burst),
            },
            weight: self.weight.unwrap_or(before.weight),
        };
        policy.check().map(|()| policy)
    }
}

/// Why what somebody wants of policies cannot be.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QosError {
    /// The pool has no such policy.
    #[error(
        "pool '{pool}' has no policy '{policy}': `ashlar qos list {pool}` shows which there are"
    )]
    NoSuchPolicy {
        /// The pool.
        pool: String,
        /// The name in question.
        policy: String,
    },
    /// The pool has such a policy.
    #[error(
        "pool '{pool}' has a policy '{policy}' already: `ashlar qos set {pool} {policy}` changes it"
    )]
    PolicyExists {
        /// The pool.
        pool: String,
        /// The name.
        policy: String,
    },
    /// The pool has as many policies as it can have.
    #[error("pool '{pool}' has {POLICIES_MAX} policies, and cannot have more: delete one first")]
    TooManyPolicies {
        /// The pool.
        pool: String,
    },
    /// Volumes name the policy.
    #[error(
        "policy '{policy}' of pool '{pool}' is that of {volumes}: give them another one first \
         (`ashlar volume set {pool}/VOLUME --qos NAME`)"
    )]
    PolicyInUse {
        /// The pool.
        pool: String,
        /// The policy.
        policy: String,
        /// Its volumes.
        volumes: String,
    },
    /// The policy is the default.
    #[error(
        "policy '{policy}' is the default of pool '{pool}': choose another one first (`ashlar qos \
         default {pool} NAME`, or none)"
    )]
    PolicyIsDefault {
        /// The pool.
        pool: String,
        /// The policy.
        policy: String,
    },
    /// A policy, or its name, that cannot be.
    #[error(transparent)]
    Invalid(InvalidPolicy),
    /// The policies of the pool are not known.
    #[error(
        "the policies of pool '{pool}' cannot be read, so that nothing of them is changed: \
         {why}. The version of Ashlar that wrote them can"
    )]
    Unreadable {
        /// The pool.
        pool: String,
        /// Why.
        why: String,
    },
}

/// What an operator has said of a volume.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum VolumeQos {
    /// Nothing: what counts is the default of its pool.
    #[default]
    PoolDefault,
    /// No limits, and the weight that volumes have.
    Unlimited,
    /// The policy of its pool that is called so.
    Named(String),
    /// A policy of its own.
    Own(Policy),
}

/// Where a volume has its policy from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicySource {
    /// It was named for the volume.
    Volume,
    /// It is the default of the pool.
    Pool,
    /// Nobody has said anything: there are no limits.
    Nobody,
}

/// The policy that counts for a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// How it is called. None: it is the volume's own, or there is none.
    pub name: Option<String>,
    /// What it says.
    pub policy: Policy,
    /// Where it is from.
    pub source: PolicySource,
}

#[cfg(test)]
mod tests;
