//! Who may see a volume, as it is asked for; and what hosts do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Hosts to allow or deny.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NameHosts {
    /// NQNs; `any` for every host, as one that was allowed; to deny also `all`, for every host.
    pub hosts: Vec<String>,
    /// To allow: these hosts alone, whoever might see it before.
    #[serde(default)]
    pub only: bool,
}

/// Commands of one kind that were answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct CommandCounts {
    /// How many.
    pub operations: u64,
    /// The bytes that they were for.
    pub transferred_bytes: u64,
}

/// What a host has been answered by all its controllers, those that it had before included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HostFigures {
    /// The host's name.
    pub nqn: String,
    /// Reads.
    pub reads: CommandCounts,
    /// Writes.
    pub writes: CommandCounts,
    /// Dataset Management that deallocates, and Write Zeroes.
    pub trims: CommandCounts,
}
