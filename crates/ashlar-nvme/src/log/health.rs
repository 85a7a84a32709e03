use zerocopy::little_endian::{U16, U32, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// SMART / Health Information.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SmartLog {
    /// Critical Warning; see [`critical_warning`].
    pub critical_warning: u8,
    /// Composite temperature in kelvin; 0 if not known.
    pub temperature: U16,
    /// Available spare, percent.
    pub available_spare: u8,
    /// Its threshold, percent.
    pub spare_threshold: u8,
    /// Percentage used of the device's life.
    pub percentage_used: u8,
    /// Endurance group summary.
    pub endurance_groups: u8,
    /// Reserved.
    pub reserved_7: [u8; 25],
    /// Data units read: thousands of 512 bytes, rounded up.
    pub data_units_read: U128,
    /// Data units written.
    pub data_units_written: U128,
    /// Read commands (and Compare, Verify).
    pub host_reads: U128,
    /// Write commands.
    pub host_writes: U128,
    /// Minutes in which commands were outstanding.
    pub busy_minutes: U128,
    /// Power cycles.
    pub power_cycles: U128,
    /// Power-on hours.
    pub power_on_hours: U128,
    /// Unsafe shutdowns.
    pub unsafe_shutdowns: U128,
    /// Media and data integrity errors.
    pub media_errors: U128,
    /// Error log entries over the life of the controller.
    pub error_log_entries: U128,
    /// Minutes above WCTEMP.
    pub warning_temperature_minutes: U32,
    /// Minutes above CCTEMP.
    pub critical_temperature_minutes: U32,
    /// Temperature sensors 1 to 8, kelvin; 0 if there is none.
    pub sensors: [U16; 8],
    /// Thermal management counters and reserved.
    pub reserved_216: [u8; 296],
}

const _: () = assert!(size_of::<SmartLog>() == 512);

/// Bits of Critical Warning.
pub mod critical_warning {
    /// Spare space is below its threshold.
    pub const SPARE: u8 = 1 << 0;
    /// Reliability is degraded.
    pub const RELIABILITY: u8 = 1 << 2;
    /// All media are read-only.
    pub const READ_ONLY: u8 = 1 << 3;
}

/// Firmware Slot Information.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FirmwareSlotLog {
    /// AFI: bits 2:0 the slot in use.
    pub active: u8,
    /// Reserved.
    pub reserved_1: [u8; 7],
    /// FRS1 to FRS7.
    pub revisions: [[u8; 8]; 7],
    /// Reserved.
    pub reserved_64: [u8; 448],
}

const _: () = assert!(size_of::<FirmwareSlotLog>() == 512);
