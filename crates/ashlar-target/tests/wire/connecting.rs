//! Connections on their way to a finished Connect: how long they have, what they wait for, and what
//! they may join.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Pdu};
use ashlar_nvme::property::Configuration;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_target::nvme_tcp::Limits;

use crate::support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually, hurried};

/// Between two bytes of a host that trickles: many of them are within the timeout, and all of a
/// PDU's are far beyond.
const TRICKLE: Duration = Duration::from_millis(50);
const HANDSHAKE: Duration = Duration::from_millis(500);

fn rig() -> Rig {
    Rig::with_limits(hurried(HANDSHAKE))
}

/// Whether the target closes, in the time between two bytes.
fn closes(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 256]) {
        Ok(count) => count == 0,
        Err(error) => !matches!(
            error.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
        ),
    }
}

/// Bytes that trickle before a test gives up: 10 s and more, which is less than any other timeout.
const TRICKLED_MAX: usize = 200;

/// Sends `bytes` one by one. Whether the target closes before the last of them, and soon.
fn is_cut_off(mut queue: Queue, bytes: &[u8]) -> bool {
    queue.stream.set_read_timeout(Some(TRICKLE)).unwrap();
    bytes.iter().take(TRICKLED_MAX).any(|byte| {
        // What is sent to a connection that is closed may fail.
        let _ = queue.stream.write(&[*byte]);
        closes(&mut queue.stream)
    })
}

fn connect_data() -> ConnectData {
    ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST)
}

#[test]
fn a_handshake_that_trickles_is_cut_off() {
    let rig = rig();
    let mut request = vec![0, 0, 128, 0, 128, 0, 0, 0];
    request.resize(128, 0);
    assert!(is_cut_off(Queue::open(rig.io), &request));
}

#[test]
fn a_connect_whose_capsule_trickles_is_cut_off() {
    let rig = rig();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let sqe = FabricsCommand::Connect(connect_command(0))
        .to_sqe(queue.cid(), SglDescriptor::in_capsule(1024));
    let bytes = queue.encode(&Pdu::Command(sqe), connect_data().as_bytes());
    assert!(is_cut_off(queue, &bytes));
}

#[test]
fn a_connect_whose_data_trickle_is_cut_off() {
    let rig = rig();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let sqe = FabricsCommand::Connect(connect_command(0))
        .to_sqe(queue.cid(), SglDescriptor::transport(1024));
    queue.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = queue.receive() else { panic!("no R2T") };
    let (cid, ttag) = (r2t.cid, r2t.ttag);
    let header = DataHeader { cid, ttag, offset: 0, length: 1024, last: true, success: false };
    let bytes = queue.encode(&Pdu::H2cData(header), connect_data().as_bytes());
    assert!(is_cut_off(queue, &bytes));
}

#[test]
fn a_connection_that_has_finished_connect_may_be_silent() {
    let rig = rig();
    let (mut admin, mut io) = rig.host();
    // As long as it takes for one that has not, which began later.
    let mut silent = Queue::shaken(rig.io, Digests::NONE);
    assert!(silent.receive().is_none());
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    admin.enable();
}

/// Longer than any test takes.
const FOR_EVER: Duration = Duration::from_secs(600);

/// Leaves a write of a queue that is gone, which runs until the volume is not held any more.
fn leave_a_write(rig: &Rig, mut io: Queue) {
    let held = rig.volume.held_count();
    rig.volume.hold(true);
    let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(sqe, &[1; 4096]);
    eventually("the write runs", || rig.volume.held_count() > held);
}

/// A host's write that still runs, while the host itself is gone.
fn leave_a_host(rig: &Rig) {
    let (admin, io) = rig.host();
    leave_a_write(rig, io);
    drop(admin);
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
}

#[test]
fn a_connect_that_waits_for_earlier_commands_is_told_in_time_to_come_back() {
    let rig =
        Rig::with_limits(Limits { connect_wait: Duration::from_millis(100), ..Limits::default() });
    leave_a_host(&rig);
    let mut back = Queue::shaken(rig.io, Digests::NONE);
    let (busy, _) = back.connect(&connect_command(0), &connect_data());
    // Without Do Not Retry.
    assert_eq!(busy.status(), Status::CONNECT_CONTROLLER_BUSY);
    assert!(rig.target.connected_hosts().is_empty());
    rig.volume.hold(false);
    eventually("it is taken", || {
        back.connect(&connect_command(0), &connect_data()).0.status() == Status::SUCCESS
    });
}

// The same host in its initial file system and after its start may have two identifiers.
#[test]
fn a_host_that_comes_back_with_another_identifier_waits_for_its_earlier_commands_too() {
    let rig =
        Rig::with_limits(Limits { connect_wait: Duration::from_millis(100), ..Limits::default() });
    leave_a_host(&rig);
    let mut back = Queue::shaken(rig.io, Digests::NONE);
    let data = ConnectData::new([9; 16], CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    assert_eq!(
        back.connect(&connect_command(0), &data).0.status(),
        Status::CONNECT_CONTROLLER_BUSY
    );
    rig.volume.hold(false);
    eventually("it is taken", || {
        back.connect(&connect_command(0), &data).0.status() == Status::SUCCESS
    });
}

#[test]
fn a_connection_whose_connect_waits_is_closed_in_time() {
    let connect_wait = HANDSHAKE - Duration::from_millis(1);
    let rig = Rig::with_limits(Limits { connect_wait, ..hurried(HANDSHAKE) });
    leave_a_host(&rig);
    let mut back = Queue::shaken(rig.io, Digests::NONE);
    let sqe = FabricsCommand::Connect(connect_command(0))
        .to_sqe(back.cid(), SglDescriptor::in_capsule(1024));
    let bytes = back.encode(&Pdu::Command(sqe), connect_data().as_bytes());
    // It comes so late that its own time would be up after the handshake's.
    std::thread::sleep(HANDSHAKE / 2);
    let _ = back.stream.write_all(&bytes);
    assert!(back.receive().is_none());
    rig.volume.hold(false);
}

#[test]
fn the_discovery_service_waits_for_no_commands() {
    let rig = patient();
    leave_a_host(&rig);
    Queue::admin(rig.discovery, crate::support::DISCOVERY, HOST);
    rig.volume.hold(false);
}

#[test]
fn a_connect_needs_no_memory_that_a_host_has_taken() {
    let limits = Limits {
        connection_bytes_max: 4 << 20,
        host_bytes_max: 4 << 20,
        reactor_bytes_max: 4 << 20,
        transfer_timeout: FOR_EVER,
        ..Limits::default()
    };
    let rig = Rig::with_limits(limits);
    let (_admin, mut io) = rig.host();
    for _ in 0..4 {
        let sqe = io.write_sqe(0, SglDescriptor::transport(1 << 20));
        io.send_command(sqe, &[]);
        assert!(
            matches!(io.receive(), Some((Pdu::R2t(_), _))),
            "it has memory that it does not fill"
        );
    }
    let mut other = Queue::shaken(rig.io, Digests::NONE);
    let data =
        ConnectData::new([8; 16], CNTLID_DYNAMIC, SUBSYSTEM, "nqn.2014-08.org.example:other");
    let sqe = FabricsCommand::Connect(connect_command(0))
        .to_sqe(other.cid(), SglDescriptor::transport(1024));
    assert_eq!(other.exchange(sqe, data.as_bytes()).0.status(), Status::SUCCESS);
}

/// Begins to connect I/O queue 2 while queue 1, which is gone, still writes.
fn late_queue(rig: &Rig) -> (Queue, Queue) {
    let (admin, io) = rig.host();
    leave_a_write(rig, io);
    eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
    let mut late = Queue::shaken(rig.io, Digests::NONE);
    let data = ConnectData::new(HOST_ID, admin.controller_id, SUBSYSTEM, HOST);
    let sqe = FabricsCommand::Connect(connect_command(2))
        .to_sqe(late.cid(), SglDescriptor::in_capsule(1024));
    late.send_command(sqe, data.as_bytes());
    // Another one is answered after it: so it has begun.
    let mut other = Queue::shaken(rig.io, Digests::NONE);
    let (refused, _) = other.connect(&connect_command(65), &data);
    assert_eq!(refused.status().code(), Status::CONNECT_INVALID_PARAMETERS);
    (admin, late)
}

fn patient() -> Rig {
    Rig::with_limits(hurried(FOR_EVER))
}

#[test]
fn an_io_queue_waits_until_the_earlier_ones_of_its_controller_write_no_more() {
    let rig = patient();
    let (_admin, mut late) = late_queue(&rig);
    assert_eq!(rig.target.connected_hosts()[0].io_queues, 0);
    rig.volume.hold(false);
    assert_eq!(late.finish(&[]).0.status(), Status::SUCCESS);
    assert_eq!(late.read(0, 1).1, [1; 4096], "the earlier write came before");
}

#[test]
fn an_io_queue_whose_controller_was_reset_meanwhile_is_refused() {
    let rig = patient();
    let (mut admin, mut late) = late_queue(&rig);
    admin.set_cc(Configuration(0x0046_0000));
    admin.set_cc(Configuration::enable());
    rig.volume.hold(false);
    assert_eq!(late.finish(&[]).0.status().code(), Status::COMMAND_SEQUENCE_ERROR);
    assert_eq!(rig.target.connected_hosts()[0].io_queues, 0);
    let mut fresh = Queue::io(rig.io, &admin, 2);
    assert_eq!(fresh.write(0, &[2; 4096]), Status::SUCCESS);
}

#[test]
fn an_io_queue_whose_controller_has_gone_meanwhile_is_refused() {
    let rig = patient();
    let (admin, mut late) = late_queue(&rig);
    drop(admin);
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
    rig.volume.hold(false);
    assert_eq!(late.finish(&[]).0.status().code(), Status::CONNECT_INVALID_PARAMETERS);
    // Not even once the host is back: its controller is another one.
    let back = rig.admin();
    let data = ConnectData::new(HOST_ID, back.controller_id - 1, SUBSYSTEM, HOST);
    let (refused, _) = late.connect(&connect_command(2), &data);
    assert_eq!(refused.status().code(), Status::CONNECT_INVALID_PARAMETERS);
}

// The data of the Connect and the end of its connection arrive together.
#[test]
fn an_io_queue_whose_connection_ends_with_its_connect_joins_nothing() {
    let rig = Rig::start();
    let admin = rig.admin();
    let data = ConnectData::new(HOST_ID, admin.controller_id, SUBSYSTEM, HOST);
    for queue_id in 1..=64 {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        let connect = FabricsCommand::Connect(connect_command(queue_id));
        let sqe = connect.to_sqe(queue.cid(), SglDescriptor::transport(1024));
        queue.send_command(sqe, &[]);
        let Some((Pdu::R2t(r2t), _)) = queue.receive() else { panic!("no R2T") };
        let (cid, ttag) = (r2t.cid, r2t.ttag);
        let header = DataHeader { cid, ttag, offset: 0, length: 1024, last: true, success: false };
        queue.send(&Pdu::H2cData(header), data.as_bytes());
        queue.stream.shutdown(Shutdown::Write).unwrap();
        while queue.receive().is_some() {}
    }
    eventually("all queues are gone", || rig.target.connected_hosts()[0].io_queues == 0);
    assert_eq!(Queue::io(rig.io, &admin, 1).write(0, &[1; 4096]), Status::SUCCESS);
}
