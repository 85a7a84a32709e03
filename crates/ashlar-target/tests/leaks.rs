//! What connections take at most and what is left of them, counted for the whole process: file
//! descriptors, memory, and the budgets that a leak would use up. The tests take turns, for they
//! share the counters. (`recorded.rs` counts what is left of recorded sessions to the byte; here
//! the host waits for no answer.)

mod support;

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ashlar_nvme::admin::AdminCommand;
use ashlar_nvme::fabrics::{ConnectData, FabricsCommand};
use ashlar_nvme::feature::id;
use ashlar_nvme::io::{BlockRange, IoCommand};
use ashlar_nvme::pdu::{DataHeader, Digests, Framing, IcReq, Pdu, TermReq};
use ashlar_nvme::sgl::SglDescriptor;
use ashlar_nvme::sqe::{Cid, Sqe};
use ashlar_nvme::status::Status;
use ashlar_nvme::zerocopy::IntoBytes;
use ashlar_reactor::Config;
use ashlar_reactor::allocations::{self, Counting};
use ashlar_target::nvme_tcp::Limits;
use ashlar_volume::Nsid;
use ashlar_volume::memory_door::MemoryVolumeOptions;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::left::{open_files, reset};
use support::{HOST, HOST_ID, Queue, Rig, SUBSYSTEM, connect_command, eventually};

const BLOCK_BYTES: u32 = 4096;
/// What sessions write that were cut before the write was complete: never to be read.
const TORN: u8 = 0xee;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static TURN: Mutex<()> = Mutex::new(());

/// Until the guard is dropped no other test of this file runs.
fn turn() -> MutexGuard<'static, ()> {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most memory that this process has had resident, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Budgets of a few commands: whatever is not given back is missed soon.
fn tight() -> Limits {
    Limits {
        connecting_max: 10_000,
        connections_max: 60_000,
        connection_bytes_max: 4 << 20,
        host_bytes_max: 4 << 20,
        reactor_bytes_max: 4 << 20,
        ..Limits::default()
    }
}

fn write_command(cid: u16, lba: u64, sgl: SglDescriptor) -> Sqe {
    let range = BlockRange { start: lba, count: 1 };
    let mut sqe = IoCommand::Write { range, force_unit_access: false }.to_sqe(Cid(cid), 1);
    sqe.sgl = sgl;
    sqe
}

/// An I/O session as a host sends it that waits for no answer: Connect, two writes within their
/// capsules, a read, a flush.
fn session(queue: &mut Queue, controller_id: u16, queue_id: u16, value: u8) -> Vec<u8> {
    let digests = Digests { header: true, data: true };
    let request = IcReq { format_version: 0, data_alignment_bytes: 4, digests, r2t_max: 1 };
    let mut bytes = queue.encode(&Pdu::IcReq(request), &[]);
    queue.framing = Framing { digests, data_alignment_bytes: 4 };
    let data = ConnectData::new(HOST_ID, controller_id, SUBSYSTEM, HOST);
    let connect = FabricsCommand::Connect(connect_command(queue_id));
    let sqe = connect.to_sqe(Cid(1), SglDescriptor::in_capsule(1024));
    bytes.extend(queue.encode(&Pdu::Command(sqe), data.as_bytes()));
    let mut read = IoCommand::Read(BlockRange { start: 0, count: 1 }).to_sqe(Cid(2), 1);
    read.sgl = SglDescriptor::transport(BLOCK_BYTES);
    bytes.extend(queue.encode(&Pdu::Command(read), &[]));
    bytes.extend(queue.encode(&Pdu::Command(IoCommand::Flush.to_sqe(Cid(3), 1)), &[]));
    let write = write_command(4, 0, SglDescriptor::in_capsule(BLOCK_BYTES));
    bytes.extend(queue.encode(&Pdu::Command(write), &[value; BLOCK_BYTES as usize]));
    bytes
}

/// All budgets are whole: what they allow at most is done, and done again.
fn budgets_are_whole(rig: &Rig) {
    let (_admin, mut io) = rig.host();
    for _ in 0..3 {
        assert_eq!(io.write(256, &vec![1; 1 << 20]), Status::SUCCESS);
        assert_eq!(io.read(256, 256).0, Status::SUCCESS);
    }
}

// blktests 040: reset and disconnect during I/O. The last byte completes the write, so every cut is
// before it.
#[test]
fn an_io_session_reset_after_every_byte_leaves_nothing_and_applies_nothing() {
    let _turn = turn();
    let mut rig = Rig::with_limits(tight());
    let files = open_files();
    {
        let admin = rig.admin();
        let length = session(&mut Queue::open(rig.io), admin.controller_id, 1, TORN).len();
        for cut in 0..length {
            let mut queue = Queue::open(rig.io);
            let bytes = session(&mut queue, admin.controller_id, 1 + cut as u16 % 64, TORN);
            queue.send_raw(&bytes[..cut]);
            reset(queue);
        }
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    eventually("every file is closed", || open_files() <= files);
    let (admin, mut io) = rig.host();
    assert_eq!(
        io.read(0, 1).1,
        [0; BLOCK_BYTES as usize],
        "a write that never came whole was applied"
    );
    drop((admin, io));
    budgets_are_whole(&rig);
    rig.shutdown();
}

/// A queue that is asked for the data of a write of one block.
fn asked(rig: &Rig, admin: &Queue, queue_id: u16) -> (Queue, DataHeader) {
    let mut queue = Queue::io(rig.io, admin, queue_id);
    queue.send_command(write_command(9, 0, SglDescriptor::transport(BLOCK_BYTES)), &[]);
    let Some((Pdu::R2t(r2t), _)) = queue.receive() else { panic!("no R2T") };
    let (cid, ttag) = (r2t.cid, r2t.ttag);
    (queue, DataHeader { cid, ttag, offset: 0, length: BLOCK_BYTES, last: true, success: false })
}

#[test]
fn data_reset_after_every_byte_are_not_applied_and_give_their_memory_back() {
    let _turn = turn();
    let mut rig = Rig::with_limits(tight());
    let files = open_files();
    {
        let admin = rig.admin();
        for cut in 0..24 + BLOCK_BYTES as usize {
            let (mut queue, header) = asked(&rig, &admin, 1 + cut as u16 % 64);
            let bytes = queue.encode(&Pdu::H2cData(header), &[TORN; BLOCK_BYTES as usize]);
            queue.send_raw(&bytes[..cut]);
            reset(queue);
        }
    }
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    eventually("every file is closed", || open_files() <= files);
    let (admin, mut io) = rig.host();
    assert_eq!(io.read(0, 1).1, [0; BLOCK_BYTES as usize]);
    drop((admin, io));
    budgets_are_whole(&rig);
    rig.shutdown();
}

/// Ends a session with a keep alive timeout and, in the same segment, the word that the host ends
/// the connection.
fn leave_with_keep_alive(rig: &Rig) {
    let mut admin = rig.admin();
    let keep_alive = AdminCommand::SetFeatures {
        feature: id::KEEP_ALIVE_TIMER,
        save: false,
        parameter: 600_000,
    };
    let sqe = keep_alive.to_sqe(admin.cid(), 0);
    let mut bytes = admin.encode(&Pdu::Command(sqe), &[]);
    bytes.extend(admin.encode(&Pdu::HostTermReq(TermReq { status: 1, information: 0 }), &[]));
    admin.send_raw(&bytes);
    while admin.receive().is_some() {}
}

// The command was executed after the connection had ended, and began a watch that kept the
// controller for as long as it said.
#[test]
fn a_keep_alive_in_the_last_words_of_a_host_keeps_nothing_of_it() {
    const SESSIONS: u64 = 64;
    let _turn = turn();
    let config = Config { idle_after: Duration::from_millis(50), ..Config::default() };
    let mut rig = Rig::configured(Limits::default(), config);
    (0..8).for_each(|_| leave_with_keep_alive(&rig));
    rig.rest();
    let before = allocations::live().bytes;
    (0..SESSIONS).for_each(|_| leave_with_keep_alive(&rig));
    eventually("every host is gone", || rig.target.connected_hosts().is_empty());
    rig.rest();
    // A controller and its connection are some 10 KiB.
    let left = allocations::live().bytes.saturating_sub(before);
    assert!(left < SESSIONS * 2048, "{left} bytes are left of {SESSIONS} sessions");
    rig.shutdown();
}

const QUEUES: u16 = 16;
const COMMANDS: u64 = 31;
const TRANSFER_BYTES: u32 = 1 << 20;
const BUDGET_BYTES: u64 = 8 << 20;

fn largest(queue: &mut Queue, write: bool) -> Sqe {
    let range = BlockRange { start: 0, count: TRANSFER_BYTES / BLOCK_BYTES };
    let command = match write {
        true => IoCommand::Write { range, force_unit_access: false },
        false => IoCommand::Read(range),
    };
    let mut sqe = command.to_sqe(queue.cid(), 1);
    sqe.sgl = SglDescriptor::transport(TRANSFER_BYTES);
    sqe
}

#[test]
fn the_largest_requests_on_every_queue_at_once_stay_within_the_budget() {
    let _turn = turn();
    let limits = Limits {
        connection_bytes_max: 4 << 20,
        host_bytes_max: BUDGET_BYTES,
        reactor_bytes_max: BUDGET_BYTES,
        ..Limits::default()
    };
    let mut rig = Rig::with_limits(limits);
    rig.door.add(Nsid(1), MemoryVolumeOptions::null(64 << 20));
    let admin = rig.admin();
    let mut queues: Vec<Queue> = (1..=QUEUES).map(|id| Queue::io(rig.io, &admin, id)).collect();
    let data = vec![1; TRANSFER_BYTES as usize];
    // From here on VmHWM counts anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before_kib = peak_kib();
    for queue in &mut queues {
        for number in 0..COMMANDS {
            let sqe = largest(queue, number % 2 == 0);
            queue.send_command(sqe, &[]);
        }
    }
    std::thread::scope(|scope| {
        for queue in &mut queues {
            scope.spawn(|| {
                (0..COMMANDS)
                    .for_each(|_| assert_eq!(queue.finish(&data).0.status(), Status::SUCCESS))
            });
        }
    });
    // What this host holds itself: a read and the buffers of its decoding, on each queue.
    let own_kib = u64::from(QUEUES) * 6 * u64::from(TRANSFER_BYTES >> 10);
    let grown_kib = peak_kib() - before_kib;
    let asked_kib = u64::from(QUEUES) * COMMANDS * u64::from(TRANSFER_BYTES >> 10);
    assert!(own_kib + (BUDGET_BYTES >> 10) < asked_kib / 4, "the test would not notice");
    assert!(grown_kib < own_kib + (BUDGET_BYTES >> 10) + (16 << 10), "{grown_kib} KiB more");
    drop((admin, queues));
    rig.shutdown();
}

#[test]
fn tags_that_are_not_live_any_more_name_nothing() {
    let _turn = turn();
    let rig = Rig::start();
    let admin = rig.admin();
    let (mut queue, header) = asked(&rig, &admin, 1);
    queue.send(&Pdu::H2cData(header), &[1; BLOCK_BYTES as usize]);
    assert_eq!(queue.finish(&[]).0.status(), Status::SUCCESS);
    queue.send(&Pdu::H2cData(header), &[TORN; 4096]);
    assert!(queue.last_words().is_some(), "the transfer has ended, its tag is unknown");
    let mut other = Queue::io(rig.io, &admin, 2);
    assert_eq!(other.read(0, 1).1, [1; BLOCK_BYTES as usize]);
}

// Each of them once made the target rest for 100 ms before it accepted the next connection.
#[test]
fn connections_reset_before_they_are_accepted_hold_up_nobody() {
    let _turn = turn();
    let rig = Rig::start();
    for _ in 0..2000 {
        reset(Queue::open(rig.io));
    }
    let (_admin, mut io) = rig.host();
    assert_eq!(io.write(0, &[1; 4096]), Status::SUCCESS);
}

/// What a command of which nothing is taken may have the target and its host allocate, the answer
/// and, before Connect, its connection included. The least length that is too long asks for sixteen
/// times as much.
const REFUSED_BYTES_MAX: u64 = 64 << 10;
/// How often each length is tried.
const REFUSALS: u64 = 20;

// "nvmet-tcp: bound the SGL data length before allocating": a command may name 4 GiB of data,
// before a host is known, too.
#[test]
fn sgl_lengths_that_are_refused_take_no_memory() {
    let _turn = turn();
    let rig = Rig::start();
    let (_admin, mut io) = rig.host();
    for length in [2 << 20, 1 << 30, u32::MAX] {
        let before = allocations::bytes_of_all_threads();
        for _ in 0..REFUSALS {
            let mut sqe = io.write_sqe(0, SglDescriptor::transport(BLOCK_BYTES));
            sqe.sgl = SglDescriptor::transport(length);
            assert_eq!(
                io.exchange(sqe, &[]).0.status().code(),
                Status::SGL_LENGTH_INVALID,
                "{length}"
            );
            let too_long = io.write_sqe(0, SglDescriptor::transport(2 << 20));
            assert_eq!(io.exchange(too_long, &[]).0.status(), Status::INVALID_FIELD.dnr().more());
        }
        let took = allocations::bytes_of_all_threads() - before;
        assert!(took < 2 * REFUSALS * REFUSED_BYTES_MAX, "{took} bytes for {length}");
    }
}

#[test]
fn sgl_lengths_before_connect_take_no_memory() {
    let _turn = turn();
    let rig = Rig::start();
    for length in [1023, 1025, 1 << 20, 1 << 30, u32::MAX] {
        let before = allocations::bytes_of_all_threads();
        for _ in 0..REFUSALS {
            let mut queue = Queue::shaken(rig.io, Digests::NONE);
            let connect = FabricsCommand::Connect(connect_command(0));
            let sqe = connect.to_sqe(queue.cid(), SglDescriptor::transport(length));
            assert_eq!(
                queue.exchange(sqe, &[]).0.status().code(),
                Status::SGL_LENGTH_INVALID,
                "{length}"
            );
        }
        let took = allocations::bytes_of_all_threads() - before;
        assert!(took < REFUSALS * REFUSED_BYTES_MAX, "{took} bytes for {length}");
    }
}
