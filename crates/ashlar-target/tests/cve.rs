//! What brought other targets down, case by case, beside the cases of `hostile.rs` and `teardown.rs`.

mod support;

use std::io::Write;

use ashlar_nvme::fabrics::{AuthTransfer, FabricsCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, FatalStatus, Pdu};
use ashlar_nvme::property::offset;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use support::{Queue, Rig, eventually};

fn terminated(queue: &mut Queue) -> u16 {
    queue.last_words().expect("the target says why it closes").0
}

fn asked(rig: &Rig, bytes: u32) -> (Queue, Queue, DataHeader) {
    let (admin, mut io) = rig.host();
    let sqe = io.write_sqe(0, SglDescriptor::transport(bytes));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    let (cid, ttag) = (r2t.cid, r2t.ttag);
    (admin, io, DataHeader { cid, ttag, offset: 0, length: bytes, last: true, success: false })
}

// "nvmet-tcp: add bounds checks in nvmet_tcp_build_pdu_iovec": offset and length that exceed the transfer
// only together, by one sector, by one byte, or by overflowing 32 bits.
#[test]
fn commit_52a0a985_offsets_and_lengths_that_exceed_the_transfer_together() {
    let rig = Rig::start();
    for (offset, length) in [(4096, 8192), (8188, 8), (8192, 4096), (u32::MAX - 4095, 4096), (1 << 31, 4096)]
    {
        let (_admin, mut io, header) = asked(&rig, 8192);
        io.send(&Pdu::H2cData(DataHeader { offset, length, ..header }), &vec![1; length as usize]);
        assert_eq!(terminated(&mut io), FatalStatus::DataOutOfRange as u16, "{offset} + {length}");
    }
    let (_admin, mut io) = rig.host();
    assert_eq!(io.read(0, 2).1, [0; 8192], "nothing of it was written");
}

// CVE-2025-21927: a header length of the peer's was used as the range of the digest.
#[test]
fn cve_2025_21927_header_lengths_are_checked_before_digests() {
    let rig = Rig::start();
    for header_bytes in [0, 1, 7, 24, 71, 73, 128, 255] {
        let mut queue = Queue::shaken(rig.io, Digests { header: true, data: true });
        let mut bytes = queue.encode(&Pdu::Command(Sqe::new(0x7f, Cid(1), 1)), &[]);
        bytes[2] = header_bytes;
        queue.send_raw(&bytes);
        let words = queue.last_words().expect("it says why");
        assert_eq!((words.0, words.1), (FatalStatus::InvalidHeaderField as u16, 2), "{header_bytes}");
    }
}

// CVE-2025-38035: a TLS handshake that failed left the socket with a callback of none.
#[test]
fn cve_2025_38035_tls_where_there_is_none_is_a_normal_end() {
    let rig = Rig::start();
    let client_hello = [0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3];
    for _ in 0..200 {
        let mut queue = Queue::open(rig.io);
        queue.stream.write_all(&client_hello).unwrap();
        assert_eq!(terminated(&mut queue), FatalStatus::InvalidHeaderField as u16);
    }
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

// CVE-2026-23148: an answer made the host send the same command again while the old one was being released.
#[test]
fn cve_2026_23148_an_identifier_is_free_as_soon_as_its_answer_is_sent() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let mut sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    for round in 0..500 {
        sqe.sgl =
            if round % 2 == 0 { SglDescriptor::in_capsule(4096) } else { SglDescriptor::transport(4096) };
        let (cqe, _) = io.exchange(sqe, &[round as u8; 4096]);
        assert_eq!((cqe.cid, cqe.status()), (sqe.cid, Status::SUCCESS));
    }
}

// "nvmet-tcp: bound the SGL data length before allocating": before a host is known, every length is refused.
#[test]
fn sgl_length_before_connect_takes_no_memory() {
    let rig = Rig::start();
    for length in [1023, 1025, 1 << 20, u32::MAX] {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        let connect = FabricsCommand::Connect(support::connect_command(0));
        let sqe = connect.to_sqe(queue.cid(), SglDescriptor::transport(length));
        assert_eq!(queue.exchange(sqe, &[]).0.status().code(), Status::SGL_LENGTH_INVALID, "{length}");
    }
}

// spdk #1996: discovery, then a connection to what it named, at once and many times.
#[test]
fn spdk_1996_discovery_and_then_a_connection() {
    let rig = Rig::start();
    for _ in 0..20 {
        let discovery = Queue::admin(rig.discovery, support::DISCOVERY, support::HOST);
        let mut admin = rig.admin();
        drop(discovery);
        assert_eq!(admin.property(offset::CSTS), 1);
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
}

// nvmet-auth: lengths within authentication messages were believed. None is offered here: whatever length a
// message has, it is consumed and refused, on every kind of queue, and the stream goes on.
#[test]
fn nvmet_auth_messages_of_any_length_are_refused_and_consumed() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    for queue in [&mut admin, &mut io] {
        for length in [0, 1, 16, 4096, 8192] {
            let auth = AuthTransfer {
                protocol_specific_0: 1,
                protocol_specific_1: 1,
                security_protocol: 0xe9,
                length: u32::MAX - length,
            };
            let sqe = FabricsCommand::AuthSend(auth).to_sqe(queue.cid(), SglDescriptor::in_capsule(length));
            let (cqe, _) = queue.exchange(sqe, &vec![0xff; length as usize]);
            assert_eq!(cqe.status().code(), Status::INVALID_OPCODE, "{length}");
        }
    }
}
