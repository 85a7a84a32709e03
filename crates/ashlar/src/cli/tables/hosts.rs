//! Connected hosts, as people see them: by name and identifier, with all addresses that each comes
//! from.
//!
//! Of machines that were cloned with their names and identifiers nothing but that shows: that a
//! host comes from more addresses than it has.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::SystemTime;

use ashlar_control::Span;
use ashlar_control::types::Host;
use comfy_table::Cell;

use super::{known, table, trimmed};

/// Addresses of one host on a line.
const ADDRESSES_PER_LINE: usize = 3;

/// Connected hosts: of each its identifier, the addresses that it comes from, and its controllers.
pub fn hosts(hosts: &[Host]) -> String {
    hosts_at(hosts, SystemTime::now())
}

/// `None`: the time is not understood. A clock that was set back since counts as none.
fn seconds_since(time: &str, now: SystemTime) -> Option<u64> {
    let time = humantime::parse_rfc3339(time).ok()?;
    Some(now.duration_since(time).unwrap_or_default().as_secs())
}

fn hosts_at(hosts: &[Host], now: SystemTime) -> String {
    if hosts.is_empty() {
        return "no host is connected".to_owned();
    }
    let mut by_host: BTreeMap<(&str, &str), Vec<&Host>> = BTreeMap::new();
    for host in hosts {
        by_host.entry((&host.nqn, &host.host_id)).or_default().push(host);
    }
    let hosts = by_host.into_iter().map(|((nqn, id), controllers)| of_host(nqn, id, &controllers, now));
    hosts.collect::<Vec<_>>().join("\n\n")
}

fn of_host(nqn: &str, id: &str, controllers: &[&Host], now: SystemTime) -> String {
    let addresses: BTreeSet<&str> = controllers.iter().map(|host| ip_of(&host.address)).collect();
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let addresses: Vec<String> = addresses.chunks(ADDRESSES_PER_LINE).map(|some| some.join(", ")).collect();
    let addresses = addresses.join(",\n              ");
    let mut table = table(&["ctrl", "queues", "for", "address"]);
    for host in controllers {
        // A controller of the discovery service has no queues but that for commands.
        let queues = if host.kind == "io" { host.io_queues.to_string() } else { host.kind.clone() };
        table.add_row([
            Cell::new(host.controller_id),
            Cell::new(queues),
            Cell::new(known(seconds_since(&host.connected_at, now), |seconds| Span(seconds).to_string())),
            Cell::new(&host.address),
        ]);
    }
    format!("{nqn}\n  identifier  {id}\n  addresses   {addresses}\n\n{}", trimmed(&table))
}

/// The address without its port, which says nothing of the machine.
fn ip_of(address: &str) -> &str {
    let is_whole = address.parse::<SocketAddr>().is_ok();
    address.rsplit_once(':').filter(|_| is_whole).map_or(address, |(ip, _)| ip.trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests;
