//! What drives say of their health.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Severity;

/// What a drive says of its health. The daemon asks now and then, and wakes no drive for that. Null
/// is what the drive does not say.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DriveHealth {
    /// Seconds since it has answered last. Null: it never has.
    pub answer_age_seconds: Option<u64>,
    /// Why it says nothing, or nothing since then. Null: it answers.
    pub absent: Option<String>,
    /// What is wrong with it.
    pub warnings: Vec<DriveWarning>,
    /// The version of its firmware.
    pub firmware: Option<String>,
    /// Its temperature now, in degrees Celsius.
    pub temperature_celsius: Option<i16>,
    /// From there on the drive calls itself too hot.
    pub temperature_max_celsius: Option<i16>,
    /// From there on it may stop to save itself.
    pub temperature_critical_celsius: Option<i16>,
    /// What it takes power for: `active`, `idle`, `standby`, `asleep` (it was not asked for the
    /// rest), or the power state of an NVMe drive: `0`, which takes most, and further.
    pub power: Option<String>,
    /// What it takes at most in that power state, in milliwatts.
    pub power_max_milliwatts: Option<u32>,
    /// What it has spent of the life that it was made for; more than 100 is possible.
    pub used_percent: Option<u8>,
    /// Spare blocks that are left.
    pub spare_percent: Option<u8>,
    /// Below that it warns.
    pub spare_threshold_percent: Option<u8>,
    /// Bytes that it was asked to read, over its life.
    pub read_bytes: Option<u64>,
    /// Bytes that it was given to write, over its life, by whomever.
    pub written_bytes: Option<u64>,
    /// Times that it could not give back what it was to keep, over its life.
    pub media_errors: Option<u64>,
    /// Hours that it was on.
    pub power_on_hours: Option<u64>,
    /// Times that it lost its power without notice.
    pub unsafe_shutdowns: Option<u64>,
    /// It has a volatile write cache, and that is on: what a loss of power empties, until it is
    /// flushed.
    pub write_cache: Option<bool>,
    /// How fast it is connected: `16.0 GT/s PCIe`, `6.0 Gbps`.
    pub link_speed: Option<String>,
    /// How fast it could be.
    pub link_speed_max: Option<String>,
    /// By how many lanes it is connected.
    pub link_width: Option<u8>,
    /// How many it has.
    pub link_width_max: Option<u8>,
}

/// Something that is wrong with a drive.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct DriveWarning {
    /// What: `failing`, `spare_low`, `worn`, `media_errors`, `hot` or `link_degraded`. The event
    /// has `drive_` in front.
    pub kind: String,
    /// How bad it is.
    pub severity: Severity,
    /// Why, and what to do.
    pub message: String,
}
