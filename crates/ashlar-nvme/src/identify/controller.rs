use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::IDENTIFY_BYTES;

/// Identify Controller (CNS 01h). Fields that no Ashlar controller uses are part of `reserved_*`.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct IdentifyController {
    /// VID: PCI vendor, 0 if there is none.
    pub vendor_id: U16,
    /// SSVID.
    pub subsystem_vendor_id: U16,
    /// SN.
    pub serial: [u8; 20],
    /// MN.
    pub model: [u8; 40],
    /// FR.
    pub firmware: [u8; 8],
    /// RAB: recommended arbitration burst, 2^n commands.
    pub arbitration_burst: u8,
    /// IEEE: vendor's OUI.
    pub ieee_oui: [u8; 3],
    /// CMIC: several ports, several controllers.
    pub multi_path: u8,
    /// MDTS: largest transfer, 2^n pages of 4 KiB; 0 is no limit.
    pub max_transfer_exponent: u8,
    /// CNTLID.
    pub controller_id: U16,
    /// VER.
    pub version: U32,
    /// RTD3R, RTD3E: microseconds from and to a low power state.
    pub rtd3: [U32; 2],
    /// OAES: events that can be enabled.
    pub async_events: U32,
    /// CTRATT.
    pub attributes: U32,
    /// RRLS to the byte before CNTRLTYPE.
    pub reserved_100: [u8; 11],
    /// CNTRLTYPE.
    pub controller_type: u8,
    /// FGUID.
    pub fru_guid: [u8; 16],
    /// CRDT1 to CRDT3: delays before a retry, in units of 100 ms.
    pub retry_delays_100ms: [U16; 3],
    /// CRCAP and on.
    pub reserved_134: [u8; 119],
    /// NVMSR: bit 0, part of an NVM storage device.
    pub subsystem_report: u8,
    /// VWCI.
    pub vpd_write_cycles: u8,
    /// MEC.
    pub management_endpoints: u8,
    /// OACS: optional admin commands.
    pub optional_admin_commands: U16,
    /// ACL: outstanding Aborts, 0's based.
    pub abort_limit: u8,
    /// AERL: outstanding Asynchronous Event Requests, 0's based.
    pub event_request_limit: u8,
    /// FRMW: firmware slots.
    pub firmware_updates: u8,
    /// LPA: log page attributes.
    pub log_page_attributes: u8,
    /// ELPE: entries of the error log, 0's based.
    pub error_log_entries: u8,
    /// NPSS: power states, 0's based.
    pub power_states: u8,
    /// AVSCC.
    pub admin_vendor_specific: u8,
    /// APSTA.
    pub autonomous_power: u8,
    /// WCTEMP: kelvin above which it is too warm; 0 if not reported.
    pub warning_temperature: U16,
    /// CCTEMP: kelvin above which it may fail.
    pub critical_temperature: U16,
    /// MTFA, HMPRE, HMMIN.
    pub reserved_270: [u8; 10],
    /// TNVMCAP: bytes of NVM in the subsystem; 0 if not reported.
    pub total_capacity: U128,
    /// UNVMCAP: bytes of it not in any namespace.
    pub unallocated_capacity: U128,
    /// RPMBS to FWUG.
    pub reserved_312: [u8; 8],
    /// KAS: granularity of the keep alive timer, in units of 100 ms; 0 if there is none.
    pub keep_alive_100ms: U16,
    /// HCTMA, MNTMT, MXTMT.
    pub reserved_322: [u8; 6],
    /// SANICAP.
    pub sanitize: U32,
    /// HMMINDS, HMMAXD, NSETIDMAX.
    pub reserved_332: [u8; 8],
    /// ENDGIDMAX: the highest endurance group identifier.
    pub endurance_group_max: U16,
    /// ANATT to the byte before SQES.
    pub reserved_342: [u8; 170],
    /// SQES: entry sizes, required and largest, as 2^n.
    pub sqe_size: u8,
    /// CQES.
    pub cqe_size: u8,
    /// MAXCMD: outstanding commands that make sense per queue.
    pub max_commands: U16,
    /// NN: the highest namespace identifier.
    pub namespace_id_max: U32,
    /// ONCS: optional I/O commands.
    pub optional_io_commands: U16,
    /// FUSES: bit 0, Compare and Write.
    pub fused_operations: U16,
    /// FNA: what Format applies to.
    pub format_attributes: u8,
    /// VWC: volatile write cache.
    pub volatile_write_cache: u8,
    /// AWUN: atomic write unit of all namespaces, in blocks, 0's based.
    pub atomic_write_normal: U16,
    /// AWUPF: the same over a power failure.
    pub atomic_write_power_fail: U16,
    /// ICSVSCC.
    pub io_vendor_specific: u8,
    /// NWPC: namespace write protection; bit 0 if supported.
    pub write_protection: u8,
    /// ACWU: atomic compare and write unit, 0's based.
    pub atomic_compare_write: U16,
    /// CDFS.
    pub copy_formats: U16,
    /// SGLS.
    pub sgl_support: U32,
    /// MNAN: most namespaces.
    pub namespaces_max: U32,
    /// MAXDNA to the byte before SUBNQN.
    pub reserved_544: [u8; 224],
    /// SUBNQN.
    pub subsystem_nqn: [u8; 256],
    /// Reserved.
    pub reserved_1024: [u8; 768],
    /// IOCCSZ: largest command capsule, in units of 16 bytes.
    pub command_capsule_16b: U32,
    /// IORCSZ: largest response capsule, in units of 16 bytes.
    pub response_capsule_16b: U32,
    /// ICDOFF: where in-capsule data begin, in units of 16 bytes behind the command.
    pub in_capsule_offset_16b: U16,
    /// FCATT: 0 is the dynamic controller model.
    pub fabrics_attributes: u8,
    /// MSDBD: most SGL descriptors in a capsule.
    pub sgl_descriptors_max: u8,
    /// OFCS: bit 0, Disconnect.
    pub optional_fabrics_commands: U16,
    /// DCTYPE.
    pub discovery_type: u8,
    /// Reserved.
    pub reserved_1807: [u8; 241],
    /// PSD0 to PSD31.
    pub power_state_descriptors: [[u8; 32]; 32],
    /// Vendor specific.
    pub vendor: [u8; 1024],
}

const _: () = assert!(size_of::<IdentifyController>() == IDENTIFY_BYTES);

/// Values of CNTRLTYPE.
pub mod controller_type {
    /// An I/O controller.
    pub const IO: u8 = 1;
    /// A discovery controller.
    pub const DISCOVERY: u8 = 2;
}

/// Bits of CTRATT.
pub mod controller_attributes {
    /// HIDS: 128-bit host identifiers.
    pub const HOST_ID_128: u32 = 1 << 0;
    /// EGS: endurance groups.
    pub const ENDURANCE_GROUPS: u32 = 1 << 4;
    /// TBKAS: commands between two Keep Alives stand for one (traffic based keep alive).
    pub const TRAFFIC_KEEP_ALIVE: u32 = 1 << 6;
}

/// Bits of the other fields.
pub mod identify_bits {
    /// CMIC: the subsystem may have more than one controller.
    pub const CMIC_CONTROLLERS: u8 = 1 << 1;
    /// OACS: Format NVM.
    pub const OACS_FORMAT: u16 = 1 << 1;
    /// FRMW: slot 1 is read-only, and there is one slot.
    pub const FRMW_ONE_READ_ONLY_SLOT: u8 = 1 | 1 << 1;
    /// LPA: commands supported and effects log.
    pub const LPA_EFFECTS: u8 = 1 << 1;
    /// LPA: offsets and lengths above 16 bits in Get Log Page.
    pub const LPA_EXTENDED: u8 = 1 << 2;
    /// LPA: supported log pages, features' effects, management commands' effects.
    pub const LPA_SUPPORTED_PAGES: u8 = 1 << 5;
    /// ONCS: Compare.
    pub const ONCS_COMPARE: u16 = 1 << 0;
    /// ONCS: Dataset Management.
    pub const ONCS_DATASET_MANAGEMENT: u16 = 1 << 2;
    /// ONCS: Write Zeroes.
    pub const ONCS_WRITE_ZEROES: u16 = 1 << 3;
    /// ONCS: Save and Select fields of features.
    pub const ONCS_FEATURE_SELECT: u16 = 1 << 4;
    /// ONCS: Verify.
    pub const ONCS_VERIFY: u16 = 1 << 7;
    /// FUSES: Compare and Write.
    pub const FUSES_COMPARE_AND_WRITE: u16 = 1 << 0;
    /// SANICAP: block erase.
    pub const SANICAP_BLOCK_ERASE: u32 = 1 << 1;
    /// SANICAP: No-Deallocate After Sanitize is not taken.
    pub const SANICAP_NO_DEALLOCATE_INHIBITED: u32 = 1 << 29;
    /// SANICAP: nothing is written by itself after a sanitize.
    pub const SANICAP_NOT_MODIFIED: u32 = 1 << 30;
    /// FNA: NSID FFFFFFFFh is not accepted.
    pub const FNA_NO_BROADCAST: u8 = 1 << 3;
    /// VWC: how Flush behaves with NSID FFFFFFFFh: 11b, it flushes all namespaces. No cache is
    /// present.
    pub const VWC_FLUSH_ALL: u8 = 3 << 1;
    /// NWPC: write protection that a host sets and clears.
    pub const NWPC_WRITE_PROTECT: u8 = 1 << 0;
    /// SGLS: SGLs, of any alignment.
    pub const SGLS_SUPPORTED: u32 = 1;
    /// SGLS: the address of a descriptor may be an offset (in-capsule data).
    pub const SGLS_OFFSET: u32 = 1 << 20;
    /// SGLS: transport SGL data block descriptors.
    pub const SGLS_TRANSPORT: u32 = 1 << 21;
    /// OFCS: Disconnect ends an I/O queue alone.
    pub const OFCS_DISCONNECT: u16 = 1 << 0;
}

/// Identify Controller of the NVM command set (CNS 06h, CSI 00h).
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct NvmIdentifyController {
    /// VSL: largest Verify, 2^n pages of 4 KiB; 0 is no limit.
    pub verify_size_exponent: u8,
    /// WZSL: largest Write Zeroes, likewise.
    pub write_zeroes_size_exponent: u8,
    /// WUSL: largest Write Uncorrectable, likewise.
    pub write_uncorrectable_size_exponent: u8,
    /// DMRL: most ranges of a Dataset Management; 0 is no limit.
    pub dsm_ranges: u8,
    /// DMRSL: most blocks of one of its ranges.
    pub dsm_range_blocks: U32,
    /// DMSL: most blocks of all its ranges.
    pub dsm_blocks: U64,
    /// Reserved.
    pub reserved: [u8; 4080],
}

const _: () = assert!(size_of::<NvmIdentifyController>() == IDENTIFY_BYTES);
