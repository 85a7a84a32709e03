//! Namespaces whose pool is not open: hosts keep them, and their commands wait for the pool.

use std::time::Duration;

use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::property::{Configuration, offset};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Fuse;
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::{Queue, Rig, VOLUME_BYTES, eventually, pattern};

const NEVER: Duration = Duration::from_secs(3600);
/// Where NSTAT is in the I/O Command Set Independent Identify Namespace data.
const NSTAT: usize = 14;

fn waiting_for(ready_wait: Duration) -> Rig {
    Rig::with_limits(Limits { ready_wait, connection_bytes_max: 4 << 20, ..Limits::default() })
}

fn set_ready(rig: &Rig, is_ready: bool) {
    rig.door.change(Nsid(1), |info| info.is_ready = is_ready).expect("it is there");
}

fn send(queue: &mut Queue, nsid: u32, command: IoCommand, bytes: u32) -> u16 {
    let mut sqe = command.to_sqe(queue.cid(), nsid);
    sqe.sgl = SglDescriptor::transport(bytes);
    queue.send_command(sqe, &[]);
    sqe.cid().0
}

fn blocks(start: u64, count: u32) -> BlockRange {
    BlockRange { start, count }
}

#[test]
fn commands_wait_for_a_namespace_that_is_not_ready_and_hold_up_none_of_others() {
    let rig = waiting_for(NEVER);
    rig.door.add(Nsid(2), MemoryVolumeOptions::new(VOLUME_BYTES));
    let (_admin, mut io) = rig.host();
    let data = pattern(4096, 5);
    assert_eq!(io.write(7, &data), Status::SUCCESS);
    set_ready(&rig, false);
    // More than the connection may have in memory.
    let large = [0; 16].map(|_| send(&mut io, 1, IoCommand::Read(blocks(0, 256)), 1 << 20));
    let small = send(&mut io, 1, IoCommand::Read(blocks(7, 1)), 4096);
    let write = IoCommand::Write { range: blocks(9, 1), force_unit_access: false };
    let write = send(&mut io, 1, write, 4096);
    let others = [
        send(&mut io, 1, IoCommand::Flush, 0),
        send(&mut io, 1, IoCommand::Verify(blocks(7, 1)), 0),
    ];
    let of_other = send(&mut io, 2, IoCommand::Read(blocks(0, 256)), 1 << 20);
    let (first, read) = io.finish(&[]);
    assert_eq!((first.cid.get(), first.status(), read.len()), (of_other, Status::SUCCESS, 1 << 20));
    let flush_all = send(&mut io, u32::MAX, IoCommand::Flush, 0);
    let (flushed, _) = io.finish(&[]);
    assert_eq!((flushed.cid.get(), flushed.status()), (flush_all, Status::SUCCESS));

    // Not every change is the one that is waited for.
    rig.door.add(Nsid(3), MemoryVolumeOptions::new(VOLUME_BYTES));
    set_ready(&rig, true);
    let mut left: Vec<u16> = large.into_iter().chain(others).chain([small, write]).collect();
    while !left.is_empty() {
        let (cqe, read) = io.finish(&data);
        assert_eq!(cqe.status(), Status::SUCCESS);
        assert!(cqe.cid.get() != small || read == data, "what was written is read");
        left.retain(|cid| *cid != cqe.cid.get());
    }
    assert_eq!(io.read(9, 1).1, data, "what was sent meanwhile is written");
}

#[test]
fn a_compare_and_write_waits_and_is_done_once() {
    let rig = waiting_for(NEVER);
    let (_admin, mut io) = rig.host();
    set_ready(&rig, false);
    let data = pattern(4096, 6);
    let write = IoCommand::Write { range: blocks(0, 1), force_unit_access: false };
    let pair = [(IoCommand::Compare(blocks(0, 1)), Fuse::First), (write, Fuse::Second)];
    for ((command, fuse), sent) in pair.into_iter().zip([&[0; 4096][..], &data]) {
        let mut sqe = command.to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::in_capsule(4096);
        sqe.set_fuse(fuse);
        io.send_command(sqe, sent);
    }
    let rejected = send(&mut io, 9, IoCommand::Flush, 0);
    assert_eq!(io.finish(&[]).0.cid.get(), rejected, "the pair has come");
    set_ready(&rig, true);
    assert_eq!([io.finish(&[]).0.status(), io.finish(&[]).0.status()], [Status::SUCCESS; 2]);
    assert_eq!(io.read(0, 1).1, data);
}

#[test]
fn a_command_that_has_waited_long_is_answered_with_not_ready_which_may_be_repeated() {
    let rig = waiting_for(Duration::from_millis(50));
    let (_admin, mut io) = rig.host();
    set_ready(&rig, false);
    let not_ready = Status::NAMESPACE_NOT_READY.more();
    assert!(!not_ready.is_dnr());
    assert_eq!(io.read(0, 1), (not_ready, Vec::new()));
    // Nothing is asked for that could not be stored.
    let write = io.write_sqe(0, SglDescriptor::transport(4096));
    assert_eq!(io.exchange(write, &[]).0.status(), not_ready);
    assert_eq!(io.io_command(IoCommand::Flush, &[]).0, not_ready);
    set_ready(&rig, true);
    assert_eq!(io.read(0, 1).0, Status::SUCCESS);
}

#[test]
fn a_command_that_waits_ends_with_its_controller_and_with_the_target() {
    let mut rig = waiting_for(NEVER);
    let (mut admin, mut io) = rig.host();
    set_ready(&rig, false);
    send(&mut io, 1, IoCommand::Read(blocks(0, 1)), 4096);
    admin.set_cc(Configuration::default());
    eventually("the controller is reset", || admin.property(offset::CSTS) & 1 == 0);
    assert!(io.receive().is_none(), "its queues have ended");
    let (_admin, mut io) = rig.host();
    send(&mut io, 1, IoCommand::Read(blocks(0, 1)), 4096);
    rig.shutdown();
}

#[test]
fn a_namespace_that_goes_instead_of_being_ready_is_gone() {
    let rig = waiting_for(NEVER);
    let (_admin, mut io) = rig.host();
    set_ready(&rig, false);
    let read = send(&mut io, 1, IoCommand::Read(blocks(0, 1)), 4096);
    rig.door.remove(Nsid(1));
    let (cqe, _) = io.finish(&[]);
    assert_eq!((cqe.cid.get(), cqe.status().code()), (read, Status::INVALID_NAMESPACE));
}

/// What is remembered of a volume may be smaller than the volume.
#[test]
fn what_is_refused_of_a_namespace_is_what_is_wrong_once_it_is_ready() {
    let rig = waiting_for(NEVER);
    let (_admin, mut io) = rig.host();
    let change = |bytes, is_ready| {
        let changed =
            rig.door.change(Nsid(1), |info| (info.size_bytes, info.is_ready) = (bytes, is_ready));
        changed.expect("it is there");
    };
    change(4096, false);
    let (within, beyond) = (blocks(1, 1), blocks(2, 1));
    let read = [within, beyond].map(|range| send(&mut io, 1, IoCommand::Read(range), 4096));
    let rejected = send(&mut io, 9, IoCommand::Flush, 0);
    assert_eq!(io.finish(&[]).0.cid.get(), rejected, "they have come");
    change(8192, true);
    let mut answers = [io.finish(&[]).0, io.finish(&[]).0];
    answers.sort_by_key(|cqe| cqe.cid.get() != read[0]);
    assert_eq!(answers.map(|cqe| cqe.status().code()), [Status::SUCCESS, Status::LBA_OUT_OF_RANGE]);
}

#[test]
fn a_namespace_that_is_not_ready_is_listed_and_told_to_be() {
    let rig = Rig::start();
    let mut admin = rig.admin();
    set_ready(&rig, false);
    let list = |admin: &mut Queue| admin.identify(2, 0).1[..4].to_vec();
    let stat = |admin: &mut Queue| admin.identify(8, 1).1[NSTAT];
    assert_eq!((list(&mut admin), stat(&mut admin)), (vec![1, 0, 0, 0], 0));
    assert_eq!(admin.identify(0, 1).0, Status::SUCCESS);
    set_ready(&rig, true);
    assert_eq!((list(&mut admin), stat(&mut admin)), (vec![1, 0, 0, 0], 1));
}
