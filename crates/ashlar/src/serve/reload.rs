//! Reading the configuration again, while the daemon serves.
//!
//! What is logged, and how, changes at once. All else is built into what runs (sockets, budgets of
//! memory, open pools): a change of it is named, and holds from the next start on.

use ashlar_control::Reloaded;

use super::config::{Config, keys};
use crate::logging::{FILTER_VARIABLE, Log};

/// Takes what can change while the daemon serves: from `now`, as it was read again, into `before`,
/// which counts. Says what it has taken, and what the next start takes, in the log as well.
///
/// # Errors
/// When the log cannot be changed: then all is as it was.
pub fn take(before: &mut Config, now: &Config, log: &Log) -> anyhow::Result<Reloaded> {
    let differing = differing(before, now);
    let mut taken = Vec::new();
    if !differing.is_empty() {
        tracing::warn!(
            "the configuration has changed, and the next start takes: {}",
            differing.join(", ")
        );
    }
    // What can fail comes first: then nothing was taken.
    if before.log != now.log {
        log.set_filter(&now.log)?;
        before.log.clone_from(&now.log);
        taken.push("log");
        if std::env::var_os(FILTER_VARIABLE).is_some_and(|filter| !filter.is_empty()) {
            tracing::warn!("log is '{}' now, but {FILTER_VARIABLE} overrides it", now.log);
        } else {
            tracing::info!("log is '{}' now", now.log);
        }
    }
    if before.log_format != now.log_format {
        log.set_format(now.log_format);
        before.log_format = now.log_format;
        taken.push("log_format");
        tracing::info!("log_format is '{}' now", now.log_format);
    }
    if taken.is_empty() && differing.is_empty() {
        tracing::info!("the configuration is as it was");
    }
    Ok(Reloaded { taken, next_start: differing })
}

/// The keys of which the next start would take another value.
fn differing(before: &Config, now: &Config) -> Vec<&'static str> {
    let of_start = keys::all().filter(|key| !key.reloads);
    let differing = of_start.filter(|key| (key.value)(before) != (key.value)(now));
    differing.map(|key| key.name).collect()
}

#[cfg(test)]
mod tests;
