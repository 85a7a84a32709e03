//! Policies, as they go over the wire.

use std::num::NonZeroU64;
use std::time::Duration;

use ashlar_control::types::{ChangePolicy, QosLimits, QosPolicy, SetLimits, VolumeQos};
use ashlar_control::{ApiError, ErrorCode};
use ashlar_volume::qos::{
    Flow, Flows, Limit, Limits, PolicyChange, PolicySource, VolumeQos as Choice,
};
use ashlar_volume::{PoliciesReport, VolumeReport};

/// The policies of pools.
pub fn policies(pools: &[PoliciesReport]) -> Vec<QosPolicy> {
    let of = |pool: &PoliciesReport| {
        let policies = pool.policies.iter().map(|policy| QosPolicy {
            name: policy.name.clone(),
            pool: pool.pool.clone(),
            limits: limits(&policy.policy.limits),
            weight: policy.policy.weight,
            default: policy.is_default,
            volumes: policy.volumes.clone(),
        });
        policies.collect::<Vec<_>>()
    };
    pools.iter().flat_map(of).collect()
}

fn limits(limits: &Limits) -> QosLimits {
    let of = |flows: &Flows<Limit>, flow| flows.of(flow).map(NonZeroU64::get);
    let Limits { iops, bytes_per_second, iops_per_gib, burst } = limits;
    QosLimits {
        iops_max: of(iops, Flow::All),
        read_iops_max: of(iops, Flow::Read),
        write_iops_max: of(iops, Flow::Write),
        bytes_per_second_max: of(bytes_per_second, Flow::All),
        read_bytes_per_second_max: of(bytes_per_second, Flow::Read),
        write_bytes_per_second_max: of(bytes_per_second, Flow::Write),
        iops_per_gib: of(iops_per_gib, Flow::All),
        read_iops_per_gib: of(iops_per_gib, Flow::Read),
        write_iops_per_gib: of(iops_per_gib, Flow::Write),
        burst_seconds: burst.as_secs_f64(),
    }
}

/// What counts for a volume.
pub fn volume_qos(report: &VolumeReport) -> VolumeQos {
    let VolumeReport { qos, policy, delays, .. } = report;
    let source = match (qos, policy.source) {
        (Choice::Named(_), _) => "named",
        (Choice::Unlimited, _) => "unlimited",
        (Choice::Own(_), _) => "own",
        (Choice::PoolDefault, PolicySource::Pool) => "pool",
        (Choice::PoolDefault, _) => "none",
    };
    VolumeQos {
        policy: policy.name.clone(),
        source: source.to_owned(),
        limits: limits(&policy.policy.limits),
        weight: policy.policy.weight,
        throttled: delays.waiting > 0,
        waiting_operations: delays.waiting,
        delayed_operations: delays.commands,
        delayed_seconds: delays.total.as_secs_f64(),
    }
}

/// What is to change of a policy.
///
/// # Errors
/// A burst that is no time.
pub fn policy_change(request: &ChangePolicy) -> Result<PolicyChange, ApiError> {
    let SetLimits {
        iops_max,
        read_iops_max,
        write_iops_max,
        bytes_per_second_max,
        read_bytes_per_second_max,
        write_bytes_per_second_max,
        iops_per_gib,
        read_iops_per_gib,
        write_iops_per_gib,
        burst_seconds,
    } = request.limits;
    let flows = |all: [Option<u64>; 3]| Flows(all.map(|limit| limit.map(NonZeroU64::new)));
    Ok(PolicyChange {
        iops: flows([iops_max, read_iops_max, write_iops_max]),
        bytes_per_second: flows([
            bytes_per_second_max,
            read_bytes_per_second_max,
            write_bytes_per_second_max,
        ]),
        iops_per_gib: flows([iops_per_gib, read_iops_per_gib, write_iops_per_gib]),
        burst: burst_seconds.map(burst).transpose()?,
        weight: request.weight,
    })
}

/// A time in whole milliseconds: what is a fraction of one apart from that is the text's.
fn burst(seconds: f64) -> Result<Duration, ApiError> {
    let millis = seconds * 1000.0;
    let is_whole = (millis - millis.round()).abs() < 1e-6;
    let refused = || {
        let why = format!(
            "burst_seconds of {seconds} cannot be: choose 0.01 to 3600 seconds, in steps of a \
             millisecond"
        );
        ApiError::new(ErrorCode::InvalidPolicy, why)
    };
    let is_time = is_whole && (1.0..=3_600_000.0).contains(&millis);
    is_time.then(|| Duration::from_millis(millis.round() as u64)).ok_or_else(refused)
}
