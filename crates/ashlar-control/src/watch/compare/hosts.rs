//! Host names that two hosts use. Pure.

use crate::events::EventKind::HostNqnShared;
use crate::node_api::SharedHostNqn;
use crate::types::{Happening, Severity};
use crate::watch::Seen;

/// Events of one look.
const EVENTS_MAX: usize = 16;

/// Names that two hosts use at once since this look. Of too many, some are told of by the next one,
/// to which they are new.
pub(super) fn happenings(before: &Seen, now: &mut Seen) -> Vec<Happening> {
    let is_known =
        |shared: &SharedHostNqn| before.shared_nqns.iter().any(|old| old.nqn == shared.nqn);
    let mut left = EVENTS_MAX;
    now.shared_nqns.retain(|shared| {
        let has_room = left > 0;
        left -= usize::from(has_room && !is_known(shared));
        has_room || is_known(shared)
    });
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
    now.shared_nqns.iter().filter(|shared| !is_known(shared)).map(tell).collect()
}

#[cfg(test)]
mod tests;
