//! The discovery log (Base 2.1, section 5.1.12.3.1): where a host finds what.

use std::net::IpAddr;

use ashlar_nvme::log::{DiscoveryEntry, DiscoveryHeader};
use ashlar_nvme::text::DISCOVERY_NQN;
use ashlar_nvme::zerocopy::IntoBytes;

use super::portal::{Portal, PortalKind, discovery_entry, is_reachable};

/// The entries for a host that reached this machine at `reached`: every portal of the subsystem, if
/// the host may see any namespace of it, and every portal of the discovery service.
pub(super) fn entries(
    portals: &[Portal],
    reached: IpAddr,
    subsystem: &str,
    sees_namespaces: bool,
) -> Vec<DiscoveryEntry> {
    let reachable = |(_, portal): &(usize, &Portal)| is_reachable(**portal, reached);
    let portals: Vec<_> = portals.iter().enumerate().filter(reachable).collect();
    let io = portals.iter().filter(|(_, portal)| sees_namespaces && portal.kind == PortalKind::Io);
    let io = io.map(|(index, portal)| discovery_entry(**portal, *index as u16, reached, subsystem));
    let discovery = portals.iter();
    let discovery = discovery
        .map(|(index, portal)| discovery_entry(**portal, *index as u16, reached, DISCOVERY_NQN));
    io.chain(discovery).collect()
}

/// The log page.
pub(super) fn log_page(generation: u64, entries: &[DiscoveryEntry]) -> Vec<u8> {
    let header = DiscoveryHeader::new(generation, entries.len() as u64);
    [header.as_bytes(), entries.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
