//! Fabrics commands: Connect and its parameters, properties, Disconnect.

use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::fabrics::{
    AuthTransfer, CNTLID_DYNAMIC, Connect, ConnectData, ConnectParameter, FabricsCommand,
    PropertyWidth,
};
use ashlar_nvme::io::IoCommand;
use ashlar_nvme::pdu::Digests;
use ashlar_nvme::property::{Configuration, ControllerStatus, ShutdownState, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;

use crate::support::{
    DISCOVERY, HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually,
};

fn data(controller_id: u16) -> ConnectData {
    ConnectData::new(HOST_ID, controller_id, SUBSYSTEM, HOST)
}

/// The parameter that a Connect is refused for.
fn refused(rig: &Rig, command: Connect, data: &ConnectData) -> u64 {
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let (cqe, _) = queue.connect(&command, data);
    assert_eq!(cqe.status(), Status::CONNECT_INVALID_PARAMETERS.dnr());
    cqe.result.get()
}

#[test]
fn every_invalid_parameter_is_named() {
    let rig = Rig::start();
    let admin = rig.admin();
    let (dynamic, own) = (data(CNTLID_DYNAMIC), data(admin.controller_id));
    let named = |parameter: ConnectParameter| u64::from(parameter.result());
    let wrong_size = |sq_size| Connect { sq_size, ..connect_command(0) };
    assert_eq!(refused(&rig, wrong_size(0), &dynamic), named(ConnectParameter::SqSize));
    assert_eq!(refused(&rig, wrong_size(1024), &dynamic), named(ConnectParameter::SqSize));
    assert_eq!(refused(&rig, connect_command(65), &own), named(ConnectParameter::QueueId));
    assert_eq!(refused(&rig, connect_command(0), &data(5)), named(ConnectParameter::ControllerId));
    assert_eq!(
        refused(&rig, connect_command(1), &data(0x0fff)),
        named(ConnectParameter::ControllerId)
    );
    let other = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, "nqn.2014-08.org.example:other", HOST);
    assert_eq!(refused(&rig, connect_command(0), &other), named(ConnectParameter::SubsystemNqn));
    let nobody = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, "somebody");
    assert_eq!(refused(&rig, connect_command(0), &nobody), named(ConnectParameter::HostNqn));
    let no_id = ConnectData::new([0; 16], CNTLID_DYNAMIC, SUBSYSTEM, HOST);
    assert_eq!(refused(&rig, connect_command(0), &no_id), named(ConnectParameter::HostId));
}

#[test]
fn a_host_must_stay_itself_between_its_queues() {
    let rig = Rig::start();
    let admin = rig.admin();
    let own = admin.controller_id;
    let other_name = ConnectData::new(HOST_ID, own, SUBSYSTEM, "nqn.2014-08.org.example:thief");
    let other_id = ConnectData::new([9; 16], own, SUBSYSTEM, HOST);
    let named = |parameter: ConnectParameter| u64::from(parameter.result());
    assert_eq!(refused(&rig, connect_command(1), &other_name), named(ConnectParameter::HostNqn));
    assert_eq!(refused(&rig, connect_command(1), &other_id), named(ConnectParameter::HostId));
}

#[test]
fn an_unknown_record_format_is_incompatible() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let command = Connect { record_format: 1, ..connect_command(0) };
    let (cqe, _) = queue.connect(&command, &data(CNTLID_DYNAMIC));
    assert_eq!(cqe.status().code(), Status::CONNECT_INCOMPATIBLE_FORMAT);
}

#[test]
fn a_refused_connect_may_be_followed_by_a_right_one() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let wrong = queue.connect(&connect_command(0), &data(3)).0;
    assert_eq!(wrong.status().code(), Status::CONNECT_INVALID_PARAMETERS);
    assert_eq!(
        queue.connect(&connect_command(0), &data(CNTLID_DYNAMIC)).0.status(),
        Status::SUCCESS
    );
    let again = queue.connect(&connect_command(0), &data(CNTLID_DYNAMIC)).0;
    assert_eq!(again.status().code(), Status::COMMAND_SEQUENCE_ERROR);
}

#[test]
fn nothing_but_connect_is_taken_before_connect() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.io, Digests::NONE);
    let get = FabricsCommand::PropertyGet { offset: offset::CAP, width: PropertyWidth::Eight };
    for sqe in [
        get.to_sqe(Cid(1), SglDescriptor::transport(0)),
        AdminCommand::KeepAlive.to_sqe(Cid(2), 0),
        IoCommand::Flush.to_sqe(Cid(3), 1),
    ] {
        assert_eq!(queue.exchange(sqe, &[]).0.status().code(), Status::COMMAND_SEQUENCE_ERROR);
    }
}

#[test]
fn an_io_queue_needs_an_enabled_controller_and_a_free_number() {
    let rig = Rig::start();
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    let controller_id =
        admin.connect(&connect_command(0), &data(CNTLID_DYNAMIC)).0.result.get() as u16;
    let mut io = Queue::shaken(rig.io, Digests::NONE);
    let status = |queue: &mut Queue| {
        queue.connect(&connect_command(1), &data(controller_id)).0.status().code()
    };
    assert_eq!(status(&mut io), Status::COMMAND_SEQUENCE_ERROR);
    admin.enable();
    assert_eq!(status(&mut io), Status::SUCCESS);
    let mut same = Queue::shaken(rig.io, Digests::NONE);
    assert_eq!(status(&mut same), Status::COMMAND_SEQUENCE_ERROR);
}

#[test]
fn properties_can_be_read() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    assert_eq!(admin.property(offset::CAP) & 0xffff, 1023, "MQES");
    assert_eq!(admin.property(offset::VS), 0x0002_0100);
    assert_eq!(admin.property(offset::CC), 0x0046_0001);
    assert_eq!(admin.property(offset::CSTS), 1);
    for (offset, width) in
        [(0x20, PropertyWidth::Four), (0, PropertyWidth::Four), (4, PropertyWidth::Eight)]
    {
        let get = FabricsCommand::PropertyGet { offset, width };
        let sqe = get.to_sqe(admin.cid(), SglDescriptor::transport(0));
        assert_eq!(admin.exchange(sqe, &[]).0.status().code(), Status::INVALID_FIELD);
    }
}

#[test]
fn only_what_the_controller_can_do_enables_it() {
    let rig = Rig::start();
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    admin.connect(&connect_command(0), &data(CNTLID_DYNAMIC));
    for configuration in [0x0046_0081, 0x0046_0801, 0x0046_0011, 0x0000_0001] {
        let set = FabricsCommand::PropertySet {
            offset: offset::CC,
            width: PropertyWidth::Four,
            value: configuration,
        };
        let sqe = set.to_sqe(admin.cid(), SglDescriptor::transport(0));
        assert_eq!(
            admin.exchange(sqe, &[]).0.status().code(),
            Status::INVALID_FIELD,
            "{configuration:#x}"
        );
    }
    assert_eq!(admin.identify(1, 0).0.code(), Status::COMMAND_SEQUENCE_ERROR, "not enabled yet");
    admin.set_cc(Configuration(0x0046_0061));
    assert_eq!(admin.identify(1, 0).0, Status::SUCCESS);
}

#[test]
fn a_shutdown_ends_io_and_says_when_it_is_complete() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    admin.set_cc(Configuration::enable().with_shutdown());
    assert!(io.receive().is_none(), "the I/O queue is closed");
    loop {
        let status = ControllerStatus::from_bits(admin.property(offset::CSTS) as u32);
        if status.shutdown == ShutdownState::Complete {
            break;
        }
    }
}

#[test]
fn a_reset_ends_io_and_the_controller_can_be_enabled_again() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    admin.set_cc(Configuration(0x0046_0000));
    assert!(io.receive().is_none());
    while admin.property(offset::CSTS) & 1 != 0 {}
    admin.enable();
    let mut io = Queue::io(rig.io, &admin, 1);
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn disconnect_ends_an_io_queue_alone() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    let disconnect = FabricsCommand::Disconnect { record_format: 0 };
    let sqe = disconnect.to_sqe(io.cid(), SglDescriptor::transport(0));
    assert_eq!(io.exchange(sqe, &[]).0.status(), Status::SUCCESS);
    assert!(io.receive().is_none());
    eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
    assert_eq!(admin.identify(1, 0).0, Status::SUCCESS);
    let sqe = disconnect.to_sqe(admin.cid(), SglDescriptor::transport(0));
    assert_eq!(admin.exchange(sqe, &[]).0.status().code(), Status::INVALID_QUEUE_TYPE);
    let mut again = Queue::io(rig.io, &admin, 1);
    assert_eq!(again.write(0, &[1; 4096]), Status::SUCCESS);
}

#[test]
fn authentication_is_not_offered_and_refused() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let auth = AuthTransfer {
        protocol_specific_0: 1,
        protocol_specific_1: 1,
        security_protocol: 0xe9,
        length: 4096,
    };
    let sqe = FabricsCommand::AuthReceive(auth).to_sqe(admin.cid(), SglDescriptor::transport(4096));
    assert_eq!(admin.exchange(sqe, &[]).0.status().code(), Status::INVALID_OPCODE);
    let sqe = FabricsCommand::AuthSend(auth).to_sqe(admin.cid(), SglDescriptor::in_capsule(4096));
    assert_eq!(admin.exchange(sqe, &[0; 4096]).0.status().code(), Status::INVALID_OPCODE);
    let unknown = Sqe::new(0x7f, admin.cid(), 0x42);
    assert_eq!(admin.exchange(unknown, &[]).0.status().code(), Status::INVALID_OPCODE);
}

#[test]
fn the_discovery_service_has_no_io_queues() {
    let rig = Rig::start();
    let admin = Queue::admin(rig.discovery, DISCOVERY, HOST);
    let mut io = Queue::shaken(rig.io, Digests::NONE);
    let data = ConnectData::new(HOST_ID, admin.controller_id, SUBSYSTEM, HOST);
    let (cqe, _) = io.connect(&connect_command(1), &data);
    assert_eq!(cqe.result.get(), u64::from(ConnectParameter::QueueId.result()));
}

#[test]
fn a_discovery_portal_leads_to_no_subsystem() {
    let rig = Rig::start();
    let mut queue = Queue::shaken(rig.discovery, Digests::NONE);
    let (cqe, _) = queue.connect(&connect_command(0), &data(CNTLID_DYNAMIC));
    assert_eq!(cqe.result.get(), u64::from(ConnectParameter::SubsystemNqn.result()));
}

#[test]
fn a_queue_for_which_there_is_no_memory_is_refused_for_now() {
    let limits = Limits { in_capsule_total_bytes_max: 16 << 20, ..Limits::default() };
    let rig = Rig::with_limits(limits);
    let admin = rig.admin();
    let mut io = Queue::shaken(rig.io, Digests::NONE);
    let large = Connect { sq_size: 1023, ..connect_command(1) };
    assert_eq!(io.connect(&large, &data(admin.controller_id)).0.status(), Status::SUCCESS);
    let mut second = Queue::shaken(rig.io, Digests::NONE);
    let busy = second.connect(&connect_command(2), &data(admin.controller_id)).0.status();
    assert_eq!(busy.code(), Status::CONNECT_CONTROLLER_BUSY);
    assert!(!busy.is_dnr());
}

#[test]
fn a_host_that_sends_no_keep_alive_is_torn_down() {
    let rig = Rig::start();
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    let command = Connect { keep_alive_ms: 1, ..connect_command(0) };
    let (cqe, _) = admin.connect(&command, &data(CNTLID_DYNAMIC));
    admin.controller_id = cqe.result.get() as u16;
    admin.enable();
    let mut io = Queue::io(rig.io, &admin, 1);
    assert!(admin.receive().is_none(), "raised to one second, and expired");
    assert!(io.receive().is_none());
    eventually("all of it is freed", || rig.target.connected_hosts().is_empty());
}

#[test]
fn a_keep_alive_timeout_beyond_the_bound_is_refused() {
    let limits = Limits { keep_alive_max: Duration::from_secs(60), ..Limits::default() };
    let rig = Rig::with_limits(limits);
    let mut admin = Queue::shaken(rig.io, Digests::NONE);
    let command = Connect { keep_alive_ms: 60_001, ..connect_command(0) };
    let (cqe, _) = admin.connect(&command, &data(CNTLID_DYNAMIC));
    assert_eq!(cqe.status().code(), Status::KEEP_ALIVE_INVALID);
}

#[test]
fn an_admin_queue_has_at_most_128_entries() {
    let rig = Rig::start();
    for (sq_size, is_taken) in [(127, true), (128, false)] {
        let mut queue = Queue::shaken(rig.io, Digests::NONE);
        let data = ConnectData::new(HOST_ID, CNTLID_DYNAMIC, SUBSYSTEM, HOST);
        let command = Connect { sq_size, ..connect_command(0) };
        let status = queue.connect(&command, &data).0.status();
        let expected = if is_taken { Status::SUCCESS } else { Status::CONNECT_INVALID_PARAMETERS };
        assert_eq!(status.code(), expected, "{sq_size}");
    }
}
