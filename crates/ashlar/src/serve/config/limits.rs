//! The table `[limits]` of the configuration.

use std::time::Duration;

use anyhow::Context;
use ashlar_target::nvme_tcp::Limits;
use serde::Deserialize;

/// What of a reactor's share of the machine's memory hosts' data may take by default: as much for
/// what comes in capsules as for the rest. What the store does with such data takes as much again.
const MEMORY_PART: u64 = 6;
/// What one connection may have in memory beside that: answers that are not sent, and bytes that
/// are not taken.
const CONNECTION_BYTES: u64 = 384 << 10;
/// Connections, by default, however little memory there is: some hosts with all their queues.
const CONNECTIONS_LEAST: u32 = 256;
/// What of a reactor's data one host may have, in so many parts.
const HOST_PART: u64 = 8;

/// The table: see [`Limits`] for what each key is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsTable {
    connections_max: Option<u32>,
    connecting_max: Option<u32>,
    io_queues_max: Option<u16>,
    queue_entries_max: Option<u32>,
    transfer_bytes_max: Option<u32>,
    in_capsule_bytes_max: Option<u32>,
    in_capsule_total_bytes_max: Option<u64>,
    connection_bytes_max: Option<u64>,
    host_bytes_max: Option<u64>,
    reactor_bytes_max: Option<u64>,
    handshake_timeout_seconds: Option<u64>,
    connect_wait_seconds: Option<u64>,
    transfer_timeout_seconds: Option<u64>,
    ready_wait_seconds: Option<u64>,
    closing_timeout_seconds: Option<u64>,
    keep_alive_min_seconds: Option<u64>,
    keep_alive_max_seconds: Option<u64>,
    health_interval_seconds: Option<u64>,
}

impl LimitsTable {
    /// The limits of a machine that has `memory_bytes` for each of its reactors.
    ///
    /// # Errors
    /// A limit out of its bounds, by name.
    pub(super) fn resolve(&self, memory_bytes: u64) -> anyhow::Result<Limits> {
        let defaults = self.sizes(memory_bytes);
        let seconds = |value: Option<u64>, default| value.map_or(default, Duration::from_secs);
        let handshake_timeout = seconds(self.handshake_timeout_seconds, defaults.handshake_timeout);
        let connect_wait = defaults.connect_wait.min(handshake_timeout / 2);
        let limits = Limits {
            handshake_timeout,
            connect_wait: seconds(self.connect_wait_seconds, connect_wait),
            transfer_timeout: seconds(self.transfer_timeout_seconds, defaults.transfer_timeout),
            ready_wait: seconds(self.ready_wait_seconds, defaults.ready_wait),
            closing_timeout: seconds(self.closing_timeout_seconds, defaults.closing_timeout),
            keep_alive_min: seconds(self.keep_alive_min_seconds, defaults.keep_alive_min),
            keep_alive_max: seconds(self.keep_alive_max_seconds, defaults.keep_alive_max),
            health_interval: seconds(self.health_interval_seconds, defaults.health_interval),
            ..defaults
        };
        limits.check().context("in the table [limits]")?;
        Ok(limits)
    }

    /// What is counted and what is measured in bytes. What nobody has set follows from the memory
    /// and from what it must have room for.
    fn sizes(&self, memory_bytes: u64) -> Limits {
        let defaults = Limits::default();
        let queue_entries_max = self.queue_entries_max.unwrap_or(defaults.queue_entries_max);
        let in_capsule_bytes_max =
            self.in_capsule_bytes_max.unwrap_or(defaults.in_capsule_bytes_max);
        let one_queue = u64::from(queue_entries_max) * u64::from(in_capsule_bytes_max);
        let connection_bytes_max =
            self.connection_bytes_max.unwrap_or(defaults.connection_bytes_max);
        let share = memory_bytes / MEMORY_PART;
        let in_capsule_total = defaults.in_capsule_total_bytes_max.min(share).max(one_queue);
        let reactor = defaults.reactor_bytes_max.min(share).max(connection_bytes_max);
        let reactor_bytes_max = self.reactor_bytes_max.unwrap_or(reactor);
        let connections = u32::try_from(share / CONNECTION_BYTES).unwrap_or(u32::MAX);
        let connections_max = connections.clamp(CONNECTIONS_LEAST, defaults.connections_max);
        let host = (reactor_bytes_max / HOST_PART).max(connection_bytes_max);
        Limits {
            connections_max: self.connections_max.unwrap_or(connections_max),
            connecting_max: self.connecting_max.unwrap_or(defaults.connecting_max),
            io_queues_max: self.io_queues_max.unwrap_or(defaults.io_queues_max),
            queue_entries_max,
            transfer_bytes_max: self.transfer_bytes_max.unwrap_or(defaults.transfer_bytes_max),
            in_capsule_bytes_max,
            in_capsule_total_bytes_max: self.in_capsule_total_bytes_max.unwrap_or(in_capsule_total),
            connection_bytes_max,
            host_bytes_max: self.host_bytes_max.unwrap_or(host),
            reactor_bytes_max,
            ..defaults
        }
    }
}

#[cfg(test)]
mod tests;
