//! Policies, and what they hold up.

use ashlar_block::counted;
use ashlar_control::types::{QosLimits, QosPolicy, Volume, VolumeQos};

use super::grid::{Kind, Text, prose, sheet, table};
use super::{size, yes_or_no};

/// The limits that there are, each as the option that sets it.
fn said(limits: &QosLimits) -> Vec<(&'static str, String)> {
    let count = |limit: Option<u64>| limit.map(|limit| limit.to_string());
    let bytes = |limit: Option<u64>| limit.map(|limit| format!("{}/s", size(limit)));
    let all = [
        ("iops", count(limits.iops_max)),
        ("read-iops", count(limits.read_iops_max)),
        ("write-iops", count(limits.write_iops_max)),
        ("bandwidth", bytes(limits.bytes_per_second_max)),
        ("read-bandwidth", bytes(limits.read_bytes_per_second_max)),
        ("write-bandwidth", bytes(limits.write_bytes_per_second_max)),
        ("iops-per-gib", count(limits.iops_per_gib)),
        ("read-iops-per-gib", count(limits.read_iops_per_gib)),
        ("write-iops-per-gib", count(limits.write_iops_per_gib)),
    ];
    all.into_iter().filter_map(|(name, limit)| Some((name, limit?))).collect()
}

/// The limits, with that between them.
fn listed(limits: &QosLimits, between: &str) -> String {
    let all = said(limits).into_iter().map(|(name, limit)| format!("{name} {limit}"));
    let all: Vec<String> = all.collect();
    if all.is_empty() { "none".to_owned() } else { all.join(between) }
}

fn burst(limits: &QosLimits) -> String {
    format!("{} s", limits.burst_seconds)
}

/// All policies.
pub fn policies(policies: &[QosPolicy]) -> String {
    if policies.is_empty() {
        return "no policies: `ashlar qos create` makes one".to_owned();
    }
    let columns = [
        ("pool", Kind::Name),
        ("policy", Kind::Name),
        ("limits", Kind::Words),
        ("weight", Kind::Figure),
        ("volumes", Kind::Figure),
        ("default", Kind::Figure),
    ];
    let row = |policy: &QosPolicy| {
        vec![
            Text::from(&policy.pool),
            Text::from(&policy.name),
            listed(&policy.limits, ", ").into(),
            policy.weight.to_string().into(),
            policy.volumes.len().into(),
            yes_or_no(policy.default).into(),
        ]
    };
    table(&columns, policies.iter().map(row).collect())
}

/// A policy with everything.
pub fn policy(policy: &QosPolicy) -> String {
    let volumes = match policy.volumes.as_slice() {
        [] => "none".to_owned(),
        volumes => volumes.join("\n"),
    };
    sheet(vec![
        ("pool", policy.pool.clone()),
        ("policy", policy.name.clone()),
        ("limits", listed(&policy.limits, "\n")),
        ("burst", burst(&policy.limits)),
        ("weight", policy.weight.to_string()),
        ("default", yes_or_no(policy.default)),
        ("volumes", volumes),
    ])
}

/// A policy has been made.
pub fn created_policy(policy: &QosPolicy) -> String {
    let QosPolicy { pool, name, .. } = policy;
    format!(
        "policy '{name}' of pool '{pool}' is made ({}); `ashlar volume set {pool}/VOLUME --qos \
         {name}` gives it to a volume",
        in_short(&policy.limits, policy.weight)
    )
}

/// A policy has changed.
pub fn changed_policy(policy: &QosPolicy) -> String {
    let volumes = counted(policy.volumes.len(), "volume");
    format!(
        "policy '{}' of pool '{}' is now: {}; {volumes} held to it",
        policy.name,
        policy.pool,
        in_short(&policy.limits, policy.weight)
    )
}

/// A volume has a policy of its own, or another one.
pub fn limited(volume: &Volume) -> String {
    let VolumeQos { limits, weight, policy, source, .. } = &volume.qos;
    let name = match (policy, source.as_str()) {
        (Some(policy), "pool") => format!("policy '{policy}', the default of its pool"),
        (Some(policy), _) => format!("policy '{policy}'"),
        (None, "own") => "a policy of its own".to_owned(),
        (None, _) => "no policy".to_owned(),
    };
    format!(
        "volume '{}/{}' has {name} now: {}",
        volume.pool,
        volume.name,
        in_short(limits, *weight)
    )
}

fn in_short(limits: &QosLimits, weight: u16) -> String {
    if said(limits).is_empty() {
        return format!("no limits, weight {weight}");
    }
    format!("{}, burst {}, weight {weight}", listed(limits, ", "), burst(limits))
}

/// Volumes whose limits hold commands up now, a line each. Of many the first ones are named.
pub(super) fn throttled(volumes: &[Volume]) -> impl Iterator<Item = String> {
    const NAMED_MAX: usize = 10;
    let throttled: Vec<&Volume> = volumes.iter().filter(|volume| volume.qos.throttled).collect();
    let more = throttled.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("{} more are throttled", counted(more, "volume")));
    let named: Vec<String> =
        throttled.iter().take(NAMED_MAX).map(|volume| said_of(volume)).collect();
    named.into_iter().chain(more)
}

fn said_of(volume: &Volume) -> String {
    let waiting = counted(volume.qos.waiting_operations as usize, "command");
    let name = volume.qos.policy.as_deref().unwrap_or("its own policy");
    prose(&format!("{}/{} is throttled by {name}: {waiting} waiting", volume.pool, volume.name))
}

/// What counts for a volume, and what it holds up: lines of the volume's sheet.
pub(super) fn of_volume(qos: &VolumeQos) -> [(&'static str, String); 4] {
    let policy = match (&qos.policy, qos.source.as_str()) {
        (Some(policy), "pool") => format!("{policy} (default of the pool)"),
        (Some(policy), _) => policy.clone(),
        (None, "own") => "its own".to_owned(),
        (None, _) => "none".to_owned(),
    };
    let delayed = format!(
        "{}, {:.1} s altogether; {} waiting now",
        counted(qos.delayed_operations as usize, "command"),
        qos.delayed_seconds,
        qos.waiting_operations
    );
    [
        ("policy", policy),
        ("limits", listed(&qos.limits, "\n")),
        ("weight", qos.weight.to_string()),
        ("delayed", delayed),
    ]
}

#[cfg(test)]
mod tests;
