//! Reading the configuration again, while the daemon serves.
//!
//! What is logged changes at once. All else is built into what runs (sockets, budgets of memory,
//! open pools): a change of it is named, and holds from the next start on.

use ashlar_target::nvme_tcp::PortalKind;

use super::config::{Config, limits_by_name};
use crate::logging::{FILTER_VARIABLE, Log};

/// Takes what can change while the daemon serves: from `now`, as it was read again, into `before`,
/// which counts. Says in the log what it has taken, and what the next start takes.
///
/// # Errors
/// When the log cannot be changed.
pub fn take(before: &mut Config, now: &Config, log: &Log) -> anyhow::Result<()> {
    let differing = differing(before, now);
    if !differing.is_empty() {
        tracing::warn!(
            "the configuration has changed, and the next start takes: {}",
            differing.join(", ")
        );
    }
    if before.log != now.log {
        log.set_filter(&now.log)?;
        before.log.clone_from(&now.log);
        if std::env::var_os(FILTER_VARIABLE).is_some_and(|filter| !filter.is_empty()) {
            tracing::warn!("log is '{}' now, but {FILTER_VARIABLE} overrides it", now.log);
        } else {
            tracing::info!("log is '{}' now", now.log);
        }
    } else if differing.is_empty() {
        tracing::info!("the configuration is as it was");
    }
    Ok(())
}

/// The settings of which the next start would take another value, by their names in the
/// configuration.
fn differing(before: &Config, now: &Config) -> Vec<String> {
    let pairs = settings(before).into_iter().zip(settings(now));
    pairs.filter(|(before, now)| before.1 != now.1).map(|(before, _)| before.0).collect()
}

/// All settings that a start takes, with their values as text.
fn settings(config: &Config) -> Vec<(String, String)> {
    let Config {
        state: _,
        log: _,
        socket,
        socket_group,
        network,
        portals,
        reactors,
        spin,
        store,
        member_wait,
        drive_directories,
        auto_rejoin,
        health,
        // Of the start alone.
        open_all: _,
        inject_panics: _,
        limits,
    } = config;
    let portals = |kind| portals.iter().filter(|portal| portal.kind == kind).collect::<Vec<_>>();
    let named = [
        ("listen", format!("{:?}", portals(PortalKind::Io))),
        ("discovery", format!("{:?}", portals(PortalKind::Discovery))),
        ("socket", socket.display().to_string()),
        ("socket_group", format!("{socket_group:?}")),
        ("api_listen", format!("{:?}", network.addresses)),
        ("api_certificate", format!("{:?}", network.certificate)),
        ("reactors", reactors.to_string()),
        ("spin_us", spin.as_micros().to_string()),
        ("map_memory_bytes", store.map_memory_bytes.to_string()),
        ("over_provisioning_percent", store.over_provisioning_percent.to_string()),
        ("cold_after_seconds", store.cold_after.as_secs().to_string()),
        ("member_wait_seconds", member_wait.as_secs().to_string()),
        ("drive_directories", format!("{drive_directories:?}")),
        ("auto_rejoin", auto_rejoin.to_string()),
        ("drive_poll_seconds", health.interval.as_secs().to_string()),
        ("drive_hot_celsius", format!("{:?}", health.thresholds.hot_celsius)),
        ("drive_worn_percent", health.thresholds.worn_percent.to_string()),
    ];
    let named = named.into_iter().map(|(name, value)| (name.to_owned(), value));
    let limits =
        limits_by_name(limits).into_iter().map(|(name, value)| (format!("limits.{name}"), value));
    named.chain(limits).collect()
}

#[cfg(test)]
mod tests;
