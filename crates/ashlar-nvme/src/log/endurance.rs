use zerocopy::little_endian::{U16, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Endurance Group Information.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct EnduranceGroupLog {
    /// EGCW: the bits of [`critical_warning`](super::critical_warning).
    pub critical_warning: u8,
    /// EGFEAT.
    pub features: u8,
    /// Reserved.
    pub reserved_2: u8,
    /// Available spare, percent.
    pub available_spare: u8,
    /// Its threshold, percent.
    pub spare_threshold: u8,
    /// Percentage used of the group's life.
    pub percentage_used: u8,
    /// DID: domain, 0 if the subsystem has only one.
    pub domain: U16,
    /// Reserved.
    pub reserved_8: [u8; 24],
    /// Thousands of millions of bytes that the group can take in its life, rounded up; 0 if that is
    /// not reported.
    pub endurance_estimate: U128,
    /// Data units read: thousands of millions of bytes, rounded up.
    pub data_units_read: U128,
    /// Data units that hosts have written.
    pub data_units_written: U128,
    /// Data units that media have written, for the controller's own purposes included.
    pub media_units_written: U128,
    /// Read commands (and Compare, Verify).
    pub host_reads: U128,
    /// Write commands.
    pub host_writes: U128,
    /// Media and data integrity errors.
    pub media_errors: U128,
    /// Error log entries.
    pub error_log_entries: U128,
    /// TEGCAP: bytes of the group.
    pub total_capacity: U128,
    /// UEGCAP: bytes of it that are not allocated.
    pub unallocated_capacity: U128,
    /// Reserved.
    pub reserved_192: [u8; 320],
}

const _: () = assert!(size_of::<EnduranceGroupLog>() == 512);
