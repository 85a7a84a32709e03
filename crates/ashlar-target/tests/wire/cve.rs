//! What brought other targets down, case by case: docs/known-defects.md names the test of each,
//! some of which are in other files.

use std::io::Write;
use std::net::Shutdown;
use std::thread;

use ashlar_nvme::fabrics::{AuthTransfer, CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, FatalStatus, Pdu, Ttag};
use ashlar_nvme::property::offset;
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_target::nvme_tcp::Limits;

use crate::support::left::reset;
use crate::support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually};

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

/// The R2T of a write.
fn asked(rig: &Rig, bytes: u32) -> (Queue, Queue, DataHeader) {
    let (admin, mut io) = rig.host();
    let sqe = io.write_sqe(0, SglDescriptor::transport(bytes));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    let (cid, ttag) = (r2t.cid, r2t.ttag);
    (admin, io, DataHeader { cid, ttag, offset: 0, length: bytes, last: true, success: false })
}

/// Data that name a command and are for no transfer that is live are refused by that field.
fn is_unknown(queue: &mut Queue, header: DataHeader) {
    queue.send(&Pdu::H2cData(header), &vec![1; header.length as usize]);
    assert_eq!(terminated(queue), (FatalStatus::InvalidHeaderField as u16, 10));
}

/// A host's first bytes: the handshake, and Connect of an admin queue.
fn first_bytes() -> Vec<u8> {
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    let sqe =
        FabricsCommand::Connect(connect_command(0)).to_sqe(Cid(1), SglDescriptor::in_capsule(1024));
    let mut bytes = vec![0, 0, 128, 0, 128, 0, 0, 0];
    bytes.resize(128 + 72, 0);
    bytes[128..136].copy_from_slice(&[4, 0, 72, 72, 0x48, 4, 0, 0]);
    bytes[136..].copy_from_slice(sqe.as_bytes());
    bytes.extend_from_slice(data.as_bytes());
    bytes
}

// CVE-2023-5178: a queue that failed while it was set up was freed twice. It fails here after every
// byte, by a reset and in order, and where the set-up itself is refused.
#[test]
fn cve_2023_5178_connections_torn_down_at_every_step_of_their_setup() {
    let rig = Rig::with_limits(Limits {
        connecting_max: 10_000,
        connections_max: 60_000,
        ..Limits::default()
    });
    let bytes = first_bytes();
    for length in 0..=bytes.len() {
        for in_order in [false, true] {
            let mut queue = Queue::open(rig.io);
            queue.send_raw(&bytes[..length]);
            match in_order {
                true => queue.stream.shutdown(Shutdown::Both).unwrap(),
                false => reset(queue),
            }
        }
    }
    for _ in 0..200 {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        let nobody = ConnectData::new(HOST_ID, 77, SUBSYSTEM, HOST);
        assert!(!queue.connect(&connect_command(1), &nobody).0.status().is_success());
        reset(queue);
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    still_serves(&rig);
}

// CVE-2023-6356, CVE-2023-6535, CVE-2023-6536: lengths and offsets of H2CData beyond the transfer,
// or for a command that expects no data, led to wild pointers in the kernel's target.
#[test]
fn cve_2023_6356_data_beyond_the_transfer() {
    let rig = Rig::start();
    let (_admin, mut io, header) = asked(&rig, 8192);
    io.send(&Pdu::H2cData(DataHeader { length: 12288, ..header }), &[1; 12288]);
    assert_eq!(terminated(&mut io).0, FatalStatus::DataOutOfRange as u16);
    still_serves(&rig);
}

#[test]
fn cve_2023_6535_data_for_a_command_that_expects_none() {
    let rig = Rig::start();
    let (_admin, mut io, header) = asked(&rig, 8192);
    is_unknown(&mut io, DataHeader { ttag: Ttag(77), ..header });
    let (_admin, mut io) = rig.host();
    rig.volume.hold(true);
    let read = IoCommand::Read(BlockRange { start: 0, count: 1 });
    let mut sqe = read.to_sqe(io.cid(), 1);
    sqe.sgl = SglDescriptor::transport(4096);
    io.send_command(sqe, &[]);
    eventually("the read runs", || rig.volume.held_count() == 1);
    let header = DataHeader { cid: Cid(sqe.cid.get()), ttag: Ttag(0), length: 4096, ..header };
    io.send(&Pdu::H2cData(header), &[1; 4096]);
    eventually("the queue is ending", || {
        rig.target.connected_hosts().iter().all(|host| host.io_queues == 0)
    });
    rig.volume.hold(false);
    assert_eq!(terminated(&mut io), (FatalStatus::InvalidHeaderField as u16, 10));
    still_serves(&rig);
}

#[test]
fn cve_2023_6536_data_at_a_wrong_offset() {
    let rig = Rig::start();
    let (_admin, mut io, header) = asked(&rig, 8192);
    io.send(&Pdu::H2cData(DataHeader { offset: u32::MAX - 3, length: 8192, ..header }), &[1; 8192]);
    assert_eq!(terminated(&mut io).0, FatalStatus::DataOutOfRange as u16);
    let (_admin, mut io, header) = asked(&rig, 8192);
    io.send(&Pdu::H2cData(DataHeader { offset: 4096, length: 4096, ..header }), &[1; 4096]);
    assert_eq!(terminated(&mut io), (FatalStatus::InvalidHeaderField as u16, 12));
    still_serves(&rig);
}

// CVE-2026-22998: H2CData before any command was set up, and for one that has not been asked for
// its data, because it waits for memory.
#[test]
fn cve_2026_22998_data_before_any_command() {
    let rig = Rig::with_limits(Limits { connection_bytes_max: 4 << 20, ..Limits::default() });
    let header = DataHeader {
        cid: Cid(0),
        ttag: Ttag(0),
        offset: 0,
        length: 4096,
        last: true,
        success: false,
    };
    is_unknown(&mut Queue::shaken(rig.io, Digests::NONE), header);
    let (_admin, mut io) = rig.host();
    is_unknown(&mut io, header);
    let (_admin, mut io) = rig.host();
    let sqes = [0; 5].map(|_| io.write_sqe(0, SglDescriptor::transport(1 << 20)));
    sqes.iter().for_each(|sqe| io.send_command(*sqe, &[]));
    let tags = [0; 4].map(|_| match io.receive() {
        Some((Pdu::R2t(r2t), _)) => r2t.ttag,
        other => panic!("{other:?} instead of an R2T"),
    });
    let ttag = (0..).map(Ttag).find(|tag| !tags.contains(tag)).unwrap();
    is_unknown(&mut io, DataHeader { cid: Cid(sqes[4].cid.get()), ttag, ..header });
    still_serves(&rig);
}

// CVE-2023-6121: names without their final zero were read beyond their field.
#[test]
fn cve_2023_6121_names_without_an_end() {
    let rig = Rig::start();
    let unended = [b'n'; 256];
    let (mut subsystem, mut host) = (
        ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST),
        ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST),
    );
    subsystem.subsystem_nqn = unended;
    host.host_nqn = unended;
    for (data, place) in [(subsystem, 0x1_0100), (host, 0x1_0200)] {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        let (cqe, _) = queue.connect(&connect_command(0), &data);
        assert_eq!(cqe.status().code(), Status::CONNECT_INVALID_PARAMETERS);
        assert_eq!(cqe.result.get(), place);
    }
}

// spdk #1546: Connect whose data come by R2T crashed the kernel's target.
#[test]
fn spdk_1546_connect_with_data_by_r2t() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    let sqe =
        FabricsCommand::Connect(connect_command(0)).to_sqe(Cid(1), SglDescriptor::transport(1024));
    let (cqe, _) = queue.exchange(sqe, data.as_bytes());
    assert_eq!(cqe.status(), Status::SUCCESS);
    queue.enable();
}

// "nvmet-tcp: add bounds checks in nvmet_tcp_build_pdu_iovec": offset and length that exceed the
// transfer only together, by one sector, by one byte, or by overflowing 32 bits.
#[test]
fn commit_52a0a985_offsets_and_lengths_that_exceed_the_transfer_together() {
    let rig = Rig::start();
    for (offset, length) in
        [(4096, 8192), (8188, 8), (8192, 4096), (u32::MAX - 4095, 4096), (1 << 31, 4096)]
    {
        let (_admin, mut io, header) = asked(&rig, 8192);
        io.send(&Pdu::H2cData(DataHeader { offset, length, ..header }), &vec![1; length as usize]);
        assert_eq!(
            terminated(&mut io).0,
            FatalStatus::DataOutOfRange as u16,
            "{offset} + {length}"
        );
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
        assert_eq!(
            terminated(&mut queue),
            (FatalStatus::InvalidHeaderField as u16, 2),
            "{header_bytes}"
        );
    }
}

// CVE-2025-38035: a TLS handshake that failed left the socket with a callback of none.
#[test]
fn cve_2025_38035_tls_where_there_is_none_is_a_normal_end() {
    let rig = Rig::start();
    let client_hello = [0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3];
    for round in 0..10_000 {
        let mut queue = Queue::open(rig.io);
        queue.stream.write_all(&client_hello).unwrap();
        // Some do not wait for the answer.
        match round % 3 {
            0 => reset(queue),
            _ => assert_eq!(terminated(&mut queue).0, FatalStatus::InvalidHeaderField as u16),
        }
    }
    still_serves(&rig);
}

/// Commands that are outstanding at a time.
const OVERLAPPING: u16 = 16;
/// Answers that each of them has, before it is not sent again.
const ROUNDS: u32 = 200;

/// The command that has this identifier, for the `round`th time: writes in their capsules, writes
/// by R2T, reads.
fn overlapping(cid: u16, round: u32) -> (Sqe, Vec<u8>) {
    let range = BlockRange { start: u64::from(cid), count: 1 };
    let write = IoCommand::Write { range, force_unit_access: false };
    let (command, sgl) = match round % 3 {
        0 => (write, SglDescriptor::in_capsule(4096)),
        1 => (write, SglDescriptor::transport(4096)),
        _ => (IoCommand::Read(range), SglDescriptor::transport(4096)),
    };
    let mut sqe = command.to_sqe(Cid(cid), 1);
    sqe.sgl = sgl;
    (sqe, if round.is_multiple_of(3) { vec![round as u8; 4096] } else { Vec::new() })
}

// CVE-2026-23148: an answer made the host send the same command again while the old one was being
// released. Each command is sent again, as another one, the moment its answer is there, while the
// others are at any point of theirs.
#[test]
fn cve_2026_23148_an_identifier_is_free_as_soon_as_its_answer_is_sent() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let mut rounds = [0; OVERLAPPING as usize];
    (0..OVERLAPPING)
        .map(|cid| overlapping(cid, 0))
        .for_each(|(sqe, data)| io.send_command(sqe, &data));
    while rounds.iter().any(|round| *round < ROUNDS) {
        let (cid, is_success) = match io.receive().expect("the target answers") {
            (Pdu::Response(cqe), _) => (cqe.cid.get(), cqe.status() == Status::SUCCESS),
            (Pdu::C2hData(header), data) => {
                let round = rounds[usize::from(header.cid.0)];
                assert_eq!(data, [(round - 1) as u8; 4096], "what the write before it has written");
                if !header.success {
                    continue;
                }
                (header.cid.0, true)
            }
            (Pdu::R2t(r2t), _) => {
                let header = DataHeader {
                    cid: r2t.cid,
                    ttag: r2t.ttag,
                    offset: 0,
                    length: 4096,
                    last: true,
                    success: false,
                };
                let round = rounds[usize::from(r2t.cid.0)];
                io.send(&Pdu::H2cData(header), &[round as u8; 4096]);
                continue;
            }
            (other, _) => panic!("unexpected {other:?}"),
        };
        assert!(is_success, "{cid}");
        let round = &mut rounds[usize::from(cid)];
        *round += 1;
        if *round < ROUNDS {
            let (sqe, data) = overlapping(cid, *round);
            io.send_command(sqe, &data);
        }
    }
}

// spdk #1996: discovery, then a connection to what it named, at once and many times.
#[test]
fn spdk_1996_discovery_and_then_a_connection() {
    let rig = Rig::start();
    let (discovery, io) = (rig.discovery, rig.io);
    let connect = move || {
        for _ in 0..20 {
            let discovery =
                Queue::admin(discovery, crate::support::DISCOVERY, crate::support::HOST);
            let mut admin = Queue::admin(io, crate::support::SUBSYSTEM, crate::support::HOST);
            drop(discovery);
            assert_eq!(admin.property(offset::CSTS), 1);
        }
    };
    let hosts: Vec<_> = (0..4).map(|_| thread::spawn(connect)).collect();
    hosts.into_iter().for_each(|host| host.join().expect("each is served"));
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
}

/// Authentication messages of this length, which the message itself contradicts.
fn auth(length: u32) -> AuthTransfer {
    AuthTransfer {
        protocol_specific_0: 1,
        protocol_specific_1: 1,
        security_protocol: 0xe9,
        length: u32::MAX - length,
    }
}

// nvmet-auth: lengths within authentication messages were believed. None is offered here: whatever
// length a message has, it is consumed and refused, on every kind of queue, and the stream goes on.
#[test]
fn nvmet_auth_messages_of_any_length_are_refused_and_consumed() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    for queue in [&mut admin, &mut io] {
        for length in [0, 1, 16, 4096, 8192] {
            let sqe = FabricsCommand::AuthSend(auth(length))
                .to_sqe(queue.cid(), SglDescriptor::in_capsule(length));
            let (cqe, _) = queue.exchange(sqe, &vec![0xff; length as usize]);
            assert_eq!(cqe.status().code(), Status::INVALID_OPCODE, "{length}");
        }
    }
}

// The same where the data are to be asked for: they are not, whatever length there is, before
// Connect neither.
#[test]
fn nvmet_auth_messages_that_would_come_by_r2t_are_refused_and_not_asked_for() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    let mut fresh = Queue::shaken(rig.io, Digests::NONE);
    let refusals = [Status::INVALID_OPCODE, Status::INVALID_OPCODE, Status::COMMAND_SEQUENCE_ERROR];
    for (queue, refusal) in [&mut admin, &mut io, &mut fresh].into_iter().zip(refusals) {
        for length in [0, 1, 16, 4096, 1 << 20, u32::MAX] {
            for command in
                [FabricsCommand::AuthSend(auth(length)), FabricsCommand::AuthReceive(auth(length))]
            {
                let sqe = command.to_sqe(queue.cid(), SglDescriptor::transport(length));
                queue.send_command(sqe, &[]);
                let (Pdu::Response(cqe), _) = queue.receive().expect("an answer") else {
                    panic!("asked for")
                };
                assert_eq!((cqe.cid, cqe.status().code()), (sqe.cid, refusal), "{length}");
            }
        }
    }
}
