//! What hosts have done between two looks. Pure.

use std::collections::BTreeSet;

use crate::events::EventKind::{
    self, HostConnected, HostDisconnected, HostNqnShared, HostReconnected,
};
use crate::node_api::{HostVisits, SharedHostNqn};
use crate::types::{Happening, Host, Severity};
use crate::watch::Seen;

/// Events about hosts of one look: many that come and go do not push everything else out of the
/// log.
const EVENTS_MAX: usize = 16;
const GONE: &str = "has no connection any more";

/// What has happened from `before` to `now`, at most [`EVENTS_MAX`] and how many more.
pub(super) fn happenings(before: &Seen, now: &Seen) -> Vec<Happening> {
    let (old, new) = (names(&before.hosts), names(&now.hosts));
    let gone = old.difference(&new).map(|nqn| about(nqn, HostDisconnected, GONE));
    let come = new.difference(&old).map(|nqn| about(nqn, HostConnected, "is connected"));
    let visits = now.visits.iter().filter(|visit| visit.disconnects > 0);
    let between = visits.flat_map(|visit| {
        let nqn = visit.nqn.as_str();
        match (old.contains(nqn), new.contains(nqn)) {
            (false, false) => {
                vec![about(nqn, HostConnected, &visited(visit)), about(nqn, HostDisconnected, GONE)]
            }
            (true, true) => vec![about(nqn, HostReconnected, &reconnected(visit))],
            // Told of as gone or come.
            _ => Vec::new(),
        }
    });
    let mut all = bounded(gone.chain(come).chain(between).collect());
    all.extend(shared_names(before, now));
    all
}

/// Names that two hosts use at once since this look.
fn shared_names(before: &Seen, now: &Seen) -> Vec<Happening> {
    let is_new =
        |shared: &&SharedHostNqn| !before.shared_nqns.iter().any(|old| old.nqn == shared.nqn);
    let tell = |shared: &SharedHostNqn| {
        let SharedHostNqn { nqn, hosts: [(first_id, first), (second_id, second)] } = shared;
        let message = format!(
            "two hosts use the name {nqn}: one at {first} with identifier {first_id}, one at {second} with identifier \
             {second_id}. Each sees the volumes of the other and may destroy what it holds: give one of them a name of \
             its own (/etc/nvme/hostnqn)"
        );
        let happening = Happening::new(Severity::Warning, HostNqnShared, message);
        Happening { host: Some(nqn.clone()), ..happening }
    };
    now.shared_nqns.iter().filter(is_new).take(EVENTS_MAX).map(tell).collect()
}

fn names(hosts: &[Host]) -> BTreeSet<&str> {
    hosts.iter().filter(|host| host.kind == "io").map(|host| host.nqn.as_str()).collect()
}

fn about(nqn: &str, kind: EventKind, how: &str) -> Happening {
    let message = format!("host {nqn} {how}");
    Happening { host: Some(nqn.to_owned()), ..Happening::new(Severity::Info, kind, message) }
}

/// Of a host that was there at neither look.
fn visited(visit: &HostVisits) -> String {
    match visit.disconnects {
        1 => "was connected for a moment".to_owned(),
        times => format!("was connected {times} times, each for a moment"),
    }
}

/// Of a host that was there at both.
fn reconnected(visit: &HostVisits) -> String {
    let HostVisits { connects, disconnects, .. } = visit;
    format!("has lost {disconnects} of its controllers meanwhile, and made {connects}")
}

fn bounded(mut all: Vec<Happening>) -> Vec<Happening> {
    if all.len() > EVENTS_MAX {
        let more = all.len() - EVENTS_MAX;
        all.truncate(EVENTS_MAX);
        let message = format!("{more} more hosts have come or gone");
        all.push(Happening::new(Severity::Info, EventKind::Hosts, message));
    }
    all
}

#[cfg(test)]
mod tests;
