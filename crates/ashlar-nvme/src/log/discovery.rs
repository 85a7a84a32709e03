use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::text::{ascii_padded, nqn_field};

/// The first 1,024 bytes of the discovery log.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryHeader {
    /// GENCTR: counts up with every change of the log.
    pub generation: U64,
    /// NUMREC: entries.
    pub entry_count: U64,
    /// RECFMT: only 0 exists.
    pub record_format: U16,
    /// Reserved.
    pub reserved: [u8; 1006],
}

/// Bytes of a [`DiscoveryEntry`].
pub const DISCOVERY_ENTRY_BYTES: usize = 1024;

/// One way to reach a subsystem.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct DiscoveryEntry {
    /// TRTYPE; see [`super::transport_type`].
    pub transport_type: u8,
    /// ADRFAM; see [`address_family`].
    pub address_family: u8,
    /// SUBTYPE; see [`subsystem_type`].
    pub subsystem_type: u8,
    /// TREQ; see [`transport_requirements`].
    pub requirements: u8,
    /// PORTID: the same for all entries of one portal.
    pub port_id: U16,
    /// CNTLID: [`crate::fabrics::CNTLID_DYNAMIC`].
    pub controller_id: U16,
    /// ASQSZ: entries of the admin queue.
    pub admin_queue_size: U16,
    /// EFLAGS; see [`discovery_flags`].
    pub flags: U16,
    /// Reserved.
    pub reserved_12: [u8; 20],
    /// TRSVCID: the TCP port, in ASCII.
    pub service: [u8; 32],
    /// Reserved.
    pub reserved_64: [u8; 192],
    /// SUBNQN.
    pub subsystem_nqn: [u8; 256],
    /// TRADDR: the address, in ASCII.
    pub address: [u8; 256],
    /// TSAS: what the transport has to say; for TCP the first byte is the kind of security, 0 none.
    pub transport_specific: [u8; 256],
}

const _: () = assert!(size_of::<DiscoveryEntry>() == DISCOVERY_ENTRY_BYTES);
const _: () = assert!(size_of::<DiscoveryHeader>() == DISCOVERY_ENTRY_BYTES);

/// Values of ADRFAM.
pub mod address_family {
    /// IPv4.
    pub const IPV4: u8 = 1;
    /// IPv6.
    pub const IPV6: u8 = 2;
}

/// Values of SUBTYPE.
pub mod subsystem_type {
    /// Another discovery service.
    pub const REFERRAL: u8 = 1;
    /// A subsystem with namespaces.
    pub const NVM: u8 = 2;
    /// The discovery service that answers.
    pub const CURRENT_DISCOVERY: u8 = 3;
}

/// Bits of TREQ.
pub mod transport_requirements {
    /// A secure channel is not required.
    pub const SECURE_CHANNEL_NOT_REQUIRED: u8 = 2;
    /// SQ flow control can be off.
    pub const SQ_FLOW_CONTROL_OPTIONAL: u8 = 1 << 2;
}

/// Bits of EFLAGS.
pub mod discovery_flags {
    /// DUPRETINFO: the same information comes from other addresses of the service too.
    pub const DUPLICATE: u16 = 1 << 0;
    /// EPCSD: connections to the discovery service may persist.
    pub const PERSISTENT_CONNECTIONS: u16 = 1 << 1;
}

impl DiscoveryHeader {
    /// Of a log with `entry_count` entries.
    pub fn new(generation: u64, entry_count: u64) -> Self {
        let mut header = DiscoveryHeader::new_zeroed();
        header.generation = generation.into();
        header.entry_count = entry_count.into();
        header
    }
}

impl DiscoveryEntry {
    /// A TCP portal of a subsystem whose controllers are made as they are asked for.
    pub fn tcp(address: std::net::SocketAddr, subsystem_type: u8, subsystem_nqn: &str) -> Self {
        let mut entry = DiscoveryEntry::new_zeroed();
        entry.transport_type = super::transport_type::TCP;
        entry.address_family =
            if address.is_ipv4() { address_family::IPV4 } else { address_family::IPV6 };
        entry.subsystem_type = subsystem_type;
        entry.controller_id = crate::fabrics::CNTLID_DYNAMIC.into();
        entry.service = ascii_padded(&address.port().to_string());
        entry.address = ascii_padded(&address.ip().to_string());
        entry.subsystem_nqn = nqn_field(subsystem_nqn);
        entry
    }
}
