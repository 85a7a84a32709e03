//! The connected hosts that use volumes. Pure.

use std::collections::BTreeSet;
use std::fmt;

use ashlar_target::nvme_tcp::ConnectedHost;
use ashlar_volume::{AccessList, HostNqn, VolumeReport};

/// Hosts, or other things, that a message names; of more it says how many.
const NAMED_MAX: usize = 8;

/// The connected hosts that may see some volumes, and whether those are read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Users {
    hosts: BTreeSet<HostNqn>,
    are_busy: bool,
}

impl Users {
    /// Those of `connected` that may see one of the volumes.
    pub fn of<'a>(
        volumes: impl IntoIterator<Item = &'a VolumeReport>,
        connected: &[ConnectedHost],
    ) -> Self {
        let mut users = Users { hosts: BTreeSet::new(), are_busy: false };
        for volume in volumes {
            let may_see =
                |host: &&ConnectedHost| !host.is_discovery && volume.access.allows(&host.nqn);
            users.hosts.extend(connected.iter().filter(may_see).map(|host| host.nqn.clone()));
            users.are_busy |= volume.is_busy;
        }
        users
    }

    /// Those whom `access` does not allow.
    pub fn without(mut self, access: &AccessList) -> Self {
        self.hosts.retain(|host| !access.allows(host));
        self
    }

    /// No host is among them.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }
}

impl fmt::Display for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hosts.is_empty() {
            return f.write_str("No host that may see it is connected");
        }
        let io = if self.are_busy { "I/O is running" } else { "no I/O is running" };
        let hosts = self.hosts.iter().map(ToString::to_string).collect();
        write!(f, "Connected, and {io}: {}", named(hosts))
    }
}

/// The names, with commas; of many only the first ones.
pub fn named(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(NAMED_MAX);
    names.truncate(NAMED_MAX);
    names.extend((more > 0).then(|| format!("and {more} more")));
    names.join(", ")
}

#[cfg(test)]
mod tests;
