//! What an operator has chosen for a pool.

use std::num::NonZeroU32;

use ashlar_control::types::PoolSettings;
use ashlar_store::Settings;

use super::seconds;

/// It, as the API says it: 0 is what is off.
pub(super) fn chosen(settings: &Settings) -> PoolSettings {
    PoolSettings {
        recon_prio_percent: settings.recon_prio,
        recon_p99_us: settings.recon_p99.map_or(0, |target| target.as_micros() as u64),
        scrub_prio_percent: settings.scrub_prio,
        scrub_interval_seconds: settings.scrub_interval.map_or(0, |it| it.as_secs()),
        fault_threshold: settings.fault_threshold.map_or(0, NonZeroU32::get),
        io_timeout_seconds: settings.io_timeout.map_or(0, seconds),
        autotrim: settings.autotrim,
        overcommit: settings.overcommit,
        warn_percent: settings.levels.warn,
        throttle_percent: settings.levels.throttle,
        stop_percent: settings.levels.stop,
    }
}
