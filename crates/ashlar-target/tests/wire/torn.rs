//! Sessions cut after every byte, and sessions with damaged bytes: whatever comes, the target goes
//! on, and nothing is left of it.

use std::io::Write;

use ashlar_block::XorShift;
use ashlar_nvme::admin::{AdminCommand, Identify};
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand, PropertyWidth};
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{Digests, Framing, IcReq, Pdu};
use ashlar_nvme::property::{Configuration, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_target::nvme_tcp::Limits;

use crate::support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually};

const BOTH: Digests = Digests { header: true, data: true };

fn rig() -> Rig {
    Rig::with_limits(Limits {
        connecting_max: 10_000,
        connections_max: 60_000,
        ..Limits::default()
    })
}

/// What a host sends that waits for no answer.
fn session(queue: &mut Queue, digests: Digests, commands: &[(Sqe, Vec<u8>)]) -> Vec<u8> {
    queue.framing = Framing::HANDSHAKE;
    let request = IcReq { format_version: 0, data_alignment_bytes: 4, digests, r2t_max: 1 };
    let mut bytes = queue.encode(&Pdu::IcReq(request), &[]);
    queue.framing = Framing { digests, data_alignment_bytes: 4 };
    for (sqe, data) in commands {
        bytes.extend(queue.encode(&Pdu::Command(*sqe), data));
    }
    bytes
}

fn connect(queue_id: u16, controller_id: u16) -> (Sqe, Vec<u8>) {
    let data = ConnectData::new(HOST_ID, controller_id, SUBSYSTEM, HOST);
    let command = FabricsCommand::Connect(connect_command(queue_id));
    (command.to_sqe(Cid(1), SglDescriptor::in_capsule(1024)), data.as_bytes().to_vec())
}

/// Everything up to an enabled controller with an event request outstanding.
fn admin_commands() -> Vec<(Sqe, Vec<u8>)> {
    let enable = FabricsCommand::PropertySet {
        offset: offset::CC,
        width: PropertyWidth::Four,
        value: Configuration::enable().0.into(),
    };
    let identify = AdminCommand::Identify(Identify {
        cns: 1,
        controller_id: 0,
        specific_id: 0,
        command_set: 0,
    });
    let mut identify = identify.to_sqe(Cid(3), 0);
    identify.sgl = SglDescriptor::transport(4096);
    vec![
        connect(0, CNTLID_DYNAMIC),
        (enable.to_sqe(Cid(2), SglDescriptor::transport(0)), Vec::new()),
        (identify, Vec::new()),
        (AdminCommand::AsyncEventRequest.to_sqe(Cid(4), 0), Vec::new()),
    ]
}

/// A queue with writes of all kinds under way.
fn io_commands(queue_id: u16, controller_id: u16) -> Vec<(Sqe, Vec<u8>)> {
    let range = BlockRange { start: 0, count: 1 };
    let mut write = IoCommand::Write { range, force_unit_access: false }.to_sqe(Cid(2), 1);
    write.sgl = SglDescriptor::in_capsule(4096);
    let mut asked = IoCommand::Write { range, force_unit_access: false }.to_sqe(Cid(3), 1);
    asked.sgl = SglDescriptor::transport(4096);
    let mut read = IoCommand::Read(range).to_sqe(Cid(4), 1);
    read.sgl = SglDescriptor::transport(4096);
    vec![
        connect(queue_id, controller_id),
        (write, vec![1; 4096]),
        (asked, Vec::new()),
        (read, Vec::new()),
        (IoCommand::Flush.to_sqe(Cid(5), 1), Vec::new()),
    ]
}

/// The target serves as if nothing had happened.
fn still_serves(rig: &Rig) {
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(9, &[9; 4096]), Status::SUCCESS);
    assert_eq!(io.read(9, 1).1, [9; 4096]);
}

#[test]
fn an_admin_session_cut_after_every_byte_leaves_nothing() {
    let mut rig = rig();
    let bytes = session(&mut Queue::open(rig.io), BOTH, &admin_commands());
    for length in 0..bytes.len() {
        Queue::open(rig.io).send_raw(&bytes[..length]);
    }
    still_serves(&rig);
    rig.shutdown();
}

#[test]
fn an_io_session_cut_at_many_places_leaves_nothing() {
    let mut rig = rig();
    {
        let admin = rig.admin();
        let length = session(&mut Queue::open(rig.io), BOTH, &io_commands(1, 1)).len();
        for cut in (0..length).step_by(3) {
            let commands = io_commands(1 + cut as u16 % 64, admin.controller_id);
            let bytes = session(&mut Queue::open(rig.io), BOTH, &commands);
            Queue::open(rig.io).send_raw(&bytes[..cut]);
        }
    }
    still_serves(&rig);
    rig.shutdown();
}

#[test]
fn damaged_sessions_harm_nobody() {
    let mut rig = rig();
    let mut random = XorShift::new(2026);
    {
        let admin = rig.admin();
        for round in 0..1500_u16 {
            let commands = match round % 2 {
                0 => admin_commands(),
                _ => io_commands(1 + round % 64, admin.controller_id),
            };
            let mut queue = Queue::open(rig.io);
            let mut bytes = session(&mut queue, Digests::NONE, &commands);
            for _ in 0..1 + random.below(4) {
                let place = random.below(bytes.len() as u64) as usize;
                bytes[place] = random.next_u64() as u8;
            }
            // The target may have closed already: what it says is not of interest here.
            let _ = queue.stream.write_all(&bytes);
        }
    }
    still_serves(&rig);
    rig.shutdown();
}
