//! Connected hosts, as people see them: by name and identifier, with all addresses that each comes
//! from.
//!
//! Of machines that were cloned with their names and identifiers nothing but that shows: that a
//! host comes from more addresses than it has.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::SystemTime;

use ashlar_control::Span;
use ashlar_control::types::{CommandCounts, Host};

use super::grid::{Kind, Text, sheet, table};
use super::known;
use crate::cli::figures::{bytes, count};

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
    let hosts =
        by_host.into_iter().map(|((nqn, id), controllers)| of_host(nqn, id, &controllers, now));
    hosts.collect::<Vec<_>>().join("\n\n")
}

fn of_host(nqn: &str, id: &str, controllers: &[&Host], now: SystemTime) -> String {
    let addresses: BTreeSet<&str> = controllers.iter().map(|host| ip_of(&host.address)).collect();
    let addresses: Vec<&str> = addresses.into_iter().collect();
    let columns = [
        ("ctrl", Kind::Figure),
        ("queues", Kind::Figure),
        ("for", Kind::Figure),
        ("address", Kind::Figure),
    ];
    let row = |host: &&Host| {
        // A controller of the discovery service has no queues but that for commands.
        let queues = if host.kind == "io" { host.io_queues.to_string() } else { host.kind.clone() };
        vec![
            host.controller_id.into(),
            queues.into(),
            known(seconds_since(&host.connected_at, now), |seconds| Span(seconds).to_string())
                .into(),
            Text::from(&host.address),
        ]
    };
    let table = table(&columns, controllers.iter().map(row).collect());
    let done = |kind: fn(&Host) -> CommandCounts| {
        let all = controllers.iter().map(|host| kind(host));
        let sum = all.fold((0, 0), |sum, it| (sum.0 + it.operations, sum.1 + it.transferred_bytes));
        format!("{} ({}B)", count(sum.0 as f64), bytes(sum.1 as f64))
    };
    let head = sheet(vec![
        ("identifier", id.to_owned()),
        ("addresses", addresses.join(", ")),
        ("reads", done(|host| host.reads)),
        ("writes", done(|host| host.writes)),
    ]);
    format!("{nqn}\n{head}\n\n{table}")
}

/// The address without its port, which says nothing of the machine.
fn ip_of(address: &str) -> &str {
    let is_whole = address.parse::<SocketAddr>().is_ok();
    address
        .rsplit_once(':')
        .filter(|_| is_whole)
        .map_or(address, |(ip, _)| ip.trim_matches(['[', ']']))
}

#[cfg(test)]
mod tests;
