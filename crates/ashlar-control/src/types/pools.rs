//! What is asked of pools as such.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A pool to be opened.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportPool {
    /// Its name or UUID, if the drives belong to several. Of several pools of one name the UUID
    /// tells which.
    #[serde(default)]
    pub pool: Option<String>,
    /// Where its drives may be.
    pub drives: Vec<String>,
    /// The name that it is to have from then on, instead of its own.
    #[serde(default)]
    pub name: Option<String>,
    /// Open it even if drives are missing, as many as its level survives.
    #[serde(default)]
    pub degraded: bool,
}

/// The formatted capacity of a pool: either of the two.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetCapacity {
    /// So many bytes.
    #[serde(default)]
    pub formatted_bytes: Option<u64>,
    /// So many times what the pool is provisioned with, as `2.4x`.
    #[serde(default)]
    pub factor: Option<String>,
    /// Also more than fits if data go on to compress as what is stored.
    #[serde(default)]
    pub force: bool,
}

/// The new name of a pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenamePool {
    /// It.
    pub name: String,
}
