//! The behaviours that blktests checks of a target (tests nvme/002 to nvme/063), each by its
//! number. Which have no case here, and why, is in docs/known-defects.md. With several clients of
//! the kernel's own, `tests/linux` runs the same against the daemon.

use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, Connect, ConnectData};
use ashlar_nvme::feature::{QueueCounts, id};
use ashlar_nvme::identify::{IdentifyController, IdentifyNamespace, cns, namespaces_of_list};
use ashlar_nvme::io::IoCommand;
use ashlar_nvme::log::{ErrorLogEntry, SmartLog, page};
use ashlar_nvme::pdu::{Digests, Pdu};
use ashlar_nvme::property::Configuration;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Cid;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::memory_door::MemoryVolumeOptions;
use ashlar_volume::{AccessList, HostNqn, Nsid};

use crate::support::{
    DISCOVERY, HOST, HOST_ID, Queue, Rig, SUBSYSTEM, VOLUME_BYTES, connect_command, eventually,
    pattern,
};

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

/// A discovery controller with a keep alive timeout of a second.
fn watched_discovery(rig: &Rig) -> Queue {
    let mut queue = Queue::shaken(rig.discovery, Digests::NONE);
    let command = Connect { keep_alive_ms: 1000, ..connect_command(0) };
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, DISCOVERY, HOST);
    assert_eq!(queue.connect(&command, &data).0.status(), Status::SUCCESS);
    queue.enable();
    queue
}

#[test]
fn nvme_003_a_discovery_controller_lives_by_keep_alives_beyond_its_timeout() {
    let rig = Rig::start();
    let (mut alive, mut silent) = (watched_discovery(&rig), watched_discovery(&rig));
    std::thread::scope(|scope| {
        let expired = scope.spawn(|| assert!(silent.receive().is_none(), "it expires"));
        while !expired.is_finished() {
            assert_eq!(alive.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
        }
    });
    assert_eq!(discovery_names(&mut alive), 3, "it has outlived one that is as old");
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
fn nvme_016_017_a_thousand_namespaces_come_and_go_and_discovery_is_asked_meanwhile() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let mut discovery = Queue::admin(rig.discovery, DISCOVERY, HOST);
    let mut change = |change: &dyn Fn(Nsid)| {
        for nsid in 2..=1000 {
            change(Nsid(nsid));
            if nsid % 100 == 0 {
                assert_eq!(discovery_names(&mut discovery), 3, "at {nsid}");
            }
        }
    };
    change(&|nsid| drop(rig.door.add(nsid, MemoryVolumeOptions::null(1 << 20))));
    assert_eq!(active(&mut admin), (1..=1000).collect::<Vec<_>>());
    change(&|nsid| rig.door.remove(nsid));
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
    let controller =
        IdentifyController::read_from_bytes(&admin.identify(cns::CONTROLLER, 0).1).unwrap();
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
    rig.door.change(Nsid(1), |info| info.access = other.into()).unwrap();
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
fn nvme_040_a_reset_under_io_answers_or_ends_every_command() {
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
        let connected: Vec<Queue> =
            (1..=queues as u16).map(|id| Queue::io(rig.io, &admin, id)).collect();
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
fn nvme_055_a_write_in_flight_while_its_namespace_goes_and_one_just_after() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    rig.volume.hold(true);
    let in_flight = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(in_flight, &[1; 4096]);
    eventually("the write runs", || rig.volume.held_count() == 1);
    rig.door.remove(Nsid(1));
    let after = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    let (refused, _) = io.exchange(after, &[2; 4096]);
    assert_eq!((refused.cid, refused.status().code()), (after.cid, Status::INVALID_NAMESPACE));
    rig.volume.hold(false);
    let (done, _) = io.finish(&[]);
    // It began while there was one.
    assert_eq!((done.cid, done.status()), (in_flight.cid, Status::SUCCESS));
    rig.door.add(Nsid(1), small());
    assert_eq!(io.read(0, 1).1, [0; 4096], "the next one has nothing of it");
}

/// Sends writes of the first eight blocks, whose content is `first` and so on, and does not await
/// them. Returns what they are called.
fn send_eight_writes(io: &mut Queue, first: u8) -> [Cid; 8] {
    [0, 1, 2, 3, 4, 5, 6, 7].map(|lba| {
        let sqe = io.write_sqe(lba, SglDescriptor::in_capsule(4096));
        io.send_command(sqe, &[first + lba as u8; 4096]);
        Cid(sqe.cid.get())
    })
}

// Both paths are optimised always: there are no states for a host to be told of.
#[test]
fn nvme_057_commands_of_a_path_that_is_lost_are_done_by_the_other() {
    let rig = Rig::start();
    let (first, mut io) = rig.host();
    let (_second, mut other) = rig.host();
    rig.volume.hold(true);
    send_eight_writes(&mut io, 1);
    eventually("the writes run", || rig.volume.held_count() == 8);
    drop((first, io));
    send_eight_writes(&mut other, 1);
    eventually("they run once more, and wait for nothing", || rig.volume.held_count() == 16);
    rig.volume.hold(false);
    (0..8).for_each(|_| assert_eq!(other.finish(&[]).0.status(), Status::SUCCESS));
    (0..8).for_each(|lba| assert_eq!(other.read(lba, 1).1, [1 + lba as u8; 4096]));
}

#[test]
fn nvme_057_io_goes_on_while_other_paths_come_and_go() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            for round in 0..300 {
                assert_eq!(io.write(64, &[round as u8; 4096]), Status::SUCCESS);
                assert_eq!(io.read(64, 1).1, [round as u8; 4096]);
            }
        });
        while !load.is_finished() {
            let (admin, mut path) = rig.host();
            send_eight_writes(&mut path, 1);
            assert_eq!(path.finish(&[]).0.status(), Status::SUCCESS);
            drop((path, admin));
        }
    });
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

/// Blocks that are written as one, and blocks between the boundaries that such a write must not
/// cross.
fn atomic_blocks(rig: &Rig) -> (u32, u32) {
    let data = rig.admin().identify(cns::NAMESPACE, 1).1;
    let data = IdentifyNamespace::read_from_bytes(&data).unwrap();
    let [unit, boundary] = [data.atomic_write_power_fail, data.atomic_boundary_power_fail];
    assert_eq!((data.atomic_write_normal, data.atomic_boundary_normal), (unit, boundary));
    (u32::from(unit.get()) + 1, u32::from(boundary.get()) + 1)
}

// What is there after a loss of power is the simulation's to show.
#[test]
fn nvme_059_atomic_writes_of_two_hosts_are_never_mixed() {
    let rig = Rig::start();
    let (unit, boundary) = atomic_blocks(&rig);
    assert!(unit > 1 && boundary.is_multiple_of(unit), "{unit} in {boundary}");
    let bytes = unit as usize * 4096;
    std::thread::scope(|scope| {
        let writers = [1, 2].map(|value| {
            let (_admin, mut io) = rig.host();
            scope.spawn(move || {
                (0..50).for_each(|_| {
                    assert_eq!(io.write(boundary.into(), &vec![value; bytes]), Status::SUCCESS)
                });
                drop(_admin);
            })
        });
        let (_admin, mut io) = rig.host();
        while !writers.iter().all(|writer| writer.is_finished()) {
            let (status, data) = io.read(boundary.into(), unit);
            assert_eq!(status, Status::SUCCESS);
            assert!(data.iter().all(|byte| *byte == data[0]), "a part of one and of the other");
        }
    });
}

#[test]
fn nvme_060_an_association_that_the_target_ends_under_io_is_made_anew() {
    let rig = Rig::start();
    for round in 1..=5 {
        let (mut admin, mut io) = rig.host();
        rig.volume.hold(true);
        send_eight_writes(&mut io, round);
        eventually("the writes run", || rig.volume.held_count() == 8);
        // A PDU of no type: the target has to give up the association.
        admin.send_raw(&[0x42, 0, 72, 0, 72, 0, 0, 0]);
        eventually("the association has ended", || rig.target.connected_hosts().is_empty());
        rig.volume.hold(false);
        assert!(admin.last_words().is_some());
        assert!(io.receive().is_none(), "no answer goes out after the end");
        let (_admin, mut io) = rig.host();
        assert_eq!(io.write(7, &[100; 4096]), Status::SUCCESS);
        (0..7).for_each(|lba| {
            assert_eq!(io.read(lba, 1).1, [round + lba as u8; 4096], "those that ran are done")
        });
        assert_eq!(io.read(7, 1).1, [100; 4096], "and none of them later");
    }
}

#[test]
fn nvme_061_a_target_torn_down_and_set_up_under_io() {
    // This host does not close before the target has: nothing is won by waiting for it.
    let limits = Limits { closing_timeout: Duration::from_millis(20), ..Limits::default() };
    let mut rig = Rig::with_limits(limits.clone());
    for round in 1..=5 {
        let (admin, mut io) = rig.host();
        assert_eq!(io.write(8, &[round; 4096]), Status::SUCCESS);
        let sent = send_eight_writes(&mut io, round);
        rig.again(limits.clone());
        let mut answered = vec![8];
        while let Some((pdu, _)) = io.receive() {
            let Pdu::Response(cqe) = pdu else { panic!("unexpected {pdu:?}") };
            assert_eq!(cqe.status(), Status::SUCCESS);
            answered.extend(sent.iter().position(|cid| *cid == cqe.cid()));
        }
        drop(admin);
        let (_admin, mut io) = rig.host();
        for lba in answered {
            let written = [round + lba as u8 % 8; 4096];
            assert_eq!(io.read(lba as u64, 1).1, written, "what was answered is there");
        }
    }
}
