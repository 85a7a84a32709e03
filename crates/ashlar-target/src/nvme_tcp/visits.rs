//! How often hosts have connected and gone: for events and counters, which must not depend on the
//! log.
//!
//! Who looks at the connected hosts now and then misses a host that comes and goes in between. So
//! the registry counts each of both, by host. The counts are bounded: hosts beyond the bound are
//! counted together.

use std::collections::BTreeMap;

use ashlar_volume::HostNqn;

/// Hosts that are counted by name between two takes.
pub const VISITING_HOSTS_MAX: usize = 64;

/// How often one host has connected and gone since the last take. Connections to the discovery
/// service do not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostVisits {
    /// Its name.
    pub nqn: HostNqn,
    /// Controllers that it has made.
    pub connects: u64,
    /// Controllers of it that have ended.
    pub disconnects: u64,
}

/// How often hosts have connected and gone since the target was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct VisitTotals {
    /// Controllers that they have made.
    pub connects: u64,
    /// Controllers of them that have ended.
    pub disconnects: u64,
}

/// The counts.
#[derive(Default)]
pub(super) struct Visits {
    totals: VisitTotals,
    by_host: BTreeMap<HostNqn, VisitTotals>,
}

impl Visits {
    /// A host has made a controller.
    pub(super) fn connected(&mut self, nqn: &HostNqn) {
        self.count(nqn, |count| count.connects += 1);
    }

    /// A controller of a host has ended.
    pub(super) fn disconnected(&mut self, nqn: &HostNqn) {
        self.count(nqn, |count| count.disconnects += 1);
    }

    fn count(&mut self, nqn: &HostNqn, add: impl Fn(&mut VisitTotals)) {
        add(&mut self.totals);
        if self.by_host.len() < VISITING_HOSTS_MAX || self.by_host.contains_key(nqn) {
            add(self.by_host.entry(nqn.clone()).or_default());
        }
    }

    pub(super) fn totals(&self) -> VisitTotals {
        self.totals
    }

    /// The hosts that have come or gone since the last take, in the order of their names.
    pub(super) fn take(&mut self) -> Vec<HostVisits> {
        let visits = std::mem::take(&mut self.by_host).into_iter();
        let visits = visits.map(|(nqn, VisitTotals { connects, disconnects })| HostVisits {
            nqn,
            connects,
            disconnects,
        });
        visits.collect()
    }
}

#[cfg(test)]
mod tests;
