//! The transport: handshake, digests, data PDUs.

use ashlar_nvme::fabrics::{Connect, ConnectData};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, IcReq, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;

use crate::support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, pattern};

const BOTH: Digests = Digests { header: true, data: true };

#[test]
fn every_combination_of_digests_is_agreed_and_carried() {
    let rig = Rig::start();
    let admin = rig.admin();
    for (queue_id, (header, data)) in
        [(1, (false, false)), (2, (true, false)), (3, (false, true)), (4, (true, true))]
    {
        let digests = Digests { header, data };
        let mut io = Queue::io_with(rig.io, &admin, connect_command(queue_id), digests);
        let written = pattern(128 << 10, queue_id.into());
        assert_eq!(io.write(100, &written), Status::SUCCESS);
        let sqe = io.write_sqe(200, SglDescriptor::in_capsule(8192));
        assert_eq!(io.exchange(sqe, &written[..8192]).0.status(), Status::SUCCESS);
        assert_eq!(io.read(100, 32), (Status::SUCCESS, written.clone()));
        assert_eq!(io.read(200, 2).1, written[..8192]);
    }
}

#[test]
fn the_answer_offers_enough_for_one_h2c_data_pdu() {
    let rig = Rig::start();
    let mut queue = Queue::open(rig.io);
    let request =
        IcReq { format_version: 0, data_alignment_bytes: 4, digests: Digests::NONE, r2t_max: 1 };
    queue.send(&Pdu::IcReq(request), &[]);
    let Some((Pdu::IcResp(response), _)) = queue.receive() else { panic!("no ICResp") };
    assert_eq!(response.h2c_data_bytes_max, 1 << 20);
    assert_eq!(response.data_alignment_bytes, 4);
}

#[test]
fn payload_comes_at_the_alignment_that_the_host_asks_for() {
    let rig = Rig::start();
    let admin = rig.admin();
    let mut io = Queue::open(rig.io);
    let request = IcReq { format_version: 0, data_alignment_bytes: 128, digests: BOTH, r2t_max: 1 };
    io.send(&Pdu::IcReq(request), &[]);
    assert!(matches!(io.receive(), Some((Pdu::IcResp(_), _))));
    io.expect(128, BOTH);
    let data = ConnectData::new(HOST_ID, admin.controller_id, SUBSYSTEM, HOST);
    assert_eq!(io.connect(&connect_command(1), &data).0.status(), Status::SUCCESS);
    assert_eq!(io.read(0, 4), (Status::SUCCESS, vec![0; 16384]));
}

#[test]
fn without_flow_control_the_last_data_pdu_is_the_answer() {
    let rig = Rig::start();
    let admin = rig.admin();
    let command = Connect { disable_sq_flow_control: true, ..connect_command(1) };
    let mut io = Queue::io_with(rig.io, &admin, command, Digests::NONE);
    let mut sqe = IoCommand::Read(BlockRange { start: 0, count: 1 }).to_sqe(io.cid(), 1);
    sqe.sgl = SglDescriptor::transport(4096);
    io.send_command(sqe, &[]);
    let Some((Pdu::C2hData(header), _)) = io.receive() else { panic!("no data") };
    assert!(header.success && header.last);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn with_flow_control_answers_say_how_far_the_queue_is_taken() {
    let rig = Rig::start();
    let admin = rig.admin();
    let mut io = Queue::io(rig.io, &admin, 1);
    let heads: Vec<u16> = (0..40)
        .map(|_| {
            let sqe = IoCommand::Flush.to_sqe(io.cid(), 1);
            io.exchange(sqe, &[]).0.sq_head.get()
        })
        .collect();
    let want: Vec<u16> = (2..42).map(|head| head % 32).collect();
    assert_eq!(heads, want);
}

#[test]
fn data_may_come_in_several_pdus() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let written = pattern(64 << 10, 9);
    let sqe = io.write_sqe(5, SglDescriptor::transport(64 << 10));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    for offset in (0..64 << 10).step_by(16 << 10) {
        let last = offset == 48 << 10;
        let header = DataHeader {
            cid: r2t.cid,
            ttag: r2t.ttag,
            offset: offset as u32,
            length: 16 << 10,
            last,
            success: false,
        };
        io.send(&Pdu::H2cData(header), &written[offset..offset + (16 << 10)]);
    }
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
    assert_eq!(io.read(5, 16).1, written);
}

#[test]
fn a_stream_cut_anywhere_is_understood() {
    let rig = Rig::start();
    let admin = rig.admin();
    let mut io = Queue::io_with(rig.io, &admin, connect_command(1), BOTH);
    let sqe = io.write_sqe(1, SglDescriptor::in_capsule(4096));
    let bytes = io.encode(&Pdu::Command(sqe), &pattern(4096, 3));
    for piece in bytes.chunks(7) {
        io.send_raw(piece);
    }
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
    assert_eq!(io.read(1, 1).1, pattern(4096, 3));
}

#[test]
fn a_wrong_data_digest_fails_the_command_and_not_the_connection() {
    let rig = Rig::start();
    let admin = rig.admin();
    let mut io = Queue::io_with(rig.io, &admin, connect_command(1), BOTH);
    let sqe = io.write_sqe(1, SglDescriptor::in_capsule(4096));
    let mut bytes = io.encode(&Pdu::Command(sqe), &[5; 4096]);
    *bytes.last_mut().unwrap() ^= 1;
    io.send_raw(&bytes);
    assert_eq!(io.finish(&[]).0.status().code(), Status::TRANSIENT_TRANSPORT_ERROR);
    assert_eq!(io.read(1, 1).1, [0; 4096], "nothing was written");
}

#[test]
fn many_commands_may_be_outstanding() {
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    let sqes: Vec<_> =
        (0..31).map(|lba| io.write_sqe(lba, SglDescriptor::in_capsule(4096))).collect();
    for sqe in &sqes {
        io.send_command(*sqe, &[sqe.cid.get() as u8; 4096]);
    }
    let mut answered: Vec<u16> = sqes.iter().map(|_| io.finish(&[]).0.cid.get()).collect();
    answered.sort_unstable();
    assert_eq!(answered, sqes.iter().map(|sqe| sqe.cid.get()).collect::<Vec<_>>());
    let read = io.read(0, 31).1;
    assert!(read.chunks(4096).zip(&sqes).all(|(block, sqe)| block == [sqe.cid.get() as u8; 4096]));
}
