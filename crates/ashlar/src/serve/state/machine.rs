//! Which machine a state directory is used on: a copy of it on another machine is the same node to
//! hosts.

use std::fmt;
use std::fs;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What tells an installation from others: machine-id(5).
const MACHINE_ID: &str = "/etc/machine-id";
/// What tells a machine, or a virtual one, from others. Only root may read it.
const HARDWARE_ID: &str = "/sys/class/dmi/id/product_uuid";

/// A machine as it is remembered.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What people call it.
    pub name: String,
    /// Its machine-id, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Uuid>,
    /// Its hardware's UUID, if it has one that may be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Uuid>,
}

impl Machine {
    /// The one that this process runs on.
    pub fn here() -> Self {
        let read = |path: &str| Uuid::parse_str(fs::read_to_string(path).ok()?.trim()).ok();
        let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Machine { name, id: read(MACHINE_ID), hardware: read(HARDWARE_ID) }
    }

    /// Whether this is surely another one. What one of them does not have says nothing: a daemon
    /// that may not read it, a container without an identity. Nor does a name, which people change.
    pub fn is_another_than(&self, other: &Machine) -> bool {
        let differ = |one: Option<Uuid>, other: Option<Uuid>| {
            one.zip(other).is_some_and(|(one, other)| one != other)
        };
        differ(self.id, other.id) || differ(self.hardware, other.hardware)
    }

    /// What is known of both: a part of the identity that could not be read now stays.
    pub fn with_what_is_known_of(self, before: Option<&Machine>) -> Self {
        let known = before.filter(|before| !self.is_another_than(before));
        let id = self.id.or(known.and_then(|known| known.id));
        let hardware = self.hardware.or(known.and_then(|known| known.hardware));
        Machine { id, hardware, ..self }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}'", self.name)?;
        self.id.map_or(Ok(()), |id| write!(f, ", machine-id {}", id.simple()))?;
        self.hardware.map_or(Ok(()), |id| write!(f, ", hardware {id}"))
    }
}

#[cfg(test)]
mod tests;
