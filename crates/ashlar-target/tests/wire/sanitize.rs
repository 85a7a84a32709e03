//! What erases: Format with a secure erase, and Sanitize.

use ashlar_block::Cause;
use ashlar_nvme::admin::{AdminCommand, FormatNvm, Sanitize};
use ashlar_nvme::event::AsyncEvent;
use ashlar_nvme::log::{NO_ESTIMATE, SanitizeStatusLog, page, sanitize_status};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::FromBytes;
use ashlar_volume::memory_door::{MemoryVolume, MemoryVolumeOptions};
use ashlar_volume::{AccessList, HostNqn, Nsid};

use crate::admin::{controller, namespace};
use crate::support::{HOST, Queue, Rig, VOLUME_BYTES};

const BLOCK_ERASE: u32 = 2;
const EXIT_FAILURE: u32 = 1;
const UNRESTRICTED: u32 = 1 << 3;

fn only(host: &str) -> AccessList {
    AccessList::Allow([HostNqn::new(host).unwrap()].into())
}

/// A target with two namespaces that its host alone sees, and the volume of the second.
fn rig() -> (Rig, MemoryVolume) {
    let rig = Rig::start();
    let second = rig.door.add(Nsid(2), MemoryVolumeOptions::new(VOLUME_BYTES));
    for nsid in [1, 2] {
        rig.door.change(Nsid(nsid), |info| info.access = only(HOST).into()).unwrap();
    }
    (rig, second)
}

fn sanitize(admin: &mut Queue, command: u32) -> Status {
    admin.admin_command(AdminCommand::Sanitize(Sanitize(command)), 0, 0).0.code()
}

fn status(admin: &mut Queue) -> SanitizeStatusLog {
    let (status, data) = admin.log(page::SANITIZE_STATUS, 512, 0);
    assert_eq!(status, Status::SUCCESS);
    SanitizeStatusLog::read_from_bytes(&data).unwrap()
}

fn request_event(admin: &mut Queue) {
    let request = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
    admin.send_command(request, &[]);
}

/// The answer to the request for an event.
fn event(admin: &mut Queue) -> AsyncEvent {
    let (cqe, _) = admin.finish(&[]);
    AsyncEvent::from_result(cqe.result.get() as u32).expect("an event")
}

#[test]
fn a_format_may_erase_user_data_and_nothing_by_keys() {
    let rig = Rig::start();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let format = |secure_erase| {
        AdminCommand::Format(FormatNvm { lba_format: 0, metadata_settings: 0, secure_erase })
    };
    for secure_erase in 2..8 {
        let (refused, _, _) = admin.admin_command(format(secure_erase), 1, 0);
        assert_eq!(refused.code(), Status::INVALID_FIELD, "SES {secure_erase}");
    }
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    assert_eq!(admin.admin_command(format(1), 1, 0).0, Status::SUCCESS);
    assert_eq!(namespace(&mut admin, 1).size.get(), VOLUME_BYTES / 512);
    assert_eq!(namespace(&mut admin, 1).used.get(), 0);
}

#[test]
fn the_controller_offers_a_block_erase_alone() {
    let (rig, _) = rig();
    let mut admin = rig.admin();
    let data = controller(&mut admin);
    assert_eq!(data.sanitize.get(), 1 << 1 | 1 << 29 | 1 << 30, "SANICAP");
    assert_eq!(data.format_attributes, 0b1000, "FNA: of one namespace, and no keys");
    for action in [0, 3, 4, 5, 6, 7, BLOCK_ERASE | 1 << 9, BLOCK_ERASE | 1 << 10] {
        assert_eq!(sanitize(&mut admin, action), Status::INVALID_FIELD, "{action:#x}");
    }
    assert_eq!(status(&mut admin).status.get(), sanitize_status::NEVER);
}

#[test]
fn a_sanitize_erases_all_that_the_host_sees_and_tells_of_its_end() {
    let (rig, second) = rig();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    second.hold(true);
    assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::SUCCESS, "it goes on by itself");
    let log = status(&mut admin);
    assert_eq!(log.status.get(), sanitize_status::UNDER_WAY);
    assert_ne!(log.progress.get(), u16::MAX);
    assert_eq!(log.command.get(), BLOCK_ERASE);
    assert!(log.estimates.iter().all(|estimate| estimate.get() == NO_ESTIMATE));
    for refused in [io.read(0, 1).0, io.write(0, &[2; 4096])] {
        assert_eq!(refused.code(), Status::SANITIZE_IN_PROGRESS);
    }
    assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::SANITIZE_IN_PROGRESS);
    let format = FormatNvm { lba_format: 0, metadata_settings: 0, secure_erase: 0 };
    let (refused, _, _) = admin.admin_command(AdminCommand::Format(format), 1, 0);
    assert_eq!(refused.code(), Status::SANITIZE_IN_PROGRESS);
    request_event(&mut admin);
    second.hold(false);
    assert_eq!(event(&mut admin), AsyncEvent::SANITIZE_COMPLETED);
    let log = status(&mut admin);
    assert_eq!((log.status.get(), log.progress.get()), (sanitize_status::DONE, u16::MAX));
    assert_eq!(io.read(0, 1).1, [0; 4096]);
    assert_eq!(sanitize(&mut admin, EXIT_FAILURE), Status::SUCCESS, "there is none");
}

#[test]
fn what_another_host_may_see_or_nobody_may_write_is_not_sanitized() {
    let (rig, _) = rig();
    let (mut admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
    let stranger = HostNqn::new("nqn.2014-08.org.example:stranger").unwrap();
    let both = AccessList::Allow([HostNqn::new(HOST).unwrap(), stranger].into());
    for shared in [AccessList::AllowAny, both] {
        rig.door.change(Nsid(2), |info| info.access = shared.into()).unwrap();
        assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::OPERATION_DENIED);
    }
    rig.door.change(Nsid(2), |info| info.access = only(HOST).into()).unwrap();
    rig.door.change(Nsid(2), |info| info.write_protected = true).unwrap();
    assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::WRITE_PROTECTED);
    rig.door
        .change(Nsid(2), |info| (info.write_protected, info.is_ready) = (false, false))
        .unwrap();
    assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::NAMESPACE_NOT_READY);
    assert_eq!(status(&mut admin).status.get(), sanitize_status::NEVER);
    assert_eq!(io.read(0, 1).1, [1; 4096]);
    [1, 2].iter().for_each(|nsid| rig.door.remove(Nsid(*nsid)));
    assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::OPERATION_DENIED, "it sees nothing");
}

#[test]
fn after_a_failure_nothing_is_read_until_it_is_left_behind() {
    for (command, may_exit) in [(BLOCK_ERASE, false), (BLOCK_ERASE | UNRESTRICTED, true)] {
        let (rig, second) = rig();
        let (mut admin, mut io) = rig.host();
        second.fail_with(Some(Cause::WriteFault));
        request_event(&mut admin);
        let asked = AdminCommand::Sanitize(Sanitize(command)).to_sqe(admin.cid(), 0);
        admin.send_command(asked, &[]);
        let answers = [admin.finish(&[]).0, admin.finish(&[]).0];
        assert!(answers.iter().all(|cqe| cqe.status() == Status::SUCCESS));
        let log = status(&mut admin);
        assert_eq!((log.status.get(), log.command.get()), (sanitize_status::FAILED, command));
        assert_eq!(io.read(0, 1).0.code(), Status::SANITIZE_FAILED);
        second.fail_with(None);
        if may_exit {
            assert_eq!(sanitize(&mut admin, EXIT_FAILURE), Status::SUCCESS);
        } else {
            assert_eq!(sanitize(&mut admin, EXIT_FAILURE), Status::SANITIZE_FAILED);
            request_event(&mut admin);
            assert_eq!(sanitize(&mut admin, BLOCK_ERASE), Status::SUCCESS);
            assert_eq!(event(&mut admin), AsyncEvent::SANITIZE_COMPLETED);
        }
        assert_eq!(io.read(0, 1).0, Status::SUCCESS);
    }
}

// What came in the capsule of a command that takes none must be consumed, or the stream is lost.
#[test]
fn data_in_the_capsule_of_a_sanitize_does_not_lose_the_stream() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    for command in [BLOCK_ERASE, u32::MAX] {
        let mut sqe = Sqe::new(0x84, admin.cid(), 0);
        sqe.set_cdw(10, command);
        sqe.sgl = SglDescriptor::in_capsule(88);
        let refused = admin.exchange(sqe, &[0xff; 88]).0.status();
        assert!(refused.is_dnr(), "{refused}");
    }
    assert_eq!(status(&mut admin).status.get(), sanitize_status::NEVER);
}
