//! How associations end, and what is left of them: nothing.

use std::net::Shutdown;

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Pdu, TermReq};
use ashlar_nvme::property::{Configuration, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually};

#[test]
fn connected_hosts_are_listed_while_they_are() {
    let rig = Rig::start();
    let (admin, io) = rig.host();
    let hosts = rig.target.connected_hosts();
    assert_eq!(hosts.len(), 1);
    assert_eq!(hosts[0].nqn.as_str(), HOST);
    assert_eq!((hosts[0].host_id, hosts[0].io_queues), (HOST_ID, 1));
    assert_eq!(hosts[0].controller_id, admin.controller_id);
    assert_eq!(hosts[0].address, admin.stream.local_addr().unwrap());
    drop((admin, io));
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
}

#[test]
fn the_end_of_the_admin_queue_ends_all_queues() {
    let rig = Rig::start();
    let (admin, mut io) = rig.host();
    drop(admin);
    assert!(io.receive().is_none());
}

// An earlier association's write that reached the store after the host had come back would
// overwrite what the host has written since.
#[test]
fn a_host_that_comes_back_waits_until_its_old_commands_have_ended() {
    let rig = Rig::start();
    let (admin, mut io) = rig.host();
    rig.volume.hold(true);
    let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(sqe, &[1; 4096]);
    eventually("the write runs", || rig.volume.held_count() == 1);
    drop((admin, io));
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
    let mut back = Queue::shaken(rig.io, Digests::NONE);
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    let sqe = FabricsCommand::Connect(connect_command(0))
        .to_sqe(back.cid(), SglDescriptor::in_capsule(1024));
    use ashlar_nvme::zerocopy::IntoBytes;
    back.send_command(sqe, data.as_bytes());
    // Another host need not wait.
    let other = Queue::admin(rig.io, SUBSYSTEM, "nqn.2014-08.org.example:other");
    let hosts = rig.target.connected_hosts();
    assert!(hosts.iter().all(|host| host.controller_id == other.controller_id));
    rig.volume.hold(false);
    assert_eq!(back.finish(&[]).0.status(), Status::SUCCESS);
}

// blktests 040, 061; "timed-out zero-copy write later reaches the old target with new data".
#[test]
fn data_that_come_after_the_association_has_ended_are_never_applied() {
    let rig = Rig::start();
    let (admin, mut io) = rig.host();
    let sqe = io.write_sqe(0, SglDescriptor::transport(8192));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    drop(admin);
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
    let header = DataHeader {
        cid: r2t.cid,
        ttag: r2t.ttag,
        offset: 0,
        length: 8192,
        last: true,
        success: false,
    };
    let bytes = io.encode(&Pdu::H2cData(header), &[1; 8192]);
    let _ = std::io::Write::write_all(&mut io.stream, &bytes);
    assert!(io.receive().is_none());
    let (_admin, mut io) = rig.host();
    assert_eq!(io.read(0, 2).1, [0; 8192]);
}

#[test]
fn connections_reset_in_the_middle_of_everything_leave_nothing_behind() {
    let mut rig = Rig::start();
    for round in 0..20 {
        let (admin, mut io) = rig.host();
        for lba in 0..20 {
            let sqe = io.write_sqe(lba, SglDescriptor::transport(4096 * (1 + lba as u32)));
            io.send_command(sqe, &[]);
        }
        if round % 2 == 0 {
            io.stream.shutdown(Shutdown::Both).unwrap();
        }
        drop((admin, io));
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    rig.shutdown();
}

#[test]
fn a_shutdown_answers_what_runs_and_closes() {
    let mut rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    rig.volume.hold(true);
    let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(sqe, &[1; 4096]);
    eventually("the write runs", || rig.volume.held_count() == 1);
    let volume = rig.volume.clone();
    let release = std::thread::spawn(move || {
        assert!(admin.receive().is_none(), "the admin queue is closed while the write runs");
        volume.hold(false);
    });
    rig.shutdown();
    release.join().unwrap();
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
    assert!(io.receive().is_none());
}

// blktests 055: a write just after its namespace was disabled.
#[test]
fn data_for_a_namespace_that_went_meanwhile_are_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let sqe = io.write_sqe(0, SglDescriptor::transport(8192));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    rig.door.remove(Nsid(1));
    let header = DataHeader {
        cid: r2t.cid,
        ttag: r2t.ttag,
        offset: 0,
        length: 8192,
        last: true,
        success: false,
    };
    io.send(&Pdu::H2cData(header), &[1; 8192]);
    assert_eq!(io.finish(&[]).0.status().code(), Status::INVALID_NAMESPACE);
}

// blktests 058: a namespace's number that is another volume a moment later.
#[test]
fn a_namespace_replaced_under_load_is_the_new_one_at_once() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for round in 1..20 {
        assert_eq!(io.write(0, &[round; 4096]), Status::SUCCESS);
        rig.door.add(Nsid(1), MemoryVolumeOptions::new(1 << 20));
        assert_eq!(io.read(0, 1).1, [0; 4096]);
    }
}

#[test]
fn a_controller_that_is_enabled_again_before_it_was_disabled_stays_ready() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    rig.volume.hold(true);
    let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(sqe, &[1; 4096]);
    eventually("the write runs", || rig.volume.held_count() == 1);
    admin.set_cc(Configuration(0x0046_0000));
    admin.set_cc(Configuration::enable());
    rig.volume.hold(false);
    while io.receive().is_some() {}
    assert_eq!(admin.property(offset::CSTS) & 1, 1);
}

/// Sends `end`, which ends an I/O queue, and a write, at once. What the write's block holds once
/// the queue is gone.
fn written_behind(end: impl FnOnce(&mut Queue) -> Pdu) -> Vec<u8> {
    let rig = Rig::start();
    let (admin, mut io) = rig.host();
    // What executes commands is warm: it begins at once with the next one.
    assert_eq!(io.read(0, 1).0, Status::SUCCESS);
    let end = end(&mut io);
    let write = Pdu::Command(io.write_sqe(0, SglDescriptor::in_capsule(4096)));
    let bytes = [io.encode(&end, &[]), io.encode(&write, &[1; 4096])].concat();
    io.send_raw(&bytes);
    while io.receive().is_some() {}
    eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
    Queue::io(rig.io, &admin, 2).read(0, 1).1
}

#[test]
fn what_comes_behind_a_terminate_request_is_not_executed() {
    let end = |_: &mut Queue| Pdu::HostTermReq(TermReq { status: 1, information: 0 });
    assert_eq!(written_behind(end), [0; 4096]);
}

#[test]
fn what_comes_behind_a_disconnect_is_not_executed() {
    let end = |io: &mut Queue| {
        let disconnect = FabricsCommand::Disconnect { record_format: 0 };
        Pdu::Command(disconnect.to_sqe(io.cid(), SglDescriptor::transport(0)))
    };
    assert_eq!(written_behind(end), [0; 4096]);
}
