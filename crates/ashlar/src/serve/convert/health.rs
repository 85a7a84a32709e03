//! What a drive says of its health.

use ashlar_control::types::{DriveHealth, DriveWarning, Severity};
use ashlar_drive::{Power, Silent, Warning};
use ashlar_volume::{DriveFacts, DriveReport};

use super::super::health::{Asked, Healths, Said};

impl Asked {
    /// The drive, if it is a block device that is there.
    pub fn of(drive: &DriveReport) -> Option<Self> {
        let kernel_name = drive.facts.as_ref()?.kernel.clone()?;
        Some(Asked { uuid: drive.status.uuid.to_string(), kernel_name })
    }
}

/// What is known of a drive of an open pool.
pub fn said(drive: &DriveReport, healths: &Healths) -> Said {
    match (Asked::of(drive), &drive.facts) {
        (Some(asked), _) => healths.of(&asked),
        (None, Some(facts)) => Said::nothing(silent(facts)),
        (None, None) => Said::nothing("it is not there"),
    }
}

/// Why a drive says nothing that is no block device.
pub fn silent(facts: &DriveFacts) -> Silent {
    if facts.is_volatile { Silent::Virtual } else { Silent::File }
}

/// Of a drive of which nobody has wanted to know that.
pub fn not_asked() -> DriveHealth {
    health(Said::nothing("it was not asked"))
}

/// Its model and its serial number: as it says itself, or else as the kernel does, which shortens
/// those of SATA drives.
pub fn names(said: &Said, facts: Option<&DriveFacts>) -> (Option<String>, Option<String>) {
    let (model, serial) = (said.health.model.clone(), said.health.serial.clone());
    (
        model.or_else(|| facts.and_then(|facts| facts.model.clone())),
        serial.or_else(|| facts.and_then(|facts| facts.serial.clone())),
    )
}

/// What it has said, as it goes over the wire.
pub fn health(said: Said) -> DriveHealth {
    let Said { health, warnings, is_asleep, absent, age } = said;
    let (power, power_max_milliwatts) = power(health.power, is_asleep);
    let link = health.link.unwrap_or_default();
    DriveHealth {
        answer_age_seconds: age.map(|age| age.as_secs()),
        absent,
        warnings: warnings.into_iter().map(warning).collect(),
        firmware: health.firmware,
        temperature_celsius: health.temperature_celsius,
        temperature_max_celsius: health.temperature_max_celsius,
        temperature_critical_celsius: health.temperature_critical_celsius,
        power,
        power_max_milliwatts,
        used_percent: health.used_percent,
        spare_percent: health.spare_percent,
        spare_threshold_percent: health.spare_threshold_percent,
        read_bytes: health.read_bytes,
        written_bytes: health.written_bytes,
        media_errors: health.media_errors,
        power_on_hours: health.power_on_hours,
        unsafe_shutdowns: health.unsafe_shutdowns,
        write_cache: health.has_volatile_cache,
        link_speed: link.speed,
        link_speed_max: link.speed_max,
        link_width: link.width,
        link_width_max: link.width_max,
    }
}

fn power(power: Option<Power>, is_asleep: bool) -> (Option<String>, Option<u32>) {
    let word = match power {
        _ if is_asleep => "asleep",
        None => return (None, None),
        Some(Power::Active) => "active",
        Some(Power::Idle) => "idle",
        Some(Power::Standby) => "standby",
        Some(Power::State { number, max_milliwatts }) => {
            return (Some(number.to_string()), max_milliwatts);
        }
    };
    (Some(word.to_owned()), None)
}

fn warning(Warning { ill, is_critical, message }: Warning) -> DriveWarning {
    let severity = if is_critical { Severity::Error } else { Severity::Warning };
    DriveWarning { kind: ill.word().to_owned(), severity, message }
}

/// Bytes written to drives over bytes that hosts have written.
pub fn write_amplification(drive_written_bytes: u64, blocks_written: u64) -> Option<f64> {
    super::ratio(drive_written_bytes, blocks_written * super::BLOCK_BYTES)
}

#[cfg(test)]
mod tests;
