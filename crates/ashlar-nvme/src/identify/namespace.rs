use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::IDENTIFY_BYTES;

/// One LBA format.
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
pub struct LbaFormat {
    /// MS: metadata bytes per block.
    pub metadata_bytes: U16,
    /// LBADS: a block has 2^n bytes.
    pub size_exponent: u8,
    /// RP in bits 1:0: 0 best, 3 degraded.
    pub relative_performance: u8,
}

/// Identify Namespace of the NVM command set (CNS 00h and 11h).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyNamespace {
    /// NSZE: blocks.
    pub size: U64,
    /// NCAP: blocks that can be allocated at a time.
    pub capacity: U64,
    /// NUSE: blocks that are allocated.
    pub used: U64,
    /// NSFEAT; see [`namespace_bits`].
    pub features: u8,
    /// NLBAF: LBA formats, 0's based.
    pub lba_format_count: u8,
    /// FLBAS: the format in use.
    pub lba_format: u8,
    /// MC.
    pub metadata_capabilities: u8,
    /// DPC.
    pub protection_capabilities: u8,
    /// DPS.
    pub protection: u8,
    /// NMIC: bit 0, shared by controllers.
    pub sharing: u8,
    /// RESCAP.
    pub reservations: u8,
    /// FPI.
    pub format_progress: u8,
    /// DLFEAT.
    pub deallocate_features: u8,
    /// NAWUN: atomic write unit, blocks, 0's based.
    pub atomic_write_normal: U16,
    /// NAWUPF: the same over a power failure.
    pub atomic_write_power_fail: U16,
    /// NACWU: the same of Compare and Write.
    pub atomic_compare_write: U16,
    /// NABSN: atomicity ends where a write crosses a multiple of this many blocks; 0's based.
    pub atomic_boundary_normal: U16,
    /// NABO: blocks before the first boundary.
    pub atomic_boundary_offset: U16,
    /// NABSPF: the boundary over a power failure.
    pub atomic_boundary_power_fail: U16,
    /// NOIOB: I/O that does not cross multiples of this many blocks is best; 0 if there is none.
    pub optimal_io_boundary: U16,
    /// NVMCAP: bytes.
    pub nvm_capacity: U128,
    /// NPWG: preferred write granularity, blocks, 0's based.
    pub write_granularity: U16,
    /// NPWA: preferred write alignment.
    pub write_alignment: U16,
    /// NPDG: preferred deallocate granularity.
    pub deallocate_granularity: U16,
    /// NPDA: preferred deallocate alignment.
    pub deallocate_alignment: U16,
    /// NOWS: optimal write size.
    pub optimal_write_size: U16,
    /// MSSRL, MCL, MSRC, KPIOS, NULBAF, KPIODAAG and what is between.
    pub reserved_74: [u8; 18],
    /// ANAGRPID.
    pub ana_group: U32,
    /// Reserved.
    pub reserved_96: [u8; 3],
    /// NSATTR: bit 0, write protected.
    pub attributes: u8,
    /// NVMSETID.
    pub nvm_set: U16,
    /// ENDGID.
    pub endurance_group: U16,
    /// NGUID.
    pub nguid: [u8; 16],
    /// EUI64.
    pub eui64: [u8; 8],
    /// LBAF0 to LBAF63.
    pub lba_formats: [LbaFormat; 64],
    /// Vendor specific.
    pub vendor: [u8; 3712],
}

const _: () = assert!(size_of::<IdentifyNamespace>() == IDENTIFY_BYTES);

/// Bits of an Identify Namespace's fields.
pub mod namespace_bits {
    /// NSFEAT: capacity may be less than size (thin provisioning).
    pub const THIN: u8 = 1 << 0;
    /// NSFEAT: the atomicity fields of the namespace count, not the controller's.
    pub const ATOMICS: u8 = 1 << 1;
    /// NSFEAT: NGUID and EUI64 are never reused.
    pub const IDS_NOT_REUSED: u8 = 1 << 3;
    /// NSFEAT: NPWG, NPWA, NPDG, NPDA and NOWS count.
    pub const PREFERENCES: u8 = 1 << 4;
    /// NMIC: several controllers may have it attached.
    pub const SHARED: u8 = 1 << 0;
    /// DLFEAT: deallocated blocks read as zeros, and Write Zeroes may deallocate.
    pub const DEALLOCATED_ZERO: u8 = 1 | 1 << 3;
    /// NSATTR: write protected.
    pub const WRITE_PROTECTED: u8 = 1 << 0;
}

/// Identify Namespace, the same for all command sets (CNS 08h).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IndependentNamespace {
    /// NSFEAT: bit 3, identifiers are not reused.
    pub features: u8,
    /// NMIC.
    pub sharing: u8,
    /// RESCAP.
    pub reservations: u8,
    /// FPI.
    pub format_progress: u8,
    /// ANAGRPID.
    pub ana_group: U32,
    /// NSATTR.
    pub attributes: u8,
    /// Reserved.
    pub reserved_9: u8,
    /// NVMSETID.
    pub nvm_set: U16,
    /// ENDGID.
    pub endurance_group: U16,
    /// NSTAT: bit 0, ready.
    pub status: u8,
    /// Reserved.
    pub reserved_15: [u8; 4081],
}

const _: () = assert!(size_of::<IndependentNamespace>() == IDENTIFY_BYTES);

/// Identify Namespace, NVM command set specific (CNS 05h, CSI 00h): protection information that no
/// Ashlar namespace has.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct NvmIdentifyNamespace {
    /// LBSTM.
    pub storage_tag_mask: U64,
    /// PIC.
    pub protection_capabilities: u8,
    /// PIFA and reserved.
    pub reserved_9: [u8; 3],
    /// ELBAF0 to ELBAF63.
    pub extended_formats: [U32; 64],
    /// NPDGL and on.
    pub reserved_268: [u8; 3828],
}

const _: () = assert!(size_of::<NvmIdentifyNamespace>() == IDENTIFY_BYTES);
