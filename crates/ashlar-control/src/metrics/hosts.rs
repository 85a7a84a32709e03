//! Hosts, by their names: those that an access list names, and some of those that no list does, for
//! a volume may be for any host. Whoever connects may call itself by new names without an end, so
//! the hosts that have been connected for longest are those few, and all the others are one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{Family, In, Labels, Snapshot, Value};
use crate::types::{CommandCounts, Host, HostFigures};

const CONTROLLERS: Family = Family::gauge(
    "ashlar_host_controllers",
    In::Nothing,
    &["host"],
    "Controllers that a host has connected for I/O, by its NQN; `other`: hosts beyond 64 that no access list \
     names.",
);
const QUEUES: Family = Family::gauge(
    "ashlar_host_io_queues",
    In::Nothing,
    &["host"],
    "I/O queues that a host has connected, in the same way.",
);
const OPERATIONS: Family = Family::counter(
    "ashlar_host_operations",
    In::Nothing,
    &["host", "operation"],
    "Commands of a host that were answered: read, write, trim. Of hosts that are not connected any more \
     the last 64 are told, if an access list names them.",
);
const TRANSFERRED: Family = Family::counter(
    "ashlar_host_transferred",
    In::Bytes,
    &["host", "operation"],
    "What these commands were for.",
);

/// Hosts that no access list names and that are told apart, at most.
pub(super) const OTHERS_MAX: usize = 64;
/// What all beyond that are called: no NQN.
const OTHER: &str = "other";

/// The controllers for I/O: others ask what there is, and go.
fn io(of: &Snapshot) -> impl Iterator<Item = &Host> {
    of.hosts.iter().filter(|host| host.kind == "io")
}

/// The hosts that are told apart.
fn named(of: &Snapshot) -> BTreeSet<&str> {
    let lists = of.status.volumes.iter().flat_map(|volume| &volume.access.hosts);
    let mut named: BTreeSet<&str> = lists.map(String::as_str).collect();
    let mut others: Vec<&Host> = io(of).filter(|host| !named.contains(&*host.nqn)).collect();
    others.sort_by_key(|host| (&host.connected_at, host.controller_id));
    let mut left = OTHERS_MAX;
    for host in others {
        let is_new = left > 0 && named.insert(&host.nqn);
        left -= usize::from(is_new);
    }
    named
}

pub(super) fn families() -> Vec<Family> {
    vec![CONTROLLERS, QUEUES, OPERATIONS, TRANSFERRED]
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut hosts = BTreeMap::<&str, (u64, u64)>::new();
    let named = named(of);
    for Host { nqn, io_queues, .. } in io(of) {
        let name = named.get(&**nqn).copied().unwrap_or(OTHER);
        let (controllers, queues) = hosts.entry(name).or_default();
        *controllers += 1;
        *queues += u64::from(*io_queues);
    }
    let label = |nqn: &str| vec![("host", nqn.to_owned())];
    CONTROLLERS
        .encode(encoder, hosts.iter().map(|(nqn, all)| (label(nqn), Value::Count(all.0))))?;
    QUEUES.encode(encoder, hosts.iter().map(|(nqn, all)| (label(nqn), Value::Count(all.1))))?;
    // What the others have done together would fall where one of them goes: it is left out.
    let told = of.host_figures.iter().filter(|host| named.contains(&*host.nqn));
    let done: Vec<_> = told.flat_map(counts).collect();
    let operations = done.iter().map(|(labels, of)| (labels.clone(), Value::Count(of.operations)));
    OPERATIONS.encode(encoder, operations)?;
    let bytes =
        done.iter().map(|(labels, of)| (labels.clone(), Value::Count(of.transferred_bytes)));
    TRANSFERRED.encode(encoder, bytes)
}

fn counts(host: &HostFigures) -> [(Labels, CommandCounts); 3] {
    let all = [("read", host.reads), ("write", host.writes), ("trim", host.trims)];
    all.map(|(operation, counts)| {
        (vec![("host", host.nqn.clone()), ("operation", operation.to_owned())], counts)
    })
}
