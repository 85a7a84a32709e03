//! The daemon, its threads and its reactors.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{Family, Figure, In, Read, Snapshot, Value, encode_figures, figure};
use crate::types::{Alert, ReactorFigures, Severity, ThreadFigures};

const BUILD: Family =
    Family::gauge("ashlar_build_info", In::Nothing, &["version"], "1, with the version that runs.");
const ALERTS: Family = Family::gauge(
    "ashlar_alerts",
    In::Nothing,
    &["severity", "code"],
    "What is not well now, by how bad it is and by its `code`: `ashlar status -x` says what. No \
     series: all is well.",
);
const CPU: Family = Family::counter(
    "ashlar_thread_cpu",
    In::Seconds,
    &["thread"],
    "Processor time of each thread of the daemon: reactors serve hosts.",
);

const OF_REACTOR: &[&str] = &["reactor"];
const REACTORS: [Figure<ReactorFigures>; 4] = [
    figure(
        Family::gauge(
            "ashlar_reactor_tasks",
            In::Nothing,
            OF_REACTOR,
            "Tasks that a reactor has: connections, commands under way, jobs.",
        ),
        Read::Count(|it| it.tasks),
    ),
    figure(
        Family::gauge(
            "ashlar_reactor_tasks_ready",
            In::Nothing,
            OF_REACTOR,
            "Those of them that could go on and wait for their turn, when the reactor comes to be asked.",
        ),
        Read::Count(|it| it.ready_tasks),
    ),
    figure(
        Family::gauge(
            "ashlar_reactor_operations_in_flight",
            In::Nothing,
            OF_REACTOR,
            "Operations that the kernel has not ended for it: of drives, connections and the like.",
        ),
        Read::Count(|it| it.operations_in_flight),
    ),
    figure(
        Family::counter(
            "ashlar_reactor_turns",
            In::Nothing,
            OF_REACTOR,
            "Times round its loop: the more it does in each, the more work waits for it.",
        ),
        Read::Count(|it| it.turns),
    ),
];

const FIGURES: [Figure<Snapshot>; 7] = [
    figure(
        Family::gauge("ashlar_uptime", In::Seconds, &[], "Since the daemon started."),
        Read::Count(|it| it.status.uptime_seconds),
    ),
    figure(
        Family::gauge("ashlar_reactors", In::Nothing, &[], "Threads that serve hosts."),
        Read::Count(|it| it.status.reactors as u64),
    ),
    figure(
        Family::gauge(
            "ashlar_hosts_connected",
            In::Nothing,
            &[],
            "Controllers that hosts have connected for I/O.",
        ),
        Read::Count(|it| it.status.hosts_connected as u64),
    ),
    figure(
        Family::counter(
            "ashlar_host_connects",
            In::Nothing,
            &[],
            "Controllers that hosts have made since the daemon started.",
        ),
        Read::Count(|it| it.status.host_connects),
    ),
    figure(
        Family::counter(
            "ashlar_host_disconnects",
            In::Nothing,
            &[],
            "Controllers of hosts that have ended since then.",
        ),
        Read::Count(|it| it.status.host_disconnects),
    ),
    figure(
        Family::gauge("ashlar_memory_resident", In::Bytes, &[], "Memory that the daemon takes."),
        Read::Maybe(|it| it.process.resident_bytes),
    ),
    figure(
        Family::gauge(
            "ashlar_open_files",
            In::Nothing,
            &[],
            "Files and connections that the daemon has open.",
        ),
        Read::Maybe(|it| it.process.open_files),
    ),
];

pub(super) fn families() -> Vec<Family> {
    let figures = FIGURES.iter().map(|figure| figure.family);
    let reactors = REACTORS.iter().map(|figure| figure.family);
    [BUILD].into_iter().chain(figures).chain([ALERTS, CPU]).chain(reactors).collect()
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let version = vec![("version", of.status.version.clone())];
    BUILD.encode(encoder, [(version, Value::Count(1))])?;
    encode_figures(encoder, &FIGURES, &[(Vec::new(), of)])?;
    let mut alerts = BTreeMap::<(Severity, &str), u64>::new();
    for Alert { severity, code, .. } in &of.status.alerts {
        *alerts.entry((*severity, code)).or_default() += 1;
    }
    let alert = |((severity, code), count): ((Severity, &str), u64)| {
        let severity = if severity == Severity::Error { "error" } else { "warning" };
        let labels = vec![("severity", severity.to_owned()), ("code", code.to_owned())];
        (labels, Value::Count(count))
    };
    ALERTS.encode(encoder, alerts.into_iter().map(alert))?;
    let spent =
        |it: &ThreadFigures| (vec![("thread", it.name.clone())], Value::Real(it.cpu_seconds));
    CPU.encode(encoder, of.process.threads.iter().map(spent))?;
    // As their threads are called.
    let reactor = |(nth, figures)| (vec![("reactor", format!("reactor-{nth}"))], figures);
    let reactors: Vec<_> = of.process.reactors.iter().enumerate().map(reactor).collect();
    encode_figures(encoder, &REACTORS, &reactors)
}
