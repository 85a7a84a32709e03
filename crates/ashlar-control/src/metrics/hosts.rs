//! Hosts, by their names.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{Family, In, Labels, Snapshot, Value};
use crate::types::{CommandCounts, Host, HostFigures};

const CONTROLLERS: Family = Family::gauge(
    "ashlar_host_controllers",
    In::Nothing,
    &["host"],
    "Controllers that a host has connected, by its NQN.",
);
const QUEUES: Family = Family::gauge(
    "ashlar_host_io_queues",
    In::Nothing,
    &["host"],
    "I/O queues that a host has connected, by its NQN.",
);
const OPERATIONS: Family = Family::counter(
    "ashlar_host_operations",
    In::Nothing,
    &["host", "operation"],
    "Commands of a host that were answered: read, write, trim. Of hosts that are not connected any more \
     the last 64 are told.",
);
const TRANSFERRED: Family = Family::counter(
    "ashlar_host_transferred",
    In::Bytes,
    &["host", "operation"],
    "What these commands were for.",
);

pub(super) fn families() -> Vec<Family> {
    vec![CONTROLLERS, QUEUES, OPERATIONS, TRANSFERRED]
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let mut hosts = BTreeMap::<&str, (u64, u64)>::new();
    for Host { nqn, io_queues, .. } in &of.hosts {
        let (controllers, queues) = hosts.entry(nqn).or_default();
        *controllers += 1;
        *queues += u64::from(*io_queues);
    }
    let label = |nqn: &str| vec![("host", nqn.to_owned())];
    CONTROLLERS
        .encode(encoder, hosts.iter().map(|(nqn, all)| (label(nqn), Value::Count(all.0))))?;
    QUEUES.encode(encoder, hosts.iter().map(|(nqn, all)| (label(nqn), Value::Count(all.1))))?;
    let done: Vec<_> = of.host_figures.iter().flat_map(counts).collect();
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
