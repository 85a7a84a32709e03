//! Pools that are on drives, and open nowhere here.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where pools are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FindPools {
    /// Drives, and directories with drives. Empty: all block devices of the machine.
    #[serde(default)]
    pub drives: Vec<String>,
}

/// Where unused drives are looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FindDrives {
    /// Drives, and directories with drives. Empty: all block devices of the machine.
    #[serde(default)]
    pub drives: Vec<String>,
}

/// A pool that `pool import` may open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ImportablePool {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uuid: String,
    /// 0, 1, 1x3, 5, 6, 7.3 or N+M.
    pub level: String,
    /// Members that it had when it was made; drives may have come and gone since.
    pub drives_made_with: u16,
    /// Its drives that were found, by their places.
    pub drives: Vec<String>,
    /// What damaged drives hold that were found, and why others could not be read.
    pub notes: Vec<String>,
}
