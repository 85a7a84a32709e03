//! Who may see a volume, as it is asked for.

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
