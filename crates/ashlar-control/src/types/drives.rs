//! What is asked of a pool's drives.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A drive, by how people name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NameDrive {
    /// The drive.
    pub drive: String,
    /// Go on although it holds something that is not Ashlar's: it is lost.
    #[serde(default)]
    pub force: bool,
}

/// A spare of a pool.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NameSpare {
    /// How it was given.
    pub drive: String,
}

/// A drive that waits until its pool loses one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct Spare {
    /// How it was given.
    pub spec: String,
    /// Why it could not be taken when it was wanted. It is tried again.
    pub problem: Option<String>,
}

/// A drive of a pool, to be given up.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FailDrive {
    /// Its name, its number, or how it was given.
    pub drive: String,
    /// Also if data cannot be read without it.
    #[serde(default)]
    pub force: bool,
}

/// A drive of a pool, to be removed once what lives on it is on others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveDrive {
    /// Its name, its number, or how it was given.
    pub drive: String,
    /// Let it stay instead, if it is being removed.
    #[serde(default)]
    pub cancel: bool,
}

/// A drive that a pool has lost, to be taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnDrive {
    /// Its name, its number, or how it was given.
    pub drive: String,
    /// Where it is now, if not where it was.
    #[serde(default)]
    pub at: Option<String>,
}

/// A drive to be taken instead of another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceDrive {
    /// The one that goes: its name, its number, or how it was given.
    pub drive: String,
    /// The one that comes.
    pub with: String,
    /// Take it although it holds something: that is lost.
    #[serde(default)]
    pub force: bool,
}
