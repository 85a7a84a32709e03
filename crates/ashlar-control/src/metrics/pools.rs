//! Pools and their jobs.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::{Family, Figure, In, Labels, Read, Snapshot, Value, encode_figures, figure};
use crate::types::{Job, POOL_STATES, Pool, PoolCounters, PoolSpace, StepCounts};

const OF_POOL: &[&str] = &["pool"];
const OF_STEP: &[&str] = &["pool", "step"];
const OF_JOB: &[&str] = &["pool", "kind"];

const STATE: Family = Family::gauge(
    "ashlar_pool_state",
    In::Nothing,
    &["pool", "state"],
    "1 while the pool is in that state, otherwise 0.",
);

const UNREPAIRED: Figure<Pool> = figure(
    Family::gauge(
        "ashlar_pool_scrub_unrepaired_sectors",
        In::Nothing,
        OF_POOL,
        "Sectors that the last scrub could not repair. No series: there was none.",
    ),
    Read::Maybe(|pool| pool.scrub().map(|scrub| scrub.unrepaired)),
);

const fn bytes(
    name: &'static str,
    help: &'static str,
    read: fn(&PoolSpace) -> u64,
) -> Figure<PoolSpace> {
    figure(Family::gauge(name, In::Bytes, OF_POOL, help), Read::Count(read))
}

const fn count(
    name: &'static str,
    help: &'static str,
    read: fn(&PoolCounters) -> u64,
) -> Figure<PoolCounters> {
    figure(Family::counter(name, In::Nothing, OF_POOL, help), Read::Count(read))
}

const fn total_bytes(
    name: &'static str,
    help: &'static str,
    read: fn(&PoolCounters) -> u64,
) -> Figure<PoolCounters> {
    figure(Family::counter(name, In::Bytes, OF_POOL, help), Read::Count(read))
}

const SPACE: [Figure<PoolSpace>; 19] = [
    bytes("ashlar_pool_raw", "The drives' chunks, redundancy included.", |it| it.raw_bytes),
    bytes("ashlar_pool_usable", "What is left of that without redundancy.", |it| it.usable_bytes),
    bytes("ashlar_pool_limit", "What of that may be live.", |it| it.limit_bytes),
    bytes(
        "ashlar_pool_physical_used",
        "Live data and maps after compression, before redundancy.",
        |it| it.physical_used_bytes,
    ),
    bytes("ashlar_pool_logical_used", "What hosts have written and not trimmed.", |it| {
        it.logical_used_bytes
    }),
    bytes("ashlar_pool_stored", "What that takes after compression.", |it| it.stored_bytes),
    bytes("ashlar_pool_garbage", "Written, no longer live, not reclaimed yet.", |it| {
        it.garbage_bytes
    }),
    bytes("ashlar_pool_free", "Room in segments that can be placed now.", |it| it.free_bytes),
    bytes("ashlar_pool_parity", "Parity and copies.", |it| it.parity_bytes),
    bytes("ashlar_pool_map", "Pages of the maps, and records.", |it| it.map_bytes),
    bytes("ashlar_pool_map_memory", "Memory of the map.", |it| it.map_memory_bytes),
    bytes("ashlar_pool_safe_to_write", "Compressed data that can surely be written now.", |it| {
        it.safe_to_write_bytes
    }),
    bytes("ashlar_pool_promised", "The sizes of its volumes.", |it| it.promised_bytes),
    bytes("ashlar_pool_provisioned", "What holds data of hosts.", |it| it.provisioned_bytes),
    bytes("ashlar_pool_formatted", "What volumes may be promised.", |it| it.formatted_bytes),
    figure(
        Family::gauge(
            "ashlar_pool_compression",
            In::Ratio,
            OF_POOL,
            "What hosts have written over what is stored of it. No series: nothing is stored.",
        ),
        Read::Real(|it| it.compression_ratio),
    ),
    figure(
        Family::gauge(
            "ashlar_pool_full_in",
            In::Seconds,
            OF_POOL,
            "Until it is full at the last hour's rate. No series: it does not grow.",
        ),
        Read::Maybe(|it| it.full_in_seconds),
    ),
    figure(
        Family::gauge(
            "ashlar_pool_survives_loss",
            In::Nothing,
            OF_POOL,
            "1 if one more drive may be lost and writes go on and all of it is restored, otherwise 0: also \
             of a pool with no more drives than new data needs, as a mirror of two.",
        ),
        Read::Maybe(|it| it.after_loss.as_ref().map(|after| u64::from(after.survives))),
    ),
    figure(
        Family::gauge(
            "ashlar_pool_reserve_released",
            In::Nothing,
            OF_POOL,
            "1 while hosts have what was kept for when the pool is full.",
        ),
        Read::Is(|it| it.reserve_released),
    ),
];

const COUNTERS: [Figure<PoolCounters>; 17] = [
    count("ashlar_pool_blocks_written", "Blocks that hosts have written.", |it| it.blocks_written),
    count("ashlar_pool_blocks_read", "Blocks that hosts have read.", |it| it.blocks_read),
    total_bytes(
        "ashlar_pool_written_stored",
        "What written blocks took after compression.",
        |it| it.stored_bytes,
    ),
    total_bytes("ashlar_pool_drive_written", "Written to drives in all.", |it| {
        it.drive_written_bytes
    }),
    count("ashlar_pool_blocks_moved", "Blocks that garbage collection has moved.", |it| {
        it.blocks_moved
    }),
    count(
        "ashlar_pool_blocks_recompressed",
        "Those of them that are stored in another form.",
        |it| it.blocks_recompressed,
    ),
    count("ashlar_pool_segments_collected", "Segments reclaimed.", |it| it.segments_collected),
    count("ashlar_pool_columns_restored", "Columns that a rebuild has restored.", |it| {
        it.columns_restored
    }),
    count("ashlar_pool_columns_moved", "Columns that a rebalance has moved.", |it| {
        it.columns_moved
    }),
    count("ashlar_pool_checkpoints", "Checkpoints.", |it| it.checkpoints),
    count("ashlar_pool_map_pages_read", "Pages of the map that were read from drives.", |it| {
        it.map_pages_read
    }),
    count("ashlar_pool_blocks_reconstructed", "Blocks that were read from parity.", |it| {
        it.blocks_reconstructed
    }),
    count("ashlar_pool_wrong_blocks_corrected", "Blocks that a drive gave wrong.", |it| {
        it.wrong_blocks_corrected
    }),
    count(
        "ashlar_pool_sectors_repaired",
        "Sectors that were wrong and have been repaired.",
        |it| it.sectors_repaired,
    ),
    count("ashlar_pool_blocks_unrecovered", "Blocks that could not be read right.", |it| {
        it.blocks_unrecovered
    }),
    total_bytes("ashlar_pool_trimmed", "Free space drives were told of.", |it| it.trimmed_bytes),
    count(
        "ashlar_pool_unclean_starts",
        "Starts that found no clean end, since it was made.",
        |it| it.unclean_starts,
    ),
];

const STEPS: [Figure<StepCounts>; 3] = [
    figure(
        Family::counter(
            "ashlar_pool_step_operations",
            In::Nothing,
            OF_STEP,
            "How often a step of the data path was done: batch and compress by what a host writes at \
             once, parity by the batch, map by the read and the batch.",
        ),
        Read::Count(|it| it.operations),
    ),
    figure(
        Family::counter(
            "ashlar_pool_step_latency",
            In::Seconds,
            OF_STEP,
            "How long these took from begin to end, all together.",
        ),
        Read::Real(|it| Some(it.latency_seconds)),
    ),
    figure(
        Family::counter(
            "ashlar_pool_step_busy",
            In::Seconds,
            OF_STEP,
            "For how long the step was busy: batch while one is on its way to the drives, the others \
             while they have the reactor of the pool.",
        ),
        Read::Real(|it| Some(it.busy_seconds)),
    ),
];

const JOBS: [Figure<Job>; 3] = [
    figure(
        Family::gauge(
            "ashlar_job_running",
            In::Nothing,
            OF_JOB,
            "1 while the job goes on, otherwise 0.",
        ),
        Read::Is(|it| it.is("running")),
    ),
    figure(
        Family::gauge(
            "ashlar_job_waiting",
            In::Nothing,
            OF_JOB,
            "1 while something keeps the job from going on, otherwise 0.",
        ),
        Read::Is(|it| it.is("waiting")),
    ),
    figure(
        Family::gauge("ashlar_job_done", In::Ratio, OF_JOB, "Part of the job that is done."),
        Read::Real(|it| Some(it.done_percent / 100.0)),
    ),
];

pub(super) fn families() -> Vec<Family> {
    let space = SPACE.iter().map(|figure| figure.family);
    let counters = COUNTERS.iter().map(|figure| figure.family);
    let steps = STEPS.iter().map(|figure| figure.family);
    let jobs = JOBS.iter().map(|figure| figure.family);
    let pools = [STATE, UNREPAIRED.family].into_iter().chain(space).chain(counters);
    pools.chain(steps).chain(jobs).collect()
}

pub(super) fn encode(of: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let pools = &of.status.pools;
    let states = pools.iter().flat_map(|pool| POOL_STATES.iter().map(|word| state(pool, word)));
    STATE.encode(encoder, states)?;
    let label = |pool: &Pool| vec![("pool", pool.name.clone())];
    let all: Vec<(Labels, &Pool)> = pools.iter().map(|pool| (label(pool), pool)).collect();
    encode_figures(encoder, &[UNREPAIRED], &all)?;
    let space = pools.iter().filter_map(|pool| Some((label(pool), pool.space.as_ref()?)));
    encode_figures(encoder, &SPACE, &space.collect::<Vec<_>>())?;
    let counters = pools.iter().filter_map(|pool| Some((label(pool), pool.counters.as_ref()?)));
    encode_figures(encoder, &COUNTERS, &counters.collect::<Vec<_>>())?;
    let steps: Vec<(Labels, &StepCounts)> = pools.iter().flat_map(steps_of).collect();
    encode_figures(encoder, &STEPS, &steps)?;
    let of_job = |job: &Job| vec![("pool", job.pool.clone()), ("kind", job.kind.word().to_owned())];
    let jobs: Vec<(Labels, &Job)> =
        one_each(&of.jobs).into_iter().map(|job| (of_job(job), job)).collect();
    encode_figures(encoder, &JOBS, &jobs)
}

fn steps_of(pool: &Pool) -> Vec<(Labels, &StepCounts)> {
    let Some(steps) = pool.counters.as_ref().map(|counters| &counters.steps) else {
        return Vec::new();
    };
    let all = [
        ("batch", &steps.batch),
        ("compress", &steps.compress),
        ("parity", &steps.parity),
        ("map", &steps.map),
    ];
    let labels = |step: &str| vec![("pool", pool.name.clone()), ("step", step.to_owned())];
    all.map(|(step, counts)| (labels(step), counts)).into()
}

/// One job of each kind and pool, by its name: of two pools that had one name after another, the
/// one that goes on, or else the last. Two series with the same labels are no metrics.
fn one_each(jobs: &[Job]) -> Vec<&Job> {
    let mut all = BTreeMap::<(&str, &str), &Job>::new();
    for job in jobs {
        let key = (job.pool.as_str(), job.kind.word());
        let goes_on = |job: &Job| job.is("running") || job.is("waiting");
        if all.get(&key).is_none_or(|other| !goes_on(other) || goes_on(job)) {
            all.insert(key, job);
        }
    }
    all.into_values().collect()
}

fn state(pool: &Pool, word: &str) -> (Labels, Value) {
    let is_so = pool.states.iter().any(|state| state == word);
    let labels = vec![("pool", pool.name.clone()), ("state", word.to_owned())];
    (labels, Value::Count(u64::from(is_so)))
}
