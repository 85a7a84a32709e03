//! What volumes may take of their pool.

use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Limits. Null: there is none.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct QosLimits {
    /// Commands per second, reads and writes together.
    pub iops_max: Option<u64>,
    /// Reads per second.
    pub read_iops_max: Option<u64>,
    /// Writes per second.
    pub write_iops_max: Option<u64>,
    /// Bytes per second, read and written together.
    pub bytes_per_second_max: Option<u64>,
    /// Bytes read per second.
    pub read_bytes_per_second_max: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_second_max: Option<u64>,
    /// Commands per second for each GiB of the volume's size. Where there is `iops_max` too, the
    /// lower one counts.
    pub iops_per_gib: Option<u64>,
    /// The same of reads.
    pub read_iops_per_gib: Option<u64>,
    /// The same of writes.
    pub write_iops_per_gib: Option<u64>,
    /// For how long a volume that was idle may save up what it did not take.
    pub burst_seconds: f64,
}

/// Limits to be set. Null, as a policy shows it, or 0 is no limit; what is left out stays, or is
/// none of a new policy.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetLimits {
    /// Commands per second, reads and writes together: at least 10.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub iops_max: Option<u64>,
    /// Reads per second: at least 10.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub read_iops_max: Option<u64>,
    /// Writes per second: at least 10.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub write_iops_max: Option<u64>,
    /// Bytes per second, read and written together: at least 1048576.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub bytes_per_second_max: Option<u64>,
    /// Bytes read per second: at least 1048576.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_second_max: Option<u64>,
    /// Bytes written per second: at least 1048576.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub write_bytes_per_second_max: Option<u64>,
    /// Commands per second for each GiB of the volume's size; of a small volume at least 10.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub iops_per_gib: Option<u64>,
    /// The same of reads.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub read_iops_per_gib: Option<u64>,
    /// The same of writes.
    #[serde(default, deserialize_with = "limit", skip_serializing_if = "Option::is_none")]
    pub write_iops_per_gib: Option<u64>,
    /// From 0.01 to 3600, in steps of a millisecond; 0.1 of a new policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_seconds: Option<f64>,
}

/// A limit that is said; that there is none is written as 0 or as null.
fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(Some(Option::deserialize(from)?.unwrap_or(0)))
}

/// A policy of a pool.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct QosPolicy {
    /// Its name.
    pub name: String,
    /// Its pool.
    pub pool: String,
    /// How much its volumes may take at most.
    pub limits: QosLimits,
    /// The part of its volumes where volumes want more than the pool can do: twice the weight is
    /// twice the part.
    pub weight: u16,
    /// It counts for volumes of which nothing is said.
    pub default: bool,
    /// The volumes that it counts for.
    pub volumes: Vec<String>,
}

/// A policy to be made.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreatePolicy {
    /// Its name.
    pub name: String,
    /// How much its volumes may take at most.
    #[serde(default)]
    pub limits: SetLimits,
    /// From 1 to 1000; 100 if not given.
    #[serde(default)]
    pub weight: Option<u16>,
}

/// What is to change of a policy.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePolicy {
    /// Its limits.
    #[serde(default)]
    pub limits: SetLimits,
    /// From 1 to 1000.
    #[serde(default)]
    pub weight: Option<u16>,
}

/// Which policy is to count for volumes of which nothing is said.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChooseDefaultPolicy {
    /// Its name. Null: none is.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub policy: Option<String>,
}

/// What counts for a volume, and what its limits have held up since the daemon started or the pool
/// was opened.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct VolumeQos {
    /// The name of its policy. Null: it has one of its own, or none.
    pub policy: Option<String>,
    /// Where it has that from: `named` or `unlimited`, as somebody said of the volume; `own`, a
    /// policy of its own; `pool`, the default of its pool; or `none`: nobody has said anything.
    pub source: String,
    /// How much it may take at most.
    pub limits: QosLimits,
    /// Its part where volumes want more than the pool can do.
    pub weight: u16,
    /// Commands wait for its limits now.
    pub throttled: bool,
    /// How many.
    pub waiting_operations: u64,
    /// Commands that have waited for its limits.
    pub delayed_operations: u64,
    /// How long they have waited, all together.
    pub delayed_seconds: f64,
}
