//! `SETTING=VALUE` of `ashlar pool set`.

use anyhow::{Context, bail, ensure};
use ashlar_control::types::{ChangePool, PoolSettings, SCRUB_INTERVAL_SECONDS_MAX};

/// All that there are, by their names.
pub const SETTINGS: [&str; 11] = [
    "recon-prio",
    "recon-p99",
    "scrub-prio",
    "scrub-interval",
    "fault-threshold",
    "io-timeout",
    "autotrim",
    "overcommit",
    "warn",
    "throttle",
    "stop",
];

/// What is to change. Each setting at most once.
pub fn parse(settings: &[String]) -> anyhow::Result<ChangePool> {
    let mut change = ChangePool::default();
    for setting in settings {
        let (name, value) = setting
            .split_once('=')
            .with_context(|| format!("'{setting}' is not SETTING=VALUE, as recon-prio=10 is"))?;
        match name {
            "recon-prio" => set(&mut change.recon_prio_percent, name, priority(name, value)?)?,
            "recon-p99" => set(&mut change.recon_p99_us, name, latency(name, value)?)?,
            "scrub-prio" => set(&mut change.scrub_prio_percent, name, priority(name, value)?)?,
            "scrub-interval" => {
                set(&mut change.scrub_interval_seconds, name, interval(name, value)?)?
            }
            "fault-threshold" => set(&mut change.fault_threshold, name, faults(name, value)?)?,
            "io-timeout" => set(&mut change.io_timeout_seconds, name, timeout(name, value)?)?,
            "autotrim" => set(&mut change.autotrim, name, on_or_off(name, value)?)?,
            "overcommit" => set(&mut change.overcommit, name, on_or_off(name, value)?)?,
            "warn" => set(&mut change.warn_percent, name, level(name, value)?)?,
            "throttle" => set(&mut change.throttle_percent, name, level(name, value)?)?,
            "stop" => set(&mut change.stop_percent, name, level(name, value)?)?,
            _ => bail!("'{name}' is not a setting: there are {}", SETTINGS.join(", ")),
        }
    }
    Ok(change)
}

/// The settings of these names, or all of them, as [`parse`] takes them.
///
/// # Errors
/// There is no such setting.
pub fn shown(
    chosen: &PoolSettings,
    names: &[String],
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let known = |name: &String| {
        let known = SETTINGS.iter().copied().find(|known| known == name);
        known.with_context(|| {
            format!("'{name}' is not a setting: there are {}", SETTINGS.join(", "))
        })
    };
    let names = match names {
        [] => SETTINGS.to_vec(),
        some => some.iter().map(known).collect::<anyhow::Result<Vec<_>>>()?,
    };
    Ok(names.into_iter().map(|name| (name, value(chosen, name))).collect())
}

fn value(chosen: &PoolSettings, name: &str) -> String {
    let or_off = |count: u64, unit: &str| match count {
        0 => "off".to_owned(),
        _ => format!("{count}{unit}"),
    };
    let switch = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    match name {
        "recon-prio" => chosen.recon_prio_percent.to_string(),
        "recon-p99" => or_off(chosen.recon_p99_us, "us"),
        "scrub-prio" => chosen.scrub_prio_percent.to_string(),
        "scrub-interval" => or_off(chosen.scrub_interval_seconds / 3600, "h"),
        "fault-threshold" => or_off(chosen.fault_threshold.into(), ""),
        "io-timeout" => or_off(chosen.io_timeout_seconds, "s"),
        "autotrim" => switch(chosen.autotrim),
        "overcommit" => switch(chosen.overcommit),
        "warn" => chosen.warn_percent.to_string(),
        "throttle" => chosen.throttle_percent.to_string(),
        "stop" => chosen.stop_percent.to_string(),
        _ => unreachable!("{name} is none of SETTINGS"),
    }
}

fn set<T>(place: &mut Option<T>, name: &str, value: T) -> anyhow::Result<()> {
    ensure!(place.replace(value).is_none(), "{name} is given twice");
    Ok(())
}

fn priority(name: &str, value: &str) -> anyhow::Result<u8> {
    let prio = value.parse().ok().filter(|prio| (1..=100).contains(prio));
    prio.with_context(|| format!("{name}={value} cannot be: choose 1 to 100 percent of the time"))
}

/// How far what may live is used.
fn level(name: &str, value: &str) -> anyhow::Result<u8> {
    let percent = value.strip_suffix('%').unwrap_or(value);
    let level = percent.parse().ok().filter(|level| (1..=100).contains(level));
    level.with_context(|| {
        format!("{name}={value} cannot be: choose 1 to 100 percent of what may live")
    })
}

fn on_or_off(name: &str, value: &str) -> anyhow::Result<bool> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => bail!("{name}={value} cannot be: choose on or off"),
    }
}

/// How many; 0 for `off`.
fn faults(name: &str, value: &str) -> anyhow::Result<u32> {
    let count =
        if value == "off" { Some(0) } else { value.parse().ok().filter(|count| *count > 0) };
    count.with_context(|| format!("{name}={value} cannot be: choose 1 to {}, or off", u32::MAX))
}

/// Seconds; 0 for `off`.
fn interval(name: &str, value: &str) -> anyhow::Result<u64> {
    if value == "off" {
        return Ok(0);
    }
    let units = [("d", 86_400), ("h", 3600)];
    let seconds = units.into_iter().find_map(|(unit, seconds)| {
        let count: u32 = value.strip_suffix(unit)?.parse().ok().filter(|count| *count > 0)?;
        Some(u64::from(count) * seconds).filter(|seconds| *seconds <= SCRUB_INTERVAL_SECONDS_MAX)
    });
    seconds.with_context(|| {
        let days = SCRUB_INTERVAL_SECONDS_MAX / 86_400;
        format!("{name}={value} cannot be: choose days (30d), hours (12h) or off; {days}d at most")
    })
}

/// Seconds; 0 for `off`.
fn timeout(name: &str, value: &str) -> anyhow::Result<u64> {
    if value == "off" {
        return Ok(0);
    }
    let seconds = value.strip_suffix('s').and_then(|count| count.parse().ok());
    seconds
        .filter(|seconds| (2..=3600).contains(seconds))
        .with_context(|| format!("{name}={value} cannot be: choose seconds, 2s to 3600s, or off"))
}

/// Hosts that may wait longer wait for nothing.
const LATENCY_US_MAX: u64 = 60_000_000;

/// Microseconds; 0 for `off`.
fn latency(name: &str, value: &str) -> anyhow::Result<u64> {
    if value == "off" {
        return Ok(0);
    }
    let units = [("us", 1), ("ms", 1000), ("s", 1_000_000)];
    let micros = units.into_iter().find_map(|(unit, micros)| {
        let count: u32 = value.strip_suffix(unit)?.parse().ok().filter(|count| *count > 0)?;
        Some(u64::from(count) * micros)
    });
    let why = || {
        format!(
            "{name}={value} cannot be: choose a whole number of us, ms or s, as 2ms or 500us, up to 60s, or off"
        )
    };
    micros.filter(|micros| *micros <= LATENCY_US_MAX).with_context(why)
}

#[cfg(test)]
mod tests;
