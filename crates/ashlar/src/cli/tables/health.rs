//! Tables of what drives say of their health.

use std::collections::BTreeMap;

use ashlar_block::printable;
use ashlar_control::Span;
use ashlar_control::types::{DriveHealth, PoolDrive, Severity};

use super::grid::{Kind, Text, prose, table};
use super::{dash, known, or_dash, size, yes_or_no};

/// How a drive is, in a word, where something is wrong with it.
pub fn words(drive: &PoolDrive) -> Vec<String> {
    let worst = drive.health.warnings.iter().map(|warning| warning.severity).max();
    let word = match worst {
        None => return Vec::new(),
        Some(Severity::Error) => "failing",
        Some(Severity::Warning | Severity::Info) => "warning",
    };
    vec![word.to_owned()]
}

/// The figures of a drive.
pub fn of_drive(health: &DriveHealth) -> Vec<(&'static str, String)> {
    let count = |value: Option<u64>| known(value, |value| value.to_string());
    let mut rows = vec![("answered", known(health.answer_age_seconds, ago))];
    rows.extend(health.absent.as_deref().map(|why| ("says nothing", printable(why))));
    rows.extend([
        ("firmware", or_dash(health.firmware.as_deref())),
        ("temperature", temperature(health)),
        ("power", power(health)),
        ("life used", percent(health.used_percent)),
        ("spare blocks", spare(health)),
        ("read, over its life", known(health.read_bytes, size)),
        ("written, over its life", known(health.written_bytes, size)),
        ("media errors", count(health.media_errors)),
        ("power-on hours", count(health.power_on_hours)),
        ("unsafe shutdowns", count(health.unsafe_shutdowns)),
        ("link", link_of(health)),
        ("volatile write cache", known(health.write_cache, yes_or_no)),
    ]);
    rows
}

/// The drives of a pool, a line each.
pub fn of_drives(drives: &[PoolDrive]) -> String {
    let columns = [
        ("drive", Kind::Figure),
        ("temp", Kind::Figure),
        ("life\nused", Kind::Figure),
        ("spare", Kind::Figure),
        ("hours", Kind::Figure),
        ("media\nerrors", Kind::Figure),
        ("written", Kind::Figure),
        ("link", Kind::Words),
    ];
    let count = |value: Option<u64>| known(value, |value| value.to_string());
    let row = |drive: &PoolDrive| {
        let health = &drive.health;
        let cells = [
            drive.name.clone(),
            known(health.temperature_celsius, |celsius| format!("{celsius} °C")),
            percent(health.used_percent),
            percent(health.spare_percent),
            count(health.power_on_hours),
            count(health.media_errors),
            known(health.written_bytes, size),
            link(health.link_speed.as_deref(), health.link_width).unwrap_or_else(dash),
        ];
        cells.into_iter().map(Text::from).collect()
    };
    let table = table(&columns, drives.iter().map(row).collect());
    std::iter::once(table).chain(silent(drives)).collect::<Vec<_>>().join("\n")
}

/// Why drives say nothing, those together that have the same reason.
fn silent(drives: &[PoolDrive]) -> Vec<String> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for drive in drives {
        if let Some(why) = &drive.health.absent {
            reasons.entry(why).or_default().push(&drive.name);
        }
    }
    let line = |(why, names): (&str, Vec<&str>)| {
        prose(&format!("{}: {}", names.join(", "), printable(why)))
    };
    reasons.into_iter().map(line).collect()
}

fn ago(seconds: u64) -> String {
    format!("{} ago", Span(seconds))
}

fn percent(percent: Option<u8>) -> String {
    known(percent, |percent| format!("{percent} %"))
}

fn temperature(health: &DriveHealth) -> String {
    let limit = |what: &str, celsius: Option<i16>| celsius.map(|it| format!("{what} at {it} °C"));
    let limits = [
        limit("too hot", health.temperature_max_celsius),
        limit("critical", health.temperature_critical_celsius),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let now = known(health.temperature_celsius, |celsius| format!("{celsius} °C"));
    if limits.is_empty() { now } else { format!("{now} ({})", limits.join(", ")) }
}

fn power(health: &DriveHealth) -> String {
    let Some(power) = &health.power else { return dash() };
    let is_number = power.bytes().all(|byte| byte.is_ascii_digit());
    let power = if is_number { format!("state {power}") } else { power.clone() };
    match health.power_max_milliwatts {
        Some(milliwatts) => format!("{power} (at most {:.2} W)", f64::from(milliwatts) / 1000.0),
        None => power,
    }
}

fn spare(health: &DriveHealth) -> String {
    match health.spare_threshold_percent {
        Some(least) => format!("{} (at least {least} %)", percent(health.spare_percent)),
        None => percent(health.spare_percent),
    }
}

fn link(speed: Option<&str>, width: Option<u8>) -> Option<String> {
    let width = width.map(|width| format!("x{width}"));
    let words: Vec<String> = speed.map(printable).into_iter().chain(width).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn link_of(health: &DriveHealth) -> String {
    let now = link(health.link_speed.as_deref(), health.link_width).unwrap_or_else(dash);
    match link(health.link_speed_max.as_deref(), health.link_width_max) {
        Some(max) => format!("{now} (at most {max})"),
        None => now,
    }
}

#[cfg(test)]
mod tests;
