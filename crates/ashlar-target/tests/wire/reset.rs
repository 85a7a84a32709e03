//! What a controller waits for before it says that it is disabled, or shut down: then nothing of it
//! is applied any more.

use ashlar_nvme::admin::{AdminCommand, FormatNvm};
use ashlar_nvme::feature::{id, write_protection};
use ashlar_nvme::property::{Configuration, ControllerStatus, ShutdownState, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Sqe;
use ashlar_nvme::status::Status;

use crate::support::{Queue, Rig, SUBSYSTEM, eventually};

/// CC with EN cleared, and all else as it was.
const DISABLED: Configuration = Configuration(0x0046_0000);

/// How often a host asks for the status. One that comes too early is there long before.
const ASKED: usize = 50;

fn status(admin: &mut Queue) -> ControllerStatus {
    ControllerStatus::from_bits(admin.property(offset::CSTS) as u32)
}

/// One way to end what a controller does: how it begins, and how one sees that it is done.
struct Ending {
    configuration: Configuration,
    is_done: fn(ControllerStatus) -> bool,
}

fn endings() -> [Ending; 2] {
    let shutdown = Configuration::enable().with_shutdown();
    [
        Ending { configuration: DISABLED, is_done: |status| !status.ready },
        Ending {
            configuration: shutdown,
            is_done: |status| status.shutdown == ShutdownState::Complete,
        },
    ]
}

/// Ends the controller in that way while a command is held, which `answered` sees to its end.
fn end(rig: &Rig, admin: &mut Queue, ending: &Ending, answered: impl FnOnce(&mut Queue)) {
    admin.set_cc(ending.configuration);
    for _ in 0..ASKED {
        assert!(!(ending.is_done)(status(admin)), "a command still runs");
    }
    rig.volume.hold(false);
    answered(admin);
    eventually("it ends", || (ending.is_done)(status(admin)));
}

fn hold_command(rig: &Rig, queue: &mut Queue, sqe: Sqe, data: &[u8]) {
    rig.volume.hold(true);
    queue.send_command(sqe, data);
    eventually("the command runs", || rig.volume.held_count() == 1);
}

#[test]
fn the_end_of_a_controller_waits_for_writes_of_queues_that_have_gone() {
    for ending in endings() {
        let rig = Rig::start();
        let (mut admin, mut io) = rig.host();
        let sqe = io.write_sqe(0, SglDescriptor::in_capsule(4096));
        hold_command(&rig, &mut io, sqe, &[1; 4096]);
        drop(io);
        eventually("the queue is gone", || rig.target.connected_hosts()[0].io_queues == 0);
        end(&rig, &mut admin, &ending, |_| {});
        let other = Queue::admin(rig.io, SUBSYSTEM, "nqn.2014-08.org.example:other");
        let mut io = Queue::io(rig.io, &other, 1);
        assert_eq!(io.read(0, 1).1, [1; 4096], "whoever takes over finds it written");
    }
}

/// Ends a controller by `ending` while `command` of its admin queue runs, and enables it again.
fn end_during(rig: &Rig, ending: &Ending, command: AdminCommand) -> (Queue, Queue) {
    let (mut admin, _io) = rig.host();
    let cid = admin.cid();
    hold_command(rig, &mut admin, command.to_sqe(cid, 1), &[]);
    end(rig, &mut admin, ending, |admin| assert_eq!(admin.finish(&[]).0.cid(), cid));
    admin.set_cc(DISABLED);
    eventually("it is disabled", || !status(&mut admin).ready);
    admin.enable();
    let io = Queue::io(rig.io, &admin, 1);
    (admin, io)
}

#[test]
fn a_format_is_done_before_its_controller_is_disabled_or_shut_down() {
    for ending in endings() {
        let rig = Rig::start();
        let format = FormatNvm { lba_format: 1, metadata_settings: 0, secure_erase: 0 };
        let (_admin, mut io) = end_during(&rig, &ending, AdminCommand::Format(format));
        assert_eq!(io.write(0, &[2; 4096]), Status::SUCCESS);
        assert_eq!(io.read(0, 1).1, [2; 4096]);
    }
}

#[test]
fn a_feature_is_set_before_its_controller_is_disabled_or_shut_down() {
    for ending in endings() {
        let rig = Rig::start();
        let parameter = write_protection::PROTECTED;
        let protect =
            AdminCommand::SetFeatures { feature: id::WRITE_PROTECTION, save: false, parameter };
        let (_admin, mut io) = end_during(&rig, &ending, protect);
        assert_eq!(io.write(0, &[2; 4096]).code(), Status::WRITE_PROTECTED);
    }
}

#[test]
fn an_event_request_holds_up_no_shutdown() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    let request = AdminCommand::AsyncEventRequest.to_sqe(admin.cid(), 0);
    admin.send_command(request, &[]);
    admin.set_cc(Configuration::enable().with_shutdown());
    eventually("it is shut down", || status(&mut admin).shutdown == ShutdownState::Complete);
}
