//! Log pages of ScaleFlux's compressing drives, as nvme-cli's plugin `sfx` reads them
//! (`plugins/scaleflux/sfx-nvme.c`): what operators of such drives have scripts for.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Additional SMART.
pub const ADDITIONAL_SMART: u8 = 0xca;
/// Latency of reads.
pub const READ_LATENCY: u8 = 0xc1;
/// Latency of writes.
pub const WRITE_LATENCY: u8 = 0xc3;
/// Extended health.
pub const EXTENDED_HEALTH: u8 = 0xc2;

/// The feature *atomic writes* of the plugin's `get-feature` and `set-feature`: 1 is on.
pub const FEATURE_ATOMIC_WRITE: u32 = 1;

/// An item of Additional SMART. What it counts follows from its place; the key is that of Intel's
/// drives, whose page this one extends.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SmartItem {
    /// Which.
    pub key: u8,
    reserved_1: [u8; 2],
    /// From 100 down, as an attribute of ATA.
    pub normalized: u8,
    reserved_4: u8,
    /// 48 bits.
    pub raw: [u8; 6],
    reserved_11: u8,
}

impl SmartItem {
    /// An item with a count. One of more than 48 bits stays at the largest there is.
    pub fn count(key: u8, count: u64) -> Self {
        let bytes = count.min(COUNT_MAX).to_le_bytes();
        let raw = [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]];
        SmartItem { key, normalized: NORMAL, raw, ..SmartItem::new_zeroed() }
    }
}

const COUNT_MAX: u64 = (1 << 48) - 1;
const NORMAL: u8 = 100;

/// What Additional SMART says. What is of flash alone is 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AdditionalSmart {
    /// Blocks that gave wrong bytes.
    pub end_to_end_errors: u64,
    /// Bytes written to drives, in sectors of 512 bytes.
    pub media_sectors_written: u64,
    /// Bytes that hosts have written, in sectors of 512 bytes.
    pub host_sectors_written: u64,
    /// Blocks that were wrong or could not be read, and were reconstructed.
    pub recovered_by_parity: u64,
    /// Reads that drives refused.
    pub read_errors: u64,
    /// New data is refused for lack of room.
    pub is_out_of_space: bool,
    /// What is used of what is provisioned, in percent.
    pub used_percent: u64,
    /// Drives that were given up.
    pub failed_drives: u64,
}

/// Items of Additional SMART.
pub const SMART_ITEMS: usize = 23;

impl AdditionalSmart {
    /// The page.
    pub fn items(&self) -> [SmartItem; SMART_ITEMS] {
        let item = SmartItem::count;
        [
            item(0xab, 0),
            item(0xac, 0),
            item(0xad, 0),
            item(0xb8, self.end_to_end_errors),
            item(0xc7, 0),
            item(0xe2, 0),
            item(0xe3, 0),
            item(0xe4, 0),
            item(0xea, 0),
            item(0xf0, 0),
            item(0xf3, 0),
            item(0xf4, self.media_sectors_written),
            item(0xf5, self.host_sectors_written),
            item(0, self.recovered_by_parity),
            item(0, 0),
            item(0, 0),
            item(0, 0),
            item(0, self.read_errors),
            item(0, 0),
            item(0, 0),
            item(0, u64::from(self.is_out_of_space)),
            item(0, self.used_percent),
            item(0, self.failed_drives),
        ]
    }
}

/// Groups of the latency page, and buckets of each.
pub const LATENCY_GROUPS: usize = 19;
/// The first group has a bucket for each microsecond below 64. Each group after it begins where the
/// one before ends, and has buckets twice as wide as that, but for the second.
pub const LATENCY_BUCKETS: usize = 64;

/// Latency of reads or of writes.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct LatencyLog {
    /// Version.
    pub major: U16,
    /// Version.
    pub minor: U16,
    /// Commands, by how long they took.
    pub groups: [[U32; LATENCY_BUCKETS]; LATENCY_GROUPS],
    /// The mean, in microseconds.
    pub average: U64,
}

const _: () = assert!(size_of::<LatencyLog>() == 4876);

impl LatencyLog {
    /// One of no command, in the version that this module writes: 4.1.
    pub fn new() -> Self {
        LatencyLog { major: 4.into(), minor: 1.into(), ..LatencyLog::new_zeroed() }
    }
}

impl Default for LatencyLog {
    fn default() -> Self {
        LatencyLog::new()
    }
}

/// Extended health.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ExtendedHealth {
    /// Of flash, of PCI Express and of temperature.
    pub reserved_0: [u8; 28],
    /// Watts.
    pub power_watts: U32,
    reserved_32: U32,
    /// See [`extended_warning`].
    pub critical_warning: U32,
    /// Reads that parity has answered.
    pub parity_recoveries: U32,
    reserved_44: U32,
    /// Part number.
    pub part_number: [u8; 32],
    /// What there is for data, in sectors of 512 bytes.
    pub total_physical: U64,
    /// What of it is free.
    pub free_physical: U64,
    /// What of it is used, in percent.
    pub used_percent: U32,
    /// In percent: 250 is 2.5 to 1.
    pub compression_percent: U32,
    reserved_104: [u8; 12],
    /// What can be formatted at most, in GB.
    pub formatted_max_gb: U64,
    reserved_124: [u8; 20],
    /// What is formatted, in GB.
    pub formatted_gb: U64,
}

const _: () = assert!(size_of::<ExtendedHealth>() == 152);

/// Bits of [`ExtendedHealth::critical_warning`].
pub mod extended_warning {
    /// More is used than there is.
    pub const OVER_CAPACITY: u32 = 1 << 1;
    /// Reads or writes are locked.
    pub const LOCKED: u32 = 1 << 2;
}

#[cfg(test)]
mod tests;
