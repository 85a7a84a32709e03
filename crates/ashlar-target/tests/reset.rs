//! What a controller waits for before it says that it is disabled, or shut down: then nothing of it is applied any more.

mod support;

use ashlar_nvme::property::{Configuration, ControllerStatus, ShutdownState, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Sqe;
use support::{Queue, Rig, SUBSYSTEM, eventually};

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
        Ending { configuration: shutdown, is_done: |status| status.shutdown == ShutdownState::Complete },
    ]
}

/// Ends the controller in that way while a command is held.
fn end(rig: &Rig, admin: &mut Queue, ending: &Ending) {
    admin.set_cc(ending.configuration);
    for _ in 0..ASKED {
        assert!(!(ending.is_done)(status(admin)), "a command still runs");
    }
    rig.volume.hold(false);
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
        end(&rig, &mut admin, &ending);
        let other = Queue::admin(rig.io, SUBSYSTEM, "nqn.2014-08.org.example:other");
        let mut io = Queue::io(rig.io, &other, 1);
        assert_eq!(io.read(0, 1).1, [1; 4096], "whoever takes over finds it written");
    }
}
