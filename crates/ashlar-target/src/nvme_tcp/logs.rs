//! What Get Log Page says.

use ashlar_nvme::admin::{GetLogPage, opcode as admin_opcode};
use ashlar_nvme::fabrics::FABRICS_OPCODE;
use ashlar_nvme::feature::id;
use ashlar_nvme::identify::{CSI_NVM, namespace_list};
use ashlar_nvme::io::opcode as io_opcode;
use ashlar_nvme::log::{
    CommandEffects, EffectsLog, EnduranceGroupLog, FirmwareSlotLog, SmartLog,
    command_effects as effect, critical_warning, feature_effects, page, scaleflux, supported_pages,
};
use ashlar_nvme::sqe::{NSID_ALL, Sqe};
use ashlar_nvme::status::{ErrorLocation, Rejection, Status};
use ashlar_nvme::text::ascii_padded;
use ashlar_nvme::zerocopy::{FromZeros, IntoBytes};
use ashlar_volume::{Door, HealthFigures, SpaceFigures};

use super::admin::check_room;
use super::controller::Controller;
use super::discovery;
use super::errors::ERROR_LOG_ENTRIES;
use super::identify::ENDURANCE_GROUP;
use super::vendor;

/// Pages of an I/O controller.
const IO_PAGES: [u8; 14] = [
    page::SUPPORTED,
    page::ERROR,
    page::SMART,
    page::FIRMWARE_SLOT,
    page::CHANGED_NAMESPACES,
    page::EFFECTS,
    page::ENDURANCE_GROUP,
    page::FEATURE_EFFECTS,
    page::MANAGEMENT_EFFECTS,
    page::SANITIZE_STATUS,
    scaleflux::ADDITIONAL_SMART,
    scaleflux::EXTENDED_HEALTH,
    scaleflux::READ_LATENCY,
    scaleflux::WRITE_LATENCY,
];
/// Pages of a discovery controller.
const DISCOVERY_PAGES: [u8; 3] = [page::SUPPORTED, page::ERROR, page::DISCOVERY];

const CHANGES_BLOCKS: u32 = effect::SUPPORTED | effect::BLOCK_CONTENT;

const ADMIN_EFFECTS: [CommandEffects; 12] = [
    (admin_opcode::GET_LOG_PAGE, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::IDENTIFY, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::ABORT, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::SET_FEATURES, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::GET_FEATURES, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::ASYNC_EVENT_REQUEST, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::KEEP_ALIVE, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::SCALEFLUX_SET_FEATURE, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (admin_opcode::SCALEFLUX_GET_FEATURE, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (
        admin_opcode::SANITIZE,
        CHANGES_BLOCKS | effect::EXCLUSIVE_IN_SUBSYSTEM | effect::SCOPE_SUBSYSTEM,
    ),
    (FABRICS_OPCODE, effect::SUPPORTED | effect::SCOPE_CONTROLLER),
    (
        admin_opcode::FORMAT_NVM,
        CHANGES_BLOCKS
            | effect::NAMESPACE_CAPABILITY
            | effect::EXCLUSIVE_IN_NAMESPACE
            | effect::SCOPE_NAMESPACE,
    ),
];

/// Without the scope that admin commands report: Linux takes it for an unusual effect of I/O
/// commands, and warns.
const IO_EFFECTS: [CommandEffects; 7] = [
    (io_opcode::FLUSH, effect::SUPPORTED),
    (io_opcode::WRITE, CHANGES_BLOCKS),
    (io_opcode::READ, effect::SUPPORTED),
    (io_opcode::COMPARE, effect::SUPPORTED),
    (io_opcode::WRITE_ZEROES, CHANGES_BLOCKS),
    (io_opcode::DATASET_MANAGEMENT, CHANGES_BLOCKS),
    (io_opcode::VERIFY, effect::SUPPORTED),
];

const CONTROLLER_FEATURES: [u8; 10] = [
    id::ARBITRATION,
    id::POWER_MANAGEMENT,
    id::TEMPERATURE_THRESHOLD,
    id::ERROR_RECOVERY,
    id::NUMBER_OF_QUEUES,
    id::WRITE_ATOMICITY,
    id::ASYNC_EVENT_CONFIGURATION,
    id::KEEP_ALIVE_TIMER,
    id::HOST_BEHAVIOR,
    id::HOST_IDENTIFIER,
];

impl<D: Door> Controller<D> {
    /// The part of a log page that the command asks for.
    pub(super) fn log_page(&self, sqe: &Sqe, get: &GetLogPage) -> Result<Vec<u8>, Rejection> {
        self.check_log_page(sqe, get)?;
        part_of(self.whole_page(get), get)
    }

    /// Whether the host may ask for it, and has room for it.
    pub(super) fn check_log_page(&self, sqe: &Sqe, get: &GetLogPage) -> Result<(), Rejection> {
        let pages: &[u8] = if self.is_discovery() { &DISCOVERY_PAGES } else { &IO_PAGES };
        if !pages.contains(&get.page) {
            let location = ErrorLocation::byte(40);
            return Err(Rejection { status: Status::INVALID_LOG_PAGE.dnr(), location });
        }
        if get.offset_is_index {
            return Err(Rejection::field(58));
        }
        if get.bytes > self.wire.limits.transfer_bytes_max.into() {
            return Err(Rejection::field(42));
        }
        if get.page == page::ENDURANCE_GROUP && get.specific_id != ENDURANCE_GROUP {
            return Err(Rejection::field(46));
        }
        // Pages are of the controller, not of one namespace.
        if !matches!(sqe.nsid.get(), 0 | NSID_ALL) && get.page == page::SMART {
            return Err(Rejection::field(4));
        }
        check_room(sqe, get.bytes as usize)
    }

    fn whole_page(&self, get: &GetLogPage) -> Vec<u8> {
        match get.page {
            page::SUPPORTED if self.is_discovery() => supported_pages(&DISCOVERY_PAGES),
            page::SUPPORTED => supported_pages(&IO_PAGES),
            page::ERROR => self.error_log(),
            page::SMART => self.smart_log(),
            page::FIRMWARE_SLOT => self.firmware_log(),
            page::CHANGED_NAMESPACES => {
                namespace_list(self.events.borrow().changed_namespaces()).to_vec()
            }
            page::ENDURANCE_GROUP => self.endurance_log(),
            page::EFFECTS => effects_log(get.command_set),
            page::FEATURE_EFFECTS => feature_effects_log(),
            page::SANITIZE_STATUS => self.sanitize_log(),
            page::DISCOVERY => self.discovery_log(self.service.door.generation()),
            scaleflux::ADDITIONAL_SMART => vendor::additional_smart(&self.space()),
            scaleflux::EXTENDED_HEALTH => vendor::extended_health(&self.space()),
            // NVMe-MI commands: none is supported.
            page::MANAGEMENT_EFFECTS => vec![0; 4096],
            other => unreachable!("log page {other:#x} is listed, and nothing makes it"),
        }
    }

    fn error_log(&self) -> Vec<u8> {
        let errors = self.association.errors();
        let mut page: Vec<u8> =
            errors.entries().flat_map(|entry| entry.as_bytes().to_vec()).collect();
        page.resize(ERROR_LOG_ENTRIES * 64, 0);
        page
    }

    /// Of the pools of the host's volumes; commands and errors are those of the whole target.
    fn smart_log(&self) -> Vec<u8> {
        const DATA_UNIT_BYTES: u64 = 512 * 1000;
        const SECONDS_PER_HOUR: u64 = 3600;
        let health = self.service.door.health(&self.host().nqn);
        let traffic = self.service.target.traffic_totals();
        let units = |bytes: u64| u128::from(bytes.div_ceil(DATA_UNIT_BYTES)).into();
        let mut log = SmartLog::new_zeroed();
        log.temperature = kelvin(health.drives.celsius).into();
        log.percentage_used = health.drives.used_percent;
        log.critical_warning = warnings_of(&health);
        log.endurance_groups = log.critical_warning;
        log.available_spare = health.spare_percent;
        log.spare_threshold = health.spare_threshold_percent;
        log.data_units_read = units(health.space.host_read);
        log.data_units_written = units(health.space.host_written);
        log.host_reads = u128::from(traffic.read_commands).into();
        log.host_writes = u128::from(traffic.write_commands).into();
        log.power_cycles = u128::from(health.power_cycles).into();
        let hours = self.service.target.running_for().as_secs() / SECONDS_PER_HOUR;
        log.power_on_hours = u128::from(hours).into();
        log.unsafe_shutdowns = u128::from(health.unsafe_shutdowns).into();
        log.media_errors = u128::from(health.media_errors).into();
        log.error_log_entries = u128::from(traffic.errors).into();
        log.as_bytes().to_vec()
    }

    /// Of the one group that all pools of the host's volumes are, from the figures of the SMART
    /// log. Its units are larger.
    fn endurance_log(&self) -> Vec<u8> {
        const UNIT_BYTES: u64 = 1_000_000_000;
        let health = self.service.door.health(&self.host().nqn);
        let traffic = self.service.target.traffic_totals();
        let units = |bytes: u64| u128::from(bytes.div_ceil(UNIT_BYTES)).into();
        let space = health.space;
        let mut log = EnduranceGroupLog::new_zeroed();
        log.critical_warning = warnings_of(&health);
        log.available_spare = health.spare_percent;
        log.spare_threshold = health.spare_threshold_percent;
        log.percentage_used = health.drives.used_percent;
        log.data_units_read = units(space.host_read);
        log.data_units_written = units(space.host_written);
        log.media_units_written = units(space.drives_written);
        log.host_reads = u128::from(traffic.read_commands).into();
        log.host_writes = u128::from(traffic.write_commands).into();
        log.media_errors = u128::from(health.media_errors).into();
        log.error_log_entries = u128::from(traffic.errors).into();
        log.total_capacity = u128::from(space.provisioned).into();
        log.unallocated_capacity = u128::from(space.safe_to_write.min(space.provisioned)).into();
        log.as_bytes().to_vec()
    }

    fn space(&self) -> SpaceFigures {
        self.service.door.health(&self.host().nqn).space
    }

    fn firmware_log(&self) -> Vec<u8> {
        let mut log = FirmwareSlotLog::new_zeroed();
        log.active = 1;
        log.revisions[0] = ascii_padded(&self.service.door.subsystem().firmware);
        log.as_bytes().to_vec()
    }

    /// The discovery log for this host.
    pub(super) fn discovery_log(&self, generation: u64) -> Vec<u8> {
        let door = &self.service.door;
        let sees_namespaces = !door.namespaces(&self.host().nqn).is_empty();
        let portals = self.service.target.portals();
        let nqn = door.subsystem().nqn;
        let entries = discovery::entries(&portals, self.wire.local, &nqn, sees_namespaces);
        discovery::log_page(generation, &entries)
    }
}

/// The commands of a command set. Of a set that is not there: no I/O commands. (nvme-cli asks for
/// zoned namespaces' commands too, and takes a refusal for a failure of the whole log.)
fn effects_log(command_set: u8) -> Vec<u8> {
    let io: &[CommandEffects] = if command_set == CSI_NVM { &IO_EFFECTS } else { &[] };
    EffectsLog::new(&ADMIN_EFFECTS, io).as_bytes().to_vec()
}

fn feature_effects_log() -> Vec<u8> {
    let mut page = vec![0; 1024];
    let mut put = |feature: u8, effects: u32| {
        page[usize::from(feature) * 4..][..4].copy_from_slice(&effects.to_le_bytes());
    };
    for feature in CONTROLLER_FEATURES {
        put(feature, feature_effects::SUPPORTED | feature_effects::SCOPE_CONTROLLER);
    }
    let namespace = feature_effects::NAMESPACE_CAPABILITY | feature_effects::SCOPE_NAMESPACE;
    put(id::WRITE_PROTECTION, feature_effects::SUPPORTED | namespace);
    page
}

/// What the command asks for of a page; zeros beyond its end.
pub(super) fn part_of(page: Vec<u8>, get: &GetLogPage) -> Result<Vec<u8>, Rejection> {
    let start =
        usize::try_from(get.offset).ok().filter(|start| *start <= page.len() && start % 4 == 0);
    let start = start.ok_or(Rejection::field(48))?;
    let mut part = page[start..].to_vec();
    part.resize(get.bytes as usize, 0);
    Ok(part)
}

/// A composite temperature: 0 where none is known.
fn kelvin(celsius: Option<i16>) -> u16 {
    celsius.and_then(|celsius| u16::try_from(i32::from(celsius) + 273).ok()).unwrap_or(0)
}

/// Critical Warning.
pub(super) fn warnings_of(health: &HealthFigures) -> u8 {
    let spare_low = health.spare_percent < health.spare_threshold_percent;
    (if spare_low { critical_warning::SPARE } else { 0 })
        | (if health.degraded { critical_warning::RELIABILITY } else { 0 })
        | (if health.read_only { critical_warning::READ_ONLY } else { 0 })
}
