//! Hosts that are connected, as people and programs see them.

use std::fmt;
use std::net::SocketAddr;

use ashlar_volume::HostNqn;

use super::host_meter::HostCounts;

/// A host's identifier, written as a UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct HostId(pub [u8; 16]);

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if [4, 6, 8, 10].contains(&index) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A host that is connected, for people and programs to see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectedHost {
    /// Its name.
    pub nqn: HostNqn,
    /// Its identifier.
    pub host_id: [u8; 16],
    /// Where its admin queue comes from.
    pub address: SocketAddr,
    /// I/O queues that are connected.
    pub io_queues: u16,
    /// I/O queues that it may connect: what it has asked for, as far as it was granted.
    pub io_queues_max: u16,
    /// What its queues have answered.
    pub answered: HostCounts,
    /// When it connected, in seconds since 1970.
    pub since_unix_seconds: u64,
    /// Its controller.
    pub controller_id: u16,
    /// It is connected to the discovery service and sees no namespaces.
    pub is_discovery: bool,
}
