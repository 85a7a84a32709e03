//! Where the target listens, as the configuration says it.

use std::net::SocketAddr;

use anyhow::{Context, bail, ensure};
use ashlar_target::nvme_tcp::{Portal, PortalKind};

/// What `discovery` says instead of an address where there is none.
const NONE: &str = "none";

/// The portals that `listen` and `discovery` name.
///
/// # Errors
/// What is no address, or cannot be listened on beside another.
pub(super) fn portals(listen: &[String], discovery: &[String]) -> anyhow::Result<Vec<Portal>> {
    ensure!(!listen.is_empty(), "listen names no address: hosts could not connect");
    let has_none = discovery.iter().any(|text| text == NONE);
    ensure!(!has_none || discovery.len() == 1, "discovery: give 'none' alone, or leave it out");
    let discovery = if has_none { &[] } else { discovery };
    let named = listen.iter().map(|text| (PortalKind::Io, text));
    let named = named.chain(discovery.iter().map(|text| (PortalKind::Discovery, text)));
    let portals = named.map(|(kind, text)| Ok(Portal { address: address(key(kind), text)?, kind }));
    let portals = portals.collect::<anyhow::Result<Vec<_>>>()?;
    for (index, portal) in portals.iter().enumerate() {
        portals[..index].iter().try_for_each(|other| check_beside(other, portal))?;
    }
    Ok(portals)
}

fn key(kind: PortalKind) -> &'static str {
    match kind {
        PortalKind::Io => "listen",
        PortalKind::Discovery => "discovery",
    }
}

/// An IPv4 address that is written as an IPv6 one is taken as what it is.
pub(super) fn address(key: &str, text: &str) -> anyhow::Result<SocketAddr> {
    let hint = "write an IP address and a port, as in 192.0.2.10:4420, 0.0.0.0:4420 or [::]:4420";
    let mut address: SocketAddr =
        text.parse().with_context(|| format!("{key}: '{text}' is not an address: {hint}"))?;
    if address.ip().to_canonical() != address.ip() {
        address.set_ip(address.ip().to_canonical());
    }
    Ok(address)
}

/// That both can be listened on: the kernel would refuse the second one, and say that the port is
/// in use.
fn check_beside(one: &Portal, other: &Portal) -> anyhow::Result<()> {
    let (first, second) = (one.address, other.address);
    if first.port() != second.port() || first.port() == 0 || first.is_ipv4() != second.is_ipv4() {
        return Ok(());
    }
    let serves_both = "a portal for volumes serves discovery, too: leave discovery out (--discovery none), or give it \
                       another port";
    let way_out = if one.kind == other.kind { "once is enough: leave it out" } else { serves_both };
    let (first_key, second_key) = (key(one.kind), key(other.kind));
    if first == second {
        bail!("{second} is given twice, by {first_key} and by {second_key}: {way_out}");
    }
    let (all, part, part_key) = match (first.ip().is_unspecified(), second.ip().is_unspecified()) {
        (true, _) => (first, second, second_key),
        (_, true) => (second, first, first_key),
        _ => return Ok(()),
    };
    let family = if all.is_ipv4() { "IPv4" } else { "IPv6" };
    bail!(
        "{part} of {part_key} is part of {all}, which takes all {family} addresses of this machine: {way_out}"
    )
}

#[cfg(test)]
mod tests;
