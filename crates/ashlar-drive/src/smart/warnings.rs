//! What is worth a warning of what a drive says. Pure.

use super::{Alarm, DriveHealth, Link};

/// From there on a drive without platters is hot that does not say itself when it is.
const HOT_CELSIUS_FLASH: i16 = 70;
/// The same of one with platters.
const HOT_CELSIUS_SPINNING: i16 = 55;
/// A drive is called hot until it is cooler than that by more than so much.
const HOT_HYSTERESIS_CELSIUS: i16 = 3;
/// A drive is called worn, or short of spare blocks, until it is better by more than so much.
const HYSTERESIS_PERCENT: u8 = 1;
/// What a drive was made for is spent.
const WORN_OUT_PERCENT: u8 = 100;

/// From where on there is a warning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Degrees Celsius. None: what the drive says itself, or else what is usual.
    pub hot_celsius: Option<i16>,
    /// What it has spent of its life, in percent.
    pub worn_percent: u8,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { hot_celsius: None, worn_percent: 90 }
    }
}

/// What may be wrong with a drive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ill {
    /// It fails, or expects to.
    Failing,
    /// It has few spare blocks left.
    SpareLow,
    /// It has spent its life.
    Worn,
    /// It loses what it was to keep.
    MediaErrors,
    /// It is too hot, or by its own account too cold.
    Hot,
    /// What connects it is slower than it could be.
    LinkDegraded,
}

impl Ill {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Ill::Failing => "failing",
            Ill::SpareLow => "spare_low",
            Ill::Worn => "worn",
            Ill::MediaErrors => "media_errors",
            Ill::Hot => "hot",
            Ill::LinkDegraded => "link_degraded",
        }
    }
}

/// Something that an operator should know of a drive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// What is wrong.
    pub ill: Ill,
    /// It is to be seen to now.
    pub is_critical: bool,
    /// Why, and what to do, as a sentence to be continued whose subject is the drive.
    pub message: String,
}

/// What is wrong with a drive. `before`: what was, the last time; what is at a threshold stays what
/// it was. `new_media_errors`: those that have been counted lately.
pub fn warnings(
    health: &DriveHealth,
    before: &[Warning],
    new_media_errors: u64,
    thresholds: Thresholds,
) -> Vec<Warning> {
    let was = |ill| before.iter().find(|warning| warning.ill == ill);
    let all = [
        failing(&health.alarms),
        spare_low(health, was(Ill::SpareLow).is_some()),
        worn(health, was(Ill::Worn), thresholds.worn_percent),
        media_errors(new_media_errors),
        hot(health, was(Ill::Hot), thresholds.hot_celsius),
        health.link.as_ref().and_then(link_degraded),
    ];
    all.into_iter().flatten().collect()
}

fn failing(alarms: &[Alarm]) -> Option<Warning> {
    let why = |alarm: &Alarm| match alarm {
        Alarm::Reliability => Some("its media or its electronics have errors"),
        Alarm::ReadOnly => Some("it takes no writes any more"),
        Alarm::CacheBackup => Some("what keeps its cache over a loss of power has failed"),
        Alarm::FailureExpected => Some("it expects to fail soon"),
        Alarm::Spare | Alarm::Temperature => None,
    };
    let reasons: Vec<&str> = alarms.iter().filter_map(why).collect();
    (!reasons.is_empty()).then(|| Warning {
        ill: Ill::Failing,
        is_critical: true,
        message: format!("{}, as it says itself: {REPLACE}", reasons.join(", ")),
    })
}

const REPLACE: &str = "replace it (`ashlar pool replace`)";

fn spare_low(health: &DriveHealth, was_low: bool) -> Option<Warning> {
    let slack = if was_low { HYSTERESIS_PERCENT } else { 0 };
    let figures = health.spare_percent.zip(health.spare_threshold_percent);
    let is_low = figures.is_some_and(|(spare, least)| spare < least.saturating_add(slack));
    if !is_low && !health.alarms.contains(&Alarm::Spare) {
        return None;
    }
    let few = match figures {
        Some((spare, least)) => {
            format!("{spare} % of its spare blocks are left, and {least} % is its least")
        }
        None => "it has few spare blocks left, as it says itself".to_owned(),
    };
    let message = format!("{few}: {REPLACE}");
    Some(Warning { ill: Ill::SpareLow, is_critical: true, message })
}

fn worn(health: &DriveHealth, was: Option<&Warning>, worn_percent: u8) -> Option<Warning> {
    let used = health.used_percent?;
    let reaches = |percent: u8, was_over: bool| {
        used >= percent.saturating_sub(if was_over { HYSTERESIS_PERCENT } else { 0 })
    };
    let is_critical = reaches(WORN_OUT_PERCENT, was.is_some_and(|was| was.is_critical));
    if !is_critical && !reaches(worn_percent, was.is_some()) {
        return None;
    }
    let do_what = if is_critical { REPLACE } else { "plan to replace it (`ashlar pool replace`)" };
    let message = format!("it has spent {used} % of the life that it was made for: {do_what}");
    Some(Warning { ill: Ill::Worn, is_critical, message })
}

fn media_errors(new: u64) -> Option<Warning> {
    (new > 0).then(|| Warning {
        ill: Ill::MediaErrors,
        is_critical: false,
        message: format!(
            "it has counted {new} more media errors within a day: `ashlar pool scrub --wait` \
             repairs what it has lost; if there are more and more, {REPLACE}"
        ),
    })
}

fn hot(health: &DriveHealth, was: Option<&Warning>, hot_celsius: Option<i16>) -> Option<Warning> {
    let usual = match health.is_rotational {
        Some(true) => HOT_CELSIUS_SPINNING,
        _ => HOT_CELSIUS_FLASH,
    };
    let max = hot_celsius.or(health.temperature_max_celsius).unwrap_or(usual);
    let reaches = |celsius: i16, was_over: bool| {
        let slack = if was_over { HOT_HYSTERESIS_CELSIUS } else { 0 };
        health.temperature_celsius.is_some_and(|now| now >= celsius - slack)
    };
    let was_critical = was.is_some_and(|was| was.is_critical);
    let critical = health.temperature_critical_celsius.filter(|it| reaches(*it, was_critical));
    let says_so = health.alarms.contains(&Alarm::Temperature);
    if critical.is_none() && !says_so && !reaches(max, was.is_some()) {
        return None;
    }
    let now = health.temperature_celsius.map(|now| format!("it has {now} °C"));
    let now = now.unwrap_or_else(|| "it does not say its temperature".to_owned());
    let why = match critical {
        Some(critical) => format!("{now}, and may stop from {critical} °C on"),
        None if reaches(max, was.is_some()) => format!("{now}, and is hot from {max} °C on"),
        None => format!("{now}, and says itself that this is too hot or too cold"),
    };
    let message = format!("{why}: look at its cooling");
    Some(Warning { ill: Ill::Hot, is_critical: critical.is_some(), message })
}

fn link_degraded(link: &Link) -> Option<Warning> {
    let words = |speed: &Option<String>, width: Option<u8>| {
        let width = width.map(|width| format!("x{width}"));
        speed.iter().cloned().chain(width).collect::<Vec<_>>().join(" ")
    };
    let (now, max) = (words(&link.speed, link.width), words(&link.speed_max, link.width_max));
    link.is_degraded.then(|| Warning {
        ill: Ill::LinkDegraded,
        is_critical: false,
        message: format!(
            "its link runs at {now} instead of {max}: look at its slot, its cable and its connector"
        ),
    })
}

#[cfg(test)]
mod tests;
