//! Identify, Get Log Page, Format, Abort.

use ashlar_nvme::admin::{AdminCommand, FormatNvm, GetLogPage, Identify};
use ashlar_nvme::identify::{
    IdentifyController, IdentifyNamespace, IndependentNamespace, NamespaceDescriptor, cns,
    namespaces_of_list, parse_descriptors,
};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::log::{ErrorLogEntry, SmartLog, page};
use ashlar_nvme::sqe::{Fuse, NSID_ALL, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::text::ascii_trimmed;
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_volume::memory_door::MemoryVolumeOptions;
use ashlar_volume::{Door, DrivesHealth, HealthFigures, Nsid, SpaceFigures};

use crate::support::{DISCOVERY, HOST, Queue, Rig, SUBSYSTEM, VOLUME_BYTES};

pub(crate) fn controller(admin: &mut Queue) -> IdentifyController {
    let (status, data) = admin.identify(cns::CONTROLLER, 0);
    assert_eq!(status, Status::SUCCESS);
    IdentifyController::read_from_bytes(&data).unwrap()
}

pub(crate) fn namespace(admin: &mut Queue, nsid: u32) -> IdentifyNamespace {
    let (status, data) = admin.identify(cns::NAMESPACE, nsid);
    assert_eq!(status, Status::SUCCESS);
    IdentifyNamespace::read_from_bytes(&data).unwrap()
}

#[test]
fn the_controller_says_what_it_can_do_and_nothing_else() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let data = controller(&mut admin);
    assert_eq!(data.controller_id.get(), admin.controller_id);
    assert_eq!(ascii_trimmed(&data.serial), "ASHLARMEM");
    assert_eq!(data.max_transfer_exponent, 8);
    assert_eq!(data.optional_io_commands.get(), 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 7, "ONCS");
    assert_eq!(data.optional_admin_commands.get(), 1 << 1, "OACS");
    assert_eq!(data.fused_operations.get(), 1);
    assert_eq!(data.volatile_write_cache & 1, 0, "no volatile write cache");
    assert_eq!(data.command_capsule_16b.get(), (64 + 16384) / 16);
    assert_eq!(data.max_commands.get(), 1024);
    assert_eq!(&data.subsystem_nqn[..SUBSYSTEM.len()], SUBSYSTEM.as_bytes());
}

#[test]
fn a_discovery_controller_is_one() {
    let rig = Rig::start();
    let mut admin = Queue::admin(rig.discovery, DISCOVERY, HOST);
    let data = controller(&mut admin);
    assert_eq!((data.controller_type, data.namespace_id_max.get()), (2, 0));
    assert_eq!(&data.subsystem_nqn[..DISCOVERY.len()], DISCOVERY.as_bytes());
    assert_eq!(admin.identify(cns::NAMESPACE, 1).0.code(), Status::INVALID_FIELD);
    let abort = AdminCommand::Abort { queue_id: 0, cid: ashlar_nvme::sqe::Cid(1) };
    assert_eq!(admin.admin_command(abort, 0, 0).0.code(), Status::INVALID_OPCODE);
    assert_eq!(admin.log(page::SMART, 512, 0).0.code(), Status::INVALID_LOG_PAGE);
}

#[test]
fn namespaces_tell_their_size_their_format_and_what_is_atomic() {
    let rig = Rig::start();
    let small = MemoryVolumeOptions { lba_bytes: 512, ..MemoryVolumeOptions::new(VOLUME_BYTES) };
    rig.door.add(Nsid(2), small);
    let mut admin = rig.admin();
    let (large, small) = (namespace(&mut admin, 1), namespace(&mut admin, 2));
    assert_eq!((large.size.get(), small.size.get()), (VOLUME_BYTES / 4096, VOLUME_BYTES / 512));
    assert_eq!((large.lba_format, small.lba_format), (1, 0));
    let exponents = [small.lba_formats[0].size_exponent, small.lba_formats[1].size_exponent];
    assert_eq!((small.lba_format_count, exponents), (1, [9, 12]));
    // 256 KiB, within a boundary of 1 MiB.
    assert_eq!(
        (large.atomic_write_power_fail.get(), small.atomic_write_power_fail.get()),
        (63, 511)
    );
    assert_eq!(
        (large.atomic_boundary_power_fail.get(), small.atomic_boundary_normal.get()),
        (255, 2047)
    );
    assert_eq!((large.write_granularity.get(), small.write_granularity.get()), (0, 7));
    assert_eq!(large.deallocate_features, 0b1001);
    assert_ne!(large.nguid, small.nguid);
    assert_ne!(large.eui64, [0; 8]);
}

#[test]
fn identifiers_are_the_same_in_all_structures_and_for_ever() {
    let rig = Rig::start();
    let uuid = rig.door.namespaces(&ashlar_volume::HostNqn::new(HOST).unwrap())[0].uuid.0;
    let mut admin = rig.admin();
    let data = namespace(&mut admin, 1);
    let (status, list) = admin.identify(cns::NAMESPACE_DESCRIPTORS, 1);
    assert_eq!(status, Status::SUCCESS);
    let want = [
        NamespaceDescriptor::Eui64(data.eui64),
        NamespaceDescriptor::Nguid(uuid),
        NamespaceDescriptor::Uuid(uuid),
        NamespaceDescriptor::CommandSet(0),
    ];
    assert_eq!(parse_descriptors(&list), want);
    assert_eq!(data.nguid, uuid);
    let mut again = rig.admin();
    assert_eq!(namespace(&mut again, 1).eui64, data.eui64);
}

#[test]
fn every_list_of_namespaces_holds_those_above_the_number_given() {
    let rig = Rig::start();
    for nsid in [3, 9] {
        rig.door.add(Nsid(nsid), MemoryVolumeOptions::new(1 << 20));
    }
    let mut admin = rig.admin();
    for cns in
        [cns::ACTIVE_NAMESPACES, cns::ACTIVE_NAMESPACES_OF_SET, cns::ALLOCATED_NAMESPACES, 0x1a]
    {
        let (status, list) = admin.identify(cns, 1);
        assert_eq!(status, Status::SUCCESS);
        assert_eq!(namespaces_of_list(&list).collect::<Vec<_>>(), [3, 9], "{cns:#x}");
    }
    assert_eq!(
        admin.identify(cns::ACTIVE_NAMESPACES, NSID_ALL).0.code(),
        Status::INVALID_NAMESPACE
    );
}

#[test]
fn every_structure_that_linux_asks_for_is_there() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for cns in [
        cns::NAMESPACE_OF_SET,
        cns::CONTROLLER_OF_SET,
        cns::NAMESPACE_INDEPENDENT,
        cns::ALLOCATED_NAMESPACE,
        cns::ATTACHED_CONTROLLERS,
        cns::CONTROLLERS,
        cns::COMMAND_SETS,
    ] {
        assert_eq!(admin.identify(cns, 1).0, Status::SUCCESS, "{cns:#x}");
    }
    let independent = admin.identify(cns::NAMESPACE_INDEPENDENT, 1).1;
    assert_eq!(IndependentNamespace::read_from_bytes(&independent).unwrap().status, 1, "ready");
    let controllers = admin.identify(cns::CONTROLLERS, 0).1;
    assert_eq!(u16::from_le_bytes([controllers[2], controllers[3]]), admin.controller_id);
}

#[test]
fn what_there_is_not_is_refused_exactly() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for cns in [0x04, 0x09, 0x14, 0x16, 0x17, 0x20, 0xff] {
        assert_eq!(admin.identify(cns, 1).0, Status::INVALID_FIELD.dnr().more(), "{cns:#x}");
    }
    let zoned =
        Identify { cns: cns::NAMESPACE_OF_SET, controller_id: 0, specific_id: 0, command_set: 2 };
    let (status, ..) = admin.admin_command(AdminCommand::Identify(zoned), 1, 4096);
    assert_eq!(status.code(), Status::INVALID_FIELD);
    assert_eq!(admin.identify(cns::NAMESPACE, 0).0.code(), Status::INVALID_NAMESPACE);
    assert_eq!(admin.identify(cns::NAMESPACE_DESCRIPTORS, 77).0.code(), Status::INVALID_NAMESPACE);
    assert!(
        admin.identify(cns::NAMESPACE, 77).1.iter().all(|byte| *byte == 0),
        "an inactive namespace"
    );
    let identify =
        Identify { cns: cns::CONTROLLER, controller_id: 0, specific_id: 0, command_set: 0 };
    let (status, ..) = admin.admin_command(AdminCommand::Identify(identify), 0, 4092);
    assert_eq!(status.code(), Status::SGL_LENGTH_INVALID);
}

#[test]
fn fused_admin_commands_are_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let mut sqe = AdminCommand::KeepAlive.to_sqe(admin.cid(), 0);
    sqe.set_fuse(Fuse::First);
    assert_eq!(admin.exchange(sqe, &[]).0.status().code(), Status::INVALID_FIELD);
    assert_eq!(admin.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
}

#[test]
fn supported_log_pages_are_those_that_can_be_read() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let supported = admin.log(page::SUPPORTED, 1024, 0).1;
    for number in 0..=255_u8 {
        let (status, _) = admin.log(number, 4096, 0);
        let expected = supported[usize::from(number) * 4] & 1 == 1;
        // No group has the number that it is asked for here.
        let is_read = status.is_success()
            || number == page::ENDURANCE_GROUP && status.code() == Status::INVALID_FIELD;
        assert_eq!(is_read, expected, "page {number:#x}");
    }
    assert_eq!(admin.log(page::ANA, 4096, 0).0, Status::INVALID_LOG_PAGE.dnr().more());
}

#[test]
fn offsets_and_lengths_of_log_pages_are_honoured() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let whole = admin.log(page::EFFECTS, 4096, 0).1;
    assert_eq!(admin.log(page::EFFECTS, 8, 1024).1, whole[1024..1032]);
    assert_eq!(admin.log(page::EFFECTS, 8, 4096).1, [0; 8], "at its end");
    assert_eq!(admin.log(page::EFFECTS, 8, 4100).0.code(), Status::INVALID_FIELD);
    assert_eq!(admin.log(page::EFFECTS, 8, 2).0.code(), Status::INVALID_FIELD);
    let index = GetLogPage {
        page: page::EFFECTS,
        specific: 0,
        specific_id: 0,
        retain_event: false,
        bytes: 8,
        offset: 1,
        offset_is_index: true,
        command_set: 0,
    };
    let (status, ..) = admin.admin_command(AdminCommand::GetLogPage(index), 0, 8);
    assert_eq!(status.code(), Status::INVALID_FIELD);
    let huge = GetLogPage { bytes: 1 << 30, offset: 0, offset_is_index: false, ..index };
    let (status, ..) = admin.admin_command(AdminCommand::GetLogPage(huge), 0, 1 << 30);
    assert_eq!(status.code(), Status::INVALID_FIELD);
}

#[test]
fn the_effects_log_names_every_supported_command() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let log = admin.log(page::EFFECTS, 4096, 0).1;
    let supported = |start: usize, opcode: usize| log[start + opcode * 4] & 1 == 1;
    let admin_commands: Vec<usize> = (0..256).filter(|opcode| supported(0, *opcode)).collect();
    let base = [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18, 0x7f, 0x80, 0x84];
    let vendors = [0xd5, 0xd6];
    assert_eq!(admin_commands, [&base[..], &vendors[..]].concat());
    let io_commands: Vec<usize> = (0..256).filter(|opcode| supported(1024, *opcode)).collect();
    assert_eq!(io_commands, [0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0c]);
}

#[test]
fn smart_figures_are_real() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &vec![1; 600 << 10]), Status::SUCCESS);
    io.read(0, 1);
    io.read(1 << 40, 1);
    rig.door.set_health(HealthFigures {
        spare_percent: 5,
        spare_threshold_percent: 10,
        degraded: true,
        media_errors: 3,
        unsafe_shutdowns: 2,
        power_cycles: 9,
        space: SpaceFigures { host_read: 1, host_written: 600 << 10, ..SpaceFigures::default() },
        drives: DrivesHealth { used_percent: 105, celsius: Some(-3) },
        ..HealthFigures::default()
    });
    let (status, data) = admin.log(page::SMART, 512, 0);
    assert_eq!(status, Status::SUCCESS);
    let log = SmartLog::read_from_bytes(&data).unwrap();
    assert_eq!((log.critical_warning, log.available_spare, log.spare_threshold), (0b101, 5, 10));
    assert_eq!((log.data_units_written.get(), log.data_units_read.get()), (2, 1), "rounded up");
    assert_eq!((log.host_reads.get(), log.host_writes.get()), (1, 1));
    assert_eq!((log.percentage_used, log.temperature.get()), (105, 270), "kelvin");
    assert_eq!(
        (log.media_errors.get(), log.unsafe_shutdowns.get(), log.power_cycles.get()),
        (3, 2, 9)
    );
    assert_eq!(log.error_log_entries.get(), 1);
    let get = |nsid, admin: &mut Queue| {
        let get = GetLogPage {
            page: page::SMART,
            specific: 0,
            specific_id: 0,
            retain_event: false,
            bytes: 512,
            offset: 0,
            offset_is_index: false,
            command_set: 0,
        };
        admin.admin_command(AdminCommand::GetLogPage(get), nsid, 512).0
    };
    assert_eq!(get(NSID_ALL, &mut admin), Status::SUCCESS);
    assert_eq!(get(1, &mut admin).code(), Status::INVALID_FIELD);
}

#[test]
fn the_error_log_tells_which_command_failed_and_where() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    let (status, _) = io.read(1 << 40, 1);
    assert_eq!(status, Status::LBA_OUT_OF_RANGE.dnr().more());
    let log = admin.log(page::ERROR, 128, 0).1;
    let entry = ErrorLogEntry::read_from_bytes(&log[..64]).unwrap();
    assert_eq!((entry.error_count.get(), entry.queue_id.get(), entry.nsid.get()), (1, 1, 1));
    assert_eq!((entry.lba.get(), entry.opcode, entry.location.get()), (1 << 40, 2, 40));
    assert_eq!(Status::from_bits(entry.status.get() >> 1), status);
    assert_eq!(log[64..], [0; 64]);
}

#[test]
fn the_firmware_slot_log_names_the_revision() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let log = admin.log(page::FIRMWARE_SLOT, 512, 0).1;
    assert_eq!(log[0], 1);
    assert_eq!(ascii_trimmed(&log[8..16]), rig.door.subsystem().firmware);
}

#[test]
fn a_format_changes_the_sector_size_and_empties_the_namespace() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let format = |lba_format, metadata_settings, secure_erase| {
        AdminCommand::Format(FormatNvm { lba_format, metadata_settings, secure_erase })
    };
    assert_eq!(admin.admin_command(format(0, 0, 0), 1, 0).0, Status::SUCCESS);
    assert_eq!(namespace(&mut admin, 1).size.get(), VOLUME_BYTES / 512);
    assert_eq!(admin.admin_command(format(1, 0, 0), 1, 0).0, Status::SUCCESS);
    assert_eq!(io.read(0, 1).1, [0; 4096]);
    assert_eq!(admin.admin_command(format(2, 0, 0), 1, 0).0.code(), Status::INVALID_FORMAT);
    assert_eq!(admin.admin_command(format(1, 1, 0), 1, 0).0.code(), Status::INVALID_FORMAT);
    assert_eq!(admin.admin_command(format(1, 0, 0), 5, 0).0.code(), Status::INVALID_NAMESPACE);
    assert_eq!(
        admin.admin_command(format(1, 0, 0), NSID_ALL, 0).0.code(),
        Status::INVALID_NAMESPACE
    );
}

#[test]
fn write_zeroes_of_a_whole_namespace_is_not_there() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    const NAMESPACE_ZEROES: u32 = 1 << 23;
    for flags in [NAMESPACE_ZEROES, NAMESPACE_ZEROES | 1 << 25] {
        let mut zeroes = Sqe::new(0x08, io.cid(), 1);
        zeroes.set_cdw(12, flags);
        assert_eq!(io.exchange(zeroes, &[]).0.status().code(), Status::INVALID_FIELD);
    }
}

#[test]
fn copy_and_other_optional_commands_are_not_there() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    for opcode in [0x0d, 0x10, 0x14, 0x81] {
        let mut sqe = AdminCommand::KeepAlive.to_sqe(admin.cid(), 0);
        sqe.opcode = opcode;
        assert_eq!(
            admin.exchange(sqe, &[]).0.status().code(),
            Status::INVALID_OPCODE,
            "{opcode:#x}"
        );
    }
    for opcode in [0x04, 0x19] {
        let mut sqe = IoCommand::Verify(BlockRange { start: 0, count: 1 }).to_sqe(io.cid(), 1);
        sqe.opcode = opcode;
        assert_eq!(io.exchange(sqe, &[]).0.status().code(), Status::INVALID_OPCODE, "{opcode:#x}");
    }
}
