//! The behaviours that blktests checks of a target (tests nvme/002 to nvme/063), each by its number.
//!
//! Not here, because they are of the host or of what this target does not have: 032 and 050 (PCIe), 033 to 037
//! (passthrough targets), 038 (a subsystem's files), 041 to 045 and 063 (authentication: refused, see
//! `fabrics.rs`), 046 and 049 (the host's passthrough), 056 (the host's network card), 062 (TLS). With several
//! clients of the kernel's own, `tests/linux` runs the same against the daemon.

mod support;

use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::feature::{QueueCounts, id};
use ashlar_nvme::identify::{IdentifyController, IdentifyNamespace, cns, namespaces_of_list};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::log::{ErrorLogEntry, SmartLog, page};
use ashlar_nvme::pdu::Pdu;
use ashlar_nvme::property::Configuration;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::memory_door::MemoryVolumeOptions;
use ashlar_volume::{AccessList, HostNqn, Nsid};
use support::{DISCOVERY, HOST, Queue, Rig, SUBSYSTEM, VOLUME_BYTES, eventually, pattern};

fn active(admin: &mut Queue) -> Vec<u32> {
    let (status, list) = admin.identify(cns::ACTIVE_NAMESPACES, 0);
    assert_eq!(status, Status::SUCCESS);
    namespaces_of_list(&list).collect()
}

fn small() -> MemoryVolumeOptions {
    MemoryVolumeOptions::new(1 << 20)
}

fn reset(admin: &mut Queue) {
    admin.set_cc(Configuration(0x0046_0000));
    while admin.property(ashlar_nvme::property::offset::CSTS) & 1 != 0 {}
    admin.enable();
}

fn discovery_names(queue: &mut Queue) -> usize {
    let header = queue.log(page::DISCOVERY, 1024, 0).1;
    u64::from_le_bytes(header[8..16].try_into().unwrap()) as usize
}

#[test]
fn nvme_002_discovery_with_many_namespaces_names_the_subsystem_once() {
    let rig = Rig::start();
    (2..500).for_each(|nsid| drop(rig.door.add(Nsid(nsid), MemoryVolumeOptions::null(1 << 20))));
    let mut queue = Queue::admin(rig.discovery, DISCOVERY, HOST);
    assert_eq!(discovery_names(&mut queue), 3, "the subsystem, and discovery by two portals");
}

#[test]
fn nvme_003_keep_alives_to_a_discovery_controller_are_answered() {
    let rig = Rig::start();
    let mut queue = Queue::admin(rig.discovery, DISCOVERY, HOST);
    for _ in 0..10 {
        assert_eq!(queue.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
    }
}

#[test]
fn nvme_004_026_every_namespace_has_a_uuid_of_its_own() {
    let rig = Rig::start();
    rig.door.add(Nsid(2), small());
    let mut admin = rig.admin();
    let descriptors = [1, 2].map(|nsid| admin.identify(cns::NAMESPACE_DESCRIPTORS, nsid).1);
    assert_ne!(descriptors[0], descriptors[1]);
    let again = admin.identify(cns::NAMESPACE_DESCRIPTORS, 1).1;
    assert_eq!(descriptors[0], again);
}

#[test]
fn nvme_005_022_a_controller_can_be_reset_again_and_again() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for round in 0..10 {
        let mut io = Queue::io(rig.io, &admin, 1);
        assert_eq!(io.write(0, &[round; 4096]), Status::SUCCESS);
        reset(&mut admin);
        assert!(io.receive().is_none(), "a reset ends the I/O queues");
    }
    let mut io = Queue::io(rig.io, &admin, 1);
    assert_eq!(io.read(0, 1).1, [9; 4096]);
}

#[test]
fn nvme_006_008_a_host_connects_and_sees_what_was_made() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(active(&mut admin), [1]);
    assert_eq!(io.read(0, 1).1, [0; 4096]);
}

#[test]
fn nvme_010_012_029_what_was_written_is_what_is_read() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for blocks in [1, 2, 7, 64, 256] {
        let data = pattern(blocks * 4096, blocks as u32);
        assert_eq!(io.write(blocks as u64 * 3, &data), Status::SUCCESS);
        assert_eq!(io.read(blocks as u64 * 3, blocks as u32), (Status::SUCCESS, data));
    }
}

#[test]
fn nvme_014_a_flush_is_done() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    assert_eq!(io.io_command(IoCommand::Flush, &[]).0, Status::SUCCESS);
}

#[test]
fn nvme_016_017_a_thousand_namespaces_come_and_go() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    (2..=1000).for_each(|nsid| drop(rig.door.add(Nsid(nsid), MemoryVolumeOptions::null(1 << 20))));
    assert_eq!(active(&mut admin), (1..=1000).collect::<Vec<_>>());
    (2..=1000).for_each(|nsid| rig.door.remove(Nsid(nsid)));
    assert_eq!(active(&mut admin), [1]);
}

#[test]
fn nvme_018_a_read_beyond_the_end_is_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let blocks = VOLUME_BYTES / 4096;
    for (start, count) in [(blocks, 1), (blocks - 1, 2), (u64::MAX, 1), (u64::MAX - 1, 256)] {
        assert_eq!(io.read(start, count).0.code(), Status::LBA_OUT_OF_RANGE, "{start} + {count}");
    }
    assert_eq!(io.read(blocks - 1, 1).0, Status::SUCCESS);
}

#[test]
fn nvme_019_discarded_blocks_read_as_zeros() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(4, &[1; 8192]), Status::SUCCESS);
    let mut range = [0; 16];
    (range[4], range[8]) = (1, 4);
    let discard = IoCommand::DatasetManagement { range_count: 1, deallocate: true };
    assert_eq!(io.io_command(discard, &range).0, Status::SUCCESS);
    assert_eq!(io.read(4, 2).1, [[0; 4096], [1; 4096]].concat());
}

#[test]
fn nvme_021_028_lists_name_the_namespace_and_the_subsystem() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let controller = IdentifyController::read_from_bytes(&admin.identify(cns::CONTROLLER, 0).1).unwrap();
    assert_eq!(&controller.subsystem_nqn[..SUBSYSTEM.len()], SUBSYSTEM.as_bytes());
    assert_eq!(active(&mut admin), [1]);
}

#[test]
fn nvme_023_the_smart_log_is_there() {
    let rig = Rig::start();
    let (status, log) = rig.admin().log(page::SMART, 512, 0);
    assert_eq!(status, Status::SUCCESS);
    assert_eq!(SmartLog::read_from_bytes(&log).unwrap().critical_warning, 0);
}

#[test]
fn nvme_025_the_effects_log_has_reads_and_writes() {
    let rig = Rig::start();
    let (status, log) = rig.admin().log(page::EFFECTS, 4096, 0);
    assert_eq!(status, Status::SUCCESS);
    assert_eq!((log[1024 + 4] & 1, log[1024 + 8] & 1), (1, 1));
}

#[test]
fn nvme_027_053_namespaces_are_listed_again_and_again_under_load() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            for round in 0..300 {
                assert_eq!(io.write(round % 64, &[round as u8; 4096]), Status::SUCCESS);
            }
        });
        for _ in 0..50 {
            rig.door.add(Nsid(2), small());
            assert_eq!(active(&mut admin), [1, 2]);
            rig.door.remove(Nsid(2));
            assert_eq!(active(&mut admin), [1]);
        }
        load.join().unwrap();
    });
}

#[test]
fn nvme_030_the_discovery_generation_counts_changes() {
    let rig = Rig::start();
    let mut queue = Queue::admin(rig.discovery, DISCOVERY, HOST);
    let generation = |queue: &mut Queue| {
        let header = queue.log(page::DISCOVERY, 1024, 0).1;
        u64::from_le_bytes(header[..8].try_into().unwrap())
    };
    let before = generation(&mut queue);
    assert_eq!(generation(&mut queue), before, "without a change it stays");
    let other = AccessList::Allow([HostNqn::new("nqn.2014-08.org.example:other").unwrap()].into());
    rig.door.change(Nsid(1), |info| info.access = other).unwrap();
    assert!(generation(&mut queue) > before, "the host sees the subsystem no more");
}

#[test]
fn nvme_031_controllers_deleted_right_after_they_were_made() {
    let rig = Rig::start();
    for _ in 0..50 {
        drop(rig.host());
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
}

#[test]
fn nvme_039_a_failed_command_is_in_the_error_log() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert!(!io.read(1 << 40, 1).0.is_success());
    let log = admin.log(page::ERROR, 64, 0).1;
    assert_eq!(ErrorLogEntry::read_from_bytes(&log).unwrap().opcode, 2);
}

#[test]
fn nvme_040_060_a_reset_under_io_answers_or_ends_every_command() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    rig.volume.hold(true);
    for lba in 0..8 {
        let sqe = io.write_sqe(lba, SglDescriptor::in_capsule(4096));
        io.send_command(sqe, &[1; 4096]);
    }
    eventually("the writes run", || rig.volume.held_count() == 8);
    admin.set_cc(Configuration(0x0046_0000));
    rig.volume.hold(false);
    while io.receive().is_some() {}
    reset(&mut admin);
    let mut io = Queue::io(rig.io, &admin, 1);
    assert_eq!(io.write(0, &[2; 4096]), Status::SUCCESS);
    assert_eq!(io.read(0, 1).1, [2; 4096], "nothing of before comes after");
}

fn grant(admin: &mut Queue, queues: u32) -> QueueCounts {
    let parameter = QueueCounts { submission: queues, completion: queues }.bits();
    let set = AdminCommand::SetFeatures { feature: id::NUMBER_OF_QUEUES, save: false, parameter };
    let (status, granted, _) = admin.admin_command(set, 0, 0);
    assert_eq!(status, Status::SUCCESS);
    QueueCounts::from_bits(granted).unwrap()
}

#[test]
fn nvme_047_queues_of_every_kind_are_alike() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    assert_eq!(grant(&mut admin, 6).submission, 6);
    let mut queues: Vec<Queue> = (1..=6).map(|id| Queue::io(rig.io, &admin, id)).collect();
    for (lba, queue) in queues.iter_mut().enumerate() {
        assert_eq!(queue.write(lba as u64, &[lba as u8 + 1; 4096]), Status::SUCCESS);
    }
    for (lba, queue) in queues.iter_mut().rev().enumerate() {
        assert_eq!(queue.read(lba as u64, 1).1, [lba as u8 + 1; 4096]);
    }
}

#[test]
fn nvme_048_a_host_comes_back_with_another_number_of_queues() {
    let rig = Rig::start();
    for queues in [1, 8, 3, 64] {
        let mut admin = rig.admin();
        assert_eq!(grant(&mut admin, queues).submission, queues);
        let connected: Vec<Queue> = (1..=queues as u16).map(|id| Queue::io(rig.io, &admin, id)).collect();
        eventually("all are there", || {
            let hosts = rig.target.connected_hosts();
            let own = hosts.iter().find(|host| host.controller_id == admin.controller_id);
            own.is_some_and(|host| usize::from(host.io_queues) == connected.len())
        });
    }
}

#[test]
fn nvme_051_052_namespaces_enabled_and_disabled_by_several_at_once() {
    let rig = Rig::start();
    std::thread::scope(|scope| {
        for nsid in 2..6 {
            let door = &rig.door;
            scope.spawn(move || {
                for _ in 0..100 {
                    door.add(Nsid(nsid), small());
                    door.remove(Nsid(nsid));
                }
            });
        }
        let mut admin = rig.admin();
        (0..50).for_each(|_| assert_eq!(active(&mut admin)[0], 1));
    });
    assert_eq!(active(&mut rig.admin()), [1]);
}

#[test]
fn nvme_054_reservations_are_refused_as_long_as_there_are_none() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for opcode in [0x0d, 0x0e, 0x11, 0x15] {
        let sqe = ashlar_nvme::sqe::Sqe::new(opcode, io.cid(), 1);
        assert_eq!(io.exchange(sqe, &[]).0.status().code(), Status::INVALID_OPCODE, "{opcode:#x}");
    }
}

#[test]
fn nvme_055_a_write_just_after_its_namespace_went() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    rig.door.remove(Nsid(1));
    assert_eq!(io.write(0, &[1; 4096]).code(), Status::INVALID_NAMESPACE);
}

#[test]
fn nvme_057_io_goes_on_by_another_controller() {
    let rig = Rig::start();
    let (first, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let (_second, mut other) = rig.host();
    drop((first, io));
    assert_eq!(other.read(0, 1), (Status::SUCCESS, vec![1; 4096]));
    assert_eq!(other.write(0, &[2; 4096]), Status::SUCCESS);
}

#[test]
fn nvme_058_a_number_that_is_another_volume_at_once() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for round in 1..50 {
        assert_eq!(io.write(0, &[round; 4096]), Status::SUCCESS);
        rig.door.add(Nsid(1), small());
        assert_eq!(io.read(0, 1).1, [0; 4096]);
    }
}

#[test]
fn nvme_059_atomic_writes_are_told_of_truthfully() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let data = IdentifyNamespace::read_from_bytes(&admin.identify(cns::NAMESPACE, 1).1).unwrap();
    let (unit, boundary) = (data.atomic_write_power_fail.get(), data.atomic_boundary_power_fail.get());
    assert!(
        unit > 0 && (u32::from(boundary) + 1).is_multiple_of(u32::from(unit) + 1),
        "{unit} in {boundary}"
    );
}

#[test]
fn nvme_061_a_target_torn_down_and_set_up_under_io() {
    // This host does not close before the target has: nothing is won by waiting for it.
    let limits = Limits { closing_timeout: Duration::from_millis(20), ..Limits::default() };
    for _ in 0..5 {
        let mut rig = Rig::with_limits(limits.clone());
        let (admin, mut io) = rig.host();
        let read = IoCommand::Read(BlockRange { start: 0, count: 1 });
        for _ in 0..8 {
            let mut sqe = read.to_sqe(io.cid(), 1);
            sqe.sgl = SglDescriptor::transport(4096);
            io.send_command(sqe, &[]);
        }
        rig.shutdown();
        while let Some((pdu, _)) = io.receive() {
            assert!(matches!(pdu, Pdu::C2hData(_) | Pdu::Response(_)), "{pdu:?}");
        }
        drop(admin);
    }
}
