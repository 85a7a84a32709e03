//! A host that has forgotten its event requests, and gives their identifiers to other commands. A
//! widespread user-space initiator does that when it detaches.

use ashlar_nvme::admin::{AdminCommand, FormatNvm, Identify};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::fabrics::{FabricsCommand, PropertyWidth};
use ashlar_nvme::feature::{event_bits, id};
use ashlar_nvme::identify::cns;
use ashlar_nvme::property::{Configuration, ControllerStatus, ShutdownState, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::{Queue, Rig, SUBSYSTEM, connect_command, eventually};

/// CC with EN cleared, and all else as it was.
const DISABLED: Configuration = Configuration(0x0046_0000);
const REQUESTS: usize = 4;

/// Makes as many event requests as a controller takes; returns their identifiers.
fn request_events(admin: &mut Queue) -> Vec<Cid> {
    let mut request = || {
        let sqe = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
        admin.send_command(sqe, &[]);
        sqe.cid()
    };
    (0..REQUESTS).map(|_| request()).collect()
}

fn get(cid: Cid, offset: u32) -> Sqe {
    let width = if offset == offset::CAP { PropertyWidth::Eight } else { PropertyWidth::Four };
    FabricsCommand::PropertyGet { offset, width }.to_sqe(cid, SglDescriptor::transport(0))
}

fn set(cid: Cid, configuration: Configuration) -> Sqe {
    let (width, value) = (PropertyWidth::Four, configuration.0.into());
    FabricsCommand::PropertySet { offset: offset::CC, width, value }
        .to_sqe(cid, SglDescriptor::transport(0))
}

/// Sends the command. The next answer is that to it, and it succeeds: returns the result.
fn answered(admin: &mut Queue, sqe: Sqe) -> u64 {
    let (cqe, _) = admin.exchange(sqe, &[]);
    assert_eq!((cqe.cid.get(), cqe.status()), (sqe.cid().0, Status::SUCCESS));
    cqe.result.get()
}

fn status(admin: &mut Queue, cid: Cid) -> ControllerStatus {
    ControllerStatus::from_bits(answered(admin, get(cid, offset::CSTS)) as u32)
}

#[test]
fn a_host_that_detaches_with_identifiers_of_its_event_requests_is_shut_down_in_order() {
    let rig = Rig::start();
    let (mut admin, _io) = rig.host();
    let forgotten = request_events(&mut admin);
    answered(&mut admin, get(forgotten[0], offset::CC));
    answered(&mut admin, set(forgotten[1], Configuration::enable().with_shutdown()));
    eventually("it is shut down", || {
        status(&mut admin, forgotten[0]).shutdown == ShutdownState::Complete
    });
}

#[test]
fn a_host_that_disables_with_identifiers_of_its_event_requests_sees_no_answer_to_those() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let forgotten = request_events(&mut admin);
    // The third: those before and behind it are forgotten as well.
    answered(&mut admin, set(forgotten[2], DISABLED));
    eventually("it is disabled", || !status(&mut admin, forgotten[2]).ready);
    answered(&mut admin, set(forgotten[3], Configuration::enable()));
    // They have ended: their identifiers and their places are free.
    for cid in forgotten {
        admin.send_command(AdminCommand::AsyncEventRequest.to_sqe(cid, 0), &[]);
    }
    assert_eq!(admin.identify(cns::CONTROLLER, 0).0, Status::SUCCESS);
}

#[test]
fn an_event_request_whose_identifier_was_given_away_is_answered_by_the_event_still() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let parameter = event_bits::NAMESPACE_ATTRIBUTE;
    let configure = AdminCommand::SetFeatures {
        feature: id::ASYNC_EVENT_CONFIGURATION,
        save: false,
        parameter,
    };
    assert_eq!(admin.admin_command(configure, 0, 0).0, Status::SUCCESS);
    let request = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
    admin.send_command(request, &[]);
    answered(&mut admin, get(request.cid(), offset::CAP));
    rig.door.add(Nsid(5), MemoryVolumeOptions::new(1 << 20));
    let (cqe, _) = admin.finish(&[]);
    assert_eq!((cqe.cid.get(), cqe.status()), (request.cid().0, Status::SUCCESS));
    assert_eq!(
        AsyncEvent::from_result(cqe.result.get() as u32).unwrap(),
        AsyncEvent::NAMESPACE_CHANGED
    );
}

#[test]
fn no_other_command_may_have_the_identifier_of_an_event_request() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let cid = request_events(&mut admin)[0];
    answered(&mut admin, get(cid, offset::CC));
    let identify =
        Identify { cns: cns::CONTROLLER, controller_id: 0, specific_id: 0, command_set: 0 };
    let none = SglDescriptor::transport(0);
    let others = [
        AdminCommand::Identify(identify).to_sqe(cid, 0),
        AdminCommand::KeepAlive.to_sqe(cid, 0),
        AdminCommand::AsyncEventRequest.to_sqe(cid, 0),
        AdminCommand::Abort { queue_id: 0, cid }.to_sqe(cid, 0),
        FabricsCommand::Disconnect { record_format: 0 }.to_sqe(cid, none),
        FabricsCommand::Connect(connect_command(0)).to_sqe(cid, none),
    ];
    for sqe in others {
        let (cqe, _) = admin.exchange(sqe, &[]);
        assert_eq!(cqe.status().code(), Status::COMMAND_ID_CONFLICT, "{sqe:?}");
    }
}

#[test]
fn a_property_command_may_not_have_the_identifier_of_anything_else() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    request_events(&mut admin);
    rig.volume.hold(true);
    let format = FormatNvm { lba_format: 1, metadata_settings: 0, secure_erase: 0 };
    let format = AdminCommand::Format(format).to_sqe(admin.cid(), 1);
    admin.send_command(format, &[]);
    let write = io.write_sqe(0, SglDescriptor::in_capsule(4096));
    io.send_command(write, &[1; 4096]);
    for sqe in [get(format.cid(), offset::CC), set(format.cid(), Configuration::enable())] {
        let (cqe, _) = admin.exchange(sqe, &[]);
        assert_eq!(cqe.status().code(), Status::COMMAND_ID_CONFLICT);
    }
    let (cqe, _) = io.exchange(get(write.cid(), offset::CC), &[]);
    assert_eq!(cqe.status().code(), Status::COMMAND_ID_CONFLICT);
    rig.volume.hold(false);
    assert_eq!(admin.finish(&[]).0.status(), Status::SUCCESS);
    assert_eq!(io.finish(&[]).0.status(), Status::SUCCESS);
}

#[test]
fn an_identifier_that_was_shared_is_free_once_its_event_request_has_ended() {
    let rig = Rig::start();
    let mut admin = Queue::admin(rig.io, SUBSYSTEM, crate::support::HOST);
    let cid = request_events(&mut admin)[0];
    answered(&mut admin, get(cid, offset::CC));
    let abort = AdminCommand::Abort { queue_id: 0, cid }.to_sqe(admin.cid(), 0);
    admin.send_command(abort, &[]);
    let answers = [admin.finish(&[]).0, admin.finish(&[]).0];
    assert_eq!(answers.map(|cqe| cqe.status()), [Status::ABORT_REQUESTED, Status::SUCCESS]);
    let (cqe, _) = admin.exchange(AdminCommand::KeepAlive.to_sqe(cid, 0), &[]);
    assert_eq!(cqe.status(), Status::SUCCESS);
}
