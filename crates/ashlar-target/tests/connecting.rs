//! Connections on their way to a finished Connect: how long they have, what they wait for, and what they may join.

mod support;

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, ConnectData, FabricsCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_target::nvme_tcp::Limits;
use support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command};

/// Between two bytes of a host that trickles: many of them are within the timeout, and all of a PDU's are far beyond.
const TRICKLE: Duration = Duration::from_millis(50);
const HANDSHAKE: Duration = Duration::from_millis(500);

fn rig() -> Rig {
    Rig::with_limits(Limits { handshake_timeout: HANDSHAKE, ..Limits::default() })
}

/// Whether the target closes, in the time between two bytes.
fn closes(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 256]) {
        Ok(count) => count == 0,
        Err(error) => {
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
        }
    }
}

/// Bytes that trickle before a test gives up: 10 s and more, which is less than any other timeout.
const TRICKLED_MAX: usize = 200;

/// Sends `bytes` one by one. Whether the target closes before the last of them, and soon.
fn is_cut_off(mut queue: Queue, bytes: &[u8]) -> bool {
    queue.stream.set_read_timeout(Some(TRICKLE)).unwrap();
    bytes.iter().take(TRICKLED_MAX).any(|byte| {
        // What is sent to a connection that is closed may fail.
        let _ = std::io::Write::write(&mut queue.stream, &[*byte]);
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
    let sqe =
        FabricsCommand::Connect(connect_command(0)).to_sqe(queue.cid(), SglDescriptor::in_capsule(1024));
    let bytes = queue.encode(&Pdu::Command(sqe), connect_data().as_bytes());
    assert!(is_cut_off(queue, &bytes));
}

#[test]
fn a_connect_whose_data_trickle_is_cut_off() {
    let rig = rig();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let sqe = FabricsCommand::Connect(connect_command(0)).to_sqe(queue.cid(), SglDescriptor::transport(1024));
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
