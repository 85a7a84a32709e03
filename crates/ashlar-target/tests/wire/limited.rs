//! Volumes whose limits are spent, or whose turn has not come: commands wait with nothing taken,
//! and hold up none of others.

use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::Fuse;
use ashlar_nvme::status::Status;
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;

use crate::support::{Queue, Rig, VOLUME_BYTES, eventually, pattern};

const NEVER: Duration = Duration::from_secs(3600);

fn waiting_for(throttle_wait: Duration) -> Rig {
    Rig::with_limits(Limits { throttle_wait, connection_bytes_max: 4 << 20, ..Limits::default() })
}

fn send(queue: &mut Queue, nsid: u32, command: IoCommand, bytes: u32) -> u16 {
    let mut sqe = command.to_sqe(queue.cid(), nsid);
    sqe.sgl = SglDescriptor::transport(bytes);
    queue.send_command(sqe, &[]);
    sqe.cid().0
}

fn read(start: u64, count: u32) -> IoCommand {
    IoCommand::Read(BlockRange { start, count })
}

fn write(start: u64, count: u32) -> IoCommand {
    let range = BlockRange { start, count };
    IoCommand::Write { range, force_unit_access: false }
}

#[test]
fn commands_of_a_limited_volume_take_no_memory_and_hold_up_none_of_another() {
    let rig = waiting_for(NEVER);
    rig.door.add(Nsid(2), MemoryVolumeOptions::new(VOLUME_BYTES));
    let (mut admin, mut io) = rig.host();
    rig.volume.limit(true);
    // More than the connection may have in memory, both ways, and data that come at once.
    let mut waiting: Vec<u16> = [0; 8].map(|_| send(&mut io, 1, read(0, 256), 1 << 20)).to_vec();
    waiting.extend([0; 8].map(|_| send(&mut io, 1, write(0, 256), 1 << 20)));
    let in_capsule = io.write_sqe(7, SglDescriptor::in_capsule(4096));
    io.send_command(in_capsule, &pattern(4096, 3));
    waiting.push(in_capsule.cid().0);
    eventually("all wait", || rig.volume.held_count() == waiting.len());
    // Its host is asked for nothing: what comes first is another volume's, or free.
    let of_other = send(&mut io, 2, read(0, 256), 1 << 20);
    let (first, data) = io.finish(&[]);
    assert_eq!((first.cid.get(), data.len()), (of_other, 1 << 20));
    let flush = send(&mut io, 1, IoCommand::Flush, 0);
    assert_eq!(io.finish(&[]).0.cid.get(), flush);
    assert_eq!(admin.admin_command(AdminCommand::KeepAlive, 0, 0).0, Status::SUCCESS);
    rig.volume.limit(false);
    let data = pattern(1 << 20, 4);
    while !waiting.is_empty() {
        let (cqe, _) = io.finish(&data);
        assert_eq!(cqe.status(), Status::SUCCESS);
        waiting.retain(|cid| *cid != cqe.cid.get());
    }
}

#[test]
fn a_command_that_waits_for_limits_ends_with_its_connection() {
    let mut rig = waiting_for(NEVER);
    rig.volume.limit(true);
    let (admin, mut io) = rig.host();
    send(&mut io, 1, write(0, 1), 4096);
    send(&mut io, 1, read(0, 1), 4096);
    let pair = [(IoCommand::Compare(BlockRange { start: 0, count: 1 }), Fuse::First)];
    for (command, fuse) in pair.into_iter().chain([(write(0, 1), Fuse::Second)]) {
        let mut sqe = command.to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::in_capsule(4096);
        sqe.set_fuse(fuse);
        io.send_command(sqe, &[0; 4096]);
    }
    eventually("all wait", || rig.volume.held_count() == 3);
    drop((admin, io));
    eventually("nobody waits", || rig.volume.held_count() == 0);
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
    rig.shutdown();
}

#[test]
fn a_command_that_has_waited_long_for_limits_comes_again_and_begins_before_its_host_gives_it_up() {
    let rig = waiting_for(Duration::from_millis(50));
    let (_admin, mut io) = rig.host();
    rig.volume.limit(true);
    let interrupted = Status::COMMAND_INTERRUPTED.more();
    assert!(!interrupted.is_dnr());
    // A host has a command fail that it was told more often to send again, SPDK after three times.
    for _ in 0..3 {
        assert_eq!(io.read(0, 1), (interrupted, Vec::new()));
        // Nothing is asked for.
        let sqe = io.write_sqe(9, SglDescriptor::transport(4096));
        assert_eq!(io.exchange(sqe, &[]).0.status(), interrupted);
    }
    assert_eq!(io.read(0, 1).0, Status::SUCCESS);
    // Another one has been sent back as often as it has.
    assert_eq!(io.read(1, 1), (interrupted, Vec::new()));
    rig.volume.limit(false);
    assert_eq!(io.read(1, 1).0, Status::SUCCESS);
}

#[test]
fn a_command_whose_volume_has_changed_while_it_waited_for_limits_is_not_done() {
    let rig = waiting_for(NEVER);
    let (_admin, mut io) = rig.host();
    rig.volume.limit(true);
    let sqe = io.write_sqe(100, SglDescriptor::transport(4096));
    io.send_command(sqe, &[]);
    eventually("it waits", || rig.volume.held_count() == 1);
    rig.door.change(Nsid(1), |info| info.size_bytes = 64 << 10).expect("it is there");
    rig.volume.limit(false);
    let (answer, _) = io.finish(&[1; 4096]);
    assert_eq!(answer.status().code(), Status::LBA_OUT_OF_RANGE.code());
}

#[test]
fn commands_whose_turn_has_not_come_take_no_memory_and_end_with_their_connection() {
    let mut rig = waiting_for(NEVER);
    rig.door.add(Nsid(2), MemoryVolumeOptions::new(VOLUME_BYTES));
    let (admin, mut io) = rig.host();
    rig.volume.hold_turns(true);
    // More than the connection may have in memory.
    for _ in 0..6 {
        send(&mut io, 1, read(0, 256), 1 << 20);
        send(&mut io, 1, write(0, 256), 1 << 20);
    }
    let pair = [(IoCommand::Compare(BlockRange { start: 0, count: 1 }), Fuse::First)];
    for (command, fuse) in pair.into_iter().chain([(write(0, 1), Fuse::Second)]) {
        let mut sqe = command.to_sqe(io.cid(), 1);
        sqe.sgl = SglDescriptor::in_capsule(4096);
        sqe.set_fuse(fuse);
        io.send_command(sqe, &[0; 4096]);
    }
    eventually("all wait", || rig.volume.held_count() == 13);
    let of_other = send(&mut io, 2, read(0, 256), 1 << 20);
    assert_eq!(io.finish(&[]).0.cid.get(), of_other);
    drop((admin, io));
    eventually("nobody waits", || rig.volume.held_count() == 0);
    eventually("the host is gone", || rig.target.connected_hosts().is_empty());
    rig.shutdown();
}

#[test]
fn commands_whose_turn_comes_are_done_and_those_of_a_volume_that_has_changed_are_not() {
    let rig = waiting_for(NEVER);
    let (_admin, mut io) = rig.host();
    rig.volume.hold_turns(true);
    let written = send(&mut io, 1, write(0, 1), 4096);
    let late = send(&mut io, 1, write(100, 1), 4096);
    eventually("both wait", || rig.volume.held_count() == 2);
    rig.door.change(Nsid(1), |info| info.size_bytes = 64 << 10).expect("it is there");
    rig.volume.hold_turns(false);
    for _ in 0..2 {
        let (answer, _) = io.finish(&[1; 4096]);
        let expected =
            if answer.cid.get() == late { Status::LBA_OUT_OF_RANGE } else { Status::SUCCESS };
        assert!(answer.cid.get() == late || answer.cid.get() == written);
        assert_eq!(answer.status().code(), expected.code());
    }
    assert_eq!(io.read(0, 1), (Status::SUCCESS, vec![1; 4096]));
}
