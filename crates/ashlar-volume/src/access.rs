//! Changes of who may see a volume. Pure.
//!
//! A change narrows access only where that is what it says: `Allow` never takes a volume from a
//! host that may see it.

use std::collections::BTreeSet;

use crate::attributes::HOSTS_MAX;
use crate::door::{AccessList, HostNqn};
use crate::error::NodeError;

/// A change of who may see a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccessChange {
    /// Every host may.
    AllowAny,
    /// These may, too.
    Allow(Vec<HostNqn>),
    /// These alone may.
    AllowOnly(Vec<HostNqn>),
    /// These may no longer.
    Deny(Vec<HostNqn>),
    /// Not every host may: takes [`AccessChange::AllowAny`] back.
    DenyAny,
    /// None may.
    DenyAll,
}

impl AccessChange {
    /// The list of the volume called `volume` (POOL/NAME) after the change.
    ///
    /// # Errors
    /// The list would grow beyond [`HOSTS_MAX`], or the change does not fit the list as it is.
    pub fn apply(&self, volume: &str, access: &AccessList) -> Result<AccessList, NodeError> {
        let refused = |why: String| NodeError::Access { volume: volume.to_owned(), why };
        let list = match (self, access) {
            (AccessChange::AllowAny, _) => return Ok(AccessList::AllowAny),
            (AccessChange::DenyAll, _) | (AccessChange::DenyAny, AccessList::AllowAny) => {
                BTreeSet::new()
            }
            (AccessChange::AllowOnly(hosts), _) => hosts.iter().cloned().collect(),
            (AccessChange::Allow(more), AccessList::Allow(hosts)) => {
                hosts.iter().chain(more).cloned().collect()
            }
            (AccessChange::Deny(fewer), AccessList::Allow(hosts)) => {
                if let Some(host) = fewer.iter().find(|host| !hosts.contains(*host)) {
                    return Err(refused(not_listed(volume, host)));
                }
                hosts.iter().filter(|host| !fewer.contains(host)).cloned().collect()
            }
            (AccessChange::Allow(_), AccessList::AllowAny) => {
                return Err(refused(sees_already(volume)));
            }
            (AccessChange::Deny(_), AccessList::AllowAny) => {
                return Err(refused(no_exceptions(volume)));
            }
            (AccessChange::DenyAny, AccessList::Allow(hosts)) => {
                return Err(refused(not_any(volume, hosts.is_empty())));
            }
        };
        if list.len() > HOSTS_MAX {
            Err(NodeError::TooManyHosts)
        } else {
            Ok(AccessList::Allow(list))
        }
    }
}

fn sees_already(volume: &str) -> String {
    format!(
        "every host may see it already. `ashlar volume allow {volume} NQN --only` lets only the \
         named hosts see it"
    )
}

fn no_exceptions(volume: &str) -> String {
    format!(
        "every host may see it, and there is no list of exceptions. `ashlar volume allow {volume} \
         NQN --only` names those that may"
    )
}

/// A name that was mistyped takes nothing from the host that was meant.
fn not_listed(volume: &str, host: &HostNqn) -> String {
    format!(
        "{host} is not among the hosts that may see it, and nobody was denied it. `ashlar volume \
         show {volume}` lists them"
    )
}

fn not_any(volume: &str, is_for_none: bool) -> String {
    if is_for_none {
        return "no host may see it anyway".to_owned();
    }
    format!(
        "it is not open to every host, but to a list of them. `ashlar volume deny {volume} all` \
         empties the list"
    )
}

#[cfg(test)]
mod tests;
