//! Host names that two hosts use at once, as machines do of which one was cloned from the other.
//!
//! What a Connect says of its host is a name (host NQN) and an identifier. A name with two
//! identifiers at once is certain: a host has one identifier, and Linux refuses to connect with
//! another one beside it. One thing looks like it for a while: a host that was started anew and
//! drew a new identifier, while its earlier controllers have not been noticed to be dead. Those are
//! silent. So both have to be seen alive after the later one has connected, and long enough after
//! that for nothing to be left in buffers of what the earlier one had sent before it died.
//!
//! A name and an identifier that come from several addresses say nothing: a host with several
//! network paths (multipath) makes a controller by each of them, and all of these have one name and
//! one identifier. No field of Connect and no command tells two of its controllers from those of a
//! clone that has kept the identifier, too. `ashlar host list` shows all addresses of a host; who
//! knows the machines sees there that one is too many.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use ashlar_block::Nanos;
use ashlar_volume::HostNqn;

use super::connected_host::HostId;

/// How long after the later one has connected the earlier one has to be heard.
const ALIVE_AFTER: Duration = Duration::from_secs(5);

/// A host name that two hosts use at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SharedNqn {
    /// The name.
    pub nqn: HostNqn,
    /// The identifiers of both, and where they come from: first the one that connected first.
    pub hosts: [(HostId, SocketAddr); 2],
}

/// What of a controller counts here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sign {
    pub(super) nqn: HostNqn,
    pub(super) id: HostId,
    pub(super) address: SocketAddr,
    pub(super) connected: Nanos,
    /// When the host has sent an admin command last.
    pub(super) heard: Nanos,
}

/// The names that two hosts use at once, in order; of each two hosts, however many there are.
pub(super) fn shared(signs: Vec<Sign>) -> Vec<SharedNqn> {
    let mut by_name: BTreeMap<HostNqn, Vec<Sign>> = BTreeMap::new();
    for sign in signs {
        by_name.entry(sign.nqn.clone()).or_default().push(sign);
    }
    by_name
        .into_iter()
        .filter_map(|(nqn, signs)| Some(SharedNqn { nqn, hosts: two_hosts(signs)? }))
        .collect()
}

fn two_hosts(mut signs: Vec<Sign>) -> Option<[(HostId, SocketAddr); 2]> {
    let id = signs.first()?.id;
    if signs.iter().all(|sign| sign.id == id) {
        return None;
    }
    signs.sort_by_key(|sign| sign.connected);
    let pairs = signs
        .iter()
        .enumerate()
        .flat_map(|(index, later)| signs[..index].iter().map(move |earlier| (earlier, later)));
    let both_live = |earlier: &Sign, later: &Sign| {
        earlier.id != later.id
            && earlier.heard.0 > later.connected.0 + ALIVE_AFTER.as_nanos() as u64
    };
    let (earlier, later) = pairs.into_iter().find(|(earlier, later)| both_live(earlier, later))?;
    Some([(earlier.id, earlier.address), (later.id, later.address)])
}

#[cfg(test)]
mod tests;
