//! Hosts and where they connect, as it goes over the wire.

use ashlar_block::latency::OpKind;
use ashlar_control::SharedHostNqn;
use ashlar_control::types::{CommandCounts, Host, HostFigures, Portal as WirePortal};
use ashlar_target::nvme_tcp::{Answered, ConnectedHost, HostCounts, Portal, PortalKind, SharedNqn};
use ashlar_volume::HostNqn;

use super::time;

/// A connected host.
pub fn host(host: &ConnectedHost) -> Host {
    Host {
        nqn: host.nqn.to_string(),
        host_id: uuid::Uuid::from_bytes(host.host_id).to_string(),
        address: host.address.to_string(),
        io_queues: host.io_queues,
        io_queues_max: host.io_queues_max,
        reads: counts(&host.answered, OpKind::Read),
        writes: counts(&host.answered, OpKind::Write),
        trims: counts(&host.answered, OpKind::Trim),
        connected_at: time(host.since_unix_seconds),
        controller_id: host.controller_id,
        kind: if host.is_discovery { "discovery" } else { "io" }.to_owned(),
    }
}

/// What a host has done.
pub fn host_figures((nqn, answered): &(HostNqn, HostCounts)) -> HostFigures {
    HostFigures {
        nqn: nqn.to_string(),
        reads: counts(answered, OpKind::Read),
        writes: counts(answered, OpKind::Write),
        trims: counts(answered, OpKind::Trim),
    }
}

fn counts(answered: &HostCounts, kind: OpKind) -> CommandCounts {
    let Answered { commands, bytes } = answered.of(kind);
    CommandCounts { operations: commands, transferred_bytes: bytes }
}

/// A name that two hosts use.
pub fn shared_host_nqn(shared: SharedNqn) -> SharedHostNqn {
    let hosts = shared.hosts.map(|(id, address)| (id.to_string(), address.to_string()));
    SharedHostNqn { nqn: shared.nqn.to_string(), hosts }
}

/// A portal.
pub fn portal(portal: &Portal) -> WirePortal {
    WirePortal {
        transport: "tcp".to_owned(),
        address: portal.address.ip().to_string(),
        port: portal.address.port(),
        kind: match portal.kind {
            PortalKind::Io => "io",
            PortalKind::Discovery => "discovery",
        }
        .to_owned(),
    }
}
