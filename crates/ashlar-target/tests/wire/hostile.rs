//! Hosts that break the protocol, by mistake or on purpose. None may harm the target or other
//! hosts.

use std::time::Duration;

use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{Digests, FatalStatus, Pdu, TermReq};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;

use crate::support::{Queue, Rig, SUBSYSTEM, eventually, hurried};

/// Status and information of the terminate request that ends the connection.
fn terminated(queue: &mut Queue) -> (u16, u32) {
    let (status, information, _) = queue.last_words().expect("the target says why it closes");
    (status, information)
}

/// The target still serves others.
fn still_serves(rig: &Rig) {
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn a_command_before_the_handshake_is_refused() {
    let rig = Rig::start();
    let mut queue = Queue::open(rig.io);
    queue.send_command(Sqe::new(0x7f, Cid(1), 1), &[]);
    queue.expect(4, Digests::NONE);
    assert_eq!(terminated(&mut queue), (FatalStatus::SequenceError as u16, 0));
    still_serves(&rig);
}

#[test]
fn a_second_handshake_is_refused_and_its_header_returned() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let mut bytes = vec![0, 0, 128, 0, 128, 0, 0, 0];
    bytes.resize(128, 0);
    queue.send_raw(&bytes);
    let (status, _, header) = queue.last_words().unwrap();
    assert_eq!(status, FatalStatus::SequenceError as u16);
    assert_eq!(header, bytes[..8]);
}

#[test]
fn headers_that_contradict_themselves_are_refused_by_field() {
    let rig = Rig::start();
    let cases: [(&str, [u8; 8], u32); 7] = [
        ("unknown type", [0x42, 0, 72, 0, 72, 0, 0, 0], 0),
        ("a type of controllers", [0x05, 0, 24, 0, 24, 0, 0, 0], 0),
        ("digest that was not agreed", [0x04, 1, 72, 0, 76, 0, 0, 0], 1),
        ("header length", [0x04, 0, 71, 0, 72, 0, 0, 0], 2),
        ("data offset within the header", [0x04, 0, 72, 8, 80, 0, 0, 0], 3),
        ("shorter than its header", [0x04, 0, 72, 0, 8, 0, 0, 0], 4),
        ("4 GiB of in-capsule data", [0x04, 0, 72, 72, 0xff, 0xff, 0xff, 0xff], 4),
    ];
    for (what, header, field) in cases {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        queue.send_raw(&header);
        assert_eq!(
            terminated(&mut queue),
            (FatalStatus::InvalidHeaderField as u16, field),
            "{what}"
        );
    }
    still_serves(&rig);
}

#[test]
fn a_wrong_header_digest_ends_the_connection() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests { header: true, data: false });
    let mut bytes = queue.encode(&Pdu::Command(Sqe::new(0x7f, Cid(1), 1)), &[]);
    bytes[40] ^= 1;
    queue.send_raw(&bytes);
    assert_eq!(terminated(&mut queue).0, FatalStatus::HeaderDigestError as u16);
}

/// A queue that is asked for the data of a write.
fn asked_for_data(rig: &Rig) -> (Queue, Queue) {
    let (admin, mut io) = rig.host();
    let sqe = io.write_sqe(0, SglDescriptor::transport(8192));
    io.send_command(sqe, &[]);
    assert!(matches!(io.receive(), Some((Pdu::R2t(_), _))));
    (admin, io)
}

// A refused opcode's in-capsule data must be consumed, or the stream is lost.
#[test]
fn vendor_opcodes_with_data_do_not_lose_the_stream() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for opcode in [0xd3, 0xc1, 0x19, 0x0d, 0x11, 0x15] {
        let mut sqe = Sqe::new(opcode, io.cid(), 1);
        sqe.sgl = SglDescriptor::in_capsule(4096);
        let (cqe, _) = io.exchange(sqe, &[4; 4096]);
        assert_eq!(cqe.status().code(), Status::INVALID_OPCODE, "{opcode:#x}");
    }
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn reservations_without_data_are_refused_and_harm_nothing() {
    // A Reservation Acquire with preempt-and-abort and no data crashed another target.
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let mut sqe = Sqe::new(0x11, io.cid(), 1);
    sqe.set_cdw(10, 2);
    assert_eq!(io.exchange(sqe, &[]).0.status().code(), Status::INVALID_OPCODE);
    still_serves(&rig);
}

#[test]
fn a_command_identifier_in_use_is_refused() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    rig.volume.hold(true);
    let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(sqe, &[1; 4096]);
    io.send_command(sqe, &[2; 4096]);
    assert_eq!(io.finish(&[]).0.status().code(), Status::COMMAND_ID_CONFLICT);
    rig.volume.hold(false);
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
}

#[test]
fn more_commands_than_the_queue_has_entries_end_the_connection() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    rig.volume.hold(true);
    for lba in 0..32 {
        let sqe = io.write_sqe(lba, SglDescriptor::in_capsule(4096));
        io.send_command(sqe, &[1; 4096]);
    }
    eventually("32 commands run", || rig.volume.held_count() == 32);
    let one_more = io.write_sqe(32, SglDescriptor::in_capsule(4096));
    io.send_command(one_more, &[1; 4096]);
    eventually("the queue has gone", || rig.target.connected_hosts()[0].io_queues == 0);
    rig.volume.hold(false);
    assert_eq!(terminated(&mut io).0, FatalStatus::SequenceError as u16);
}

#[test]
fn a_host_may_terminate() {
    let rig = Rig::start();
    let mut queue = rig.admin();
    queue.framing = ashlar_nvme::pdu::Framing::HANDSHAKE;
    queue.send(&Pdu::HostTermReq(TermReq { status: 1, information: 4 }), &[9; 8]);
    assert!(queue.receive().is_none());
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
}

#[test]
fn a_silent_connection_is_closed_and_others_are_not_held_up() {
    let rig = Rig::with_limits(hurried(Duration::from_secs(1)));
    let mut silent: Vec<Queue> = (0..20).map(|_| Queue::open(rig.io)).collect();
    let mut half = Queue::open(rig.io);
    half.send_raw(&[0, 0, 128, 0, 128]);
    still_serves(&rig);
    assert!(silent.iter_mut().all(|queue| queue.receive().is_none()));
    assert!(half.receive().is_none());
}

#[test]
fn data_that_were_asked_for_and_do_not_come_end_the_connection() {
    let limits = Limits { transfer_timeout: Duration::from_millis(50), ..Limits::default() };
    let rig = Rig::with_limits(limits);
    let (_admin, mut io) = asked_for_data(&rig);
    assert!(io.last_words().is_none(), "it is closed without a complaint");
    still_serves(&rig);
}

#[test]
fn a_host_that_takes_nothing_is_given_up_and_its_memory_freed() {
    let limits = Limits {
        transfer_timeout: Duration::from_millis(100),
        connection_bytes_max: 8 << 20,
        reactor_bytes_max: 8 << 20,
        ..Limits::default()
    };
    let rig = Rig::with_limits(limits);
    let (_admin, mut io) = rig.host();
    for _ in 0..31 {
        let read = IoCommand::Read(BlockRange { start: 0, count: 256 });
        let mut sqe = read.to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::transport(1 << 20);
        io.send_command(sqe, &[]);
    }
    eventually("the queue has gone", || rig.target.connected_hosts()[0].io_queues == 0);
    let (_other, mut io) = rig.host();
    assert_eq!(io.read(0, 256).0, Status::SUCCESS);
}

#[test]
fn a_host_that_asks_for_much_and_sends_nothing_stops_itself_alone() {
    let limits = Limits {
        connection_bytes_max: 4 << 20,
        host_bytes_max: 8 << 20,
        reactor_bytes_max: 16 << 20,
        ..Limits::default()
    };
    let rig = Rig::with_limits(limits);
    let silent_admin = rig.admin();
    let mut silent: Vec<Queue> = (1..=16).map(|id| Queue::io(rig.io, &silent_admin, id)).collect();
    for queue in &mut silent {
        for lba in [0, 256, 512, 768] {
            let sqe = queue.write_sqe(lba, SglDescriptor::transport(1 << 20));
            queue.send_command(sqe, &[]);
        }
    }
    for queue in &mut silent[..2] {
        assert!(matches!(queue.receive(), Some((Pdu::R2t(_), _))), "it is asked for data");
    }
    let other = Queue::admin(rig.io, SUBSYSTEM, "nqn.2014-08.org.example:other");
    let mut io = Queue::io(rig.io, &other, 1);
    assert_eq!(io.write(0, &vec![1; 1 << 20]), Status::SUCCESS);
    assert_eq!(io.read(0, 256).0, Status::SUCCESS);
}
