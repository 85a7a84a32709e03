use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Log Page Version of [`ErrorLogEntry`].
pub const ERROR_LOG_VERSION: u8 = 1;

/// Values of TRTYPE.
pub mod transport_type {
    /// TCP.
    pub const TCP: u8 = 3;
}

/// One entry of Error Information, 64 bytes; the newest comes first.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Debug,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct ErrorLogEntry {
    /// Counts up from 1 with every error; 0 is an entry not in use.
    pub error_count: U64,
    /// The queue.
    pub queue_id: U16,
    /// The command.
    pub cid: U16,
    /// Its status as the completion had it: phase tag in bit 0.
    pub status: U16,
    /// Parameter Error Location.
    pub location: U16,
    /// The first logical block concerned.
    pub lba: U64,
    /// The namespace.
    pub nsid: U32,
    /// Vendor specific information: none.
    pub vendor: u8,
    /// TRTYPE.
    pub transport_type: u8,
    /// CSI.
    pub command_set: u8,
    /// The command's opcode.
    pub opcode: u8,
    /// Command specific information.
    pub command_specific: U64,
    /// Transport type specific information.
    pub transport_specific: U16,
    /// Reserved.
    pub reserved: [u8; 21],
    /// [`ERROR_LOG_VERSION`].
    pub version: u8,
}

const _: () = assert!(size_of::<ErrorLogEntry>() == 64);
