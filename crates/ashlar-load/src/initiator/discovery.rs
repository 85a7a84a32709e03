//! What a discovery service says.

use std::net::{IpAddr, SocketAddr};

use ashlar_nvme::log::{
    DISCOVERY_ENTRY_BYTES, DiscoveryEntry, DiscoveryHeader, page, subsystem_type, transport_type,
};
use ashlar_nvme::text::{DISCOVERY_NQN, ascii_trimmed, nqn_of_field};
use ashlar_nvme::zerocopy::FromBytes;

use super::controller::Controller;
use super::error::{CommandError, ConnectError};
use super::options::{ConnectOptions, HostIdentity};

/// Entries that are asked for at most: a bound for a service that says too much.
const ENTRIES_MAX: u64 = 4096;
/// Entries per Get Log Page.
const ENTRIES_PER_READ: u64 = 16;

/// One way to reach a subsystem over TCP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiscoveredSubsystem {
    /// The subsystem's name.
    pub nqn: String,
    /// Where it is reached.
    pub address: SocketAddr,
    /// It is a discovery service, not a subsystem with namespaces.
    pub is_discovery: bool,
}

/// Asks the discovery service at `address` what `host` may reach.
///
/// # Errors
/// The service cannot be reached, refuses, or breaks off.
pub async fn discover(
    address: SocketAddr,
    host: HostIdentity,
) -> Result<Vec<DiscoveredSubsystem>, ConnectError> {
    let options = ConnectOptions::new(address, DISCOVERY_NQN, host);
    let controller = Controller::connect_discovery(options).await?;
    let log = controller.discovery_log().await;
    controller.disconnect().await;
    log.map_err(|reason| ConnectError::Broken { address, reason })
}

impl Controller {
    /// The discovery log of a discovery controller, read until it did not change meanwhile. What is
    /// not TCP is left out.
    ///
    /// # Errors
    /// See [`CommandError`].
    pub async fn discovery_log(&self) -> Result<Vec<DiscoveredSubsystem>, CommandError> {
        loop {
            let header = self.discovery_header().await?;
            let count = header.entry_count.get().min(ENTRIES_MAX);
            let mut found = Vec::new();
            for first in (0..count).step_by(ENTRIES_PER_READ as usize) {
                let entries = (count - first).min(ENTRIES_PER_READ);
                let offset = (first + 1) * DISCOVERY_ENTRY_BYTES as u64;
                let bytes = entries as u32 * DISCOVERY_ENTRY_BYTES as u32;
                let part = self.log_page(page::DISCOVERY, offset, bytes).await?;
                found.extend(part.chunks_exact(DISCOVERY_ENTRY_BYTES).filter_map(subsystem_of));
            }
            if self.discovery_header().await?.generation == header.generation {
                return Ok(found);
            }
        }
    }

    async fn discovery_header(&self) -> Result<DiscoveryHeader, CommandError> {
        let data = self.log_page(page::DISCOVERY, 0, DISCOVERY_ENTRY_BYTES as u32).await?;
        let short = || CommandError::Invalid("the discovery log has no header".to_owned());
        DiscoveryHeader::read_from_bytes(&data).map_err(|_| short())
    }
}

fn subsystem_of(entry: &[u8]) -> Option<DiscoveredSubsystem> {
    let entry = DiscoveryEntry::read_from_bytes(entry).ok()?;
    if entry.transport_type != transport_type::TCP {
        return None;
    }
    let ip: IpAddr = ascii_trimmed(&entry.address).parse().ok()?;
    let port = ascii_trimmed(&entry.service).parse().ok()?;
    Some(DiscoveredSubsystem {
        nqn: nqn_of_field(&entry.subsystem_nqn)?.to_owned(),
        address: SocketAddr::new(ip, port),
        is_discovery: entry.subsystem_type != subsystem_type::NVM,
    })
}
