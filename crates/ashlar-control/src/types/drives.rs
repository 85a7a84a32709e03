//! What is asked of a pool's drives.

use ashlar_block::place::{is_at, path_of};
use ashlar_block::printable;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::PoolDrive;

impl PoolDrive {
    /// Whether `name` means this drive: its name or number, where it is, what the kernel calls it,
    /// or its name below `/dev/disk/by-id`; each with or without its pool in front, as in
    /// `tank/drive-2`.
    pub fn is_named(&self, name: &str) -> bool {
        let within_pool = name.strip_prefix(&self.pool).and_then(|rest| rest.strip_prefix('/'));
        self.is_called(name) || within_pool.is_some_and(|name| self.is_called(name))
    }

    fn is_called(&self, name: &str) -> bool {
        let is_number = self.name.strip_prefix("drive-") == Some(name);
        self.name == name || is_number || self.is_found_by(name)
    }

    /// Whether `name` leads to this drive whatever pool it belongs to: where it is, also as that is
    /// shown, what the kernel calls it, or its name below `/dev/disk/by-id`.
    pub fn is_found_by(&self, name: &str) -> bool {
        let is_kernel_name =
            self.kernel_name.as_deref() == Some(name.strip_prefix("/dev/").unwrap_or(name));
        let id = self.by_id.as_deref().and_then(|path| path.rsplit('/').next());
        let is_shown = |spec: &String| {
            let path = path_of(spec);
            [path, path.strip_prefix("file:").unwrap_or(path)]
                .iter()
                .any(|path| printable(path) == name)
        };
        is_kernel_name || id == Some(name) || self.is_at(name) || self.spec.iter().any(is_shown)
    }

    /// Whether it is at this place, or was last.
    pub fn is_at(&self, place: &str) -> bool {
        let places = self.spec.iter().chain(&self.by_id);
        places.into_iter().any(|spec| is_at(spec, place))
    }
}

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
    /// Its name, its number, or where it is.
    pub drive: String,
    /// Also if data cannot be read without it.
    #[serde(default)]
    pub force: bool,
}

/// A drive of a pool, to be removed once what lives on it is on others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoveDrive {
    /// Its name, its number, or where it is.
    pub drive: String,
    /// Let it stay instead, if it is being removed.
    #[serde(default)]
    pub cancel: bool,
}

/// A drive that a pool has lost, to be taken back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReturnDrive {
    /// Its name, its number, or where it is or was last.
    pub drive: String,
    /// Where it is now, if not where it was.
    #[serde(default)]
    pub at: Option<String>,
}

/// A drive whose light is to be switched, so that people find it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LocateDrive {
    /// The drive: POOL/DRIVE of an open pool, also one that is lost, or the path of a block device.
    pub drive: String,
    /// Whether its light is to be on.
    pub on: bool,
}

/// A drive whose light was switched.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct DriveLight {
    /// The drive, as it was named.
    pub drive: String,
    /// The slot that it is in, or was last.
    pub slot: String,
    /// Whether its light is on.
    pub on: bool,
}

/// A drive to be taken instead of another one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceDrive {
    /// The one that goes: its name, its number, or where it is.
    pub drive: String,
    /// The one that comes.
    pub with: String,
    /// Take it although it holds something: that is lost.
    #[serde(default)]
    pub force: bool,
}

#[cfg(test)]
mod tests;
