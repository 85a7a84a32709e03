//! What Identify says.

use std::sync::atomic::Ordering;

use ashlar_block::VolumeUuid;
use ashlar_nvme::admin::Identify;
use ashlar_nvme::feature::event_bits;
use ashlar_nvme::identify::{
    CSI_NVM, IdentifyController, IdentifyNamespace, IndependentNamespace, LbaFormat,
    NamespaceDescriptor, NvmIdentifyController, NvmIdentifyNamespace, cns, command_set_vectors,
    controller_attributes, controller_list, controller_type, descriptor_list, endurance_group_list,
    identify_bits, namespace_bits, namespace_list,
};
use ashlar_nvme::property::VERSION_2_1;
use ashlar_nvme::sqe::{NSID_ALL, SQE_BYTES, Sqe};
use ashlar_nvme::status::Rejection;
use ashlar_nvme::text::{DISCOVERY_NQN, ascii_padded, nqn_field};
use ashlar_nvme::zerocopy::{FromZeros, Immutable, IntoBytes};
use ashlar_volume::{Door, NamespaceInfo, Nsid};

use super::admin::{ABORTS_MAX, LBA_FORMATS, NAMESPACE_INVALID};
use super::controller::Controller;
use super::errors::ERROR_LOG_ENTRIES;
use super::events::EVENT_REQUESTS_MAX;
use super::io::WRITE_ZEROES_PAGES_EXPONENT;

/// The highest namespace identifier: FFFFFFFFh means all.
const NAMESPACE_ID_MAX: u32 = 0xffff_fffe;
/// The one endurance group: for a host the media of all its volumes are one thing.
pub(super) const ENDURANCE_GROUP: u16 = 1;
/// KAS: the keep alive timer counts in seconds.
const KEEP_ALIVE_GRANULARITY_100MS: u16 = 10;
/// CRDT1: how long a host should wait for what passes by itself.
const RETRY_DELAY_100MS: u16 = 10;
/// Preferred granularity of writes and deallocations: the store's block.
const PREFERRED_BYTES: u32 = ashlar_block::BLOCK_BYTES as u32;

fn structure<T: IntoBytes + Immutable>(value: &T) -> Vec<u8> {
    value.as_bytes().to_vec()
}

impl<D: Door> Controller<D> {
    /// The data of Identify.
    pub(super) fn identify(&self, sqe: &Sqe, identify: &Identify) -> Result<Vec<u8>, Rejection> {
        if identify.cns == cns::CONTROLLER {
            return Ok(self.identify_controller());
        }
        if self.is_discovery() {
            return Err(Rejection::field(40));
        }
        let nsid = sqe.nsid.get();
        match identify.cns {
            cns::NAMESPACE | cns::ALLOCATED_NAMESPACE => {
                self.of_namespace(nsid, identify_namespace)
            }
            cns::ACTIVE_NAMESPACES | cns::ALLOCATED_NAMESPACES => self.namespace_list(nsid),
            cns::NAMESPACE_DESCRIPTORS => self.descriptors(nsid),
            cns::NAMESPACE_INDEPENDENT => self.of_namespace(nsid, independent_namespace),
            cns::CONTROLLERS => Ok(self.controllers(identify.controller_id)),
            cns::ATTACHED_CONTROLLERS => {
                self.namespace(nsid, |_| ())?;
                Ok(self.controllers(identify.controller_id))
            }
            cns::ENDURANCE_GROUPS => Ok(endurance_groups(identify.specific_id)),
            cns::COMMAND_SETS => Ok(command_set_vectors().to_vec()),
            _ => self.identify_of_set(nsid, identify),
        }
    }

    /// The structures that a command set has: there is one set.
    fn identify_of_set(&self, nsid: u32, identify: &Identify) -> Result<Vec<u8>, Rejection> {
        let known = [
            cns::NAMESPACE_OF_SET,
            cns::CONTROLLER_OF_SET,
            cns::ACTIVE_NAMESPACES_OF_SET,
            cns::ALLOCATED_NAMESPACES_OF_SET,
        ];
        if !known.contains(&identify.cns) {
            return Err(Rejection::field(40));
        }
        if identify.command_set != CSI_NVM {
            return Err(Rejection::field(47));
        }
        match identify.cns {
            cns::NAMESPACE_OF_SET => {
                self.of_namespace(nsid, |_| NvmIdentifyNamespace::new_zeroed())
            }
            cns::CONTROLLER_OF_SET => Ok(nvm_identify_controller()),
            _ => self.namespace_list(nsid),
        }
    }

    /// Calls `with` for an active namespace.
    fn namespace<T>(
        &self,
        nsid: u32,
        with: impl FnOnce(&NamespaceInfo) -> T,
    ) -> Result<T, Rejection> {
        let found =
            self.service.door.with_namespace(&self.host().nqn, Nsid(nsid), |info, _| with(info));
        found.ok_or(NAMESPACE_INVALID)
    }

    /// A namespace's structure; of zeros if there is no such namespace for this host.
    fn of_namespace<T>(
        &self,
        nsid: u32,
        make: impl Fn(&NamespaceInfo) -> T,
    ) -> Result<Vec<u8>, Rejection>
    where
        T: FromZeros + IntoBytes + Immutable,
    {
        if nsid == 0 || nsid == NSID_ALL {
            return Err(NAMESPACE_INVALID);
        }
        let made = self.namespace(nsid, |info| structure(&make(info)));
        Ok(made.unwrap_or_else(|_| structure(&T::new_zeroed())))
    }

    fn namespace_list(&self, after: u32) -> Result<Vec<u8>, Rejection> {
        if after >= NAMESPACE_ID_MAX {
            return Err(NAMESPACE_INVALID);
        }
        let namespaces = self.service.door.namespaces(&self.host().nqn);
        let nsids = namespaces.iter().map(|info| info.nsid.0).filter(|nsid| *nsid > after);
        Ok(namespace_list(nsids).to_vec())
    }

    fn descriptors(&self, nsid: u32) -> Result<Vec<u8>, Rejection> {
        self.namespace(nsid, |info| {
            let uuid = info.uuid.0;
            let list = descriptor_list(&[
                NamespaceDescriptor::Eui64(eui64_of(info.uuid)),
                NamespaceDescriptor::Nguid(uuid),
                NamespaceDescriptor::Uuid(uuid),
                NamespaceDescriptor::CommandSet(CSI_NVM),
            ]);
            list.to_vec()
        })
    }

    fn controllers(&self, from: u16) -> Vec<u8> {
        let ids = self.service.target.registry.controller_ids(self.host());
        controller_list(ids.into_iter().filter(|id| *id >= from)).to_vec()
    }

    fn identify_controller(&self) -> Vec<u8> {
        let subsystem = self.service.door.subsystem();
        let mut data = IdentifyController::new_zeroed();
        data.serial = ascii_padded(&subsystem.serial);
        data.model = ascii_padded(&subsystem.model);
        data.firmware = ascii_padded(&subsystem.firmware);
        data.controller_id = self.association.controller_id.into();
        data.version = VERSION_2_1.into();
        data.max_transfer_exponent = self.wire.limits.max_transfer_exponent();
        data.attributes = controller_attributes::HOST_ID_128.into();
        data.event_request_limit = EVENT_REQUESTS_MAX as u8 - 1;
        data.error_log_entries = ERROR_LOG_ENTRIES as u8 - 1;
        data.keep_alive_100ms = KEEP_ALIVE_GRANULARITY_100MS.into();
        data.max_commands =
            u16::try_from(self.wire.limits.queue_entries_max).unwrap_or(u16::MAX).into();
        data.sgl_support = (identify_bits::SGLS_SUPPORTED
            | identify_bits::SGLS_OFFSET
            | identify_bits::SGLS_TRANSPORT)
            .into();
        data.response_capsule_16b = 1.into();
        data.sgl_descriptors_max = 1;
        data.log_page_attributes = identify_bits::LPA_EXTENDED;
        if self.is_discovery() {
            describe_discovery(&mut data);
        } else {
            data.subsystem_nqn = nqn_field(&subsystem.nqn);
            describe_io(&mut data, self.wire.limits.in_capsule_bytes_max);
        }
        structure(&data)
    }

    /// Whether the host may hear of Command Retry Delays.
    pub(super) fn honours_retry_delays(&self) -> bool {
        self.association.retry_delays.load(Ordering::Acquire)
    }
}

fn describe_discovery(data: &mut IdentifyController) {
    const DIRECT_DISCOVERY_CONTROLLER: u8 = 1;
    data.controller_type = controller_type::DISCOVERY;
    data.discovery_type = DIRECT_DISCOVERY_CONTROLLER;
    data.subsystem_nqn = nqn_field(DISCOVERY_NQN);
    data.async_events = event_bits::DISCOVERY_LOG.into();
    data.command_capsule_16b = (SQE_BYTES as u32 / 16).into();
}

fn describe_io(data: &mut IdentifyController, in_capsule_bytes: u32) {
    data.controller_type = controller_type::IO;
    data.attributes = (data.attributes.get() | controller_attributes::ENDURANCE_GROUPS).into();
    data.endurance_group_max = ENDURANCE_GROUP.into();
    data.arbitration_burst = 6;
    data.multi_path = identify_bits::CMIC_CONTROLLERS;
    data.async_events = event_bits::NAMESPACE_ATTRIBUTE.into();
    data.retry_delays_100ms[0] = RETRY_DELAY_100MS.into();
    data.subsystem_report = 1;
    data.optional_admin_commands = identify_bits::OACS_FORMAT.into();
    data.abort_limit = ABORTS_MAX - 1;
    data.firmware_updates = identify_bits::FRMW_ONE_READ_ONLY_SLOT;
    data.log_page_attributes |= identify_bits::LPA_EFFECTS | identify_bits::LPA_SUPPORTED_PAGES;
    data.sqe_size = 0x66;
    data.cqe_size = 0x44;
    data.namespace_id_max = NAMESPACE_ID_MAX.into();
    data.optional_io_commands = (identify_bits::ONCS_COMPARE
        | identify_bits::ONCS_DATASET_MANAGEMENT
        | identify_bits::ONCS_WRITE_ZEROES
        | identify_bits::ONCS_FEATURE_SELECT
        | identify_bits::ONCS_VERIFY)
        .into();
    data.fused_operations = identify_bits::FUSES_COMPARE_AND_WRITE.into();
    // AWUN, AWUPF and ACWU stay 0, one logical block: all that is true of every namespace that may
    // ever be attached, with either sector size, for an operator may have hosts told of no more.
    // Linux takes AWUPF where NAWUPF is 0, and admits no second controller whose AWUPF differs, so
    // it must not follow the volumes. Each namespace says what is true of it.
    // Format and its erase are of one namespace each, and no erase is a cryptographic one.
    data.format_attributes = identify_bits::FNA_NO_BROADCAST;
    data.sanitize = (identify_bits::SANICAP_BLOCK_ERASE
        | identify_bits::SANICAP_NO_DEALLOCATE_INHIBITED
        | identify_bits::SANICAP_NOT_MODIFIED)
        .into();
    data.volatile_write_cache = identify_bits::VWC_FLUSH_ALL;
    data.write_protection = identify_bits::NWPC_WRITE_PROTECT;
    data.command_capsule_16b = ((SQE_BYTES as u32 + in_capsule_bytes) / 16).into();
    data.optional_fabrics_commands = identify_bits::OFCS_DISCONNECT.into();
}

/// The groups from that number on.
fn endurance_groups(from: u16) -> Vec<u8> {
    endurance_group_list([ENDURANCE_GROUP].into_iter().filter(|group| *group >= from)).to_vec()
}

fn nvm_identify_controller() -> Vec<u8> {
    let mut data = NvmIdentifyController::new_zeroed();
    data.write_zeroes_size_exponent = WRITE_ZEROES_PAGES_EXPONENT;
    structure(&data)
}

/// `bytes` as a 0's based number of blocks.
fn blocks_less_one(bytes: u32, lba_bytes: u32) -> u16 {
    u16::try_from((bytes / lba_bytes).saturating_sub(1)).unwrap_or(u16::MAX)
}

fn identify_namespace(info: &NamespaceInfo) -> IdentifyNamespace {
    let lba_bytes = u64::from(info.lba_bytes);
    let mut data = IdentifyNamespace::new_zeroed();
    data.size = (info.size_bytes / lba_bytes).into();
    data.capacity = data.size;
    data.used = (info.used_bytes / lba_bytes).min(data.size.get()).into();
    data.nvm_capacity = u128::from(info.size_bytes).into();
    data.sharing = namespace_bits::SHARED;
    data.deallocate_features = namespace_bits::DEALLOCATED_ZERO;
    data.attributes = write_protection_bit(info);
    data.endurance_group = ENDURANCE_GROUP.into();
    data.nguid = info.uuid.0;
    data.eui64 = eui64_of(info.uuid);
    data.lba_format_count = LBA_FORMATS.len() as u8 - 1;
    data.lba_format =
        LBA_FORMATS.iter().position(|bytes| *bytes == info.lba_bytes).unwrap_or(0) as u8;
    data.lba_formats[0] = lba_format(LBA_FORMATS[0], 2);
    data.lba_formats[1] = lba_format(LBA_FORMATS[1], 0);
    describe_performance(&mut data, info);
    data
}

fn lba_format(bytes: u32, relative_performance: u8) -> LbaFormat {
    LbaFormat {
        metadata_bytes: 0.into(),
        size_exponent: bytes.trailing_zeros() as u8,
        relative_performance,
    }
}

/// Atomicity, and what the store likes best.
fn describe_performance(data: &mut IdentifyNamespace, info: &NamespaceInfo) {
    let less_one = |bytes| blocks_less_one(bytes, info.lba_bytes).into();
    data.features = namespace_bits::THIN
        | namespace_bits::ATOMICS
        | namespace_bits::IDS_NOT_REUSED
        | namespace_bits::PREFERENCES;
    data.atomic_write_normal = less_one(info.atomic_announced_bytes);
    data.atomic_write_power_fail = data.atomic_write_normal;
    // What an operator has hosts told of writes is no limit for Compare and Write.
    data.atomic_compare_write = less_one(info.atomic_write_bytes_max);
    data.atomic_boundary_normal = less_one(info.atomic_boundary_bytes);
    data.atomic_boundary_power_fail = data.atomic_boundary_normal;
    data.optimal_io_boundary =
        u16::try_from(info.atomic_boundary_bytes / info.lba_bytes).unwrap_or(0).into();
    data.write_granularity = less_one(PREFERRED_BYTES);
    data.write_alignment = data.write_granularity;
    data.deallocate_granularity = data.write_granularity;
    data.deallocate_alignment = data.write_granularity;
    data.optimal_write_size = less_one(optimal_write_bytes(info));
}

/// What the store writes as one, in whole blocks of its own: NOWS is a multiple of NPWG.
fn optimal_write_bytes(info: &NamespaceInfo) -> u32 {
    (info.atomic_write_bytes_max / PREFERRED_BYTES * PREFERRED_BYTES).max(PREFERRED_BYTES)
}

fn write_protection_bit(info: &NamespaceInfo) -> u8 {
    if info.write_protected { namespace_bits::WRITE_PROTECTED } else { 0 }
}

fn independent_namespace(info: &NamespaceInfo) -> IndependentNamespace {
    const READY: u8 = 1;
    let mut data = IndependentNamespace::new_zeroed();
    data.features = namespace_bits::IDS_NOT_REUSED;
    data.sharing = namespace_bits::SHARED;
    data.attributes = write_protection_bit(info);
    data.endurance_group = ENDURANCE_GROUP.into();
    data.status = if info.is_ready { READY } else { 0 };
    data
}

/// A locally administered EUI-64 that the volume's UUID determines: no vendor's number is claimed.
fn eui64_of(uuid: VolumeUuid) -> [u8; 8] {
    const LOCAL: u8 = 2;
    const GROUP: u8 = 1;
    let mut eui64 = [0; 8];
    let (high, low) = uuid.0.split_at(8);
    eui64.iter_mut().zip(high.iter().zip(low)).for_each(|(byte, (high, low))| *byte = high ^ low);
    eui64[0] = (eui64[0] | LOCAL) & !GROUP;
    eui64
}
