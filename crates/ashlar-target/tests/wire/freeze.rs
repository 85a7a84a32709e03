//! The target stands still for longer than every timeout, as when its process is stopped or its
//! machine gives it no processor: hosts that were alive meanwhile are kept, and those that were not
//! are dropped.

use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::fabrics::{CNTLID_DYNAMIC, Connect, ConnectData};
use ashlar_nvme::pdu::{DataHeader, Digests, IcReq, Pdu};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;

use crate::support::{
    HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually, hurried, pattern,
};

/// The handshake's timeout, and that of data on their way. A keep alive's is three seconds, and
/// another one for its granularity. None is so short that a host exceeds it because its machine is
/// busy.
const TIMEOUT: Duration = Duration::from_secs(4);
/// How long the target stands still.
const FREEZE: Duration = Duration::from_secs(6);

fn limits() -> Limits {
    Limits { transfer_timeout: TIMEOUT, ..hurried(TIMEOUT) }
}

/// An admin queue with a keep alive timeout of three seconds.
fn watched(rig: &Rig, host: &str) -> Queue {
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let command = Connect { keep_alive_ms: 3000, ..connect_command(0) };
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, host);
    assert_eq!(queue.connect(&command, &data).0.status(), Status::SUCCESS);
    queue.enable();
    queue
}

fn keep_alive(queue: &mut Queue) -> Status {
    queue.admin_command(AdminCommand::KeepAlive, 0, 0).0
}

#[test]
fn a_keep_alive_that_came_during_a_freeze_is_read_before_the_host_is_judged() {
    let mut rig = Rig::with_limits(limits());
    let mut alive = watched(&rig, "nqn.2014-08.org.example:alive");
    let _dead = watched(&rig, "nqn.2014-08.org.example:dead");
    let frozen = rig.freeze();
    let sqe = AdminCommand::KeepAlive.to_sqe(alive.cid(), 0);
    alive.send_command(sqe, &[]);
    std::thread::sleep(FREEZE);
    drop(frozen);
    assert_eq!(alive.finish(&[]).0.status(), Status::SUCCESS);
    eventually("the host that is dead is dropped", || {
        assert_eq!(keep_alive(&mut alive), Status::SUCCESS);
        rig.target.connected_hosts().len() == 1
    });
}

#[test]
fn a_handshake_that_a_freeze_has_interrupted_goes_on() {
    let mut rig = Rig::with_limits(limits());
    // One command is answered, so that the connection after it has been accepted, too, or soon is.
    let mut queue = Queue::open(rig.io);
    let _other = rig.admin();
    let frozen = rig.freeze();
    let request =
        IcReq { format_version: 0, data_alignment_bytes: 4, digests: Digests::NONE, r2t_max: 1 };
    queue.send(&Pdu::IcReq(request), &[]);
    std::thread::sleep(FREEZE);
    drop(frozen);
    assert!(matches!(queue.receive(), Some((Pdu::IcResp(_), _))));
    queue.expect(4, Digests::NONE);
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, crate::support::HOST);
    assert_eq!(queue.connect(&connect_command(0), &data).0.status(), Status::SUCCESS);
}

#[test]
fn a_freeze_up_to_its_deadline_leaves_a_handshake_time() {
    // Whoever is late by a moment is held back for a moment only: that is not enough for a host to
    // answer.
    let timeout = 2 * TIMEOUT;
    let mut rig = Rig::with_limits(hurried(timeout));
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let frozen = rig.freeze();
    std::thread::sleep(timeout + Duration::from_millis(20));
    drop(frozen);
    std::thread::sleep(Duration::from_millis(300));
    let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, crate::support::HOST);
    assert_eq!(queue.connect(&connect_command(0), &data).0.status(), Status::SUCCESS);
}

#[test]
fn data_that_came_during_a_freeze_are_written() {
    let mut rig = Rig::with_limits(limits());
    let (_admin, mut io) = rig.host();
    let data = pattern(8192, 7);
    let sqe = io.write_sqe(0, SglDescriptor::transport(8192));
    io.send_command(sqe, &[]);
    let Some((Pdu::R2t(r2t), _)) = io.receive() else { panic!("no R2T") };
    let (cid, ttag) = (r2t.cid, r2t.ttag);
    let header = DataHeader { cid, ttag, offset: 0, length: 8192, last: true, success: false };
    let frozen = rig.freeze();
    io.send(&Pdu::H2cData(header), &data);
    std::thread::sleep(FREEZE);
    drop(frozen);
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
    assert_eq!(io.read(0, 2), (Status::SUCCESS, data));
}
