//! Volumes, and what hosts do with them.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::io::{Done, IoFamilies};
use super::{Family, Figure, In, Labels, Read, Snapshot, encode_figures, figure};
use crate::types::{IoStatVolume, Volume};

const OF_VOLUME: &[&str] = &["pool", "volume"];

const IO: IoFamilies = IoFamilies::new(
    ["ashlar_volume_operations", "ashlar_volume_transferred", "ashlar_volume_latency"],
    &["pool", "volume", "operation"],
    [
        "Commands of hosts that were answered: read, write, trim.",
        "What these commands were for.",
        "From when a command has come whole until its answer is sent: read, write.",
    ],
);
const ACTIVITY: [Figure<IoStatVolume>; 4] = [
    figure(
        Family::gauge(
            "ashlar_volume_operations_in_flight",
            In::Nothing,
            OF_VOLUME,
            "Commands of hosts that are not answered yet.",
        ),
        Read::Count(|it| it.operations_in_flight),
    ),
    figure(
        Family::gauge(
            "ashlar_volume_operations_waiting",
            In::Nothing,
            OF_VOLUME,
            "Of these, those that wait for the limits of the volume's policy.",
        ),
        Read::Count(|it| it.waiting_operations),
    ),
    figure(
        Family::counter(
            "ashlar_volume_operations_delayed",
            In::Nothing,
            OF_VOLUME,
            "Commands that have waited for these limits.",
        ),
        Read::Count(|it| it.delayed_operations),
    ),
    figure(
        Family::counter(
            "ashlar_volume_delay",
            In::Seconds,
            OF_VOLUME,
            "How long those have waited, all together.",
        ),
        Read::Real(|it| Some(it.delayed_seconds)),
    ),
];

const fn bytes(name: &'static str, help: &'static str, read: fn(&Volume) -> u64) -> Figure<Volume> {
    figure(Family::gauge(name, In::Bytes, OF_VOLUME, help), Read::Count(read))
}

const FIGURES: [Figure<Volume>; 4] = [
    bytes("ashlar_volume_size", "The size that hosts see.", |it| it.size_bytes),
    bytes("ashlar_volume_logical_used", "Blocks that hold data.", |it| it.logical_used_bytes),
    bytes(
        "ashlar_volume_physical_used",
        "What they take after compression, before redundancy.",
        |it| it.physical_used_bytes,
    ),
    figure(
        Family::gauge(
            "ashlar_volume_write_protected",
            In::Nothing,
            OF_VOLUME,
            "1 while hosts may not write, otherwise 0.",
        ),
        Read::Is(|it| it.write_protected),
    ),
];

pub(super) fn families() -> Vec<Family> {
    let figures = FIGURES.iter().map(|figure| figure.family);
    let activity = ACTIVITY.iter().map(|figure| figure.family);
    figures.chain(activity).chain(IO.all()).collect()
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let volumes = of.status.volumes.iter().map(|it| (labels(&it.pool, &it.name), it));
    encode_figures(encoder, &FIGURES, &volumes.collect::<Vec<_>>())?;
    let active = of.iostat.volumes.iter().map(|it| (labels(&it.pool, &it.name), it));
    encode_figures(encoder, &ACTIVITY, &active.collect::<Vec<_>>())?;
    let done = of.iostat.volumes.iter().map(|it| Done {
        labels: labels(&it.pool, &it.name),
        counts: [("read", &it.reads), ("write", &it.writes), ("trim", &it.trims)],
    });
    IO.encode(encoder, &done.collect::<Vec<_>>())
}

fn labels(pool: &str, volume: &str) -> Labels {
    vec![("pool", pool.to_owned()), ("volume", volume.to_owned())]
}
