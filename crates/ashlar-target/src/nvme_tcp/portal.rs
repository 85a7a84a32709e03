//! Where the target listens.

mod user;

use std::io;
use std::net::{IpAddr, SocketAddr};

use ashlar_nvme::log::{DiscoveryEntry, discovery_flags, subsystem_type, transport_requirements};
use ashlar_nvme::text::DISCOVERY_NQN;

use user::PortUser;

/// Which subsystems a portal leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PortalKind {
    /// The node's subsystem and its discovery service.
    Io,
    /// The discovery service alone.
    Discovery,
}

/// An address to listen on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Portal {
    /// The address; port 0 takes a free one, an unspecified address listens on all of the
    /// machine's.
    pub address: SocketAddr,
    /// What it leads to.
    pub kind: PortalKind,
}

/// A portal that could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {}", reason(source, *address, user.as_ref()))]
pub struct BindError {
    /// The portal's address.
    pub address: SocketAddr,
    /// What the operating system said.
    pub source: io::Error,
    /// Who has the port, if that is why, and can be found.
    user: Option<PortUser>,
}

impl BindError {
    /// Why `address` could not be listened on. Looks for who has it.
    pub(super) fn new(address: SocketAddr, source: io::Error) -> Self {
        let is_in_use = source.kind() == io::ErrorKind::AddrInUse;
        BindError { address, user: is_in_use.then(|| PortUser::of(address)).flatten(), source }
    }
}

fn reason(source: &io::Error, address: SocketAddr, user: Option<&PortUser>) -> String {
    match (source.kind(), user) {
        (io::ErrorKind::AddrInUse, Some(user)) => {
            format!(
                "port {} is in use there by {user}: end that, or choose another port",
                address.port()
            )
        }
        (io::ErrorKind::AddrInUse, None) => format!(
            "port {} is in use there: end the program that has it (ss -ltnp, as root, shows which), or choose \
             another port",
            address.port()
        ),
        (io::ErrorKind::PermissionDenied, _) => format!(
            "permission denied: ports below 1024 need CAP_NET_BIND_SERVICE; grant it, or choose a port above \
             {}",
            address.port().max(1023)
        ),
        (io::ErrorKind::AddrNotAvailable, _) => {
            format!(
                "{} is not an address of this machine (ip address shows which are)",
                address.ip()
            )
        }
        _ => source.to_string(),
    }
}

/// Entries of an admin queue that the discovery log recommends (ASQSZ: at least 32).
const ADMIN_QUEUE_ENTRIES: u16 = 32;

/// The entry of the discovery log for `portal`, for a host that reached this machine at `reached`.
///
/// A wildcard portal is named by the address that the host has reached: that one leads here.
pub(super) fn discovery_entry(
    portal: Portal,
    index: u16,
    reached: IpAddr,
    subsystem: &str,
) -> DiscoveryEntry {
    let ip = if portal.address.ip().is_unspecified() { reached } else { portal.address.ip() };
    let address = SocketAddr::new(ip.to_canonical(), portal.address.port());
    let is_discovery = subsystem == DISCOVERY_NQN;
    let kind = if is_discovery { subsystem_type::CURRENT_DISCOVERY } else { subsystem_type::NVM };
    let mut entry = DiscoveryEntry::tcp(address, kind, subsystem);
    entry.port_id = index.into();
    entry.admin_queue_size = ADMIN_QUEUE_ENTRIES.into();
    entry.requirements = transport_requirements::SQ_FLOW_CONTROL_OPTIONAL
        | transport_requirements::SECURE_CHANNEL_NOT_REQUIRED;
    if is_discovery {
        entry.flags = (discovery_flags::DUPLICATE | discovery_flags::PERSISTENT_CONNECTIONS).into();
    }
    entry
}

/// Whether a host that reached this machine at `reached` may be able to reach `portal`: a loopback
/// address leads here only from this machine, and an address family only to its like.
pub(super) fn is_reachable(portal: Portal, reached: IpAddr) -> bool {
    let (ip, reached) = (portal.address.ip().to_canonical(), reached.to_canonical());
    match (ip.is_unspecified(), ip) {
        (true, _) => ip.is_ipv4() == reached.is_ipv4(),
        (false, ip) => !ip.is_loopback() || reached.is_loopback(),
    }
}
