//! Drives: how they are, what they say, and what they do.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::io::{Done, IoFamilies};
use super::{Family, Figure, In, Labels, Read, Snapshot, Value, encode_figures, figure};
use crate::types::{DRIVE_STATES, IoStatDrive, PoolDrive};

const OF_DRIVE: &[&str] = &["pool", "drive"];

const STATE: Family = Family::gauge(
    "ashlar_drive_state",
    In::Nothing,
    &["pool", "drive", "state"],
    "1 while the drive is in that state, otherwise 0.",
);
const INFO: Family = Family::gauge(
    "ashlar_drive_info",
    In::Nothing,
    &["pool", "drive", "device", "model", "serial", "slot"],
    "1, with what the drive is.",
);
const WARNINGS: Family = Family::gauge(
    "ashlar_drive_warnings",
    In::Nothing,
    OF_DRIVE,
    "What the drive warns of now, by number: `ashlar drive show` says what.",
);

const IO: IoFamilies = IoFamilies::new(
    ["ashlar_drive_operations", "ashlar_drive_transferred", "ashlar_drive_latency"],
    &["pool", "drive", "operation"],
    [
        "Operations that the drive has answered: read, write, trim.",
        "What these operations were for.",
        "How long they took: read, write.",
    ],
);
const ACTIVITY: [Figure<IoStatDrive>; 2] = [
    figure(
        Family::gauge(
            "ashlar_drive_operations_in_flight",
            In::Nothing,
            OF_DRIVE,
            "Operations that the drive has not answered yet.",
        ),
        Read::Count(|it| it.operations_in_flight),
    ),
    figure(
        Family::counter(
            "ashlar_drive_busy",
            In::Seconds,
            OF_DRIVE,
            "For how long there was at least one of these.",
        ),
        Read::Real(|it| Some(it.busy_seconds)),
    ),
];

const FIGURES: [Figure<PoolDrive>; 11] = [
    figure(
        Family::gauge("ashlar_drive_size", In::Bytes, OF_DRIVE, "The drive's size."),
        Read::Maybe(|it| it.size_bytes),
    ),
    figure(
        Family::counter(
            "ashlar_drive_read_errors",
            In::Nothing,
            OF_DRIVE,
            "Reads that the drive refused, since its pool was opened.",
        ),
        Read::Maybe(|it| it.read_errors),
    ),
    figure(
        Family::counter(
            "ashlar_drive_wrong_answers",
            In::Nothing,
            OF_DRIVE,
            "Reads that the drive answered with wrong bytes, since its pool was opened.",
        ),
        Read::Maybe(|it| it.wrong_answers),
    ),
    figure(
        Family::gauge(
            "ashlar_drive_temperature",
            In::Celsius,
            OF_DRIVE,
            "What the drive says that its temperature is.",
        ),
        Read::Real(|it| it.health.temperature_celsius.map(f64::from)),
    ),
    figure(
        Family::gauge(
            "ashlar_drive_temperature_max",
            In::Celsius,
            OF_DRIVE,
            "From there on the drive calls itself too hot.",
        ),
        Read::Real(|it| it.health.temperature_max_celsius.map(f64::from)),
    ),
    figure(
        Family::gauge(
            "ashlar_drive_life_used",
            In::Ratio,
            OF_DRIVE,
            "What the drive has spent of the life that it was made for; more than 1 is possible.",
        ),
        Read::Real(|it| it.health.used_percent.map(|percent| f64::from(percent) / 100.0)),
    ),
    figure(
        Family::gauge("ashlar_drive_spare", In::Ratio, OF_DRIVE, "Spare blocks that are left."),
        Read::Real(|it| it.health.spare_percent.map(|percent| f64::from(percent) / 100.0)),
    ),
    figure(
        Family::counter(
            "ashlar_drive_media_errors",
            In::Nothing,
            OF_DRIVE,
            "Times that it could not give back what it was to keep, over its life.",
        ),
        Read::Maybe(|it| it.health.media_errors),
    ),
    figure(
        Family::counter(
            "ashlar_drive_life_written",
            In::Bytes,
            OF_DRIVE,
            "What the drive was given to write over its life, by whomever.",
        ),
        Read::Maybe(|it| it.health.written_bytes),
    ),
    figure(
        Family::counter(
            "ashlar_drive_power_on",
            In::Seconds,
            OF_DRIVE,
            "How long the drive was on, over its life.",
        ),
        Read::Maybe(|it| it.health.power_on_hours.map(|hours| hours.saturating_mul(3600))),
    ),
    figure(
        Family::counter(
            "ashlar_drive_unsafe_shutdowns",
            In::Nothing,
            OF_DRIVE,
            "Times that it lost its power without notice, over its life.",
        ),
        Read::Maybe(|it| it.health.unsafe_shutdowns),
    ),
];

pub(super) fn families() -> Vec<Family> {
    let figures = FIGURES.iter().map(|figure| figure.family);
    [STATE, INFO, WARNINGS]
        .into_iter()
        .chain(figures)
        .chain(ACTIVITY.iter().map(|figure| figure.family))
        .chain(IO.all())
        .collect()
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let drives: Vec<(Labels, &PoolDrive)> = of
        .status
        .pools
        .iter()
        // The drives of one that is not open are known by their places alone.
        .filter(|pool| pool.space.is_some())
        .flat_map(|pool| &pool.drives)
        .map(|it| (labels(&it.pool, &it.name), it))
        .collect();
    let states = drives.iter().flat_map(|(labels, drive)| {
        DRIVE_STATES.iter().map(move |word| state(labels, drive, word))
    });
    STATE.encode(encoder, states)?;
    INFO.encode(
        encoder,
        drives.iter().map(|(labels, drive)| (info(labels, drive), Value::Count(1))),
    )?;
    let warnings = drives
        .iter()
        .map(|(labels, it)| (labels.clone(), Value::Count(it.health.warnings.len() as u64)));
    WARNINGS.encode(encoder, warnings)?;
    encode_figures(encoder, &FIGURES, &drives)?;
    let active = of.iostat.drives.iter().map(|it| (labels(&it.pool, &it.name), it));
    encode_figures(encoder, &ACTIVITY, &active.collect::<Vec<_>>())?;
    let done = of.iostat.drives.iter().map(|it| Done {
        labels: labels(&it.pool, &it.name),
        counts: [("read", &it.reads), ("write", &it.writes), ("trim", &it.trims)],
    });
    IO.encode(encoder, &done.collect::<Vec<_>>())
}

fn labels(pool: &str, drive: &str) -> Labels {
    vec![("pool", pool.to_owned()), ("drive", drive.to_owned())]
}

fn state(labels: &Labels, drive: &PoolDrive, word: &str) -> (Labels, Value) {
    let is_so = drive.states.iter().any(|state| state == word);
    let labels = labels.iter().cloned().chain([("state", word.to_owned())]).collect();
    (labels, Value::Count(u64::from(is_so)))
}

fn info(labels: &Labels, drive: &PoolDrive) -> Labels {
    let said = |text: &Option<String>| text.clone().unwrap_or_default();
    let more = [
        ("device", said(&drive.kernel_name)),
        ("model", said(&drive.model)),
        ("serial", said(&drive.serial)),
        ("slot", said(&drive.slot)),
    ];
    labels.iter().cloned().chain(more).collect()
}
