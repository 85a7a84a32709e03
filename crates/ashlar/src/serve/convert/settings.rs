//! What an operator has chosen for a pool.

use std::num::NonZeroU32;

use ashlar_control::types::Pool;
use ashlar_store::Settings;

use super::seconds;

/// A pool of which nothing else is known.
pub(super) fn chosen(settings: &Settings) -> Pool {
    Pool {
        recon_prio_percent: Some(settings.recon_prio),
        recon_p99_us: Some(settings.recon_p99.map_or(0, |target| target.as_micros() as u64)),
        scrub_prio_percent: Some(settings.scrub_prio),
        scrub_interval_seconds: Some(settings.scrub_interval.map_or(0, |it| it.as_secs())),
        fault_threshold: Some(settings.fault_threshold.map_or(0, NonZeroU32::get)),
        io_timeout_seconds: Some(settings.io_timeout.map_or(0, seconds)),
        autotrim: Some(settings.autotrim),
        overcommit: Some(settings.overcommit),
        warn_percent: Some(settings.levels.warn),
        throttle_percent: Some(settings.levels.throttle),
        stop_percent: Some(settings.levels.stop),
        ..Pool::default()
    }
}
