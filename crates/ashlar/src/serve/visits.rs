//! Hosts that come and go, from the target to the API.

use ashlar_control::{HostEnd, HostVisit, HostVisits};
use ashlar_target::nvme_tcp::{TakenVisits, Visit};

/// What the target has given.
pub fn host_visits(taken: TakenVisits) -> HostVisits {
    let TakenVisits { visits, lost } = taken;
    HostVisits { visits: visits.into_iter().map(host_visit).collect(), lost }
}

fn host_visit(visit: Visit) -> HostVisit {
    let Visit { at, nqn, address, controller_id, controllers, end } = visit;
    let end = end.map(|end| HostEnd {
        reason: end.reason.word(),
        text: end.reason.text(),
        is_orderly: end.reason.is_orderly(),
        lasted: end.lasted,
    });
    let (nqn, address) = (nqn.to_string(), address.to_string());
    HostVisit { at, nqn, address, controller_id, controllers, end }
}
