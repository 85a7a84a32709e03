//! How drives are asked for their health.

use std::time::Duration;

use anyhow::ensure;
use ashlar_drive::Thresholds;

use super::super::health::HealthConfig;
use super::File;
use crate::args::HealthArguments;

const POLL_SECONDS_DEFAULT: u64 = 60;
const POLL_SECONDS_MAX: u64 = 86_400;
/// Beyond that a threshold is a slip of the pen.
const HOT_CELSIUS_MAX: i16 = 120;

/// What the command line says, or else the file.
pub fn health(arguments: &HealthArguments, file: &File) -> anyhow::Result<HealthConfig> {
    let seconds = arguments.drive_poll_seconds.or(file.drive_poll_seconds);
    let seconds = seconds.unwrap_or(POLL_SECONDS_DEFAULT);
    ensure!(
        (1..=POLL_SECONDS_MAX).contains(&seconds),
        "drive_poll_seconds is {seconds}: it must be 1 to {POLL_SECONDS_MAX}"
    );
    let hot_celsius = arguments.drive_hot_celsius.or(file.drive_hot_celsius);
    ensure!(
        hot_celsius.is_none_or(|celsius| (1..=HOT_CELSIUS_MAX).contains(&celsius)),
        "drive_hot_celsius is {}: it must be 1 to {HOT_CELSIUS_MAX}",
        hot_celsius.unwrap_or_default()
    );
    let worn_percent = arguments.drive_worn_percent.or(file.drive_worn_percent);
    let worn_percent = worn_percent.unwrap_or(Thresholds::default().worn_percent);
    ensure!(
        (1..=100).contains(&worn_percent),
        "drive_worn_percent is {worn_percent}: it must be 1 to 100"
    );
    let thresholds = Thresholds { hot_celsius, worn_percent };
    Ok(HealthConfig { interval: Duration::from_secs(seconds), thresholds })
}
