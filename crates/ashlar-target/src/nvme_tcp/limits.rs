//! How much hosts may take.

use std::time::Duration;

use super::footprint;

/// Bytes of the unit that MDTS counts in: the controller's smallest page.
pub(super) const PAGE_BYTES: u32 = 4096;

/// Commands that all I/O queues of one reactor may have outstanding. Each command is a task, of
/// which a reactor has 16 million; the admin queues of 65,535 connections may have 8 million.
const IO_COMMANDS_MAX: u64 = 4 << 20;

/// Bounds of what hosts may take. Each is per target unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Limits {
    /// TCP connections of one reactor; for another one the one closes that has not finished Connect
    /// for longest, or, if there is none, the new one. 1 to 65,535.
    pub connections_max: u32,
    /// Of these, connections that have not finished Connect; for another one the oldest of them
    /// closes. At least 1.
    pub connecting_max: u32,
    /// How long a connection may take, once it is accepted, until it has finished Connect: it is
    /// closed then, whatever it has sent.
    pub handshake_timeout: Duration,
    /// How long a Connect waits for what earlier connections of its host still do, before it is
    /// refused with Controller Busy: less than `handshake_timeout`, which would close its
    /// connection instead.
    pub connect_wait: Duration,
    /// How long a host may take to send data that it was allowed to send, or to take what is sent
    /// to it, before its connection is ended.
    pub transfer_timeout: Duration,
    /// How long a command waits for its namespace to be ready before it is answered with Namespace
    /// Not Ready: less than hosts wait for an answer, which is 30 s with Linux.
    pub ready_wait: Duration,
    /// How long after its arrival a command that waits for the limits of its volume is answered
    /// with Command Interrupted, upon which it comes again, or begins in spite of them: so much
    /// less than hosts wait for an answer that it can be executed in time.
    pub throttle_wait: Duration,
    /// How long the end of a connection waits for the other side to take the last PDU.
    pub closing_timeout: Duration,
    /// I/O queues of one controller; 1 to 65,534.
    pub io_queues_max: u16,
    /// Entries of one queue, which is also how many commands it may have outstanding; 2 to 65,536.
    /// MQES is one less.
    pub queue_entries_max: u32,
    /// Write data that may come within a command capsule of an I/O queue, in bytes: a multiple of
    /// 16, 4 KiB to 64 KiB. (An admin queue takes 8 KiB, as the specification demands.)
    pub in_capsule_bytes_max: u32,
    /// In-capsule data of all I/O queues of one reactor, if every entry of every queue brought the
    /// most that it may; a queue beyond it is refused (Connect Controller Busy). Memory is taken
    /// only as data come. Data that are kept keep the receive buffer that they came in, or its
    /// copy, and so up to 32 KiB (by default) for each entry: a host that has each come in a buffer
    /// of its own takes up to 32 KiB / `in_capsule_bytes_max` times as much, which is twice by
    /// default. At least `queue_entries_max` times `in_capsule_bytes_max`.
    pub in_capsule_total_bytes_max: u64,
    /// Data of one command, in bytes: a power of two, 4 KiB to 16 MiB. MDTS.
    pub transfer_bytes_max: u32,
    /// Data that one connection may have in memory, beside in-capsule data, and with what its
    /// commands read to compare, to check or to change parts of blocks: at least four times
    /// `transfer_bytes_max`, as a fused operation may need.
    pub connection_bytes_max: u64,
    /// Data that all connections of one host to one reactor may have in memory, beside in-capsule
    /// data: at least `connection_bytes_max`. A part of `reactor_bytes_max`, so that a host which
    /// asks for much and then is silent stops itself alone.
    pub host_bytes_max: u64,
    /// Data of one reactor's connections in memory, beside in-capsule data: at least
    /// `connection_bytes_max`.
    pub reactor_bytes_max: u64,
    /// The shortest keep alive timeout; shorter ones are raised to it. At least 1 s.
    pub keep_alive_min: Duration,
    /// The longest keep alive timeout; longer ones are refused.
    pub keep_alive_max: Duration,
    /// How often a controller looks whether the health figures ask for a warning.
    pub health_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections_max: 1024,
            connecting_max: 256,
            handshake_timeout: Duration::from_secs(10),
            connect_wait: Duration::from_secs(5),
            transfer_timeout: Duration::from_secs(30),
            ready_wait: Duration::from_secs(20),
            throttle_wait: Duration::from_secs(20),
            closing_timeout: Duration::from_secs(2),
            io_queues_max: 64,
            queue_entries_max: 1024,
            in_capsule_bytes_max: 16 << 10,
            in_capsule_total_bytes_max: 4 << 30,
            transfer_bytes_max: 1 << 20,
            connection_bytes_max: 16 << 20,
            host_bytes_max: 128 << 20,
            reactor_bytes_max: 1 << 30,
            keep_alive_min: Duration::from_secs(1),
            keep_alive_max: Duration::from_secs(600),
            health_interval: Duration::from_secs(10),
        }
    }
}

/// A limit out of its bounds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name} is {value}: it must be {bounds}")]
pub struct LimitsError {
    name: &'static str,
    value: String,
    bounds: &'static str,
}

impl Limits {
    /// In-capsule data of an admin queue (TCP Transport 1.1, section 3.3.2: 8 KiB).
    pub(super) const ADMIN_IN_CAPSULE_BYTES_MAX: u32 = 8 << 10;

    /// Checks every value against its bounds.
    ///
    /// # Errors
    /// The first one that is out of them.
    pub fn check(&self) -> Result<(), LimitsError> {
        let wrong = |name, value: &dyn ToString, bounds| {
            Err(LimitsError { name, value: value.to_string(), bounds })
        };
        if !(1..=65_535).contains(&self.connections_max) {
            return wrong("connections_max", &self.connections_max, "1 to 65535");
        }
        if self.connecting_max == 0 {
            return wrong("connecting_max", &self.connecting_max, "at least 1");
        }
        if !(1..=65_534).contains(&self.io_queues_max) {
            return wrong("io_queues_max", &self.io_queues_max, "1 to 65534");
        }
        if !(2..=65_536).contains(&self.queue_entries_max) {
            return wrong("queue_entries_max", &self.queue_entries_max, "2 to 65536");
        }
        if !self.in_capsule_bytes_max.is_multiple_of(16)
            || !(4 << 10..=64 << 10).contains(&self.in_capsule_bytes_max)
        {
            let bounds = "a multiple of 16, 4096 to 65536";
            return wrong("in_capsule_bytes_max", &self.in_capsule_bytes_max, bounds);
        }
        self.check_memory()?;
        self.check_times()
    }

    fn check_memory(&self) -> Result<(), LimitsError> {
        let wrong =
            |name, value: u64, bounds| Err(LimitsError { name, value: value.to_string(), bounds });
        let one_queue = u64::from(self.queue_entries_max) * u64::from(self.in_capsule_bytes_max);
        if self.in_capsule_total_bytes_max < one_queue {
            let bounds = "at least queue_entries_max times in_capsule_bytes_max";
            return wrong("in_capsule_total_bytes_max", self.in_capsule_total_bytes_max, bounds);
        }
        if self.in_capsule_total_bytes_max / u64::from(self.in_capsule_bytes_max) > IO_COMMANDS_MAX
        {
            let bounds = "at most 4194304 times in_capsule_bytes_max";
            return wrong("in_capsule_total_bytes_max", self.in_capsule_total_bytes_max, bounds);
        }
        let transfer = self.transfer_bytes_max;
        if !transfer.is_power_of_two() || !(PAGE_BYTES..=16 << 20).contains(&transfer) {
            return wrong(
                "transfer_bytes_max",
                transfer.into(),
                "a power of two, 4096 to 16777216",
            );
        }
        if self.connection_bytes_max < footprint::largest(transfer) {
            let bounds = "at least four times transfer_bytes_max";
            return wrong("connection_bytes_max", self.connection_bytes_max, bounds);
        }
        let shared = [
            ("host_bytes_max", self.host_bytes_max),
            ("reactor_bytes_max", self.reactor_bytes_max),
        ];
        match shared.into_iter().find(|(_, bytes)| *bytes < self.connection_bytes_max) {
            Some((name, bytes)) => wrong(name, bytes, "at least connection_bytes_max"),
            None => Ok(()),
        }
    }

    fn check_times(&self) -> Result<(), LimitsError> {
        let wrong = |name, value: Duration, bounds| {
            Err(LimitsError { name, value: format!("{value:?}"), bounds })
        };
        if self.keep_alive_min < Duration::from_secs(1) {
            return wrong("keep_alive_min", self.keep_alive_min, "at least 1s");
        }
        let longest = Duration::from_millis(u32::MAX.into());
        if !(self.keep_alive_min..=longest).contains(&self.keep_alive_max) {
            return wrong("keep_alive_max", self.keep_alive_max, "keep_alive_min to 49 days");
        }
        let waits = [
            ("handshake_timeout", self.handshake_timeout),
            ("connect_wait", self.connect_wait),
            ("transfer_timeout", self.transfer_timeout),
            ("throttle_wait", self.throttle_wait),
            ("health_interval", self.health_interval),
        ];
        if let Some((name, wait)) = waits.into_iter().find(|(_, wait)| wait.is_zero()) {
            return wrong(name, wait, "more than 0");
        }
        if self.connect_wait >= self.handshake_timeout {
            let bounds = "less than handshake_timeout, which would close the connection before its Connect is answered";
            return wrong("connect_wait", self.connect_wait, bounds);
        }
        Ok(())
    }

    /// MDTS: 2^n pages.
    pub(super) fn max_transfer_exponent(&self) -> u8 {
        (self.transfer_bytes_max / PAGE_BYTES).trailing_zeros() as u8
    }

    /// MQES: entries less one.
    pub(super) fn max_queue_size(&self) -> u16 {
        (self.queue_entries_max - 1) as u16
    }
}

#[cfg(test)]
mod tests;
